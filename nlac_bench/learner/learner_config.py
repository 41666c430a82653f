"""The settings of the learner."""

from dataclasses import dataclass
from typing import Literal

from nlac_bench.learner.model import Head, Lora


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """How the learner computes gradients and changes the weights.

    ``micro_rows`` is the number of packed rows per forward pass. The learning rate rises linearly from 0
    during ``warmup_steps``; then it is constant.

    Raises:
        ValueError: ``lora`` is combined with ``ema``.
    """

    lr: float = 1e-6
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    warmup_steps: int = 0
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
        if self.lora is not None and self.ema:
            raise ValueError("a moving average of adapters is not supported; use full training for ema=True")

    def lr_at(self, step: int) -> float:
        """Return the learning rate of optimizer step ``step`` (0-based)."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        return self.lr
