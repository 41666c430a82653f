"""The settings of the learner."""

import math
from dataclasses import dataclass
from typing import Literal

from nlac_bench.learner.model import Head, Lora


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """How the learner computes gradients and changes the weights.

    ``micro_rows`` is the number of packed rows per forward pass. The learning rate rises linearly from 0
    during ``warmup_steps``; then it is constant, or falls linearly or as a cosine to 0 at ``total_steps``.

    Raises:
        ValueError: the schedule needs ``total_steps``, or ``lora`` is combined with ``ema``.
    """

    lr: float = 1e-6
    optimizer: Literal["adamw", "sgd"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    warmup_steps: int = 0
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    total_steps: int | None = None
    precision: Literal["fp32", "bf16"] = "bf16"
    micro_rows: int = 4
    activation_checkpointing: bool = False
    heads: tuple[Head, ...] = ()
    lora: Lora | None = None
    ema: bool = False
    reference: bool = False
    deterministic: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.schedule != "constant" and self.total_steps is None:
            raise ValueError(f"schedule {self.schedule!r} needs total_steps, which is not set")
        if self.lora is not None and self.ema:
            raise ValueError("a moving average of adapters is not supported; use full training for ema=True")

    def lr_at(self, step: int) -> float:
        """Return the learning rate of optimizer step ``step`` (0-based)."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        if self.schedule == "constant" or self.total_steps is None:
            return self.lr
        done = (step - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
        left = 1 - min(1.0, done)
        return self.lr * (left if self.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * (1 - left))))
