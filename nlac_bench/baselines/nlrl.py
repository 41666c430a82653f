"""Natural language reinforcement learning (NLRL; Feng et al. 2025): language values from Monte Carlo
continuations."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.monitor import Monitored
from nlac_bench.agents.nlac.nlac import step
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
        return value if self._readable("aggregator", value, sample, prompt) else None

    async def pick(self, state: State, candidates: Sequence[tuple[str, str]]) -> int | None:
        """Sample a choice among (action, value) pairs; return its index, or None if it cannot be parsed."""
        prompt = self._prompts.picker(state, candidates)
        (sample,) = await self._ask(prompt, "picker")
        text = decoded(prompt, sample) if whole(sample) else ""
        index = self._prompts.parse_pick(text, len(candidates))
        return index if self._readable("picker", index, sample, prompt) else None


class NLRL(Monitored[NlrlConfig]):
    """Learns on policy: the value role's target is an aggregation of continuations that are played in forks,
    the policy's target is the best of several actions."""

    def __init__(self, resources: Resources[NlrlConfig]) -> None:
        super().__init__(resources, NlrlSpeaker)
        self.played = 0
        """Environment steps of this iteration's continuations."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration on the new transitions.

        Raises:
            NlacBenchError: there are no episodes.
        """
        if not episodes:
            raise NlacBenchError(
                "NLRL learns on policy and needs new episodes in every iteration; it cannot train offline"
            )
        new = self.replay.newest(self.remember(episodes))
        most = None if max_steps is None else max_steps * self.config.mini_batch_size
        drawn = self.lessons(new[: self.config.transitions_per_iteration][:most])
        lessons = await self.asked(drawn, self.ask)
        self.keep(lessons)
        metrics = await self.resources.learn(lambda: self.learn(lessons, most))
        self.sync()
        played, self.played = self.played, 0
        return metrics | {"extra_env_steps": float(played)} | self.ended(lessons)

    async def ask(self, lessons: Sequence[Lesson]) -> int:
        """Evaluate every (s, a) by continuations and choose an action for every s."""
        before = self.played
        await self.speaking.each(lessons, self.evaluate, self.choose)
        return self.played - before

    async def evaluate(self, lesson: Lesson) -> None:
        """Play K continuations d⁽¹⁾…d⁽ᴷ⁾ and sample V(s, a) ~ G(· | s, a, d⁽¹⁾…d⁽ᴷ⁾)."""
        assert isinstance(lesson.speaker, NlrlSpeaker)
        t = lesson.transition
        env = await self.resources.reached(t)
        self.played += t.step
        if env is None:
            return
        futures = []
        for k in range(self.config.num_futures):
            seed = derive_seed(self.resources.seed, self.replay.iteration, t.seed, t.step, k)
            playout = await self.resources.play_on(env.fork(), t, t.action, seed)
            self.played += len(playout.observations)
            futures.append(
                self.speaking.prompts.hindsight(playout.observations, playout.success, playout.reward)
            )
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

    async def read(self, lesson: Lesson) -> None:
        """Sample V(s, a) of the played action in the value role; there is no evaluator and no refiner."""
        t = lesson.transition
        values = await lesson.speaker.futures(t.state, t.action)
        lesson.future = values[0] if values else None

    def learn(self, lessons: Sequence[Lesson], most: int | None) -> Metrics:
        """Train with NLAC's losses: L1 on the targets of the last iterations, L2 on the new choices."""
        new = {lesson.index for lesson in lessons}
        earlier = [
            Lesson(t, 1.0, self.speaking.speaker(self.replay.iteration, "earlier"), i, str(t.notes["target"]))
            for i in self.replay.since(self.replay.iteration - MEMORY + 1)
            if i not in new and "target" in (t := self.replay.items[i]).notes
        ]
        both = [*lessons, *earlier]
        order = np.random.default_rng(derive_seed(self.resources.seed, self.replay.iteration))
        mixed = [both[i] for i in order.permutation(len(both))[:most]]
        return self.steps(mixed, partial(step, self))
