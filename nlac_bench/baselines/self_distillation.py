"""Self-Distillation, an ablation of NLAC: no critic is learned; the evaluator reads what really happened."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.errors import NlacBenchError
from nlac_bench.types import Episode


@dataclass(frozen=True, kw_only=True)
class SelfDistillationConfig(NlacConfig):
    """NLAC's settings with no L1; only replayed actions have a real future."""

    critic_coef: float = 0.0
    refine_source: Literal["fresh", "replayed"] = "replayed"

    def __post_init__(self) -> None:
        NlacConfig.__post_init__(self)
        if self.refine_source == "fresh":
            raise NlacBenchError(
                "train.refine_source = fresh: the real future is that of the played action, and a fresh one "
                "would be judged by it; leave it at replayed"
            )
        if self.num_refinement_steps > 1:
            raise NlacBenchError(
                f"train.num_refinement_steps = {self.num_refinement_steps}: the real future is that of the "
                "played action, and a refined one would be judged by it; take 1 (or 0)"
            )


class SelfDistillation(NLAC):
    """On policy: each new transition is judged by the real continuation of its episode, and refined."""

    def transitions(self, episode: Episode) -> list[Transition]:
        """Each transition with its real future, in the successor's words."""
        found = super().transitions(episode)
        heard = [turn.observation for turn in episode.turns]
        for t in found if episode.terminated else ():  # of a cut episode nobody knows the end
            t.notes["future"] = self.prompts.hindsight(heard[t.step :], bool(episode.success))
        return found

    def draw(self, new: int, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The newest transitions, in any order, each once."""
        newest = self.replay.newest(new or len(self.replay))[:most]
        return newest, np.ones(len(newest))

    async def futures(self, lesson: Lesson) -> list[str]:
        """The real one, instead of the successor's."""
        future = lesson.transition.notes.get("future")
        return [str(future)] if future else []
