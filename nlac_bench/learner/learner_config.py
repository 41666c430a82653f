"""The settings of the learner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from nlac_bench.learner.model import HeadKind, Lora


@dataclass(frozen=True, slots=True)
class LearnerConfig:
    """How the learner computes gradients and changes the weights.

    ``micro_rows`` is the number of packed rows per forward pass. The learning rate rises linearly from 0
    during ``warmup_steps``; then it is constant. ``heads`` are the scalar heads: what each values, by name. A
    state's head begins with zeros, an action's with small random weights. They have the learning rate
    ``head_lr`` instead of ``lr``, if it is set.

    Raises:
        ValueError: ``lora`` is combined with ``ema``, or ``heads`` does not say what a head values.
    """

    lr: float = 1e-6
    head_lr: float | None = None
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    warmup_steps: int = 0
    precision: Literal["fp32", "bf16"] = "bf16"
    micro_rows: int = 4
    activation_checkpointing: bool = False
    heads: Mapping[str, HeadKind] = field(default_factory=dict)
    lora: Lora | None = None
    ema: bool = False
    reference: bool = False
    deterministic: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.heads, Mapping) or set(self.heads.values()) - set(get_args(HeadKind)):
            raise ValueError(
                f"heads = {self.heads!r} must give each head's name what it values: 'state' or 'action'"
            )
        if self.lora is not None and self.ema:
            raise ValueError("a moving average of adapters is not supported; use full training for ema=True")

    def lr_at(self, step: int) -> float:
        """Return the learning rate of optimizer step ``step`` (0-based)."""
        if step < self.warmup_steps:
            return self.lr * (step + 1) / self.warmup_steps
        return self.lr
