"""Estimates the memory of a rank in training as the sum of its tensors at the peak of a backward pass.

The peak of a rank that has taken a step before is at the beginning of a backward pass, when all activations,
the accumulated gradients and the first logits exist, or at its end, when the gradients of the embeddings are
reduced. Only tensors are counted, without torch itself and the free blocks of its allocator. This
module does not import torch.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

CHUNK_LOGITS = {"cpu": 2**23, "cuda": 2**26}
"""Number of logits of a chunk by device (``logits.Logits``). A loss and its gradient need ``LOGIT_BYTES`` of
each: at most 0.3 GB on CPUs and 2.4 GB on GPUs. With chunks of fewer than about 300 tokens, a GPU would wait
for the head's weights."""
LOGIT_BYTES = {"fp32": (8, 28), "bf16": (10, 36)}
"""Bytes of a logit at the peak of its loss and gradient: of log-probabilities alone, and with the KL."""


KEPT = ("fp32 master weights", "AdamW's moments", "moving average", "initial weights")
"""What a rank keeps between gradient steps; the rest of ``learner_bytes`` is needed in one only."""


class MemorySettings(Protocol):
    """The fields of ``TrainConfig`` that memory depends on."""

    @property
    def kl_coef(self) -> float: ...

    @property
    def needs_reference(self) -> bool: ...

    @property
    def lora_rank(self) -> int: ...

    @property
    def row_tokens(self) -> int: ...

    @property
    def micro_rows(self) -> int: ...

    @property
    def activation_checkpointing(self) -> bool: ...


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder with grouped-query attention and a gated MLP.

    Args:
        parameters: of the whole model.
        hidden: width of the residual stream.
        attention: width of all query heads together.
        keys: width of all key heads together, which is that of the values.
        intermediate: width of the MLP.
        vocabulary: number of tokens.
        tied: whether embeddings and output head are the same weights.
    """

    parameters: float
    layers: float
    hidden: float
    attention: float
    keys: float
    intermediate: float
    vocabulary: float
    tied: bool = True

    @classmethod
    def read(cls, folder: str | Path, parameters: float) -> Self:
        """Return the shape from ``config.json``, or the usual one of this size if there is none."""
        try:
            config: Any = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
            hidden, heads = config["hidden_size"], config["num_attention_heads"]
            width = config.get("head_dim") or hidden / heads
            keys = width * (config.get("num_key_value_heads") or heads)
            return cls(
                parameters,
                layers=float(config["num_hidden_layers"]),
                hidden=float(hidden),
                attention=float(width * heads),
                keys=float(keys),
                intermediate=float(config["intermediate_size"]),
                vocabulary=float(config["vocab_size"]),
                tied=bool(config.get("tie_word_embeddings", True)),
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return cls.usual(parameters)

    @classmethod
    def usual(cls, parameters: float) -> Self:
        """Return a shape of this size: 12 L h² parameters with h = 128 L, and Qwen2.5's vocabulary."""
        hidden = (parameters * 128 / 12) ** (1 / 3)
        return cls(parameters, hidden / 128, hidden, hidden, hidden / 4, 3 * hidden, 152_000, False)

    @property
    def embeddings(self) -> float:
        """Parameters of the embeddings and the output head, which FSDP gathers together."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def block(self) -> float:
        """Parameters of a block."""
        attention = 2 * self.hidden * (self.attention + self.keys)
        return attention + 3 * self.hidden * self.intermediate

    def adapters(self, rank: int) -> float:
        """Parameters of LoRA adapters of this rank on all linear layers of the blocks."""
        widths = 2 * (self.hidden + self.attention) + 2 * (self.hidden + self.keys)
        return self.layers * rank * (widths + 3 * (self.hidden + self.intermediate))


def learner_bytes(
    shape: Shape,
    settings: MemorySettings,
    learner: Mapping[str, object],
    *,
    ranks: int,
    bf16: bool,
    device: str,
    step_tokens: float = math.inf,
) -> dict[str, float]:
    """Return the bytes of a rank's tensors at the peak of training, by their purpose.

    Args:
        learner: the method's fields of ``LearnerConfig``.
        ranks: number of ranks that share the weights.
        bf16: whether blocks compute in bfloat16.
        device: ``cpu`` or ``cuda``.
        step_tokens: that the rank computes in a gradient step; a micro-batch cannot have more.
    """
    narrow = 2 if bf16 else 4
    trained = shape.adapters(settings.lora_rank) if settings.lora_rank else shape.parameters
    sharded = ranks > 1 or bf16  # in one process in float32, there is nothing to gather
    # One process keeps the weights of all blocks gathered, unless activations are computed again; several
    # keep two blocks and the embeddings.
    gathered = shape.parameters
    if ranks > 1 or settings.activation_checkpointing:
        gathered = min(shape.parameters, shape.embeddings + 2 * shape.block)
    kept: dict[str, float] = {
        "fp32 master weights": 4 * shape.parameters / ranks,
        "gradients": 4 * trained / ranks,
        "AdamW's moments": 8 * trained / ranks,
        "moving average": 4 * shape.parameters / ranks if learner.get("ema") else 0,
        "initial weights": narrow * shape.parameters / ranks if settings.needs_reference else 0,
        "gathered weights": narrow * gathered * sharded,
        "gathered initial embeddings": narrow * shape.embeddings * sharded if settings.kl_coef else 0,
    }
    tokens = min(settings.row_tokens * settings.micro_rows, step_tokens)
    block = tokens * _activations(shape, bf16)
    activations = shape.layers * block
    if settings.activation_checkpointing:
        activations = shape.layers * tokens * shape.hidden * narrow + block
    logits = min(tokens * shape.vocabulary, CHUNK_LOGITS[device])
    logits *= LOGIT_BYTES["bf16" if bf16 else "fp32"][bool(settings.kl_coef)]
    head = narrow * shape.vocabulary * shape.hidden * (not settings.lora_rank)
    # At the end of the pass: the gradient of the embeddings; with FSDP also its copy in the buffer and its
    # shard.
    reduced = shape.embeddings * (narrow + (4 + 4 / ranks) * sharded) * (not settings.lora_rank)
    if activations + logits + head > reduced:
        return kept | {"activations": activations, "logits of a chunk": logits, "gradient of the head": head}
    return kept | {"reduced embeddings": reduced}


def _activations(shape: Shape, bf16: bool) -> float:
    """Return the bytes a token that autograd saves in a block.

    Saved are, for both norms, the input, the normalised input and the output; for attention, the rotated
    queries, keys, values, and the attended values twice; for the MLP, the gate, its activation, the other
    half and their product. Norms compute in float32.
    """
    rest = 3 * shape.attention + 2 * shape.keys + 4 * shape.intermediate
    return 16 * shape.hidden + 2 * rest if bf16 else 4 * (6 * shape.hidden + rest)
