"""The settings of the baselines. This file does not import torch, which keeps help and dry runs fast."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from nlac_bench.agents.nlac.config import (
    AverageConfig,
    DrawConfig,
    ImprovementConfig,
    LessonConfig,
    ReadConfig,
    ReplayConfig,
)
from nlac_bench.errors import ConfigError
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.transition_cost import TransitionCost
from nlac_bench.types import Episode

if TYPE_CHECKING:
    from nlac_bench.learner.learner_config import LearnerConfig


class RftConfig(TrainConfig):
    """Settings of RFT.

    Episodes are sampled online, with one improve step per grow step (ReST, Gulcehre et al. 2023). Yuan et al.
    2023 instead sample 100 answers per task from one model and train on the correct ones for three epochs,
    which ``--offline`` does with the episodes of another run.
    """

    distinct: bool = Field(
        True,
        description="learn equal successes of a task once in an iteration or offline pass, as the paper does",
    )

    def check_offline(self, episodes: Sequence[Episode]) -> None:
        """Raise an error if no episode succeeded."""
        if not any(episode.success for episode in episodes):
            raise ConfigError(
                f"--offline: none of the {len(episodes)} episodes succeeded, and only successful ones are "
                "imitated; use a run that has some"
            )


class HeadsConfig(TrainConfig):
    """The setting of methods with scalar heads."""

    head_lr: float | None = Field(
        None, gt=0, description="learning rate of the scalar heads; none: that of the model (lr)"
    )

    def learner(self, seed: int, **options: Any) -> "LearnerConfig":
        """See ``TrainConfig.learner``."""
        return super().learner(seed, head_lr=self.head_lr, **options)


class PpoConfig(HeadsConfig):
    """Settings of PPO, with defaults for language models.

    ε and c1 are those of Schulman et al. 2017 (table 1: ε = 0.2; table 5: c1 = 1, which they use if policy
    and value share weights, as here). Their λ = 0.95 and γ = 0.99 are for dense rewards: in an answer of 140
    tokens with a reward at the end, λ = 0.95 leaves a thousandth of it for the first token. Both are 1 here,
    as in language-model trainers (Ouyang et al. 2022: γ; Yuan et al. 2025, arXiv 2503.01491: λ). The clipped
    value loss is that of PPO's reference code.
    """

    ANY_TEMPERATURE = False

    gamma: float = Field(1.0, ge=0, le=1, description="discount per token")
    gae_lambda: float = Field(1.0, ge=0, le=1, description="lambda of generalized advantage estimation")
    clip_ratio: float = Field(0.2, gt=0, description="bound of the probability ratio (epsilon)")
    value_clip: float = Field(0.2, gt=0, description="bound of the value's change from its old value")
    value_coef: float = Field(1.0, ge=0, description="weight of the value loss (c1)")
    entropy_coef: float = Field(0.0, ge=0, description="weight of the entropy bonus (c2)")
    num_epochs: int = Field(2, ge=1, description="passes over an iteration's turns")

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what is learned: values and old log-probabilities, then ``num_epochs`` passes."""
        passes = self.num_epochs
        return TransitionCost(backward={"policy": passes}, forward={"policy": 2}, items=passes)


class GrpoConfig(TrainConfig):
    """Settings of GRPO, with the defaults of Shao et al. 2024 (section 4.2).

    The group size is 8, as in most public trainers, instead of 64. Groups are not split: an iteration's batch
    has ``train_batch_size / rollouts_per_task`` tasks.
    """

    ANY_TEMPERATURE = False

    mini_batch_size: int = Field(
        0, ge=0, description="turns per gradient step; 0: all of the iteration, one update as in the paper"
    )

    rollouts_per_task: int = Field(8, ge=2, description="episodes per group, whose returns are compared")
    clip_ratio: float = Field(0.2, gt=0, description="bound of the probability ratio (epsilon)")
    clip_ratio_high: float | None = Field(
        None, gt=0, description="upper bound of the ratio, if it is not clip_ratio (Yu et al. 2025, DAPO)"
    )
    loss_aggregation: Literal["episode", "token"] = Field(
        "episode",
        description="episode: mean over each episode's tokens, then over episodes, as in the paper; token: "
        "mean over all tokens",
    )
    kl_coef: float = Field(0.04, ge=0, description="weight of KL(policy || initial policy)")
    num_epochs: int = Field(1, ge=1, description="passes over an iteration's turns (the paper: 1)")
    scale_by_std: bool = Field(
        True, description="divide advantages by the group's standard deviation (Liu et al. 2025 do not)"
    )

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what is learned: old log-probabilities, then ``num_epochs`` passes."""
        passes = self.num_epochs
        return TransitionCost(backward={"policy": passes}, forward={"policy": 1}, items=passes)


class CandidatesConfig(LessonConfig):
    """Settings of methods that choose one of several actions of the policy."""

    num_candidates: int = Field(4, ge=1, description="actions of the policy that are compared (N)")


class WarmupConfig(HeadsConfig):
    """Settings of off-policy methods with scalar heads."""

    critic_warmup: int = Field(
        0, ge=0, description="gradient steps at the beginning that train the critic alone"
    )


class SacConfig(WarmupConfig, ReplayConfig, AverageConfig, CandidatesConfig):
    """Settings of SAC; ``critic_coef`` is the weight of the Q loss.

    A backup reaches one turn, and the moving average limits how fast backups follow each other. The rate is
    that of ArCHer's code (Zhou et al. 2024), which also trains turn-level critics of language models; with
    0.01, the average would have moved a third of the way after 40 gradient steps.
    """

    gamma: float = Field(0.99, ge=0, le=1, description="discount per turn (the paper: 0.99)")
    alpha: float = Field(
        0.0,
        ge=0,
        description="entropy temperature; 0 because an action's log-probability grows with its length",
    )
    actor: Literal["best", "softmax"] = Field(
        "best",
        description="what the policy learns of the candidates: the one with the highest Q, or all of them "
        "with the weights softmax(min Q / alpha)",
    )
    ema_tau: float = Field(
        0.1, gt=0, le=1, description="share of the policy's weights in each update of the moving average"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.actor == "softmax" and self.alpha == 0:
            raise ConfigError(
                "train.actor = softmax needs train.alpha above 0, because the weights are softmax(min Q / "
                "alpha); set alpha, or set actor to best, which is the limit for alpha = 0"
            )
        return self

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what is sampled, a′ and the candidates; all are valued without a gradient."""
        played, candidates = 1 / self.replay_ratio, self.num_candidates
        return TransitionCost(
            played=played,
            answers={"policy": played + 1 + candidates},
            backward={"policy": 1 + (candidates if self.actor == "softmax" else 1)},
            forward={"policy": 1 + candidates},
        )


