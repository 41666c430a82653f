"""Soft actor-critic (SAC; Haarnoja et al. 2018) per turn: NLAC with a scalar instead of a language critic.

The policy does not use the critic's gradient. It samples N actions and learns the one with the
highest Q by NLAC's loss, so that the two algorithms differ only in the critic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from nlac_bench.agents.nlac.algorithm import NLAC
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.baselines.config import SacConfig
from nlac_bench.learner import losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


@dataclass(slots=True)
class SacLesson(Lesson):
    """A lesson with the actions that were sampled for its transition."""

    following: Action | None = None
    """a′ ~ π(· | s′)."""
    candidates: list[Action] = field(default_factory=list)
    """a ~ π(· | s), N times."""


class SAC(NLAC):
    """Twin Q heads at the last token of an action, target heads on the moving average."""

    config: SacConfig
    lesson_type = SacLesson

    def fits(self, transition: Transition) -> bool:
        """Return whether the policy's prompt, which both losses need, is short enough to be trained on."""
        return self.encoder.policy_fits(transition)

    async def improve(self, lessons: Sequence[Lesson]) -> None:
        """Sample a′ and the candidates; the learner computes their values in ``step``."""
        await self.each(lessons, self.sample_actions)

    async def sample_actions(self, lesson: Lesson) -> None:
        """Sample a′ ~ π(· | s′) and a₁…a_N ~ π(· | s)."""
        assert isinstance(lesson, SacLesson)
        t = lesson.transition
        if t.next_state is not None and not t.terminated:
            lesson.following = await lesson.speaker.act(t.next_state)
        drawn = [await lesson.speaker.act(t.state) for _ in range(self.config.num_candidates)]
        lesson.candidates = [action for action in drawn if action is not None]

    def step(self, part: Mapping[int, Lesson], indices: Sequence[int]) -> Metrics | None:
        """Fit Q to its targets, distil the best candidates and update the replay's priorities."""
        targets = self.targets(part)
        critic = [s for i in targets if (s := self.encoder.played(part[i], i)) is not None]
        policy = self.best_candidates(part)
        errors = torch.zeros(len(indices))
        metrics = self.descend(critic, policy, self.q_loss(critic, policy, targets, errors), errors)
        self.replay.update([indices[s.group_id] for s in critic], [float(errors[s.group_id]) for s in critic])
        return metrics

    def targets(self, part: Mapping[int, Lesson]) -> dict[int, float]:
        """Return y = r + γ (1 − terminated) [min Q̄(s′, a′) − α log π(a′ | s′)] by lesson number.

        Lessons whose a′ could not be parsed or is too long are left out.
        """
        following: dict[int, TokenSequence] = {}
        logprobs: dict[int, float] = {}
        for i, lesson in part.items():
            assert isinstance(lesson, SacLesson)
            t, action = lesson.transition, lesson.following
            if action is None or t.next_state is None:
                continue
            there = replace(lesson, transition=replace(t, state=t.next_state), proposed=action)
            if (sequence := self.encoder.policy(there, i)) is not None:
                following[i] = sequence
                logprobs[i] = sum(action.sample.logprobs or ())
        with self.learner.averaged():
            q1, q2 = self.q_values(list(following.values()))
        known = [i for i, lesson in part.items() if lesson.transition.terminated or i in following]
        y_N = losses.sac_target(
            torch.tensor([part[i].transition.reward for i in known]),
            torch.tensor([part[i].transition.terminated for i in known]),
            torch.tensor([q1.get(i, 0.0) for i in known]),
            torch.tensor([q2.get(i, 0.0) for i in known]),
            torch.tensor([logprobs.get(i, 0.0) for i in known]),
            gamma=self.config.gamma,
            alpha=self.config.alpha,
        )
        return dict(zip(known, y_N.tolist(), strict=True))

    def best_candidates(self, part: Mapping[int, Lesson]) -> list[TokenSequence]:
        """Return for each lesson the sequence of the candidate with the largest min(Q₁, Q₂)."""
        offered: list[tuple[int, Action, TokenSequence]] = []
        for i, lesson in part.items():
            assert isinstance(lesson, SacLesson)
            for action in lesson.candidates:
                sequence = self.encoder.policy(replace(lesson, proposed=action), len(offered))
                if sequence is not None:
                    offered.append((i, action, sequence))
        q1, q2 = self.q_values([sequence for *_, sequence in offered])
        best: dict[int, tuple[float, int]] = {}
        for number, (i, _, _) in enumerate(offered):
            worth = min(q1[number], q2[number])
            if i not in best or worth > best[i][0]:
                best[i] = worth, number
        chosen = []
        for i, (_, number) in best.items():
            part[i].proposed = offered[number][1]
            chosen.append(replace(offered[number][2], group_id=i))
        return chosen

    def q_values(self, sequences: Sequence[TokenSequence]) -> tuple[dict[int, float], dict[int, float]]:
        """Return both heads' values at each sequence's last token by ``group_id``, without gradient."""
        if not sequences:
            return {}, {}
        batch = share.packed(sequences, self.config.row_tokens)
        last_BT = last_tokens(batch)
        numbers = batch.group_id[last_BT].tolist()
        q1, q2 = self.learner.q_values(batch, ("q1", "q2"))[last_BT].T.tolist()
        return dict(zip(numbers, q1, strict=True)), dict(zip(numbers, q2, strict=True))

    def q_loss(
        self,
        critic: Sequence[TokenSequence],
        policy: Sequence[TokenSequence],
        targets: Mapping[int, float],
        errors: Tensor,
    ) -> LossFn:
        """Return the loss: mean twin Q loss per action + λ L2.

        It adds each action's |δ|, the mean absolute error of both heads, to ``errors``: Schaul et al. 2016
        (section 3.3) make the priority a power of it.
        """
        c = self.config
        policy_tokens, actions = self.tokens(policy), max(1, len(critic))
        y_G = torch.zeros(len(errors))
        y_G[list(targets)] = torch.tensor(list(targets.values()))

        def compute(outputs: Outputs, batch: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            own_BT = last_tokens(batch) & (batch.mask_of("critic") != 0)
            y_BT = y_G.to(batch.ids.device)[batch.group_id]
            q1_BT, q2_BT = outputs.q_BT("q1"), outputs.q_BT("q2")
            each_BT = losses.twin_q_loss(q1_BT, q2_BT, y_BT) * own_BT
            delta_BT = (((q1_BT - y_BT).abs() + (q2_BT - y_BT).abs()) / 2 * own_BT).detach()
            errors.index_add_(0, batch.group_id.flatten().cpu(), delta_BT.flatten().cpu())
            q = (each_BT * batch.weights).sum() / actions
            distilled, metrics = self.distillation(outputs, batch, policy_tokens)
            return c.critic_coef * q + distilled, {"q_loss": q, **metrics}

        return compute

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """Return only KL(π ‖ initial π), since there is no language critic to probe."""
        return self.kl_to_start()


def last_tokens(batch: TokenBatch) -> Tensor:
    """Return the mask of actions' last tokens, ``[B, T]``: trained tokens followed by an untrained one."""
    own_BT = batch.loss_mask != 0
    following_BT = torch.cat([own_BT[:, 1:], torch.zeros_like(own_BT[:, :1])], dim=1)
    return own_BT & ~following_BT
