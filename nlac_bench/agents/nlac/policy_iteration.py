"""The language part of Natural Language Actor-Critic (arXiv 2512.04601, Algorithm 1)."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.roles.role_prompts import ExplainingPrompts, RolePrompts
from nlac_bench.agents.roles.speaker import Action, Speaker, samplings
from nlac_bench.agents.roles.transition import Transition, transitions
from nlac_bench.learner.outputs import Metrics
from nlac_bench.rollout.engines.engine import Engine, Sample, Slot, derive_seed
from nlac_bench.rollout.engines.routing import Conversation, within
from nlac_bench.types import Episode, Role

ROLES: tuple[Role, ...] = (
    "policy", "successor", "backup", "evaluator", "refiner", "aggregator", "picker",
)  # fmt: skip


class LanguagePolicyIteration(ABC):
    """Algorithm 1 with a replay buffer D; subclasses implement ``learn``, which improves the model.

    Args:
        engine: samples from θ (slot ``policy``) and θ̄ (slot ``target``).
        prompts: the prompts and parsers of all roles.
        env: the environment's name.
        info: the ``info`` of the environment's ``reset``.
        seed: of all random numbers.
        concurrency: number of transitions for which the roles are sampled at the same time.
    """

    lesson_type: type[Lesson] = Lesson

    def __init__(
        self,
        config: NlacConfig,
        engine: Engine,
        prompts: RolePrompts,
        *,
        env: str,
        info: Mapping[str, object],
        seed: int,
        concurrency: int,
    ) -> None:
        self.config, self.engine, self.prompts = config, engine, prompts
        self.replay = Replay(
            config.replay_capacity, config.priority_alpha, config.priority_beta, derive_seed(seed, "replay")
        )
        self.counts: Counter[str] = Counter()
        self._env, self._info, self._seed, self._concurrency = env, info, seed, concurrency
        self._samplings = samplings(
            config.temperature, config.improvement_temperature, config.max_response_length
        )

    @abstractmethod
    def learn(self, lessons: Sequence[Lesson], indices: Sequence[int]) -> Metrics:
        """Take gradient steps of θ on L1 + λ L2 and update θ̄.

        Args:
            indices: the indices in D of the lessons' transitions.
        """

    @abstractmethod
    def sync(self) -> None:
        """Copy θ and θ̄ to the engine."""

    async def run_steps(self, steps: Callable[[], Metrics]) -> Metrics:
        """Call ``steps``, which takes the gradient steps of an update."""
        return steps()

    async def in_parts(self, lessons: Sequence[Lesson]) -> int:
        """Call ``improve`` with the lessons; return the number of those for which the budget sufficed."""
        await self.improve(lessons)
        return len(lessons)

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Append the transitions of ``episodes``, of any policy, to D; return their number.

        Transitions that cannot be learned from (``learnable``) are left out.
        """
        new = [t for e in episodes for t in self.transitions(e) if self.learnable(t)]
        self.replay.add(new)
        return len(new)

    def transitions(self, episode: Episode) -> list[Transition]:
        """Return the transitions that ``episode`` adds to D."""
        return transitions(episode, self._env, self._info)

    def learnable(self, transition: Transition) -> bool:
        """Return whether ``transition`` can be learned from; in this class always."""
        return True

    def done(self) -> float:
        """Return the share of the training that is over, from 0 to 1; in this class 0."""
        return 0.0

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Add ``episodes`` to D and learn from D.

        Args:
            max_steps: largest number of gradient steps, which is the rest of the budget.
        """
        new = self.remember(episodes)
        most = None if max_steps is None else max_steps * self.config.mini_batch_size
        nothing = (np.zeros(0, np.int64), np.zeros(0))  # no new transition can be learned from
        indices, weights = nothing if episodes and not new else self.draw(new, most)
        lessons = [
            self.lesson_type(self.replay.items[i], w, self.speaker(n))
            for n, (i, w) in enumerate(zip(indices.tolist(), weights.tolist(), strict=True))
        ]
        sampled = await self.in_parts(lessons)
        lessons, indices = lessons[:sampled], indices[:sampled]
        for lesson in lessons:
            lesson.keep()
        self.keep_texts(lessons)
        metrics = await self.run_steps(lambda: self.learn(lessons, indices.tolist()))
        self.sync()
        metrics["buffer_age"] = self.replay.mean_age(indices.tolist())
        metrics["buffer_size"] = len(self.replay)
        self.replay.iteration += 1
        return metrics | self.shares(lessons)

    def draw(self, new: int, most: int | None) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw the transitions of this iteration: return their indices in D and importance weights.

        Args:
            new: number of transitions that this iteration added.
            most: largest number of transitions that the budget allows.
        """
        wanted = round(self.config.replay_ratio * (new or self.config.train_batch_size))
        return self.replay.draw(max(1, wanted if most is None else min(wanted, most)), self.done())

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """Sample the roles' answers for each lesson: the target of L1 and the action of L2."""
        steps = [self.back_up, self.propose]
        for _ in range(self.config.num_refinement_steps):
            steps.append(self.criticise)
            if self.config.shuffle_critiques:  # needs the critiques of all lessons
                await self.each(lessons, *steps)
                self.shuffle(lessons)
                steps = []
            steps.append(self.refine)
        await self.each(lessons, *steps)

    # --- the language Bellman backup ------------------------------------------------------------

    async def back_up(self, lesson: Lesson) -> None:
        """Sample a′ ~ π_θ̄(· | s′), d′ ~ M_θ̄(· | s′, a′) and d ~ B_θ̄(s, a, r, s′, d′).

        With ``backup_by="successor"``, a′ and d are sampled from θ. For the last transition of an episode, d
        is its outcome, and for models that explain outcomes also the reasons for it, d ~ B(s, a, r, d).
        """
        t = lesson.transition
        if not self.config.backs_up:
            return
        slot: Slot = "target" if self.config.backup_by == "target" else "policy"
        if t.terminated or t.next_state is None:
            ending = self.prompts.hindsight([t.last_words], bool(t.success), t.reward_before + t.reward)
            lesson.target = ending
            if isinstance(self.prompts, ExplainingPrompts) and self.prompts.explains:
                lesson.target = await lesson.speaker.explain(self.prompts, t, ending, slot)
            return
        action = await lesson.speaker.act(t.next_state, slot)
        if action is None:
            return
        futures = await lesson.speaker.futures(t.next_state, action.text, slot="target")
        if futures:
            lesson.target = await lesson.speaker.backup(t, action.text, futures[0], slot)

    # --- policy improvement in words ------------------------------------------------------------

    async def propose(self, lesson: Lesson) -> None:
        """Set the proposed action to a ~ π(· | s), or to the replayed action."""
        t = lesson.transition
        fresh = self.config.refine_source == "fresh"
        lesson.proposed = await lesson.speaker.act(t.state) if fresh else replayed_action(t)
        lesson.first = lesson.proposed.text if lesson.proposed else None
        lesson.done = lesson.proposed is None

    async def criticise(self, lesson: Lesson) -> None:
        """Sample d⁽¹⁾…d⁽ᵏ⁾ ~ M(· | s, a) and the critique ~ E(s, a, d⁽¹⁾…d⁽ᵏ⁾)."""
        if lesson.done or lesson.proposed is None:
            return
        await self.judge(lesson, await self.futures(lesson))

    async def judge(self, lesson: Lesson, futures: Sequence[str]) -> None:
        """Sample the critique ~ E(s, a, ``futures``)."""
        assert lesson.proposed is not None
        state, action = lesson.transition.state, lesson.proposed.text
        lesson.future = futures[0] if futures else None
        lesson.critique = await lesson.speaker.critique(state, action, futures) if futures else None
        if lesson.critique is None:  # without a critique the action must not be distilled
            lesson.done, lesson.proposed = True, None

    async def futures(self, lesson: Lesson) -> list[str]:
        """Sample d⁽¹⁾…d⁽ᵏ⁾ ~ M(· | s, a) for the proposed action."""
        assert lesson.proposed is not None
        return await lesson.speaker.futures(
            lesson.transition.state, lesson.proposed.text, self.config.num_nlq_samples
        )

    async def refine(self, lesson: Lesson) -> None:
        """Sample a^r ~ π_r(· | s, a, critique); an action that was judged optimal is kept."""
        if lesson.done or lesson.proposed is None or lesson.critique is None:
            return
        if lesson.critique.optimal:
            lesson.done = True
            return
        state, action = lesson.transition.state, lesson.proposed.text
        lesson.proposed = await lesson.speaker.refine(state, action, lesson.critique)
        lesson.rounds += 1
        lesson.done = lesson.proposed is None

    def shuffle(self, lessons: Sequence[Lesson]) -> None:
        """Assign each action the critique of another action (control experiment)."""
        judged = [lesson for lesson in lessons if not lesson.done and lesson.critique is not None]
        critiques = [lesson.critique for lesson in judged]
        for lesson, critique in zip(judged, critiques[1:] + critiques[:1], strict=True):
            lesson.critique = critique

    async def reread(self, lesson: Lesson) -> None:
        """Make the critic's texts about the played action, and refine it if it is not judged optimal."""
        lesson.proposed = replayed_action(lesson.transition)
        await self.criticise(lesson)
        await self.refine(lesson)

    # --- bookkeeping ----------------------------------------------------------------------------

    def keep_texts(self, lessons: Sequence[Lesson]) -> None:  # noqa: B027 - subclasses need not store them
        """Store the texts of ``lessons``, which are those of this iteration; does nothing here."""

    async def each(self, lessons: Sequence[Lesson], *steps: Callable[[Lesson], Awaitable[None]]) -> None:
        """Run ``steps`` in turn on every lesson, ``concurrency`` lessons at a time.

        The prompts of a lesson have the same beginning, and so do those of neighbouring steps of an episode.
        Lessons are sorted, and those of an episode are one conversation, so that an engine with a key/value
        cache can reuse these beginnings.
        """
        places = asyncio.Semaphore(self._concurrency)
        episodes: defaultdict[tuple[str, int], Conversation] = defaultdict(Conversation)

        async def one(lesson: Lesson) -> None:
            async with places:
                with within(episodes[lesson.transition.task_id, lesson.transition.seed]):
                    for step in steps:
                        await step(lesson)

        ordered = sorted(lessons, key=lambda x: (x.transition.task_id, x.transition.seed, x.transition.step))
        await asyncio.gather(*(one(lesson) for lesson in ordered))

    def speaker(self, *key: object) -> Speaker:
        """Return a speaker whose random numbers are determined by ``key`` and the iteration."""
        return self.seeded_speaker(derive_seed(self._seed, self.replay.iteration, *key))

    def seeded_speaker(self, seed: int) -> Speaker:
        """Return a speaker with the random numbers of ``seed``."""
        return Speaker(self.engine, self.prompts, *self._samplings, seed, self.counts)

    def shares(self, lessons: Sequence[Lesson]) -> Metrics:
        """Return the shares of optimal and refined actions, and of the answers since the last call that could
        not be parsed, or that changed the outcome in a backup."""
        judged = [lesson for lesson in lessons if lesson.critique is not None]
        changed = [x for x in judged if x.proposed and x.rounds and x.proposed.text != x.first]
        metrics = {
            "share_optimal": sum(x.critique.optimal for x in judged if x.critique) / max(1, len(judged)),
            "share_refined": len(changed) / max(1, len(judged)),
        }
        for role in ROLES:
            if self.counts[role]:
                metrics[f"unparseable_{role}"] = self.counts[f"{role}/unparseable"] / self.counts[role]
        if self.counts["backup"]:
            metrics["backup_outcome_changed"] = self.counts["backup/changed"] / self.counts["backup"]
        self.counts.clear()
        return metrics


def replayed_action(transition: Transition) -> Action:
    """Return the played action of ``transition`` in the form of a newly proposed one."""
    sample = Sample(transition.action, "stop", ids=list(transition.action_ids or ()) or None)
    return Action(transition.action, sample)