class ArcherConfig(WarmupConfig, DrawConfig, AverageConfig):
    """Settings of ArCHer; ``critic_coef`` is the weight of the critic's loss. γ and τ are the authors'."""

    ANY_TEMPERATURE = False

    gamma: float = Field(0.95, ge=0, le=1, description="discount per turn")
    ema_tau: float = Field(
        0.1, gt=0, le=1, description="share of the policy's weights in each update of the moving average"
    )
    critic_steps: int = Field(
        0, ge=0, description="gradient steps of the critic alone before each one of critic and policy"
    )

    def own_cost(self, turns: float) -> TransitionCost:
        """Return the cost: a′ is sampled, (s, a′) and s′ are valued, for a step of the policy once more."""
        played, acts = 1 / self.replay_ratio, 1 / (1 + self.critic_steps)
        return TransitionCost(
            played=played,
            answers={"policy": played + 1},
            backward={"policy": 1 + acts},
            forward={"policy": 2 + acts},
        )


class PacsConfig(TrainConfig):
    """Settings of PACS, with the defaults of the authors' scripts: groups of 8, β = 1, four updates a batch.

    ``train_batch_size`` counts episodes, so that the default batch has four tasks.
    """

    ANY_TEMPERATURE = False

    mini_batch_size: int = Field(1, ge=0, description="tasks per gradient step; 0: all of the iteration")
    rollouts_per_task: int = Field(8, ge=2, description="episodes per group, which are compared")
    beta: float = Field(1.0, gt=0, description="factor of the log-ratio of an episode; the score is β · S")
    class_weights: bool = Field(
        True, description="weigh a group's successes as much as its failures, as the authors do"
    )

    def transitions_per_step(self, turns: float) -> float:
        """Return the number of transitions of a mini-batch of tasks."""
        episodes = self.mini_batch_size * self.rollouts_per_task or self.train_batch_size
        return min(episodes, self.train_batch_size) * max(1.0, turns)

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what is learned: old log-probabilities, and before all steps but the first the present
        ones."""
        tasks = self.train_batch_size // self.rollouts_per_task
        steps = math.ceil(tasks / (self.mini_batch_size or tasks))
        return TransitionCost(forward={"policy": 2 - 1 / steps})


class AgentPrmConfig(HeadsConfig):
    """Settings of AgentPRM; γ and β are the authors'."""

    gamma: float = Field(0.95, ge=0, le=1, description="discount per turn of the outcome, −1 or 1")
    beta: float = Field(0.03, gt=0, description="factor of the log-ratios in the preference loss")

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what is sampled, two actions, and learned; a pair's scores and log-ratios need three
        passes."""
        return TransitionCost(answers={"policy": 3}, backward={"policy": 3}, forward={"policy": 6}, items=2)


class NlrlConfig(CandidatesConfig, ImprovementConfig, ReadConfig):
    """Settings of NLRL.

    The paper's settings (512 games per iteration, at most 5 trajectories per aggregation, 10 candidates at
    temperature 0.7, two epochs, an aggregator of 70 billion parameters with learners of 8 billion) are scaled
    down, and one model plays all roles.
    """

    MEMORY: ClassVar[int] = 3
    """Number of newest iterations whose targets train the value role (the paper's buffer)."""

    num_futures: int = Field(
        4,
        ge=1,
        description="on-policy continuations per (s, a) for its value (K); one is the rest of its episode",
    )
    transitions_per_iteration: int = Field(
        32,
        ge=1,
        description="(s, a) per iteration with a value; continuations that are played cost environment steps",
    )

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what continuations, values and candidates cost; targets are learned ``MEMORY`` times."""
        played = max(1.0, self.train_batch_size * turns / self.transitions_per_iteration)
        more, before = self.num_futures - 1, (turns - 1) / 2
        return TransitionCost(
            played=played,
            further_steps=(before if more else 0) + more * (before + 1),
            answers={
                "policy": played + more * before + self.num_candidates,
                "aggregator": 1,
                "successor": self.num_candidates,
                "picker": 1,
            },
            backward={"successor": self.MEMORY, "policy": 1},
            items=self.MEMORY + 1,
        )
