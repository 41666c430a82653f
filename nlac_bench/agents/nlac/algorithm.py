"""Natural Language Actor-Critic (arXiv 2512.04601), Algorithm 1."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.nlac.agent import NlacAgent
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Encoder, Lesson
from nlac_bench.agents.nlac.probes import critic_metrics, read_critic, refinement_metrics
from nlac_bench.agents.nlac.replay import Replay
from nlac_bench.agents.nlac.roles import RolePrompts
from nlac_bench.agents.nlac.speaker import Action, Speaker, samplings
from nlac_bench.agents.nlac.transition import Transition, transitions
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.engine import Engine, Sample, derive_seed
from nlac_bench.train.batch import TokenBatch, TokenSequence, pack
from nlac_bench.train.learner import Learner, LossFn, Metrics, Outputs
from nlac_bench.train.source import push
from nlac_bench.types import Episode

PROBE_TURNS = 40
"""No embedded task needs more; a policy that goes in circles must not hold up the training."""


class NLAC:
    """One model θ in four roles, its moving average θ̄, and a replay buffer D.

    Args:
        engine: samples from θ (slot ``policy``) and θ̄ (slot ``target``).
        learner: holds θ and θ̄; made with ``ema=True``.
        agent: plays the policy role, for probes that go on from a fork.
        make_env: makes the environment that is trained on.
        concurrency: transitions that the roles are asked about at once.
    """

    name = "nlac"

    def __init__(
        self,
        config: NlacConfig,
        engine: Engine,
        learner: Learner,
        prompts: RolePrompts,
        tokenizer: Any,
        agent: NlacAgent,
        make_env: Callable[[], TextEnv],
        *,
        seed: int,
        concurrency: int,
    ) -> None:
        self.config, self.engine, self.learner, self.prompts = config, engine, learner, prompts
        self.replay = Replay(
            config.replay_capacity, config.priority_alpha, config.priority_beta, derive_seed(seed, "replay")
        )
        self.encoder = Encoder(tokenizer, prompts, config.max_prompt_length, config.max_response_length)
        self.counts: Counter[str] = Counter()
        self.version = 0
        self._agent, self._make_env, self._seed = agent, make_env, seed
        env = make_env()
        self._env, self._info = env.name, env.reset(seed=0)[1]
        self._concurrency = concurrency
        self._distilled: list[TokenSequence] = []
        self._samplings = samplings(
            config.temperature, config.improvement_temperature, config.max_response_length
        )

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Append the transitions of ``episodes`` to D, whatever policy played them; how many there were."""
        found = [t for e in episodes for t in transitions(e, self._env, self._info)]
        self.replay.add(found)
        return len(found)

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from D, to which ``episodes`` are added first.

        Args:
            max_steps: at most so many gradient steps: what is left of the budget.
        """
        new = self.remember(episodes)
        drawn = round(self.config.replay_ratio * (new or self.config.train_batch_size))
        if max_steps is not None:
            drawn = min(drawn, max_steps * self.config.mini_batch_size)
        indices, weights = self.replay.draw(max(1, drawn))
        lessons = [
            Lesson(self.replay.items[i], w, self.speaker(n))
            for n, (i, w) in enumerate(zip(indices.tolist(), weights.tolist(), strict=True))
        ]
        steps = [self.back_up, self.propose]
        for _ in range(self.config.num_refinement_steps):
            await self.each(lessons, *steps, self.criticise)
            if self.config.shuffle_critiques:
                self.shuffle(lessons)
            steps = [self.refine]
        await self.each(lessons, *steps)
        for lesson in lessons:
            lesson.keep()
        metrics = self.learn(lessons, indices.tolist())
        self.sync()
        metrics["buffer_age"] = self.replay.mean_age(indices.tolist())
        metrics["buffer_size"] = len(self.replay)
        self.replay.iteration += 1
        return metrics | self.shares(lessons)

    # --- the language Bellman backup ------------------------------------------------------------

    async def back_up(self, lesson: Lesson) -> None:
        """a′ ~ π(· | s′), d′ ~ M_θ̄(· | s′, a′), d ~ B(s, a, r, s′, d′); at the end, the outcome."""
        t = lesson.transition
        if self.config.critic_coef == 0:
            return
        if t.terminated or t.next_state is None:
            lesson.target = self.prompts.terminal_target(t)
            return
        action = await lesson.speaker.act(t.next_state)
        if action is None:
            return
        futures = await lesson.speaker.futures(t.next_state, action.text, slot="target")
        if futures:
            lesson.target = await lesson.speaker.backup(t, action.text, futures[0])

    # --- policy improvement in words ------------------------------------------------------------

    async def propose(self, lesson: Lesson) -> None:
        """a ~ π(· | s), or the replayed action."""
        t = lesson.transition
        fresh = self.config.refine_source == "fresh"
        lesson.proposed = await lesson.speaker.act(t.state) if fresh else replayed_action(t)
        lesson.first = lesson.proposed.text if lesson.proposed else None
        lesson.done = lesson.proposed is None

    async def criticise(self, lesson: Lesson) -> None:
        """d⁽¹⁾…d⁽ᵏ⁾ ~ M(· | s, a), critique ~ E(s, a, d⁽¹⁾…d⁽ᵏ⁾)."""
        if lesson.done or lesson.proposed is None:
            return
        state, action = lesson.transition.state, lesson.proposed.text
        futures = await lesson.speaker.futures(state, action, self.config.num_nlq_samples)
        lesson.critique = await lesson.speaker.critique(state, action, futures) if futures else None
        if lesson.critique is None:  # never trained on: neither is what it would have refined
            lesson.done, lesson.proposed = True, None

    async def refine(self, lesson: Lesson) -> None:
        """a^r ~ π_r(· | s, a, critique); an action judged optimal stays as it is."""
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
        """Control: every action gets the critique of another one."""
        judged = [lesson for lesson in lessons if not lesson.done and lesson.critique is not None]
        critiques = [lesson.critique for lesson in judged]
        for lesson, critique in zip(judged, critiques[1:] + critiques[:1], strict=True):
            lesson.critique = critique

    # --- θ ← step on L1 + λ L2, θ̄ ← EMA ----------------------------------------------------------

    def learn(self, lessons: Sequence[Lesson], indices: Sequence[int]) -> Metrics:
        """One gradient step for each mini-batch of ``lessons``; sets the replay's priorities."""
        sums: Counter[str] = Counter()
        size = self.config.mini_batch_size
        for start in range(0, len(lessons), size):
            part = range(start, min(start + size, len(lessons)))
            critic = [s for i in part if (s := self.encoder.critic(lessons[i], group=2 * i)) is not None]
            policy = [s for i in part if (s := self.encoder.policy(lessons[i], group=2 * i + 1)) is not None]
            if not critic and not policy:
                continue
            self._distilled = policy[:16]
            batch = pack([*critic, *policy], self.config.row_tokens)
            nll = torch.zeros(2 * len(lessons))
            metrics = self.learner.forward_backward(batch, self.loss(critic, policy, nll))
            metrics |= self.learner.optim_step()
            self.learner.ema_update(self.config.ema_tau)
            self.replay.update(
                [indices[s.group_id // 2] for s in critic],
                [float(nll[s.group_id]) / sum(s.loss_mask) for s in critic],
            )
            sums.update({"gradient_steps": 1, **metrics})
        steps = max(1, sums["gradient_steps"])
        return {n: float(v) if n == "gradient_steps" else float(v) / steps for n, v in sums.items()}

    def loss(self, critic: Sequence[TokenSequence], policy: Sequence[TokenSequence], nll: Tensor) -> LossFn:
        """L1 + λ L2, each a mean over its own tokens; fills ``nll`` with each sequence's summed loss."""
        c = self.config
        critic_tokens = max(1.0, sum(sum(s.loss_mask) for s in critic))
        policy_tokens = max(1.0, sum(sum(s.loss_mask) for s in policy))

        def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll_BT = -outputs.logprobs_BT * batch.loss_mask
            policy_BT = batch.loss_mask * (batch.group_id % 2)
            critic_BT = batch.loss_mask - policy_BT
            nll.index_add_(0, batch.group_id.flatten().cpu(), nll_BT.detach().flatten().float().cpu())
            l1 = (nll_BT * critic_BT * batch.weights).sum() / critic_tokens
            l2 = (nll_BT * policy_BT).sum() / policy_tokens
            total = c.critic_coef * l1 + c.policy_coef * l2
            metrics = {"l1": l1, "l2": l2}
            if c.kl_coef:
                metrics["kl"] = (outputs.reference_kl_BT * policy_BT).sum() / policy_tokens
                total = total + c.kl_coef * metrics["kl"]
            return total, metrics

        return compute

    def sync(self) -> None:
        """Hand θ and θ̄ to the engine, which checks that they arrived."""
        self.version += 1
        push(self.learner, self.engine, self.version)

    # --- bookkeeping ----------------------------------------------------------------------------

    async def each(self, lessons: Sequence[Lesson], *steps: Callable[[Lesson], Awaitable[None]]) -> None:
        """``steps`` in turn on every lesson, as many lessons at once as the engine takes in.

        A lesson's prompts begin alike, and so do those of neighbours in an episode: in this order an engine
        that keeps earlier keys and values computes little twice.
        """
        places = asyncio.Semaphore(self._concurrency)

        async def one(lesson: Lesson) -> None:
            async with places:
                for step in steps:
                    await step(lesson)

        ordered = sorted(lessons, key=lambda x: (x.transition.task_id, x.transition.seed, x.transition.step))
        await asyncio.gather(*(one(lesson) for lesson in ordered))

    def speaker(self, *key: object) -> Speaker:
        """The roles for one purpose; ``key`` and the iteration decide the random numbers."""
        seed = derive_seed(self._seed, self.replay.iteration, *key)
        return Speaker(self.engine, self.prompts, *self._samplings, seed, self.counts)

    def shares(self, lessons: Sequence[Lesson]) -> Metrics:
        """What the critic said, and how much could not be read; counted since the last call."""
        judged = [lesson for lesson in lessons if lesson.critique is not None]
        changed = [x for x in judged if x.proposed and x.rounds and x.proposed.text != x.first]
        metrics = {
            "share_optimal": sum(x.critique.optimal for x in judged if x.critique) / max(1, len(judged)),
            "share_refined": len(changed) / max(1, len(judged)),
            "too_long": float(self.encoder.too_long),
        }
        for role in ("policy", "successor", "backup", "evaluator", "refiner"):
            if self.counts[role]:
                metrics[f"unparseable_{role}"] = self.counts[f"{role}/unparseable"] / self.counts[role]
        self.counts.clear()
        self.encoder.too_long = 0
        return metrics

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Is the critic right about ``episodes`` (offline: about D), and with ``deep``: do refined
        actions do better than the played ones? Nothing here is trained on."""
        pool = [t for e in episodes for t in transitions(e, self._env, self._info)] or self.replay.items
        rng = np.random.default_rng(derive_seed(self._seed, self.replay.iteration, "probes"))
        chosen = rng.permutation(len(pool))[: self.config.probes]
        probes = await read_critic(self, [pool[i] for i in chosen])
        metrics = critic_metrics(probes)
        if deep:
            metrics |= await refinement_metrics(probes, self._make_env, self._agent, PROBE_TURNS)
        if self._distilled:
            metrics["kl_to_start"] = self.learner.reference_kl(pack(self._distilled, self.config.row_tokens))
        self.counts.clear()
        return metrics

    def save(self, folder: Path) -> dict[str, Any]:
        """Write D into ``folder``; what else is needed to go on, as JSON."""
        self.replay.save(folder / "replay.jsonl.gz")
        return {"version": self.version}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Go back to what ``save`` wrote, and hand the learner's weights to the engine."""
        self.replay.load(folder / "replay.jsonl.gz")
        self.version = int(state["version"])
        self.sync()


def replayed_action(transition: Transition) -> Action:
    """The action that was played, as if it had been proposed now."""
    sample = Sample(transition.action, "stop", ids=list(transition.action_ids or ()) or None)
    return Action(transition.action, sample)
