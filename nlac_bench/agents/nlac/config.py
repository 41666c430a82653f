"""NLAC's knobs, under the authors' names where they have one."""

from dataclasses import dataclass
from typing import Literal

from nlac_bench.errors import NlacBenchError
from nlac_bench.train.config import TrainConfig


@dataclass(frozen=True, kw_only=True)
class NlacConfig(TrainConfig):
    """Algorithm 1 of arXiv 2512.04601.

    Args:
        num_nlq_samples: futures that the evaluator reads of each action (k).
        num_refinement_steps: rounds of critique and refinement (m); 0 distils the policy's own actions.
        refine_source: what is criticised and refined: a ``fresh`` action of the policy, or the ``replayed``.
        critic_coef: weight of L1; 0 never trains the successor model (a control).
        policy_coef: weight of L2 (λ).
        ema_tau: how far the target follows the policy at each gradient step.
        replay_ratio: transitions drawn for each new one; offline, for each of ``train_batch_size``.
        replay_capacity: transitions kept.
        priority_alpha, priority_beta: of prioritised replay.
        improvement_temperature: of evaluator, refiner and picker.
        shuffle_critiques: give each action another one's critique (a control).
        probes: transitions an iteration on which critic and refiner are measured; costs tokens, which are
            booked apart.
    """

    num_nlq_samples: int = 1
    num_refinement_steps: int = 1
    refine_source: Literal["fresh", "replayed"] = "fresh"
    critic_coef: float = 1.0
    policy_coef: float = 1.0
    ema_tau: float = 0.01
    replay_ratio: float = 1.0
    replay_capacity: int = 100_000
    priority_alpha: float = 0.6
    priority_beta: float = 0.4
    improvement_temperature: float = 1.0
    shuffle_critiques: bool = False
    probes: int = 16

    def __post_init__(self) -> None:
        TrainConfig.__post_init__(self)
        self.check(("num_nlq_samples", "replay_capacity"), least=1)
        self.check(
            ("num_refinement_steps", "critic_coef", "policy_coef", "priority_alpha",
             "improvement_temperature", "probes"),
            least=0,
        )  # fmt: skip
        self.check(("replay_ratio",), above=0)
        self.check(("ema_tau",), above=0, most=1)
        self.check(("priority_beta",), least=0, most=1)


def refuse_shuffling(config: NlacConfig) -> None:
    """For methods in which no critique refines an action.

    Raises:
        NlacBenchError: the control is asked for.
    """
    if config.shuffle_critiques:
        raise NlacBenchError(
            "train.shuffle_critiques = true is a control of nlac and self_distillation; this method gives no "
            "critique to a refiner that could be shuffled"
        )
