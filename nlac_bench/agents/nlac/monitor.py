"""Measures a language critic on real episodes, without training, and stores its texts."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.config import PlayedReadConfig, ReadConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.records import Continued, CritiqueRecord, ProbeRecord
from nlac_bench.agents.nlac.replay_trainer import ReplayTrainer
from nlac_bench.agents.roles.auc import auc
from nlac_bench.agents.roles.role_prompts import Outcome
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within
from nlac_bench.types import Episode

C = TypeVar("C", bound=ReadConfig)


class Monitored(ReplayTrainer[C, Lesson]):
    """A ``ReplayTrainer`` with a language critic; it implements ``ReadsStates``."""

    predicts = True
    """Whether the futures that ``read`` finds are predictions, whose accuracy can be measured."""

    def __init__(self, resources: Resources[C], speaker_type: type[Speaker] = Speaker) -> None:
        super().__init__(resources, Lesson, speaker_type)

    @abstractmethod
    async def read(self, lesson: Lesson) -> None:
        """Sample the critic's texts about the played action, and a refined action if the method has them."""

    # --- what is measured -----------------------------------------------------------------------

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Measure the critic's accuracy on ``episodes`` (offline: on D), without training.

        They may have been learned from. Those that were cut are left out, because their outcome is unknown.
        With ``deep``, also measure whether refined actions succeed more often than the played ones.
        """
        pool = of_ended([t for e in episodes for t in self.transitions(e)] or self.replay.items)
        seed = self.resources.seed, self.replay.iteration
        chosen = np.random.default_rng(derive_seed(*seed, "probes")).permutation(len(pool))
        states = [pool[i] for i in chosen[: self.config.probes]]
        lessons = await self.read_all(states, self.replay.iteration, "probe")
        metrics = self.accuracy(lessons)
        if deep and isinstance(self.config, PlayedReadConfig):
            metrics |= await self.refinement(lessons)
        return metrics | await super().probe(episodes, deep)

    async def read_all(self, states: Sequence[Transition], *key: object) -> list[Lesson]:
        """Let the critic read ``states``, with the random numbers of ``key``; the answers are not counted."""
        lessons = [Lesson(t, 1.0, self.speaking.speaker(*key, n)) for n, t in enumerate(states)]
        await self.speaking.each(lessons, self.read)
        self.speaking.counts.clear()
        return lessons

    def accuracy(self, lessons: Sequence[Lesson]) -> Metrics:
        """Return the accuracy of predicted outcomes, and AUCs of predictions and verdicts for the outcome.

        The area under the ROC curve (AUC) is that of P("success") or P("yes") if the answer is a choice, else
        that of the word; 0.5 is chance. The verdict is about one action and the outcome about a whole
        episode, so an AUC of 1 cannot be expected.
        """
        metrics: Metrics = {"probes": float(len(lessons))}
        read = [x for x in lessons if self.predicts and self.outcome(x) is not None]
        judged = [x for x in lessons if x.critique is not None]
        if read:
            right = [(self.outcome(x) == "success") == bool(x.transition.success) for x in read]
            metrics["successor_accuracy"] = float(np.mean(right))
        for name, scored, score in (
            ("successor_auc", read, self.predicted_success),
            ("evaluator_auc", judged, lambda x: x.critique.score),
        ):
            area = auc([score(x) for x in scored], [bool(x.transition.success) for x in scored])
            if area is not None:
                metrics[name] = area
        return metrics

    async def refinement(self, lessons: Sequence[Lesson]) -> Metrics:
        """Return success rates of the policy after the played action and after the refined action."""
        reached = (await self.continued(lessons)).values()
        metrics: Metrics = {"refined_probes": float(len(reached))}
        if reached:
            successes = [(played.success, better.success) for played, better in reached]
            metrics["played_success"], metrics["refined_success"] = np.mean(successes, axis=0).tolist()
        return metrics

    async def continued(
        self, lessons: Sequence[Lesson], most: int | None = None
    ) -> dict[int, tuple[Continued, Continued]]:
        """Continue the played and the refined action of each lesson where they differ, in forks.

        Args:
            most: number of such lessons, the first ones; by default all.

        Returns:
            Both continuations by the lesson's number, without those whose state could not be reached.
        """
        few = [n for n, x in enumerate(lessons) if x.refined not in (None, x.transition.action)][:most]
        pairs = await asyncio.gather(*(self.both(lessons[n]) for n in few))
        return {n: pair for n, pair in zip(few, pairs, strict=True) if pair is not None}

    async def both(self, lesson: Lesson) -> tuple[Continued, Continued] | None:
        """Reach the state by playing the episode's actions again, and continue both actions from there."""
        t = lesson.transition

        async def one(fork: TextEnv, action: str) -> Continued:
            playout = await self.resources.play_on(fork, t, action, derive_seed(t.seed, t.step))
            observations = playout.observations
            return Continued(success=playout.success, turns=len(observations), answered=observations[0])

        with within(Conversation()):
            env = await self.resources.reached(t)
            if env is None:
                return None
            return await asyncio.gather(one(env.fork(), t.action), one(env.fork(), str(lesson.refined)))

    # --- what is stored -------------------------------------------------------------------------

    def keep(self, lessons: Sequence[Lesson]) -> None:
        """Store the texts of at most ``kept_critiques`` lessons, in order.

        Lessons without a text of the critic are left out. The draw has a random generator of its own.
        """
        seed = derive_seed(self.resources.seed, self.replay.iteration, "critiques")
        written = [(number, x) for number, x in enumerate(lessons) if x.target or x.future or x.critique]
        drawn = np.random.default_rng(seed).permutation(len(written))[: self.config.kept_critiques]
        self.resources.keep_critiques([
            CritiqueRecord(
                **self.texts(lesson, self.replay.iteration + 1),
                lesson=number,
                played_weight_version=lesson.transition.weight_version,
                target=lesson.target,
                proposed=lesson.first,
            )
            for number, lesson in (written[i] for i in sorted(drawn.tolist()))
        ])  # fmt: skip

    @property
    def probe_states(self) -> int:
        """The number of states of the fixed probe set."""
        return self.config.probe_states

    async def read_states(self, states: Sequence[Transition], iteration: int) -> list[ProbeRecord]:
        """Return the critic's texts about the fixed probe set; see ``ReadsStates``.

        The first ``probe_playouts`` states whose refined action differs from the played one are continued
        with both, in forks. The random numbers of a state are the same in all iterations, so that the same
        weights write the same texts.
        """
        lessons = await self.read_all(states, "probe set")
        most = self.config.probe_playouts if isinstance(self.config, PlayedReadConfig) else 0
        pairs = await self.continued(lessons, most)
        return [
            ProbeRecord(**self.texts(lesson, iteration), state=n, played_on=played, refined_on=better)
            for n, lesson in enumerate(lessons)
            for played, better in [pairs.get(n, (None, None))]
        ]

    def texts(self, lesson: Lesson, iteration: int) -> dict[str, Any]:
        """Return the fields of ``Reading``."""
        t, critique = lesson.transition, lesson.critique
        return {
            "iteration": iteration, "weight_version": self.version,
            "task": t.task_id, "trial": t.trial, "seed": t.seed, "step": t.step,
            "heard": t.state.observation, "played": t.action, "answered": t.answered, "success": t.success,
            "future": lesson.future, "predicted": self.outcome(lesson),
            "critique": critique and critique.text, "optimal": critique and critique.optimal,
            "success_probability": lesson.success_probability,
            "optimal_probability": critique and critique.probability,
            "refined": lesson.refined,
        }  # fmt: skip

    def outcome(self, lesson: Lesson) -> Outcome | None:
        """Return the outcome that the future of ``lesson`` names; None without one."""
        return None if lesson.future is None else self.speaking.prompts.outcome(lesson.future)

    def predicted_success(self, lesson: Lesson) -> float:
        """Return P("success") of the future of ``lesson``, or 1 or 0 for the outcome that it names."""
        chance = lesson.success_probability
        return float(self.outcome(lesson) == "success") if chance is None else chance


def of_ended(found: Sequence[Transition]) -> list[Transition]:
    """Return the transitions of the episodes whose last one, which terminated, is in ``found``."""
    ended = {(t.task_id, t.trial, t.seed) for t in found if t.terminated}
    return [t for t in found if (t.task_id, t.trial, t.seed) in ended]
