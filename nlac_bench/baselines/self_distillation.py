"""Self-Distillation, an ablation of NLAC without a learned critic: the evaluator reads the real future."""

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.types import Episode


class SelfDistillation(NLAC):
    """Judges and refines each new transition by the real continuation of its episode."""

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions, with their real futures in the form of the successor's answers."""
        new = super().transitions(episode)
        answers = [turn.observation for turn in episode.turns]
        for t in new if episode.terminated else ():  # the outcome of a truncated episode is unknown
            t.notes["future"] = self.prompts.hindsight(
                answers[t.step :], bool(episode.success), episode.total_reward
            )
        return new

    def draw(self, new: int, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw the newest transitions once each, in random order."""
        newest = self.replay.newest(new or len(self.replay))[:most]
        return newest, np.ones(len(newest))

    async def futures(self, lesson: Lesson) -> list[str]:
        """Return the real future instead of the successor's."""
        future = lesson.transition.notes.get("future")
        return [str(future)] if future else []
