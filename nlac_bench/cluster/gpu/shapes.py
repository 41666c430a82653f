"""Models with the shapes of published models and random weights."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlac_bench import tiny
from nlac_bench.learner.memory import MemorySettings, Shape, learner_bytes
from nlac_bench.rollout.engines.hf.loading import load_tokenizer

QWEN_7B: Mapping[str, Any] = {
    "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
    "num_key_value_heads": 4, "vocab_size": 152064,
}  # fmt: skip
"""Qwen2.5-7B's ``config.json``."""
QWEN_32B: Mapping[str, Any] = {
    "hidden_size": 5120, "intermediate_size": 27648, "num_hidden_layers": 64, "num_attention_heads": 40,
    "num_key_value_heads": 8, "vocab_size": 152064,
}  # fmt: skip
"""QwQ-32B's."""


def random_model(shape: Mapping[str, Any], device: str, dtype: Any) -> Any:
    """Return a Qwen2 of ``shape`` with random weights, made on ``device``."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen2Config

    config = Qwen2Config(**shape, max_position_embeddings=32768, tie_word_embeddings=False)
    torch.manual_seed(0)
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")


def write(model: Any, folder: Path) -> None:
    """Write ``model`` as a Hugging Face folder, with the tokenizer of the embedded model."""
    model.save_pretrained(folder)
    load_tokenizer(tiny.path()).save_pretrained(folder)


def memory_shape(shape: Mapping[str, Any]) -> Shape:
    """Return ``shape`` for estimates of memory."""
    width = shape["hidden_size"] / shape["num_attention_heads"]
    result = Shape(
        parameters=0,
        layers=shape["num_hidden_layers"],
        hidden=shape["hidden_size"],
        attention=shape["hidden_size"],
        keys=width * shape["num_key_value_heads"],
        intermediate=shape["intermediate_size"],
        vocabulary=shape["vocab_size"],
        tied=False,
    )
    return replace(result, parameters=result.embeddings + result.layers * result.block)


def layers_that_fit(
    shape: Mapping[str, Any], settings: MemorySettings, *, ranks: int, memory: float, device: str
) -> int:
    """Return how many of the layers of ``shape`` a learner can train in ``memory`` bytes of each rank.

    Returns:
        0 if not even one fits.
    """
    for layers in range(shape["num_hidden_layers"], 0, -1):
        fewer = memory_shape({**shape, "num_hidden_layers": layers})
        parts = learner_bytes(fewer, settings, {}, ranks=ranks, bf16=True, device=device)
        if sum(parts.values()) <= memory:
            return layers
    return 0
