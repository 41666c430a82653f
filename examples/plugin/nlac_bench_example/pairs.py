"""Preferences between episodes: a task's successes over its failures (DPO; Rafailov et al. 2023)."""

from collections.abc import Sequence
from itertools import product

from pydantic import Field
from torch import Tensor
from torch.nn.functional import logsigmoid

from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.baselines.totals import ObjectiveUnit, steps_on_totals
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode


class PairsConfig(TrainConfig):
    rollouts_per_task: int = Field(4, ge=2, description="episodes of each task, which are compared")
    beta: float = Field(0.1, gt=0, description="factor of the log-ratios to the initial policy")

    @property
    def needs_reference(self) -> bool:
        return True


class Pairs(OnPolicy[PairsConfig]):
    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Minimise −log σ(β (S⁺ − S⁻)), where S is an episode's log-ratio to the initial policy."""
        played = [
            (e, [s for s in turns if s is not None])
            for e, turns in zip(episodes, self.turns(episodes), strict=True)
        ]
        units = [
            ObjectiveUnit((won, lost), self.objective)
            for (one, won), (other, lost) in product(played, repeat=2)
            if one.task_id == other.task_id and one.success and not other.success and won and lost
        ]
        return steps_on_totals(self, units, max_steps, old="reference") | {"pairs": float(len(units))}

    def objective(self, totals_2: Tensor) -> Tensor:
        return -logsigmoid(self.config.beta * (totals_2[0] - totals_2[1]))
