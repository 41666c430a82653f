"""ArCHer (Zhou et al. 2024, arXiv 2402.19446; code: YifeiZhou02/ArCHer): actor-critic with values of whole
turns, and REINFORCE on the tokens of new actions.

For turns (s, a, r, s′) drawn uniformly from all that were played, and a new action a′ ~ π(· | s) of each:

    Q_i(s, a) → r + γ (1 − terminated) V̄_i(s′)        V_i(s) → Q̄_i(s, a′)        i = 1, 2; squared errors
    A(s, a′) = min Q_i(s, a′) − min V_i(s)             L_π = −w A(s, a′) Σ_tokens log π(a′ | s)
    θ̄ ← (1 − τ) θ̄ + τ θ                               after each gradient step

As in the authors' code, there is no clipping and no baseline per token. Differences to it:
- The heads are linear and share the policy's transformer and optimizer; ``critic_coef`` and ``policy_coef``
  weigh the losses, and ``head_lr`` is the heads' learning rate. The authors' critic is a second model
  (RoBERTa) with MLP heads.
- A gradient step trains critic and policy, unless ``critic_steps`` (published: about 50 critic steps to 3 of
  the policy) or ``critic_warmup`` (published: 20 iterations) is set.
- a′ is drawn once in an iteration, for the target of V and for the policy. The authors draw one for each, in
  every gradient step. Without a correction, a constant offset of A would make old actions ever less or more
  likely; the capped ratio w = π(a′ | s) / π_sampled(a′ | s) (``losses.importance``) prevents this. The metric
  ``importance`` is its mean: 1 for fresh actions, and near 0 once most of them have become unlikely.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.baselines.config import ArcherConfig
from nlac_bench.baselines.scalar_critic import ScalarCritic
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner import losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence, first_tokens, last_tokens, learned_tokens
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs

HEADS = ("q1", "q2", "v1", "v2")


class ArCHer(ScalarCritic[ArcherConfig, Lesson]):
    """Twin Q heads at the last token of an action, twin V heads before its first one."""

    def __init__(self, resources: Resources[ArcherConfig]) -> None:
        super().__init__(resources, Lesson)

    async def ask(self, lessons: Sequence[Lesson]) -> None:
        """Sample a′ ~ π(· | s) for each lesson."""
        await self.speaking.each(lessons, self.propose)

    async def propose(self, lesson: Lesson) -> None:
        """Sample a′; an answer that cannot be parsed is an action too, as it is in episodes."""
        sample = await lesson.speaker.sampled(lesson.transition.state)
        lesson.proposed = Action(sample.text, sample)

    def step(self, lessons: Sequence[Lesson]) -> Metrics | None:
        """Take a gradient step on the critic's loss, and on the policy's if it is its turn."""
        fresh = [s for i, lesson in enumerate(lessons) if (s := self.fresh(lesson, i))]
        targets_N4 = self.targets(lessons, fresh)
        critic = [s for i, lesson in enumerate(lessons) if (s := self.encoder.played(lesson, i))]
        policy = self.advantages(fresh) if self.acts() else []
        metrics = self.descend([*critic, *policy], archer_loss(self.config, critic, policy, targets_N4))
        if metrics is not None and policy:
            metrics["advantage"] = sum(abs(s.weight) for s in policy) / len(policy)
        return metrics

    def acts(self) -> bool:
        """Return whether this gradient step trains the policy."""
        done, c = self.learner.step - self.config.critic_warmup, self.config
        return done >= 0 and done % (1 + c.critic_steps) == c.critic_steps

    def fresh(self, lesson: Lesson, group: int) -> TokenSequence | None:
        """Return the tokens of (s, a′) with their log-probabilities when they were sampled.

        None if there is no a′ or it is too long.

        Raises:
            NlacBenchError: the engine did not return log-probabilities.
        """
        if lesson.proposed is None or not (ids := lesson.proposed.sample.ids):
            return None
        if (logprobs := lesson.proposed.sample.logprobs) is None:
            raise NlacBenchError(
                "archer needs the log-probabilities of sampled tokens, which this engine does not return; "
                "use an engine that runs the model in this process (--engine hf or vllm)"
            )
        sequence = self.encoder.acted(lesson.transition.state, ids, "policy", group=group)
        if sequence is None:
            return None
        return replace(sequence, old_logprobs=[0.0] * (len(sequence.ids) - len(ids)) + logprobs)

    def targets(self, lessons: Sequence[Lesson], fresh: Sequence[TokenSequence]) -> Tensor:
        """Return the targets of Q₁, Q₂, V₁ and V₂ of each lesson, ``[N, 4]``; NaN where one is unknown."""
        there = {i: lesson.transition.next_state for i, lesson in enumerate(lessons)}
        ahead = [s for i, state in there.items() if state and (s := self.encoder.arrived(state, i))]
        with self.learner.averaged():
            now, later = self.values(fresh), self.values(ahead)
        targets_N4 = torch.full((len(lessons), 4), torch.nan)
        for i, t in enumerate(lesson.transition for lesson in lessons):
            if t.terminated:
                targets_N4[i, :2] = t.reward
            elif i in later:
                targets_N4[i, :2] = t.reward + self.config.gamma * later[i][2:]
            if i in now:
                targets_N4[i, 2:] = now[i][:2]
        return targets_N4

    def advantages(self, fresh: Sequence[TokenSequence]) -> list[TokenSequence]:
        """Return the tokens of each (s, a′) with the weight A = min Q_i(s, a′) − min V_i(s)."""
        values = self.values(fresh)
        pairs = ((s, values[s.group_id]) for s in fresh)
        return [replace(s, weight=float(v_4[:2].min() - v_4[2:].min())) for s, v_4 in pairs]

    def values(self, sequences: Sequence[TokenSequence]) -> dict[int, Tensor]:
        """Return Q₁, Q₂, V₁ and V₂ of each sequence by ``group_id``, ``[4]``, without gradient."""
        if not sequences:
            return {}
        batch = share.packed(sequences, self.config.row_tokens)
        heads_BT4 = self.learner.scalars(batch, HEADS)
        last_BT, first_BT = last_tokens(batch), first_tokens(batch)
        values_N4 = torch.cat([heads_BT4[last_BT][:, :2], heads_BT4[first_BT][:, 2:]], dim=1)
        return dict(zip(batch.group_id[last_BT].tolist(), values_N4, strict=True))


def archer_loss(
    config: ArcherConfig,
    critic: Sequence[TokenSequence],
    policy: Sequence[TokenSequence],
    targets_N4: Tensor,
) -> LossFn:
    """Return the sum of the four mean squared errors + λ L_π, a mean over actions (+ KL).

    Args:
        policy: with ``old_logprobs``, those of the weights that sampled the actions.
    """
    known_N4 = ~targets_N4[torch.tensor([s.group_id for s in critic], dtype=torch.long)].isnan()
    counts_4, actions = known_N4.sum(0).clamp(min=1), len(policy)
    mean = partial(losses.aggregate, tokens=learned_tokens(policy))
    sampled_N = torch.zeros(len(targets_N4))
    for s in policy:
        assert s.old_logprobs is not None
        sampled_N[s.group_id] = sum(s.old_logprobs)

    def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        last_BT, first_BT = last_tokens(batch), first_tokens(batch)
        target_BT4 = targets_N4.to(batch.ids.device)[batch.group_id]
        ends_BT4 = torch.stack([last_BT, last_BT, first_BT, first_BT], dim=-1)
        own_BT4 = ends_BT4 & ~target_BT4.isnan() & (batch.mask_of("critic") != 0)[..., None]
        values_BT4 = torch.stack([outputs.scalar_BT(name) for name in HEADS], dim=-1)
        squares_BT4 = (values_BT4 - target_BT4.nan_to_num()) ** 2 * own_BT4
        errors_4 = squares_BT4.sum((0, 1)) / counts_4.to(batch.ids.device)
        metrics = {"q_loss": errors_4[:2].sum(), "v_loss": errors_4[2:].sum()}
        total = config.critic_coef * errors_4.sum()
        if not actions:
            return total, metrics
        own_BT = batch.mask_of("policy")
        logprobs_BT, numbers = outputs.logprobs_BT * own_BT, batch.group_id.flatten().cpu()
        now_N = torch.zeros_like(sampled_N).index_add(0, numbers, logprobs_BT.detach().flatten().cpu())
        ratio_BT = losses.importance(now_N, sampled_N).to(batch.ids.device)[batch.group_id]
        metrics["importance"] = (ratio_BT * (last_BT & (own_BT != 0))).sum() / actions
        metrics["policy_loss"] = -(logprobs_BT * batch.weights * ratio_BT).sum() / actions
        total = total + config.policy_coef * metrics["policy_loss"]
        return with_kl(total, config, outputs, own_BT, mean, metrics), metrics

    return compute
