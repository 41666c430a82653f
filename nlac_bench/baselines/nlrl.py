"""Natural language reinforcement learning (NLRL; Feng et al. 2025): values in words, from Monte Carlo
futures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.speaker import Speaker, decoded, whole
from nlac_bench.agents.roles.transition import State
from nlac_bench.baselines.config import NlrlConfig
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.train.outputs import Metrics
from nlac_bench.types import Episode

MEMORY = 3
"""Iterations that the value role is trained on (the paper's buffer)."""


class NlrlSpeaker(Speaker):
    """The roles that NLRL has instead of evaluator and refiner."""

    _prompts: ComparingPrompts

    async def aggregate(self, state: State, action: str, futures: Sequence[str]) -> str | None:
        """The language value of (s, a), from its futures."""
        prompt = self._prompts.aggregator(state, action, futures)
        (sample,) = await self._ask(prompt, "aggregator")
        value = self._prompts.parse_future(decoded(prompt, sample)) if whole(sample) else None
        return value if self._readable("aggregator", value) else None

    async def pick(self, state: State, candidates: Sequence[tuple[str, str]]) -> int | None:
        """The choice among (action, value) pairs, as an index."""
        prompt = self._prompts.picker(state, candidates)
        (sample,) = await self._ask(prompt, "picker")
        text = decoded(prompt, sample) if whole(sample) else ""
        index = self._prompts.parse_pick(text, len(candidates))
        return index if self._readable("picker", index) else None


class NLRL(NLAC):
    """On policy: futures by playing on from forks, their sum as the value role's target, a choice as the
    policy's."""

    config: NlrlConfig
    _most: int | None = None

    def speaker(self, *key: object) -> NlrlSpeaker:
        """As NLAC's, with two roles more."""
        seed = derive_seed(self._seed, self.replay.iteration, *key)
        return NlrlSpeaker(self.engine, self.prompts, *self._samplings, seed, self.counts)

    def draw(self, new: int, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Some of the newest transitions."""
        if not new:
            raise NlacBenchError("NLRL learns on policy, from its own episodes alone")
        self._most = most
        newest = self.replay.newest(new)[: self.config.transitions_per_iteration][:most]
        return newest, np.ones(len(newest))

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """Value every (s, a) by its futures; choose an action for every s."""
        await self.each(lessons, self.evaluate, self.choose)

    async def evaluate(self, lesson: Lesson) -> None:
        """d⁽¹⁾…d⁽ᴷ⁾ by playing on, V(s, a) ~ G(· | s, a, d⁽¹⁾…d⁽ᴷ⁾)."""
        assert isinstance(lesson.speaker, NlrlSpeaker)
        t = lesson.transition
        env = await self.resources.reached(t)
        self.counts["playout_steps"] += t.step
        if env is None:
            return
        futures = []
        for k in range(self.config.num_futures):
            seed = derive_seed(self._seed, self.replay.iteration, t.seed, t.step, k)
            playout = await self.resources.play_on(env.fork(), t, t.action, seed)
            self.counts["playout_steps"] += len(playout.heard)
            futures.append(self.prompts.hindsight(playout.heard, playout.success))
        lesson.target = await lesson.speaker.aggregate(t.state, t.action, futures)

    async def choose(self, lesson: Lesson) -> None:
        """a₁…a_N ~ π(· | s), V(s, aᵢ) by the value role, and the best of them by a prompt."""
        assert isinstance(lesson.speaker, NlrlSpeaker)
        state: State = lesson.transition.state
        drawn = [await lesson.speaker.act(state) for _ in range(self.config.num_candidates)]
        different = {action.text: action for action in drawn if action is not None}
        values = {text: await lesson.speaker.futures(state, text) for text in different}
        valued = [(action, values[text][0]) for text, action in different.items() if values[text]]
        if not valued:
            return
        lesson.first = valued[0][0].text
        shown = [(action.text, value) for action, value in valued]
        index = await lesson.speaker.pick(state, shown) if len(valued) > 1 else 0  # one alone is no question
        if index is not None:
            lesson.proposed, lesson.future = valued[index]
            lesson.rounds = 1

    def learn(self, lessons: Sequence[Lesson], indices: Sequence[int]) -> Metrics:
        """NLAC's losses: L1 also on the targets of the last iterations, L2 on the new choices."""
        new = set(indices)
        earlier = [
            (i, str(self.replay.items[i].notes["target"]))
            for i in self.replay.since(self.replay.iteration - MEMORY + 1)
            if i not in new and "target" in self.replay.items[i].notes
        ]
        old = [
            replace(lessons[0], transition=self.replay.items[i], target=target, proposed=None)
            for i, target in earlier
        ]
        both = [*zip([*lessons, *old], [*indices, *(i for i, _ in earlier)], strict=True)]
        order = np.random.default_rng(derive_seed(self._seed, self.replay.iteration)).permutation(len(both))
        mixed = [both[i] for i in order[: self._most]]
        metrics = super().learn([lesson for lesson, _ in mixed], [i for _, i in mixed])
        return metrics | {"extra_env_steps": float(self.counts.pop("playout_steps", 0))}

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """How often the value role's outcome is the episode's, and the KL to the first model."""
        metrics = await super().probe(episodes, deep=False)
        return {name: metrics[name] for name in ("successor_accuracy", "kl_to_start") if name in metrics}
