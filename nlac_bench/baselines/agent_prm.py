"""AgentPRM (Choudhury 2025, arXiv 2502.10325; code: sanjibanc/agent_prm): a process reward model of single
actions, learned from outcomes, and a policy that learns to prefer the actions that it rates higher.

Each iteration k plays episodes with π_k. An action's target is the mean over the visits of (s, a):

    Q̂(s, a) = mean of (γ^(T−1−t) · R + 1) / 2,  R = 1 for success and −1 for failure, T turns, t from 0
    reward model:  cross-entropy between σ(r(s, a)) and Q̂(s, a), one pass over the iteration's (s, a)
    policy:  two actions of π_k at each visited s; a⁺ has the higher σ(r), −1 if it has no end token
             −log σ(β [S(a⁺) − S(a⁻)]),  S(a) = log π(a | s) − log π_k(a | s)    (online DPO)

Differences: r is a head on the policy's transformer, so that its steps change the policy too; log π_k is
read after them. The authors train another model on the rollouts of an iteration, and a policy on its scores,
for thousands of steps each. Their script multiplies the outcome by γ to the power t from the start of an
episode; here it is the return-to-go. Pairs with equal scores are left out; theirs takes the first action as
a⁺. As there, an episode that reaches the limit of turns has failed; one that was cut otherwise, such as by a
full context, has no targets. All actions are sampled with ``temperature`` (theirs: 0.3 in episodes, 0.7 for
pairs). ``--best-of N`` tests the best of N actions by r, as the authors do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.agents.roles.transition import Transition
from nlac_bench.baselines.config import AgentPrmConfig
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.baselines.totals import ObjectiveUnit, steps_on_totals
from nlac_bench.learner.batch import TokenBatch, TokenSequence, last_tokens
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.rollout.engines.engine import Sample, derive_seed
from nlac_bench.types import Episode


@dataclass
class VisitedState:
    """A visited state, and the actions of π_k between which the reward model chooses."""

    transition: Transition
    speaker: Speaker
    samples: list[Sample] = field(default_factory=list)


class AgentPRM(OnPolicy[AgentPrmConfig]):
    """Trains the head ``reward`` on Monte Carlo targets, then the policy on pairs of its own actions."""

    def __init__(self, resources: Resources[AgentPrmConfig]) -> None:
        super().__init__(resources)
        self.choices: list[VisitedState] = []

    async def prepare(self, episodes: Sequence[Episode]) -> None:
        """Draw two actions of π_k at the visited states, at as many as the budget allows."""
        visited = [t for e in episodes for t in self.transitions(e)]
        order = np.random.default_rng(derive_seed(self.resources.seed, self.version, "states"))
        choices = [
            VisitedState(visited[i], self.speaking.speaker(self.version, n))
            for n, i in enumerate(order.permutation(len(visited)))
        ]

        async def draw(part: Sequence[VisitedState]) -> None:
            await self.speaking.each(part, self.draw)

        self.choices = choices[: await self.resources.in_parts(choices, self.config.mini_batch_size, draw)]

    async def draw(self, choice: VisitedState) -> None:
        """Draw a₁, a₂ ~ π_k(· | s); an answer that cannot be parsed is an action too, as in episodes."""
        choice.samples = [await choice.speaker.sampled(choice.transition.state) for _ in range(2)]

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Train the reward model, then the policy; a short budget is divided in proportion."""
        judged = self.mini_batches(self.targets(episodes))
        both = len(judged) + math.ceil(len(self.choices) / self.config.mini_batch_size)
        first = None if max_steps is None or both <= max_steps else max_steps * len(judged) // both
        reward = self.take_steps(iter(judged), self.reward_loss, first)
        left = None if max_steps is None else max_steps - int(reward["gradient_steps"])
        policy = steps_on_totals(self, units := self.pairs(), left)
        taken = reward["gradient_steps"] + policy["gradient_steps"]
        return reward | policy | {"gradient_steps": taken, "pairs": float(len(units))}

    def targets(self, episodes: Sequence[Episode]) -> list[TokenSequence]:
        """Return each different (s, a) of the episodes that ended, with Q̂(s, a) as its return."""
        visits: dict[tuple[str, ...], list[float]] = {}
        played: dict[tuple[str, ...], TokenSequence] = {}
        for episode, turns in zip(episodes, self.turns(episodes), strict=True):
            if not episode.terminated:
                continue
            sequences = [s for s, turn in zip(turns, episode.turns, strict=True) if turn.played]
            outcome = 1.0 if episode.success else -1.0
            for t in (own := self.transitions(episode)):
                key = (*(str(message["content"]) for message in t.state.messages), t.action)
                value = (self.config.gamma ** (len(own) - 1 - t.step) * outcome + 1) / 2
                if (sequence := sequences[t.step]) is not None:
                    played.setdefault(key, sequence)
                    visits.setdefault(key, []).append(value)
        means = {key: sum(values) / len(values) for key, values in visits.items()}
        return [replace(s, returns=[means[key] * m for m in s.loss_mask]) for key, s in played.items()]

    def reward_loss(self, batch: TokenBatch) -> LossFn:
        """Return the mean cross-entropy between σ(r) at the last token of an action and its target."""
        actions = max(1, int(last_tokens(batch).sum()))

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            assert micro.returns is not None
            each_BT = binary_cross_entropy_with_logits(
                outputs.scalar_BT("reward"), micro.returns, reduction="none"
            )
            loss = (each_BT * last_tokens(micro)).sum() / actions
            return loss, {"reward_loss": loss}

        return compute

    def pairs(self) -> list[ObjectiveUnit]:
        """Return the two actions of each state, the one with the higher score first."""
        offered: list[list[TokenSequence]] = []
        for n, choice in enumerate(self.choices):
            state, drawn = choice.transition.state, enumerate(choice.samples)
            both = [
                s
                for k, a in drawn
                if (s := self.encoder.acted(state, a.ids or [], "policy", group=2 * n + k))
            ]
            if len(both) == 2 and both[0].ids != both[1].ids:  # scores of equal actions differ by rounding
                offered.append(both)
        scores = self.scores([sequence for both in offered for sequence in both])
        ordered = [sorted(both, key=lambda s: -scores[s.group_id]) for both in offered]
        return [
            ObjectiveUnit([[won], [lost]], self.objective)
            for won, lost in ordered
            if scores[won.group_id] > scores[lost.group_id]
        ]

    def scores(self, sequences: Sequence[TokenSequence]) -> dict[int, float]:
        """Return σ(r) of each action by ``group_id``, or −1 if it has no end token."""
        if not sequences:
            return {}
        found = self.read(lambda batch: self.learner.scalars(batch, ["reward"])[..., 0], sequences)
        ended = {g: self.choices[g // 2].samples[g % 2].finish == "stop" for g in found}
        return {g: float(torch.sigmoid(r_T[-1])) if ended[g] else -1.0 for g, r_T in found.items()}

    def objective(self, totals_2: Tensor) -> Tensor:
        """Return −log σ(β (S⁺ − S⁻))."""
        return -logsigmoid(self.config.beta * (totals_2[0] - totals_2[1]))
