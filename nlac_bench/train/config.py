"""What every training algorithm is told: budget, batches, optimizer, validation."""

import dataclasses
import math
import re
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.hf.precision import fast_bf16

if TYPE_CHECKING:
    from nlac_bench.train.learner import LearnerConfig

BudgetUnit: typing.TypeAlias = Literal["steps", "env_steps", "tokens"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much training may cost: gradient steps, environment steps or generated tokens."""

    unit: BudgetUnit
    amount: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``steps=300``, ``env_steps=20000`` or ``tokens=5000000``.

        Raises:
            NlacBenchError: it is none of these.
        """
        unit, _, amount = text.partition("=")
        units = typing.get_args(BudgetUnit)
        if unit not in units or not re.fullmatch(r"0*[1-9][0-9]{0,17}", amount):
            raise NlacBenchError(
                f"budget {text!r} is not understood; write {', '.join(f'{u}=N' for u in units)}"
            )
        return cls(typing.cast(BudgetUnit, unit), int(amount))


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Settings that all algorithms share; an algorithm's own are in a subclass. Names follow verl's where it
    has one.

    Args:
        budget: ``steps=…`` (gradient), ``env_steps=…`` or ``tokens=…`` (generated).
        total_epochs: at most so many passes over the training tasks; None: the budget alone decides.
        train_batch_size: episodes an iteration.
        rollouts_per_task: episodes of each task in an iteration.
        mini_batch_size: what one gradient step learns from: transitions (or episodes, where an algorithm
            learns from whole ones).
        max_turn_length: turns after which a training episode is cut; None: the environment's own limit.
        max_prompt_length, max_response_length: in tokens; longer prompts are not trained on, longer answers
            are cut.
        temperature: of the policy in training episodes.
        lr, warmup_steps, weight_decay, max_grad_norm: of AdamW; the rate is constant after the warm-up.
        kl_coef: weight of KL(π ‖ π at the start) over the whole vocabulary, on the tokens the policy learns.
        lora_rank: trains adapters of this rank instead of all weights (package peft); 0 trains all. Not for
            algorithms that keep a moving average.
        row_tokens: length of packed rows; longer sequences have rows of their own.
        precision: ``auto`` is bf16 where the hardware multiplies it, else fp32.
        val_tasks: training tasks set aside to choose the checkpoint by.
        test_freq: gradient steps between validations, each at the end of an iteration. save_freq: between
            checkpoints to resume from.
    """

    budget: str = "steps=200"
    total_epochs: int | None = None
    train_batch_size: int = 32
    rollouts_per_task: int = 1
    mini_batch_size: int = 32
    max_turn_length: int | None = None
    max_prompt_length: int = 4096
    max_response_length: int = 512
    temperature: float = 1.0
    lr: float = 1e-6
    warmup_steps: int = 0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    kl_coef: float = 0.0
    lora_rank: int = 0
    row_tokens: int = 4096
    micro_rows: int = 1
    activation_checkpointing: bool = False
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    deterministic: bool = False
    val_tasks: int = 50
    test_freq: int = 20
    save_freq: int = 20

    def __post_init__(self) -> None:
        Budget.parse(self.budget)
        self.check(
            ("total_epochs", "train_batch_size", "rollouts_per_task", "mini_batch_size", "max_turn_length",
             "max_prompt_length", "max_response_length", "row_tokens", "micro_rows", "val_tasks", "test_freq",
             "save_freq"),
            least=1,
        )  # fmt: skip
        self.check(("temperature", "warmup_steps", "weight_decay", "kl_coef", "lora_rank"), least=0)
        self.check(("lr", "max_grad_norm"), above=0)
        if self.train_batch_size % self.rollouts_per_task:
            raise NlacBenchError(
                f"train.train_batch_size = {self.train_batch_size} must be a multiple of "
                f"train.rollouts_per_task = {self.rollouts_per_task}"
            )

    def check(
        self,
        names: Iterable[str],
        *,
        least: float = -math.inf,
        above: float = -math.inf,
        most: float = math.inf,
    ) -> None:
        """Whether these settings, where they are set, are within their bounds.

        Raises:
            NlacBenchError: naming the first that is not.
        """
        bounds = [f"{word} {x:g}" for word, x in (("at least", least), ("above", above), ("at most", most))
                  if math.isfinite(x)]  # fmt: skip
        for name in names:
            value = getattr(self, name)
            if value is not None and not (least <= value <= most and value > above):
                raise NlacBenchError(f"train.{name} must be {' and '.join(bounds)}, got {value}")

    def learner(self, seed: int, **options: Any) -> "LearnerConfig":
        """The learner's part."""
        from nlac_bench.train.learner import LearnerConfig
        from nlac_bench.train.model import Lora

        if self.lora_rank and options.get("ema"):
            raise NlacBenchError(
                f"train.lora_rank = {self.lora_rank}: this algorithm keeps a moving average of all weights, "
                "which adapters do not have; train all weights (lora_rank = 0)"
            )
        return LearnerConfig(
            lr=self.lr,
            weight_decay=self.weight_decay,
            max_grad_norm=self.max_grad_norm,
            warmup_steps=self.warmup_steps,
            precision=("bf16" if fast_bf16() else "fp32") if self.precision == "auto" else self.precision,
            micro_rows=self.micro_rows,
            activation_checkpointing=self.activation_checkpointing,
            reference=True,
            deterministic=self.deterministic,
            lora=Lora(rank=self.lora_rank, alpha=2 * self.lora_rank) if self.lora_rank else None,
            seed=seed,
            **options,
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """The configuration that ``values`` describe; texts, as from a command line, are read as numbers.

        Raises:
            NlacBenchError: naming what is unknown or of the wrong kind.
        """
        hints = typing.get_type_hints(cls)
        known = {field.name for field in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise NlacBenchError(
                    f"unknown training setting {name!r}; there are {', '.join(sorted(known))}"
                )
        return cls(**{name: _read(value, hints[name], f"train.{name}") for name, value in values.items()})


def _read(value: Any, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) is Literal:
        if value not in typing.get_args(hint):
            raise NlacBenchError(f"{where} must be one of {', '.join(typing.get_args(hint))}, got {value!r}")
        return value
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if types.NoneType in kinds and value in (None, "none"):
        return None
    kind = next(k for k in kinds if k is not types.NoneType)
    if kind is bool and value in (True, False, "true", "false"):
        return value in (True, "true")
    try:
        if kind in (int, float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number) and (kind is float or number == int(number)):
                return kind(number)
        elif kind is str and isinstance(value, str):
            return value
    except (TypeError, ValueError, OverflowError):
        pass
    raise NlacBenchError(f"{where} must be {kind.__name__}, got {value!r}")
