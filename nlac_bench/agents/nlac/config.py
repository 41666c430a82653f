"""NLAC's settings; they have the authors' names where the authors' code has the setting."""

from typing import ClassVar, Literal

from pydantic import Field

from nlac_bench.errors import ConfigError
from nlac_bench.learner.config import TrainConfig


class NlacConfig(TrainConfig):
    """Settings of Algorithm 1 of arXiv 2512.04601."""

    ONLY_STORED: ClassVar[frozenset[str]] = frozenset({"kept_critiques", "probe_states", "probe_playouts"})

    num_nlq_samples: int = Field(1, ge=1, description="futures per action that the evaluator reads (k)")
    num_refinement_steps: int = Field(
        1, ge=0, description="rounds of critique and refinement (m); 0 distils the policy's own actions"
    )
    refine_source: Literal["fresh", "replayed"] = Field(
        "fresh", description="the action that is refined: a new action of the policy, or the replayed one"
    )
    backup_by: Literal["target", "successor"] = Field(
        "target",
        description="what the averaged weights sample of a backup target: target (the next action, its "
        "future and the target's text) or successor (the future only)",
    )
    critic_coef: float = Field(
        1.0, ge=0, description="weight of L1; 0 does not train the successor model (control experiment)"
    )
    policy_coef: float = Field(1.0, ge=0, description="weight of L2 (lambda)")
    ema_tau: float = Field(
        0.01, gt=0, le=1, description="share of the policy's weights in each update of the moving average"
    )
    replay_ratio: float = Field(
        1.0,
        gt=0,
        description="number of transitions to learn from for each new transition (offline: per iteration, "
        "times train_batch_size)",
    )
    replay_capacity: int = Field(100_000, ge=1, description="transitions kept in the replay buffer")
    priority_alpha: float = Field(0.6, ge=0, description="exponent of prioritised replay; 0 draws uniformly")
    priority_beta: float = Field(
        0.4,
        ge=0,
        le=1,
        description="exponent of importance weights at the beginning; it grows linearly to 1, which fully "
        "corrects the bias of priorities, at the end of the budget",
    )
    improvement_temperature: float = Field(
        1.0, ge=0, description="sampling temperature of evaluator, refiner and picker"
    )
    shuffle_critiques: bool = Field(
        False, description="refine each action with another action's critique (control experiment)"
    )
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
    probe_playouts: int = Field(
        4,
        ge=0,
        description="states of the fixed probe set from which each validation continues the refined and the "
        "played action",
    )

    @property
    def backs_up(self) -> bool:
        """Whether backup targets are sampled: for L1, or only for the priorities, which L1 determines.

        With ``critic_coef`` 0, transitions are then drawn as in a run that trains the critic.
        """
        return self.critic_coef > 0 or self.priority_alpha > 0

    @property
    def needs_average(self) -> bool:
        """Whether the moving average is used: only backups sample from it."""
        return self.backs_up


def refuse_shuffling(config: NlacConfig) -> None:
    """Reject ``shuffle_critiques`` for a method that does not refine actions with critiques.

    Raises:
        ConfigError: ``shuffle_critiques`` is set.
    """
    if config.shuffle_critiques:
        raise ConfigError(
            "train.shuffle_critiques = true: this method does not refine actions with critiques; remove the "
            "setting, or use nlac or self_distillation"
        )
