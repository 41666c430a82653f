"""NLAC's settings, under the authors' names where they have one."""

from typing import Literal

from pydantic import Field

from nlac_bench.errors import ConfigError
from nlac_bench.train.config import TrainConfig


class NlacConfig(TrainConfig):
    """Settings of Algorithm 1 of arXiv 2512.04601."""

    num_nlq_samples: int = Field(1, ge=1, description="futures that the evaluator reads of each action (k)")
    num_refinement_steps: int = Field(
        1, ge=0, description="rounds of critique and refinement (m); 0 distils the policy's own actions"
    )
    refine_source: Literal["fresh", "replayed"] = Field(
        "fresh", description="what is criticised and refined: a new action of the policy, or the replayed one"
    )
    critic_coef: float = Field(
        1.0, ge=0, description="weight of L1; 0 never trains the successor model (a control)"
    )
    policy_coef: float = Field(1.0, ge=0, description="weight of L2 (lambda)")
    ema_tau: float = Field(
        0.01, gt=0, le=1, description="how far the target follows the policy at each gradient step"
    )
    replay_ratio: float = Field(
        1.0,
        gt=0,
        description="transitions learned from for each new one; offline, for each of train_batch_size",
    )
    replay_capacity: int = Field(100_000, ge=1, description="transitions kept in the replay buffer")
    priority_alpha: float = Field(0.6, ge=0, description="exponent of prioritised replay; 0 draws uniformly")
    priority_beta: float = Field(
        0.4, ge=0, le=1, description="importance weights of prioritised replay; 1 corrects its bias fully"
    )
    improvement_temperature: float = Field(1.0, ge=0, description="of evaluator, refiner and picker")
    shuffle_critiques: bool = Field(
        False, description="give each action another action's critique (a control)"
    )
    probes: int = Field(
        16,
        ge=0,
        description="transitions an iteration on which critic and refiner are measured; their tokens are "
        "counted apart",
    )


def refuse_shuffling(config: NlacConfig) -> None:
    """Refuse ``shuffle_critiques`` for a method in which no critique refines an action.

    Raises:
        ConfigError: it is set.
    """
    if config.shuffle_critiques:
        raise ConfigError(
            "train.shuffle_critiques = true is a control of nlac and self_distillation; this method gives no "
            "critique to a refiner that could be shuffled"
        )
