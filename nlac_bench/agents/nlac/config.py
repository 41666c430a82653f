"""The settings of methods that learn from a buffer, in parts; a method has the parts that it uses.

They have the authors' names where the authors' code has the setting. This file does not import torch, which
keeps help and dry runs fast.
"""

from typing import ClassVar, Literal

from pydantic import Field

from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.transition_cost import TransitionCost


class LessonConfig(TrainConfig):
    """Settings of every method that learns lessons about the transitions of a buffer."""

    critic_coef: float = Field(1.0, ge=0, description="weight of the critic's loss (of L1 or of Q)")
    policy_coef: float = Field(1.0, ge=0, description="weight of the policy's loss (lambda)")
    replay_capacity: int = Field(100_000, ge=1, description="transitions kept in the replay buffer")


class DrawConfig(LessonConfig):
    """The setting of methods that draw transitions from the buffer."""

    replay_ratio: float = Field(
        1.0,
        gt=0,
        description="number of transitions to learn from for each new transition (offline: per iteration, "
        "times train_batch_size)",
    )


class ReplayConfig(DrawConfig):
    """Settings of prioritised replay (Schaul et al. 2016)."""

    priority_alpha: float = Field(0.6, ge=0, description="exponent of prioritised replay; 0 draws uniformly")
    priority_beta: float = Field(
        0.4,
        ge=0,
        le=1,
        description="exponent of importance weights at the beginning; it grows linearly to 1, which fully "
        "corrects the bias of priorities, at the end of the budget",
    )


class AverageConfig(LessonConfig):
    """The setting of methods that keep a moving average of the weights."""

    ema_tau: float = Field(
        0.01, gt=0, le=1, description="share of the policy's weights in each update of the moving average"
    )


class BackupConfig(AverageConfig):
    """Settings of language Bellman backups, which L1 trains the successor model on."""

    backup_by: Literal["target", "successor"] = Field(
        "target",
        description="what the averaged weights sample of a backup target: target (the next action, its "
        "future and the target's text) or successor (the future only)",
    )

    @property
    def backs_up(self) -> bool:
        """Whether backup targets are sampled."""
        return self.critic_coef > 0

    @property
    def needs_average(self) -> bool:
        """Whether the moving average is used: only backups sample from it."""
        return self.backs_up


class ImprovementConfig(TrainConfig):
    """The sampling temperature of the roles that improve actions."""

    improvement_temperature: float = Field(
        1.0, ge=0, description="sampling temperature of evaluator, refiner and picker"
    )


class FuturesConfig(TrainConfig):
    """The setting of methods whose evaluator reads futures that the successor model predicts."""

    num_nlq_samples: int = Field(1, ge=1, description="futures per action that the evaluator reads (k)")


class ShuffleConfig(TrainConfig):
    """The control experiment of methods that learn from critiques."""

    shuffle_critiques: bool = Field(
        False, description="give each action another action's critique (control experiment)"
    )


class RefinementConfig(ImprovementConfig, ShuffleConfig, BackupConfig):
    """Settings of the refinement of actions by critiques."""

    num_refinement_steps: int = Field(
        1, ge=0, description="rounds of critique and refinement (m); 0 distils the policy's own actions"
    )


class ReadConfig(LessonConfig):
    """Settings of what is measured on a language critic's texts, and of the texts that a run stores."""

    ONLY_STORED: ClassVar[frozenset[str]] = frozenset({"kept_critiques", "probe_states", "probe_playouts"})

    probes: int = Field(
        16,
        ge=0,
        description="transitions per iteration on which critic and refiner are measured; their tokens are "
        "counted separately",
    )
    kept_critiques: int = Field(
        256,
        ge=0,
        description="lessons per iteration whose texts critiques.jsonl keeps, drawn by seed from all",
    )
    probe_states: int = Field(
        16,
        ge=0,
        description="states of the fixed probe set, which the critic reads at each validation (probes.jsonl)",
    )


class PlayedReadConfig(ReadConfig):
    """``ReadConfig`` for critics whose refined actions are continued in forks."""

    probe_playouts: int = Field(
        4,
        ge=0,
        description="states of the fixed probe set from which each validation continues the refined and the "
        "played action",
    )


class LanguageCriticConfig(ImprovementConfig, FuturesConfig, ReplayConfig, BackupConfig, PlayedReadConfig):
    """Settings of methods that train a language critic by backups on replayed transitions."""

    @property
    def backs_up(self) -> bool:
        """Whether backup targets are sampled: for L1, or only for the priorities, which L1 determines.

        With ``critic_coef`` 0, transitions are then drawn as in a run that trains the critic.
        """
        return self.critic_coef > 0 or self.priority_alpha > 0


class NlacConfig(LanguageCriticConfig, RefinementConfig):  # type: ignore[misc]  # pydantic's model_construct
    """Settings of Algorithm 1 of arXiv 2512.04601."""

    refine_source: Literal["fresh", "replayed"] = Field(
        "fresh", description="the action that is refined: a new action of the policy, or the replayed one"
    )
    backup: Literal["bellman", "monte_carlo"] = Field(
        "bellman",
        description="the target of L1: bellman (a language Bellman backup) or monte_carlo (the real rest of "
        "the episode, whose policy may be old; truncated episodes have none)",
    )

    @property
    def needs_average(self) -> bool:
        """Whether the moving average is used: Monte-Carlo targets are not sampled from it."""
        return self.backs_up and self.backup == "bellman"

    def own_cost(self, turns: float) -> TransitionCost:
        """Return what the roles answer and what is learned; see ``TrainConfig.own_cost``."""
        bellman, played = float(self.needs_average), 1 / self.replay_ratio
        rounds, read = self.num_refinement_steps, self.num_nlq_samples
        return TransitionCost(
            played=played,
            answers={
                "policy": played + bellman + (self.refine_source == "fresh"),
                "successor": bellman + rounds * read,
                "backup": bellman,
                "evaluator": rounds,
                "refiner": rounds,
            },
            backward={"successor": float(self.backs_up), "policy": 1},
        )
