"""Dense rewards from a language critic (DRLC, also RELC; Cao et al. 2024, arXiv 2401.07382): PPO whose reward
has the verdicts of a critic that reads each part of an episode.

::

    v_t = +1 if the critic calls a_t optimal, −1 if it does not
    r_t = r_t(environment) + α₂ · (v_t − mean of v over the iteration)

The critic is the initial model, which stays frozen, as in the paper, where it may also be the policy's own
model. It has the prompts of NLAC's critic, but never learns from the environment, and only its yes or no is
used: the control for "is language needed?".

Deviations. A span is a turn, and its reward is at the turn's last token; the published code marks words, and
rewards each of their tokens. It leaves most words without a verdict; here each turn has one, so without the
mean, a critic that objects to most actions would make every further turn a cost. The critic reads futures
that it predicts, as NLAC's does; the paper's reads the reward of the whole answer instead.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import criticise, predicted, replayed, shuffle
from nlac_bench.baselines.control_config import DrlcConfig
from nlac_bench.baselines.on_policy import rewards_of
from nlac_bench.baselines.ppo import PPO
from nlac_bench.learner.outputs import Metrics
from nlac_bench.learner.source import LearnerSource
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


class DRLC(PPO):
    """PPO that also rewards each turn by the critic's verdict on its action."""

    config: DrlcConfig
    judged: dict[int, list[Lesson]]
    """The lessons about an episode's turns, by the episode's ``id``."""

    def __init__(self, resources: Resources[Any]) -> None:
        super().__init__(replace(resources, slots=("policy",)))
        if self.config.samples_initial:  # once, before a checkpoint is loaded
            resources.engine.sync(LearnerSource(self.learner), 0, "target")

    async def prepare(self, episodes: Sequence[Episode]) -> None:
        """Ask the critic about the action of each turn; a critique that cannot be parsed is no reward."""
        c, self.judged = self.config, {id(e): [] for e in episodes}
        if c.verdict_coef == 0:
            return
        lessons: list[Lesson] = []
        for episode in episodes:
            for t in self.transitions(episode):
                lesson = Lesson(t, 1.0, self.speaking.speaker(self.version, len(lessons)))
                self.judged[id(episode)].append(lesson)
                lessons.append(lesson)
        futures = partial(predicted, k=c.num_nlq_samples, slot="target")
        await self.speaking.each(lessons, replayed, partial(criticise, futures=futures, slot="target"))
        if c.shuffle_critiques:  # neighbours are turns of one episode, so the order is drawn
            rng = np.random.default_rng(derive_seed(self.resources.seed, self.version, "shuffle"))
            shuffle([lessons[i] for i in rng.permutation(len(lessons))])

    def rewards(self, episode: Episode) -> list[float]:
        """Return r_t of each turn; a turn that did not fit into the context was not played or judged."""
        mean = self.mean_verdict or 0.0
        values = (mean if v is None else v for v in map(verdict, self.judged[id(episode)]))
        extra = (self.config.verdict_coef * (v - mean) for v in values)
        earned = zip(rewards_of(episode), episode.turns, strict=True)
        return [r + (next(extra, 0.0) if turn.played else 0.0) for r, turn in earned]

    @property
    def mean_verdict(self) -> float | None:
        """The mean verdict of the iteration, which is also that of a critique that cannot be parsed; None
        without any verdict."""
        verdicts = [v for lessons in self.judged.values() for x in lessons if (v := verdict(x)) is not None]
        return float(np.mean(verdicts)) if verdicts else None

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take PPO's steps; ``share_optimal`` is the share of the judged actions that are optimal."""
        metrics = super().learn(episodes, max_steps)
        mean = self.mean_verdict
        return metrics if mean is None else metrics | {"share_optimal": (1 + mean) / 2}


def verdict(lesson: Lesson) -> float | None:
    """Return +1 or −1, or None if the critique cannot be parsed."""
    return None if lesson.critique is None else 1.0 if lesson.critique.optimal else -1.0
