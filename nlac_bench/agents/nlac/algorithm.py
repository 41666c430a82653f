"""The gradient steps of Natural Language Actor-Critic (arXiv 2512.04601, Algorithm 1)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Encoder, Lesson
from nlac_bench.agents.nlac.policy_iteration import LanguagePolicyIteration
from nlac_bench.agents.nlac.probes import critic_metrics, read_critic, refinement_metrics
from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.agents.nlac.texts import critique_records, probe_records
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.learner import share
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs, mean_of_steps
from nlac_bench.rollout.engines.engine import derive_seed
from nlac_bench.types import Episode


class NLAC(LanguagePolicyIteration):
    """Trains one model θ in all roles, with its moving average θ̄, by gradient steps on L1 + λ L2.

    It is also the base class of other algorithms with a replay buffer: SAC, NLRL and NLAC's ablations.

    Args:
        resources: the learner must have been made with ``ema=True`` if backups are sampled from θ̄
            (``NlacConfig.backs_up``).
    """

    def __init__(self, resources: Resources[NlacConfig]) -> None:
        r, (env, info) = resources, resources.env_info()
        super().__init__(
            r.config, r.engine, r.prompts, env=env, info=info, seed=r.seed, concurrency=r.concurrency
        )
        self.resources, self.learner = r, r.learner
        self.encoder = Encoder(
            r.tokenizer, r.prompts, r.config.max_prompt_length, r.config.max_response_length
        )
        self.version = 0
        self._distilled: list[TokenSequence] = []

    def __getstate__(self) -> dict[str, object]:
        """Return what the losses read from the algorithm; it is sent to all ranks with each loss."""
        return {"config": self.config}

    def learnable(self, transition: Transition) -> bool:
        """Return whether ``transition`` can be learned from; if not, it is counted as too long."""
        fits = self.fits(transition)
        self.encoder.too_long += not fits
        return fits

    def fits(self, transition: Transition) -> bool:
        """Return whether a prompt of L1 or L2 is short enough to be trained on."""
        return self.encoder.fits(transition)

    def done(self) -> float:
        """Return the share of the training that is over; see ``Resources``."""
        return self.resources.done()

    async def run_steps(self, steps: Callable[[], Metrics]) -> Metrics:
        """See ``Resources.learn``."""
        return await self.resources.learn(steps)

    async def in_parts(self, lessons: Sequence[Lesson]) -> int:
        """Call ``improve`` with as many of the lessons as the budget allows; return their number."""

        async def improve(part: Sequence[Lesson]) -> int:
            before = self.counts["playout_steps"]
            await self.improve(part)
            return self.counts["playout_steps"] - before

        return await self.resources.in_parts(lessons, self.config.mini_batch_size, improve)

    def learn(self, lessons: Sequence[Lesson], indices: Sequence[int]) -> Metrics:
        """Take one gradient step for each mini-batch of ``lessons`` and update the replay's priorities."""
        size = self.config.mini_batch_size
        parts = (range(start, min(start + size, len(lessons))) for start in range(0, len(lessons), size))
        steps = [self.step({i: lessons[i] for i in part}, indices) for part in parts]
        too_long, self.encoder.too_long = self.encoder.too_long, 0
        return mean_of_steps([m for m in steps if m is not None]) | {"too_long": float(too_long)}

    def step(self, part: Mapping[int, Lesson], indices: Sequence[int]) -> Metrics | None:
        """Learn from ``part`` of the lessons, keyed by number; None if it has no sequence to learn from."""
        critic = [s for i, x in part.items() if (s := self.encoder.critic(x, group=i)) is not None]
        policy = [s for i, x in part.items() if (s := self.encoder.policy(x, group=i)) is not None]
        nll = torch.zeros(len(indices))
        metrics = self.descend(critic, policy, self.loss(critic, policy, nll), nll)
        self.replay.update(
            [indices[s.group_id] for s in critic],
            [float(nll[s.group_id]) / sum(s.loss_mask) for s in critic],
        )
        return metrics

    def descend(
        self,
        critic: Sequence[TokenSequence],
        policy: Sequence[TokenSequence],
        loss: LossFn,
        losses_N: Tensor,
    ) -> Metrics | None:
        """Take a gradient step of θ, then update θ̄ if there is one; None without sequences.

        ``loss`` adds to ``losses_N``, which contains zeros at first.
        """
        if not critic and not policy:
            return None
        self._distilled = list(policy[:16])
        batch = share.packed([*critic, *policy], self.config.row_tokens)
        metrics = self.learner.forward_backward(batch, loss, losses_N)
        metrics |= self.learner.optim_step()
        if self.learner.ema is not None:
            self.learner.ema_update(self.config.ema_tau)
        return metrics

    def loss(self, critic: Sequence[TokenSequence], policy: Sequence[TokenSequence], nll: Tensor) -> LossFn:
        """Return the loss L1 + λ L2, each a mean over its own tokens.

        Args:
            nll: ``[N]``, zeros; the summed L1 of lesson i's sequence is added to its entry i.
        """
        c = self.config
        critic_tokens, policy_tokens = self.tokens(critic), self.tokens(policy)

        def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll_BT = -outputs.logprobs_BT * batch.mask_of("critic")
            nll.index_add_(0, batch.group_id.flatten().cpu(), nll_BT.detach().flatten().float().cpu())
            l1 = (nll_BT * batch.weights).sum() / critic_tokens
            distilled, metrics = self.distillation(outputs, batch, policy_tokens)
            return c.critic_coef * l1 + distilled, {"l1": l1, **metrics}

        return compute

    def tokens(self, sequences: Sequence[TokenSequence]) -> float:
        """Return the number of trained tokens in ``sequences``, at least 1."""
        return max(1.0, float(sum(sum(s.loss_mask) for s in sequences)))

    def distillation(
        self, outputs: Outputs, batch: TokenBatch, tokens: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return λ L2 plus the KL penalty (if ``kl_coef`` is not 0), and the metrics.

        Args:
            tokens: the number of the policy's tokens, by which both are divided.
        """
        policy_BT = batch.mask_of("policy")
        metrics = {"l2": -(outputs.logprobs_BT * policy_BT).sum() / tokens}
        total = self.config.policy_coef * metrics["l2"]
        if self.config.kl_coef:
            metrics["kl"] = (outputs.reference_kl_BT * policy_BT).sum() / tokens
            total = total + self.config.kl_coef * metrics["kl"]
        return total, metrics

    def sync(self) -> None:
        """Copy θ, and θ̄ if roles are sampled from it, to the engine, which checks them."""
        self.version += 1
        self.resources.push(self.version)

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Measure the critic's accuracy on ``episodes`` (offline: on D), without training.

        With ``deep``, also measure whether refined actions succeed more often than the played ones.
        """
        pool = [t for e in episodes for t in self.transitions(e)] or self.replay.items
        rng = np.random.default_rng(derive_seed(self._seed, self.replay.iteration, "probes"))
        chosen = rng.permutation(len(pool))[: self.config.probes]
        lessons = await read_critic(self, [pool[i] for i in chosen])
        metrics = critic_metrics(self, lessons)
        if deep:
            metrics |= await refinement_metrics(lessons, self.resources)
        self.counts.clear()
        return metrics | self.kl_to_start()

    def keep_texts(self, lessons: Sequence[Lesson]) -> None:
        """Pass the texts of at most ``kept_critiques`` lessons to ``Resources.keep_critiques``."""
        seed = derive_seed(self._seed, self.replay.iteration, "critiques")
        self.resources.keep_critiques(critique_records(self, lessons, self.version, seed))

    @property
    def probe_states(self) -> int:
        """The number of states of the fixed probe set."""
        return self.config.probe_states

    async def read_states(self, states: Sequence[Transition], iteration: int) -> list[ProbeRecord]:
        """Return the critic's texts about the fixed probe set; see ``ReadsStates``."""
        records = await probe_records(self, self.resources, states, iteration, self.version)
        self.counts.clear()
        return records

    def kl_to_start(self) -> Metrics:
        """Return KL(π ‖ initial π) on the sequences that were distilled last."""
        if not self._distilled or not self.config.kl_probe:
            return {}
        return {
            "kl_to_start": self.learner.reference_kl(share.packed(self._distilled, self.config.row_tokens))
        }

    def save(self, folder: Path) -> dict[str, object]:
        """Write D into ``folder``; return the version of the weights."""
        self.replay.save(folder / "replay.jsonl.gz")
        return {"version": self.version}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore the state that ``save`` wrote, and copy the learner's weights to the engine."""
        self.replay.load(folder / "replay.jsonl.gz")
        self.version = int(state["version"])
        self.resources.push(self.version)
