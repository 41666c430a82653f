"""NLQL, an ablation of NLAC: the language critic chooses the best of N candidates instead of refining one."""

from collections.abc import Sequence
from dataclasses import replace

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.baselines.config import NlqlConfig


class NLQL(NLAC):
    """NLAC that distils the best of N actions that the policy has proposed."""

    config: NlqlConfig

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """Back up each lesson, sample a₁…a_N ~ π(· | s), and set a^r to the best by ``worth``."""
        await self.each(lessons, self.back_up, self.choose)

    async def choose(self, lesson: Lesson) -> None:
        """Criticise every candidate; the lesson keeps the action and critique of the best one."""
        candidates = [replace(lesson) for _ in range(self.config.num_candidates)]
        for candidate in candidates:
            await self.propose(candidate)
            await self.criticise(candidate)
        read = [c for c in candidates if c.proposed is not None and c.critique is not None]
        if not read:
            return
        best = max(read, key=self.worth)  # max returns the first of equal candidates
        lesson.first = read[0].first
        lesson.proposed, lesson.critique, lesson.future = best.proposed, best.critique, best.future
        lesson.rounds = 1

    def worth(self, candidate: Lesson) -> tuple[bool, bool]:
        """Return the sort key: whether the candidate is judged optimal, then whether it predicts success."""
        optimal = candidate.critique is not None and candidate.critique.optimal
        return optimal, self.prompts.outcome(candidate.future or "") == "success"
