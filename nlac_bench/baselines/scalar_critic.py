"""The base class of methods with a replay buffer whose critics are scalar heads: SAC and ArCHer."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar

from nlac_bench.agents.nlac.config import DrawConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.replay_trainer import ReplayTrainer
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode

C = TypeVar("C", bound=DrawConfig)
L = TypeVar("L", bound=Lesson)


class ScalarCritic(ReplayTrainer[C, L]):
    """Learns from drawn transitions; a subclass samples actions in ``ask`` and learns in ``step``."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration: remember, draw, sample actions, learn, sync."""
        new = self.remember(episodes) if episodes else None
        lessons = await self.asked(self.draw(new, max_steps), self.ask)
        metrics = await self.resources.learn(lambda: self.steps(lessons, self.step))
        self.sync()
        return metrics | self.ended(lessons)

    def fits(self, transition: Transition) -> bool:
        """Return whether the policy's prompt, which all losses need, is short enough to be trained on."""
        return self.encoder.policy_fits(transition)

    @abstractmethod
    async def ask(self, lessons: Sequence[L]) -> None:
        """Sample the actions that ``step`` needs."""

    @abstractmethod
    def step(self, lessons: Sequence[L]) -> Metrics | None:
        """Take a gradient step; return None if there is nothing to learn from."""
