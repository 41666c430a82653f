"""Natural language reinforcement learning (NLRL; Feng et al. 2025): language values from Monte Carlo
continuations."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.agents.roles.speaker import Speaker, decoded, whole
from nlac_bench.agents.roles.transition import State
from nlac_bench.baselines.config import NlrlConfig
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode

MEMORY = 3
"""Number of newest iterations whose targets train the value role (the paper's buffer)."""


class NlrlSpeaker(Speaker):
    """A speaker with the roles that NLRL has instead of evaluator and refiner."""

    _prompts: ComparingPrompts

    async def aggregate(self, state: State, action: str, futures: Sequence[str]) -> str | None:
        """Sample the language value of (s, a) from its futures; None if the answer cannot be parsed."""
        prompt = self._prompts.aggregator(state, action, futures)
        (sample,) = await self._ask(prompt, "aggregator")
        value = self._prompts.parse_future(decoded(prompt, sample)) if whole(sample) else None
        return value if self._readable("aggregator", value) else None

    async def pick(self, state: State, candidates: Sequence[tuple[str, str]]) -> int | None:
        """Sample a choice among (action, value) pairs; return its index, or None if it cannot be parsed."""
        prompt = self._prompts.picker(state, candidates)
        (sample,) = await self._ask(prompt, "picker")
        text = decoded(prompt, sample) if whole(sample) else ""
        index = self._prompts.parse_pick(text, len(candidates))
        return index if self._readable("picker", index) else None


class NLRL(NLAC):
    """Learns on policy: the value role's target is an aggregation of continuations that are played in forks,
    the policy's target is the best of several actions."""

    config: NlrlConfig
    _most: int | None = None

    def seeded_speaker(self, seed: int) -> NlrlSpeaker:
        """Return a speaker with the two further roles; see ``LanguagePolicyIteration.seeded_speaker``."""
        return NlrlSpeaker(self.engine, self.prompts, *self._samplings, seed, self.counts)

    def draw(self, new: int, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw at most ``transitions_per_iteration`` of the new transitions.

        Raises:
            NlacBenchError: there are no new transitions.
        """
        if not new:
            raise NlacBenchError(
                "NLRL learns on policy and needs new episodes in every iteration; it cannot train offline"
            )
        self._most = most
        newest = self.replay.newest(new)[: self.config.transitions_per_iteration][:most]
        return newest, np.ones(len(newest))

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """Evaluate every (s, a) by continuations and choose an action for every s."""
        await self.each(lessons, self.evaluate, self.choose)

    async def evaluate(self, lesson: Lesson) -> None:
        """Play K continuations d⁽¹⁾…d⁽ᴷ⁾ and sample V(s, a) ~ G(· | s, a, d⁽¹⁾…d⁽ᴷ⁾)."""
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
            self.counts["playout_steps"] += len(playout.observations)
            futures.append(self.prompts.hindsight(playout.observations, playout.success, playout.reward))
        lesson.target = await lesson.speaker.aggregate(t.state, t.action, futures)

    async def choose(self, lesson: Lesson) -> None:
        """Sample a₁…a_N ~ π(· | s) and V(s, a) in the value role, and let the picker choose the best.

        As in the paper (algorithm 3) and its code, equal actions are counted, each is valued once, and the
        picker reads them in the order of their counts, the most frequent first.
        """
        assert isinstance(lesson.speaker, NlrlSpeaker)
        state: State = lesson.transition.state
        drawn = [await lesson.speaker.act(state) for _ in range(self.config.num_candidates)]
        sampled = [action for action in drawn if action is not None]
        # Actions with equal counts are in the order in which they were sampled first.
        counted = Counter(action.text for action in sampled).most_common()
        different = {action.text: action for action in reversed(sampled)}
        values = {text: await lesson.speaker.futures(state, text) for text, _ in counted}
        valued = [(different[text], values[text][0]) for text, _ in counted if values[text]]
        if not valued:
            return
        lesson.first = next(action.text for action in sampled if values[action.text])
        shown = [(action.text, value) for action, value in valued]
        index = await lesson.speaker.pick(state, shown) if len(valued) > 1 else 0
        if index is not None:
            lesson.proposed, lesson.future = valued[index]
            lesson.rounds = 1

    async def reread(self, lesson: Lesson) -> None:
        """Sample V(s, a) of the played action in the value role; there is no evaluator and no refiner."""
        t = lesson.transition
        values = await lesson.speaker.futures(t.state, t.action)
        lesson.future = values[0] if values else None

    def learn(self, lessons: Sequence[Lesson], indices: Sequence[int]) -> Metrics:
        """Train with NLAC's losses: L1 on the targets of the last iterations, L2 on the new choices."""
        new = set(indices)
        earlier = [
            (i, str(self.replay.items[i].notes["target"]))
            for i in self.replay.since(self.replay.iteration - MEMORY + 1)
            if i not in new and "target" in self.replay.items[i].notes
        ]
        old = [
            Lesson(self.replay.items[i], 1.0, self.speaker("earlier"), target=target) for i, target in earlier
        ]
        both = [*zip([*lessons, *old], [*indices, *(i for i, _ in earlier)], strict=True)]
        order = np.random.default_rng(derive_seed(self._seed, self.replay.iteration)).permutation(len(both))
        mixed = [both[i] for i in order[: self._most]]
        metrics = super().learn([lesson for lesson, _ in mixed], [i for _, i in mixed])
        return metrics | {"extra_env_steps": float(self.counts.pop("playout_steps", 0))}

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Return the accuracy of the value role's outcomes, and the KL to the initial model."""
        metrics = await super().probe(episodes, deep=False)
        return {name: metrics[name] for name in ("successor_accuracy", "kl_to_start") if name in metrics}
