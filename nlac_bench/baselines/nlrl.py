"""Natural language reinforcement learning (NLRL; Feng et al. 2025): language values from Monte Carlo
continuations."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import (
    Lesson,
    note_real_futures,
    note_reasons,
    real_future,
    reasons_of,
    with_reasons,
)
from nlac_bench.agents.nlac.monitor import Monitored
from nlac_bench.agents.nlac.nlac import step
from nlac_bench.agents.roles.speaker import ComparingSpeaker
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.baselines.config import NlrlConfig
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


class NLRL(Monitored[NlrlConfig]):
    """Learns on policy: the value role's target is an aggregation of continuations, the policy's target is
    the best of several actions by the value role that has learned from them."""

    def __init__(self, resources: Resources[NlrlConfig]) -> None:
        super().__init__(resources, ComparingSpeaker)

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Run one iteration: evaluate new (s, a), train the value role, improve, train the policy.

        The policy's gradient steps are taken out of ``max_steps`` first, since values without an improvement
        change no action.

        Raises:
            NlacBenchError: there are no episodes.
        """
        if not episodes:
            raise NlacBenchError(
                "NLRL learns on policy and needs new episodes in every iteration; it cannot train offline"
            )
        size = self.config.mini_batch_size
        most = None if max_steps is None else max_steps * size
        new = self.replay.newest(self.remember(episodes))[: self.config.transitions_per_iteration]
        lessons = await self.asked(self.lessons(new[:most]), self.evaluate_all)
        left = None if max_steps is None else (max_steps - math.ceil(len(lessons) / size)) * size
        value = await self.train(self.valued(lessons)[:left])
        lessons = await self.asked(lessons, self.choose_all)
        self.keep(lessons)
        policy = await self.train([replace(lesson, target=None) for lesson in lessons])
        return both(value, policy) | self.ended(lessons)

    async def train(self, lessons: Sequence[Lesson]) -> Metrics:
        """Take the gradient steps of L1 and L2 on ``lessons``, and sync the weights if they changed."""
        metrics = await self.resources.learn(lambda: self.steps(lessons, partial(step, self)))
        if metrics["gradient_steps"]:
            self.sync()
        return metrics

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions with their real futures."""
        new = super().transitions(episode)
        note_real_futures(new, episode, self.speaking.prompts)
        return new

    async def evaluate_all(self, lessons: Sequence[Lesson]) -> None:
        """Evaluate every (s, a)."""
        await note_reasons(lessons, self.speaking, self.replay.iteration, "end")
        await self.speaking.each(lessons, self.evaluate)

    async def evaluate(self, lesson: Lesson) -> None:
        """Sample V(s, a) ~ G(· | s, a, d⁽¹⁾…d⁽ᴷ⁾) from K continuations.

        The rest of the episode is the first one, as in the paper's code, and the others are played. Those
        that were cut are left out, because their outcome is unknown.
        """
        assert isinstance(lesson.speaker, ComparingSpeaker)
        t = lesson.transition
        prompts = self.speaking.prompts
        real = real_future(t, prompts)
        futures = [] if real is None else [real]
        missing = range(len(futures), self.config.num_futures)
        env = await self.resources.reached(t) if missing else None
        if env is not None:
            for k in missing:
                seed = derive_seed(self.resources.seed, self.replay.iteration, t.seed, t.step, k)
                playout = await self.resources.play_on(env.fork(), t, t.action, seed)
                if playout.end is not None:
                    future = prompts.hindsight(playout.observations, playout.success, playout.reward)
                    written = await reasons_of(playout.end, lesson.speaker, prompts)
                    futures.append(with_reasons(future, written, prompts))
        if futures:
            lesson.target = await lesson.speaker.aggregate(t.state, t.action, futures)

    def valued(self, lessons: Sequence[Lesson]) -> list[Lesson]:
        """Return the lessons with a value of the newest iterations (``MEMORY``), in a random order."""
        new = {lesson.index for lesson in lessons}
        earlier = [
            Lesson(t, 1.0, self.speaking.speaker(self.replay.iteration, "earlier"), i, str(t.notes["target"]))
            for i in self.replay.since(self.replay.iteration - self.config.MEMORY + 1)
            if i not in new and "target" in (t := self.replay.items[i]).notes
        ]
        valued = [*(lesson for lesson in lessons if lesson.target is not None), *earlier]
        rng = np.random.default_rng(derive_seed(self.resources.seed, self.replay.iteration))
        return [valued[i] for i in rng.permutation(len(valued))]

    async def choose_all(self, lessons: Sequence[Lesson]) -> None:
        """Choose an action for every s."""
        await self.speaking.each(lessons, self.choose)

    async def choose(self, lesson: Lesson) -> None:
        """Sample a₁…a_N ~ π(· | s) and V(s, a) in the value role, and let the picker choose the best.

        As in the paper (algorithm 3) and its code, equal actions are counted, each is valued once, and the
        picker reads them in the order of their counts, the most frequent first. If only one can be valued, it
        is the best; ``--best-of`` plays the most frequent action then.
        """
        assert isinstance(lesson.speaker, ComparingSpeaker)
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
        shown = [(action.text, value.text) for action, value in valued]
        index = await lesson.speaker.pick(state, shown) if len(valued) > 1 else 0
        if index is not None:
            lesson.proposed, value = valued[index]
            lesson.future, lesson.success_probability = value.text, value.success
            lesson.rounds = 1

    async def read(self, lesson: Lesson) -> None:
        """Sample V(s, a) of the played action in the value role; there is no evaluator and no refiner."""
        t = lesson.transition
        values = await lesson.speaker.futures(t.state, t.action)
        if values:
            lesson.future, lesson.success_probability = values[0].text, values[0].success


def both(value: Metrics, policy: Metrics) -> Metrics:
    """Return the mean metrics of the gradient steps of both stages; ``l1`` is that of the first stage, ``l2``
    and ``kl`` are those of the second one."""
    counts = value["gradient_steps"], policy["gradient_steps"]
    summed = {
        name: counts[0] * value.get(name, 0.0) + counts[1] * policy.get(name, 0.0) for name in value | policy
    }
    metrics = {name: total / max(1.0, sum(counts)) for name, total in summed.items()}
    metrics |= {name: value[name] for name in ("l1",) if name in value}
    metrics |= {name: policy[name] for name in ("l2", "kl") if name in policy}
    return metrics | {name: value[name] + policy[name] for name in ("gradient_steps", "too_long")}
