"""Settings of the baselines; torch is not imported, so that help texts and dry runs need none."""

from typing import Literal, Self

from pydantic import Field, model_validator

from nlac_bench.agents.nlac.config import NlacConfig, refuse_shuffling
from nlac_bench.errors import ConfigError
from nlac_bench.train.config import TrainConfig


class RftConfig(TrainConfig):
    """RFT has no settings of its own: the share of accepted episodes is the algorithm's whole behaviour.

    Episodes are sampled on line, with one improve step for each grow step (ReST, Gulcehre et al. 2023); Yuan
    et al. 2023 sample 100 answers of each task from one model and train three epochs on those that are right.
    """


class PpoConfig(TrainConfig):
    """Defaults for PPO on language models.

    ε and c1 are those of Schulman et al. 2017 (table 1: ε = 0.2; table 5: c1 = 1, which they use where policy
    and value share weights, as here). Their λ = 0.95 and γ = 0.99 are for dense rewards: over an answer of
    140 tokens that earns its reward at the end, 0.95 leaves the first token a thousandth of it. Both are 1,
    as language-model trainers have them (Ouyang et al. 2022: γ; Yuan et al. 2025, arXiv 2503.01491: λ). The
    clipped value is that of PPO's reference code.
    """

    gamma: float = Field(1.0, ge=0, le=1, description="discount, by the token")
    gae_lambda: float = Field(1.0, ge=0, le=1, description="lambda of generalized advantage estimation")
    clip_ratio: float = Field(0.2, gt=0, description="bound of the probability ratio (epsilon)")
    value_clip: float = Field(0.2, gt=0, description="bound of the value around its old figure")
    value_coef: float = Field(1.0, ge=0, description="weight of the value loss (c1)")
    entropy_coef: float = Field(0.0, ge=0, description="weight of the entropy bonus (c2)")
    num_epochs: int = Field(2, ge=1, description="passes over an iteration's turns")

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_tempering(self)
        return self


class GrpoConfig(TrainConfig):
    """Defaults of Shao et al. 2024 (section 4.2), but for the group: 64 there, 8 in most public trainers.

    A group is never split: an iteration's batch holds ``train_batch_size / rollouts_per_task`` tasks.
    """

    rollouts_per_task: int = Field(8, ge=1, description="episodes of a group, at least 2")
    clip_ratio: float = Field(0.2, gt=0, description="bound of the probability ratio (epsilon)")
    kl_coef: float = Field(0.04, ge=0, description="weight of KL(policy || first policy)")
    num_epochs: int = Field(1, ge=1, description="passes over an iteration's turns (the paper: 1)")
    scale_by_std: bool = Field(
        True, description="divide advantages by the group's standard deviation (Liu et al. 2025 do not)"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rollouts_per_task < 2:
            raise ConfigError(
                f"train.rollouts_per_task must be at least 2 for grpo, got {self.rollouts_per_task}: "
                "a group of one compares nothing"
            )
        refuse_tempering(self)
        return self


class SacConfig(NlacConfig):
    """NLAC's settings, of which ``critic_coef`` weighs the Q loss and ``num_refinement_steps`` is m."""

    gamma: float = Field(0.99, ge=0, le=1, description="discount, by the turn (the paper: 0.99)")
    alpha: float = Field(
        0.0, ge=0, description="entropy temperature; 0, as an action's log-probability grows with its length"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_shuffling(self)
        return self


class NlrlConfig(NlacConfig):
    """NLAC's settings, of which those of backup, evaluator and refiner have no meaning here.

    The paper's figures (512 games an iteration, at most 5 trajectories a sum, 10 candidates at temperature
    0.7, two epochs, an aggregator of 70 billion parameters beside learners of 8) are scaled down; one model
    plays all roles.
    """

    num_futures: int = Field(4, ge=1, description="on-policy continuations of each (s, a) in its value (K)")
    num_candidates: int = Field(4, ge=1, description="actions that are valued and chosen from (N)")
    transitions_per_iteration: int = Field(
        32, ge=1, description="(s, a) that are valued; every continuation costs environment steps"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_shuffling(self)
        return self


class NlqlConfig(NlacConfig):
    """NLAC's settings, of which ``num_refinement_steps`` has no meaning here."""

    num_candidates: int = Field(4, ge=1, description="actions of the policy that the critic compares (N)")

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_shuffling(self)
        if self.refine_source == "replayed":
            raise ConfigError(
                "train.refine_source = replayed: all candidates would be the played action; leave it at fresh"
            )
        return self


class SelfDistillationConfig(NlacConfig):
    """NLAC's settings without L1; only replayed actions have a real future."""

    critic_coef: float = Field(0.0, ge=0, description="weight of L1; 0 trains no successor model")
    refine_source: Literal["fresh", "replayed"] = Field(
        "replayed", description="must be replayed: only played actions have a real future"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.refine_source == "fresh":
            raise ConfigError(
                "train.refine_source = fresh: the real future is that of the played action, and a fresh one "
                "would be judged by it; leave it at replayed"
            )
        if self.num_refinement_steps > 1:
            raise ConfigError(
                f"train.num_refinement_steps = {self.num_refinement_steps}: the real future is that of the "
                "played action, and a refined one would be judged by it; take 1 (or 0)"
            )
        return self


def refuse_tempering(config: TrainConfig) -> None:
    """Refuse a temperature other than 1 for methods that compare the policy with the one that played.

    Raises:
        ConfigError: episodes would be drawn from another distribution than the one that is trained.
    """
    if config.temperature != 1:
        raise ConfigError(
            f"train.temperature = {config.temperature:g}: ratios and gradients are those of the policy at "
            "temperature 1, with which it must play; leave it at 1"
        )
