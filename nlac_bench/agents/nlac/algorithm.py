"""Natural Language Actor-Critic (arXiv 2512.04601), Algorithm 1: the gradient steps."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.nlac.agent import NlacAgent
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Encoder, Lesson
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration
from nlac_bench.agents.nlac.probes import critic_metrics, read_critic, refinement_metrics
from nlac_bench.agents.nlac.roles import RolePrompts
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.rollout.engine import Engine, derive_seed
from nlac_bench.train.batch import TokenBatch, TokenSequence, pack
from nlac_bench.train.learner import Learner, LossFn, Metrics, Outputs
from nlac_bench.train.source import push
from nlac_bench.types import Episode

PROBE_TURNS = 40
"""No embedded task needs more; a policy that goes in circles must not hold up the training."""


class NLAC(LanguagePolicyIteration):
    """One model θ in four roles, its moving average θ̄, and gradient steps on both losses.

    Args:
        learner: holds θ and θ̄; made with ``ema=True``.
        agent: plays the policy role, for probes that go on from a fork.
        make_env: makes the environment that is trained on.
    """

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
        env = make_env()
        _, info = env.reset(seed=0)
        super().__init__(config, engine, prompts, env=env.name, info=info, seed=seed, concurrency=concurrency)
        self.learner = learner
        self.encoder = Encoder(tokenizer, prompts, config.max_prompt_length, config.max_response_length)
        self.version = 0
        self._agent, self._make_env = agent, make_env
        self._distilled: list[TokenSequence] = []

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
        steps = sums.pop("gradient_steps", 0)
        means = {name: float(value) / max(1, steps) for name, value in sums.items()}
        too_long, self.encoder.too_long = self.encoder.too_long, 0
        return means | {"gradient_steps": float(steps), "too_long": float(too_long)}

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

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Is the critic right about ``episodes`` (offline: about D), and with ``deep``: do refined
        actions do better than the played ones? Nothing here is trained on."""
        pool = [t for e in episodes for t in self.transitions(e)] or self.replay.items
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
