"""The base class of algorithms that learn lessons about the transitions of a buffer: NLAC, its ablations,
NLRL, SAC and plug-ins."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.config import AverageConfig, DrawConfig, LessonConfig, ReplayConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition, link
from nlac_bench.agents.trainer import Trainer
from nlac_bench.learner import share
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, mean_of_steps
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode

C = TypeVar("C", bound=LessonConfig)
L = TypeVar("L", bound=Lesson)


class ReplayTrainer(Trainer[C], Generic[C, L]):
    """A ``Trainer`` with a replay buffer D; a subclass implements ``update`` with its parts.

    One iteration remembers the new episodes, draws transitions from D, asks the roles about them, takes
    gradient steps, and syncs the weights.

    Args:
        resources: the learner must have been made with ``ema=True`` if θ̄ is used
            (``TrainConfig.needs_average``).
        lesson: makes the lesson about a drawn transition.
    """

    def __init__(
        self, resources: Resources[C], lesson: Callable[..., L], speaker_type: type[Speaker] = Speaker
    ) -> None:
        super().__init__(resources, speaker_type)
        c = resources.config
        priorities = (c.priority_alpha, c.priority_beta) if isinstance(c, ReplayConfig) else (0.0, 1.0)
        self.replay = Replay(c.replay_capacity, *priorities, derive_seed(resources.seed, "replay"))
        self._lesson = lesson

    def fits(self, transition: Transition) -> bool:
        """Return whether the prompt of a loss is short enough to be trained on."""
        return self.encoder.fits(transition)

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Append the transitions of ``episodes``, of any policy, to D; return their number.

        Transitions that can never be learned from are counted as too long and left out.
        """
        new: list[Transition] = []
        for episode in episodes:
            played = self.transitions(episode)
            kept = [t for t in played if self.fits(t)]
            self.encoder.too_long += len(played) - len(kept)
            link(kept)  # as after a resume
            new += kept
        self.replay.add(new)
        return len(new)

    def draw(self, new: int | None, max_steps: int | None) -> list[L]:
        """Draw ``replay_ratio`` transitions from D for each new one, by priority.

        Args:
            new: number of transitions that this iteration added; None if no episodes were played.
            max_steps: largest number of gradient steps.
        """
        assert isinstance(self.config, DrawConfig)
        if new == 0:  # nothing of the new episodes can be learned from
            return []
        wanted = round(self.config.replay_ratio * (new or self.config.train_batch_size))
        count = wanted if max_steps is None else min(wanted, max_steps * self.config.mini_batch_size)
        return self.lessons(*self.replay.draw(max(1, count), self.resources.done()))

    def lessons(self, indices: ArrayLike, weights: ArrayLike | None = None) -> list[L]:
        """Return the lessons about the transitions with ``indices`` in D; ``weights`` are 1 by default."""
        numbers = np.asarray(indices, np.int64).tolist()
        given = np.ones(len(numbers)) if weights is None else np.asarray(weights)
        return [
            self._lesson(self.replay.items[i], w, self.speaking.speaker(self.replay.iteration, n), index=i)
            for n, (i, w) in enumerate(zip(numbers, given.tolist(), strict=True))
        ]

    async def asked(self, lessons: list[L], ask: Callable[[Sequence[L]], Awaitable[None]]) -> list[L]:
        """Call ``ask``, which samples what lessons need, with as many of them as the budget allows.

        Returns:
            The lessons for which it did.
        """
        count = await self.resources.in_parts(lessons, self.config.mini_batch_size, ask)
        for lesson in lessons[:count]:
            lesson.keep()
        return lessons[:count]

    def steps(self, lessons: Sequence[L], step: Callable[[Sequence[L]], Metrics | None]) -> Metrics:
        """Call ``step``, which takes a gradient step, for each mini-batch; return the mean metrics."""
        size = self.config.mini_batch_size
        taken = [step(lessons[start : start + size]) for start in range(0, len(lessons), size)]
        return mean_of_steps([m for m in taken if m is not None]) | self.too_long()

    def descend(
        self, sequences: Sequence[TokenSequence], loss: LossFn, sums_N: Tensor | None = None
    ) -> Metrics | None:
        """Take a gradient step of θ, then update θ̄ if there is one; None without sequences.

        Args:
            sums_N: zeros, to which ``loss`` adds; see ``Learner.forward_backward``.
        """
        if not sequences:
            return None
        self.learned = [s for s in sequences if s.loss == "policy"]
        batch = share.packed(sequences, self.config.row_tokens)
        metrics = self.learner.forward_backward(batch, loss, sums_N) | self.learner.optim_step()
        if self.learner.ema is not None:
            assert isinstance(self.config, AverageConfig)
            self.learner.ema_update(self.config.ema_tau)
        return metrics

    def ended(self, lessons: Sequence[L]) -> Metrics:
        """End the iteration: store some raw answers; return the age and size of D, and the shares of
        unparseable answers."""
        indices = [lesson.index for lesson in lessons]
        metrics = {"buffer_age": self.replay.mean_age(indices), "buffer_size": len(self.replay)}
        self.replay.iteration += 1
        self.resources.keep_answers(self.speaking.counts.taken(self.replay.iteration))
        return metrics | self.speaking.shares()

    def save(self, folder: Path) -> dict[str, object]:
        """Write D into ``folder``; return the version of the weights."""
        self.replay.save(folder / "replay.jsonl.gz")
        return super().save(folder)

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore the state that ``save`` wrote, and copy the learner's weights to the engine."""
        self.replay.load(folder / "replay.jsonl.gz")
        super().load(folder, state)
