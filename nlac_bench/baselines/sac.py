"""Soft actor-critic (SAC; Haarnoja et al. 2018) per turn: NLAC with a scalar instead of a language critic.

The policy does not use the critic's gradient. It samples N actions and learns the one with the
highest Q by NLAC's loss, so that the two algorithms differ only in the critic. With ``actor = "softmax"`` it
learns all of them by the weights softmax(Q / α), which is the policy that the targets with α evaluate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import distillation
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.baselines.config import SacConfig
from nlac_bench.baselines.scalar_critic import ScalarCritic
from nlac_bench.learner import losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence, last_tokens, learned_tokens
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.rollout.engines.engine import Sample


@dataclass(slots=True)
class SacLesson(Lesson):
    """A lesson with the actions that were sampled for its transition."""

    following: Sample | None = None
    """a′ ~ π(· | s′)."""
    candidates: list[Action] = field(default_factory=list)
    """a ~ π(· | s), N times."""


class SAC(ScalarCritic[SacConfig, SacLesson]):
    """Twin Q heads at the last token of an action, target heads on the moving average."""

    def __init__(self, resources: Resources[SacConfig]) -> None:
        super().__init__(resources, SacLesson)

    async def ask(self, lessons: Sequence[SacLesson]) -> None:
        """Sample a′ and the candidates; the learner computes their values in ``step``."""
        await self.speaking.each(lessons, self.sample_actions)

    async def sample_actions(self, lesson: SacLesson) -> None:
        """Sample a′ ~ π(· | s′) and a₁…a_N ~ π(· | s).

        An a′ that cannot be parsed is an action too, as it is in episodes; as a candidate it is left out.
        """
        t = lesson.transition
        if t.next_state is not None and not t.terminated:
            lesson.following = await lesson.speaker.sampled(t.next_state)
        drawn = [await lesson.speaker.act(t.state) for _ in range(self.config.num_candidates)]
        lesson.candidates = [action for action in drawn if action is not None]

    def step(self, lessons: Sequence[SacLesson]) -> Metrics | None:
        """Fit Q to its targets, distil the improved policy and update the replay's priorities.

        The first ``critic_warmup`` gradient steps train Q alone.
        """
        targets = self.targets(lessons)
        critic = [s for i in targets if (s := self.encoder.played(lessons[i], i)) is not None]
        policy = self.improved(lessons) if self.learner.step >= self.config.critic_warmup else []
        errors_N = torch.zeros(len(lessons))
        loss = q_loss(self.config, critic, learned_tokens(policy, weighted=True), targets, errors_N)
        metrics = self.descend([*critic, *policy], loss, errors_N)
        self.replay.update(
            [lessons[s.group_id].index for s in critic], [float(errors_N[s.group_id]) for s in critic]
        )
        return metrics

    def targets(self, lessons: Sequence[SacLesson]) -> dict[int, float]:
        """Return y = r + γ (1 − terminated) [min Q̄(s′, a′) − α log π(a′ | s′)] by lesson number.

        Lessons whose a′ is too long are left out.
        """
        following: dict[int, TokenSequence] = {}
        logprobs: dict[int, float] = {}
        for i, lesson in enumerate(lessons):
            state, sample = lesson.transition.next_state, lesson.following
            if sample is None or state is None:
                continue
            if (sequence := self.encoder.acted(state, sample, "policy", group=i)) is not None:
                following[i] = sequence
                logprobs[i] = sum(sample.logprobs or ())
        with self.learner.averaged():
            q1, q2 = self.q_values(list(following.values()))
        known = [i for i, x in enumerate(lessons) if x.transition.terminated or i in following]
        y_N = losses.sac_target(
            torch.tensor([lessons[i].transition.reward for i in known]),
            torch.tensor([lessons[i].transition.terminated for i in known]),
            torch.tensor([q1.get(i, 0.0) for i in known]),
            torch.tensor([q2.get(i, 0.0) for i in known]),
            torch.tensor([logprobs.get(i, 0.0) for i in known]),
            gamma=self.config.gamma,
            alpha=self.config.alpha,
        )
        return dict(zip(known, y_N.tolist(), strict=True))

    def improved(self, lessons: Sequence[SacLesson]) -> list[TokenSequence]:
        """Return the candidates that the policy learns: the best one by min(Q₁, Q₂), or all by softmax.

        The weights of a lesson's candidates are softmax(min(Q₁, Q₂) / α). They were sampled from π, so the
        policy moves towards π · exp(Q / α) (Haarnoja et al. 2018, with π as the prior).
        """
        offered: list[tuple[int, Action, TokenSequence]] = []
        for i, lesson in enumerate(lessons):
            for action in lesson.candidates:
                sequence = self.encoder.policy(replace(lesson, proposed=action), len(offered))
                if sequence is not None:
                    offered.append((i, action, sequence))
        q1, q2 = self.q_values([sequence for *_, sequence in offered])
        groups: dict[int, list[int]] = {}
        for number, (i, _, _) in enumerate(offered):
            groups.setdefault(i, []).append(number)
        chosen = []
        for i, numbers in groups.items():
            worth_N = torch.tensor([min(q1[n], q2[n]) for n in numbers], dtype=torch.float64)
            best = int(worth_N.argmax())  # the first of equal ones
            lessons[i].proposed = offered[numbers[best]][1]
            if self.config.actor == "softmax":
                shares = (worth_N / self.config.alpha).softmax(0).tolist()
            else:
                shares = [float(n == best) for n in range(len(numbers))]
            chosen += [
                replace(offered[n][2], group_id=i, weight=w)
                for n, w in zip(numbers, shares, strict=True)
                if w
            ]
        return chosen

    def q_values(self, sequences: Sequence[TokenSequence]) -> tuple[dict[int, float], dict[int, float]]:
        """Return both heads' values at each sequence's last token by ``group_id``, without gradient."""
        if not sequences:
            return {}, {}
        batch = share.packed(sequences, self.config.row_tokens)
        last_BT = last_tokens(batch)
        numbers = batch.group_id[last_BT].tolist()
        q1, q2 = self.learner.scalars(batch, ("q1", "q2"))[last_BT].T.tolist()
        return dict(zip(numbers, q1, strict=True)), dict(zip(numbers, q2, strict=True))


def q_loss(
    config: SacConfig,
    critic: Sequence[TokenSequence],
    policy_tokens: float,
    targets: Mapping[int, float],
    errors_N: Tensor,
) -> LossFn:
    """Return the loss: mean twin Q loss per action + λ L2.

    It adds each action's |δ|, the mean absolute error of both heads, to ``errors_N``: Schaul et al. 2016
    (section 3.3) make the priority a power of it.
    """
    actions, y_N = max(1, len(critic)), torch.zeros(len(errors_N))
    y_N[list(targets)] = torch.tensor(list(targets.values()))

    def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        own_BT = last_tokens(batch) & (batch.mask_of("critic") != 0)
        y_BT = y_N.to(batch.ids.device)[batch.group_id]
        q1_BT, q2_BT = outputs.scalar_BT("q1"), outputs.scalar_BT("q2")
        each_BT = losses.twin_q_loss(q1_BT, q2_BT, y_BT) * own_BT
        delta_BT = (((q1_BT - y_BT).abs() + (q2_BT - y_BT).abs()) / 2 * own_BT).detach()
        errors_N.index_add_(0, batch.group_id.flatten().cpu(), delta_BT.flatten().cpu())
        q = (each_BT * batch.weights).sum() / actions
        distilled, metrics = distillation(config, outputs, batch, policy_tokens)
        return config.critic_coef * q + distilled, {"q_loss": q, **metrics}

    return compute
