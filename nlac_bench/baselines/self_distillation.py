"""Self-Distillation, an ablation of NLAC without a learned critic: the evaluator reads the real future."""

from collections.abc import Sequence
from functools import partial

from nlac_bench.agents.nlac.lesson import (
    Lesson,
    end_of,
    note_real_futures,
    note_reasons,
    real_future,
    reasons_of,
)
from nlac_bench.agents.nlac.monitor import Monitored
from nlac_bench.agents.nlac.nlac import ask, read, replayed, shares_of, step
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.baselines.control_config import SelfDistillationConfig
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode


class SelfDistillation(Monitored[SelfDistillationConfig]):
    """Judges and refines each new transition by the real continuation of its episode."""

    predicts = False

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration: that of NLAC on the newest transitions, once each in random order."""
        new = self.remember(episodes) if episodes else len(self.replay)
        most = None if max_steps is None else max_steps * self.config.mini_batch_size
        lessons = await self.asked(self.lessons(self.replay.newest(new)[:most]), self.ask)
        self.keep(lessons)
        metrics = await self.resources.learn(lambda: self.steps(lessons, partial(step, self)))
        self.sync()
        return metrics | self.ended(lessons) | shares_of(lessons)

    async def ask(self, lessons: Sequence[Lesson]) -> None:
        """Criticise and refine the played actions, with their real futures."""
        await note_reasons(lessons, self.speaking, self.replay.iteration, "end")
        await ask(lessons, self.speaking, self.config, replayed, self.real_future)

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions with their real futures."""
        new = super().transitions(episode)
        note_real_futures(new, episode, self.speaking.prompts)
        return new

    async def read(self, lesson: Lesson) -> None:
        """Criticise and refine the played action with its real future, as in training.

        The reasons are those of the present weights, so that a resumed run reads the same.
        """
        end = end_of(lesson.transition)
        written = "" if end is None else await reasons_of(end, lesson.speaker, self.speaking.prompts)
        await read(lesson, partial(self.real_future, written=written))

    async def real_future(self, lesson: Lesson, written: str | None = None) -> list[str]:
        """Return the real future of the played action; empty if the episode was truncated."""
        future = real_future(lesson.transition, self.speaking.prompts, written)
        return [] if future is None else [future]
