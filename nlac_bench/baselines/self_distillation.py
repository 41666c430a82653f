"""Self-Distillation, an ablation of NLAC: no critic is learned; the evaluator reads what really happened."""

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.types import Episode


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
