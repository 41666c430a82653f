"""NLQL, an ablation of NLAC: the best of N candidates by the language critic, instead of a refinement."""

from collections.abc import Sequence
from dataclasses import replace

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.baselines.config import NlqlConfig


class NLQL(NLAC):
    """NLAC whose improvement is a choice: nothing is distilled that the policy did not propose itself."""

    config: NlqlConfig

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """a₁…a_N ~ π(· | s); a^r is the best by ``worth``, of equals the first."""
        await self.each(lessons, self.back_up, self.choose)

    async def choose(self, lesson: Lesson) -> None:
        """Criticise every candidate; the lesson keeps the best one's action and critique."""
        candidates = [replace(lesson) for _ in range(self.config.num_candidates)]
        for candidate in candidates:
            await self.propose(candidate)
            await self.criticise(candidate)
        read = [c for c in candidates if c.proposed is not None and c.critique is not None]
        if not read:
            return
        best = max(read, key=self.worth)  # max takes the first of equals
        lesson.first = read[0].first
        lesson.proposed, lesson.critique, lesson.future = best.proposed, best.critique, best.future
        lesson.rounds = 1

    def worth(self, candidate: Lesson) -> tuple[bool, bool]:
        """Whether it is judged optimal; among those alike in this, whether it is said to end well."""
        optimal = candidate.critique is not None and candidate.critique.optimal
        return optimal, self.prompts.outcome(candidate.future or "") == "success"
