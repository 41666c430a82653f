"""The settings that all training algorithms share: budget, batches, optimizer, validation."""

import re
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from nlac_bench.errors import ConfigError
from nlac_bench.learner.transition_cost import TransitionCost
from nlac_bench.rollout.engines.hf.precision import fast_bf16
from nlac_bench.settings import Settings
from nlac_bench.types import Episode

if TYPE_CHECKING:
    from nlac_bench.learner.learner_config import LearnerConfig

BudgetUnit: typing.TypeAlias = Literal["steps", "env_steps", "tokens"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a training: a number of gradient steps, environment steps or generated tokens."""

    unit: BudgetUnit
    amount: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``steps=300``, ``env_steps=20000`` or ``tokens=5000000``.

        Raises:
            ConfigError: ``text`` does not have this form.
        """
        unit, _, amount = text.partition("=")
        units = typing.get_args(BudgetUnit)
        if unit not in units or not re.fullmatch(r"0*[1-9][0-9]{0,17}", amount):
            raise ConfigError(
                f"budget {text!r} is invalid; write one of {', '.join(f'{u}=N' for u in units)}"
            )
        return cls(typing.cast(BudgetUnit, unit), int(amount))


class TrainConfig(Settings):
    """The settings that all algorithms share; subclasses add those of one algorithm.

    Names follow verl's where verl has the setting.
    """

    ONLY_STORED: ClassVar[frozenset[str]] = frozenset()
    """Settings that determine only what a run stores, not what it learns and measures."""
    ANY_TEMPERATURE: ClassVar[bool] = True
    """Whether episodes may be sampled at a temperature other than 1, so not from the trained distribution."""

    budget: str = Field(
        "steps=200", description="when training ends: steps=N (gradient steps), env_steps=N or tokens=N"
    )
    total_epochs: int | None = Field(
        None,
        ge=1,
        description="largest number of passes over the training tasks; none: no limit",
    )
    levels: Literal["all"] | None = Field(
        None, description="all: train on the tasks of all levels; none: of the level that is measured"
    )
    train_batch_size: int = Field(32, ge=1, description="episodes per iteration")
    rollouts_per_task: int = Field(1, ge=1, description="episodes of each task per iteration")
    mini_batch_size: int = Field(
        32,
        ge=1,
        description="transitions per gradient step (episodes, if the algorithm learns from whole episodes)",
    )
    max_turn_length: int | None = Field(
        None,
        ge=1,
        description="turns after which a training episode ends as a failure; none: the environment's limit",
    )
    max_prompt_length: int = Field(4096, ge=1, description="tokens; longer prompts are not trained on")
    max_response_length: int = Field(512, ge=1, description="tokens; longer answers are truncated")
    temperature: float = Field(1.0, ge=0, description="sampling temperature in training episodes")
    forms: Literal["filled", "free"] = Field(
        "filled",
        description="filled: in the critic's roles, a chat model fills in forms, whose fixed words are "
        "given; free: it writes whole answers",
    )
    lr: float = Field(1e-6, gt=0, description="learning rate of AdamW; constant after the warm-up")
    warmup_steps: int = Field(0, ge=0, description="gradient steps in which the learning rate rises from 0")
    weight_decay: float = Field(0.0, ge=0, description="weight decay of AdamW")
    max_grad_norm: float = Field(1.0, gt=0, description="larger gradients are scaled down to this norm")
    kl_coef: float = Field(
        0.0,
        ge=0,
        description="weight of KL(policy || initial policy) over the vocabulary, on learned tokens",
    )
    kl_probe: bool = Field(
        True,
        description="report the KL to the initial policy in each iteration (kl_to_start); without this and "
        "without kl_coef, no copy of the initial weights is kept",
    )
    lora_rank: int = Field(
        0,
        ge=0,
        description="rank of LoRA adapters (package peft); 0 trains all weights. Not available for methods "
        "that keep a moving average",
    )
    row_tokens: int = Field(
        4096, ge=1, description="tokens of a packed row; a longer sequence gets its own row"
    )
    micro_rows: int = Field(1, ge=1, description="packed rows per forward pass")
    activation_checkpointing: bool = Field(False, description="recompute activations to save memory")
    precision: Literal["auto", "fp32", "bf16"] = Field(
        "auto", description="auto: bf16 if the hardware is fast in it, else fp32"
    )
    deterministic: bool = Field(False, description="bitwise reproducible, but slower")
    max_staleness: int = Field(
        0,
        ge=0,
        le=1,
        description="1 plays the next iteration's episodes during the update, with weights one update old; "
        "PPO and GRPO then weight tokens by their importance",
    )
    stop_without_signal: bool = Field(
        False, description="end the training after three successive iterations whose gradients were 0"
    )
    val_tasks: int = Field(
        50,
        ge=1,
        description="validation tasks, which select the best checkpoint: drawn from the split validation if "
        "the environment has one, else held out of the training split",
    )
    test_freq: int = Field(
        20, ge=1, description="gradient steps between validations, which run at the end of an iteration"
    )
    save_freq: int = Field(20, ge=1, description="gradient steps between checkpoints to resume from")

    @model_validator(mode="after")
    def _check_shared(self) -> Self:
        Budget.parse(self.budget)
        if self.temperature != 1 and not self.ANY_TEMPERATURE:
            raise ConfigError(
                f"train.temperature = {self.temperature:g}: this method trains the policy at temperature 1 "
                "and must sample its episodes with it; set it to 1"
            )
        if self.train_batch_size % self.rollouts_per_task:
            raise ConfigError(
                f"train.train_batch_size = {self.train_batch_size} must be a multiple of "
                f"train.rollouts_per_task = {self.rollouts_per_task}"
            )
        return self

    def check_offline(self, episodes: Sequence[Episode]) -> None:
        """Raise an error if nothing can be learned from the recorded ``episodes`` (``--offline``).

        Raises:
            ConfigError: the message says which episodes the method needs; by default it needs none.
        """

    @property
    def chosen_precision(self) -> Literal["fp32", "bf16"]:
        """``precision``; ``auto`` depends on this machine. Engines that are trained compute in it, too."""
        if self.precision == "auto":
            return "bf16" if fast_bf16() else "fp32"
        return self.precision

    def transitions_per_step(self, turns: float) -> float:
        """Return how many transitions a gradient step learns from if episodes have ``turns`` turns."""
        items = self.mini_batch_size or self.train_batch_size * max(1.0, turns)
        return items / self.own_cost(turns).items

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what the method computes for each transition that it learns from, without the KL penalty.

        It counts as if every episode and every answer were used, so it is an upper bound for methods that
        leave some out. Answers with the reasons for an episode's end, which depend on the model
        (``note_reasons``), are not included.

        Args:
            turns: mean number of turns of an episode.
        """
        return TransitionCost()

    def cost(self, turns: float) -> TransitionCost:
        """Return ``own_cost`` with the forward pass of the initial model that a KL penalty needs."""
        own = self.own_cost(turns)
        if not self.kl_coef:
            return own
        roles = own.forward.keys() | own.backward.keys()
        return replace(
            own, forward={role: own.forward.get(role, 0) + own.backward.get(role, 0) for role in roles}
        )

    @property
    def needs_average(self) -> bool:
        """Whether a method that can keep a moving average of the weights uses it with these settings."""
        return True

    @property
    def samples_initial(self) -> bool:
        """Whether roles are sampled from the initial weights, which the method copies to slot ``target``."""
        return False

    @property
    def needs_reference(self) -> bool:
        """Whether a copy of the initial weights is kept, for the penalty or for the metric."""
        return self.kl_coef > 0 or self.kl_probe

    def subject(self) -> dict[str, object]:
        """Return the settings that describe the training, for a run's manifest."""
        return {name: value for name, value in self.as_dict().items() if name not in self.ONLY_STORED}

    def learner(self, seed: int, **options: Any) -> "LearnerConfig":
        """Return the learner's configuration.

        Args:
            seed: of the learner's random numbers.
            options: further fields of ``LearnerConfig`` that the algorithm needs.

        Raises:
            ConfigError: adapters are combined with a moving average.
        """
        from nlac_bench.learner.learner_config import LearnerConfig
        from nlac_bench.learner.model import Lora

        if self.lora_rank and options.get("ema"):
            raise ConfigError(
                f"train.lora_rank = {self.lora_rank}: this algorithm needs a moving average of all weights, "
                "which adapters do not support; train all weights (lora_rank = 0)"
            )
        return LearnerConfig(
            lr=self.lr,
            weight_decay=self.weight_decay,
            max_grad_norm=self.max_grad_norm,
            warmup_steps=self.warmup_steps,
            precision=self.chosen_precision,
            micro_rows=self.micro_rows,
            activation_checkpointing=self.activation_checkpointing,
            reference=self.needs_reference,
            deterministic=self.deterministic,
            lora=Lora(rank=self.lora_rank, alpha=2 * self.lora_rank) if self.lora_rank else None,
            seed=seed,
            **options,
        )

    @classmethod
    def from_mapping(cls, values: Mapping[str, object], source: str = "train.") -> Self:
        """Create the settings from ``values``; texts, such as from a command line, are converted to numbers.

        Raises:
            ConfigError: a setting is unknown or invalid; the message names it.
        """
        for name in values:
            if name not in cls.model_fields:
                known = ", ".join(sorted(cls.model_fields))
                raise ConfigError(f"unknown training setting {name!r}; the settings are {known}")
        return cls.from_texts(values, source)
