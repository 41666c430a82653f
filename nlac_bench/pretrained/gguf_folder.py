"""Converts a GGUF file of the architecture ``llama`` to a Hugging Face folder.

transformers reads the weights of GGUF files, too, but does not know the pre-tokenizer ``smollm``, and refuses
to save such a model. The format is described at https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nlac_bench.errors import DataError

_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OTHER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_CONTROL = 3
"""Token type of control tokens such as ``<|im_end|>``."""


def convert(gguf_file: Path, folder: Path) -> None:
    """Write configuration, generation settings, weights (float32) and tokenizer to ``folder``.

    Raises:
        DataError: the package ``gguf`` is not installed, or the file is of another architecture.
    """
    try:
        import gguf
    except ImportError as error:
        raise DataError(
            "reading GGUF files needs the package gguf: pip install 'nlac-bench[real]'"
        ) from error
    from safetensors.numpy import save_file

    reader = gguf.GGUFReader(gguf_file)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    if facts["general.architecture"] != "llama" or facts["tokenizer.ggml.pre"] != "smollm":
        raise DataError(
            f"{gguf_file} has the architecture {facts['general.architecture']!r} and the pre-tokenizer "
            f"{facts['tokenizer.ggml.pre']!r}; only llama with smollm is converted"
        )
    heads = {"attn_q": facts["llama.attention.head_count"], "attn_k": facts["llama.attention.head_count_kv"]}
    weights = {}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.removesuffix(".weight").rpartition(".")[2]
        weights[_name(tensor.name)] = _interleaved(values, heads[part]) if part in heads else values
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", _config(facts, tied="lm_head.weight" not in weights))
    ids = {name: facts[f"tokenizer.ggml.{name}"] for name in ("bos_token_id", "eos_token_id")}
    _write_json(folder / "generation_config.json", {**ids, "pad_token_id": ids["eos_token_id"]})
    _write_tokenizer(facts, folder)


def _name(name: str) -> str:
    """Return the Hugging Face name of the tensor ``name``, such as ``blk.3.attn_q.weight``."""
    parts = name.removesuffix(".weight").split(".")
    if parts[0] == "blk":
        return f"model.layers.{parts[1]}.{_BLOCK[parts[2]]}.weight"
    return f"{_OTHER[parts[0]]}.weight"


def _interleaved(values: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Return query or key weights ``[out, in]`` with the halves of each head apart, as transformers rotates.

    GGUF has the two coordinates of a rotation beside each other.
    """
    rows = values.reshape(heads, len(values) // heads // 2, 2, *values.shape[1:])
    return np.ascontiguousarray(rows.swapaxes(1, 2).reshape(values.shape))


def _config(facts: dict[str, Any], tied: bool) -> dict[str, Any]:
    llama = {name.removeprefix("llama."): value for name, value in facts.items() if name.startswith("llama.")}
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": llama["embedding_length"],
        "num_hidden_layers": llama["block_count"],
        "intermediate_size": llama["feed_forward_length"],
        "num_attention_heads": llama["attention.head_count"],
        "num_key_value_heads": llama["attention.head_count_kv"],
        "max_position_embeddings": llama["context_length"],
        "rms_norm_eps": round(llama["attention.layer_norm_rms_epsilon"], 9),
        "rope_theta": llama["rope.freq_base"],
        "vocab_size": llama["vocab_size"],
        "tie_word_embeddings": tied,
        "hidden_act": "silu",
        "bos_token_id": facts["tokenizer.ggml.bos_token_id"],
        "eos_token_id": facts["tokenizer.ggml.eos_token_id"],
        "pad_token_id": facts["tokenizer.ggml.eos_token_id"],
        "dtype": "float32",
    }


def _write_tokenizer(facts: dict[str, Any], folder: Path) -> None:
    """Write byte-level BPE that splits off every digit, which is the pre-tokenizer ``smollm``."""
    from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = facts["tokenizer.ggml.token_type"]
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    tokenizer.save(str(folder / "tokenizer.json"))
    end = tokens[facts["tokenizer.ggml.eos_token_id"]]
    described = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[facts["tokenizer.ggml.bos_token_id"]],
        "eos_token": end,
        "pad_token": end,
        "model_max_length": facts["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "chat_template": facts["tokenizer.chat_template"],
    }
    _write_json(folder / "tokenizer_config.json", described)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
