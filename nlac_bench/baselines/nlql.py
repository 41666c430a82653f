"""NLQL, an ablation of NLAC: the language critic chooses the best of N candidates instead of refining one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.monitor import Monitored
from nlac_bench.agents.nlac.nlac import Futures, Step, back_up, criticise, fresh, iterate, predicted, read
from nlac_bench.baselines.control_config import NlqlConfig
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode


class NLQL(Monitored[NlqlConfig]):
    """Trains NLAC's critic, and distils the best of N actions that the policy has proposed."""

    def __init__(self, resources: Resources[NlqlConfig]) -> None:
        super().__init__(resources)
        self.futures: Futures = partial(predicted, k=self.config.num_nlq_samples)
        self.verdicts: list[bool] = []
        """Whether each candidate judged in this iteration was called optimal."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration: that of NLAC, with another choice of the action to distil.

        ``share_optimal`` is the share of all judged candidates, as NLAC's is of all judged actions.
        """
        self.verdicts.clear()
        metrics = await iterate(self, self.ask, episodes, max_steps)
        if self.verdicts:
            metrics["share_optimal"] = sum(self.verdicts) / len(self.verdicts)
        return metrics

    async def ask(self, lessons: Sequence[Lesson]) -> None:
        """Back up each lesson, sample a₁…a_N ~ π(· | s), and set a^r to the best by ``worth``."""
        steps: list[Step] = [self.choose]
        if self.config.backs_up:
            steps.insert(0, partial(back_up, prompts=self.speaking.prompts, by=self.config.backup_by))
        await self.speaking.each(lessons, *steps)

    async def choose(self, lesson: Lesson) -> None:
        """Criticise every candidate; the lesson keeps the action and critique of the best one."""
        candidates = [replace(lesson) for _ in range(self.config.num_candidates)]
        for candidate in candidates:
            await fresh(candidate)
            await criticise(candidate, self.futures)
        read = [c for c in candidates if c.proposed is not None and c.critique is not None]
        self.verdicts += [c.critique.optimal for c in read if c.critique is not None]
        if not read:
            return
        best = max(read, key=self.worth)  # max returns the first of equal candidates
        lesson.first = read[0].first
        lesson.proposed, lesson.critique, lesson.future = best.proposed, best.critique, best.future
        lesson.success_probability = best.success_probability
        lesson.rounds = 1

    def worth(self, candidate: Lesson) -> tuple[bool, bool]:
        """Return the sort key: whether the candidate is judged optimal, then whether it predicts success."""
        optimal = candidate.critique is not None and candidate.critique.optimal
        return optimal, self.outcome(candidate) == "success"

    async def read(self, lesson: Lesson) -> None:
        """Criticise and refine the played action, to measure the critic."""
        await read(lesson, self.futures)
