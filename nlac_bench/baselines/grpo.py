"""Group relative policy optimisation (GRPO; Shao et al. 2024, DeepSeekMath, section 4.1): PPO's clipped loss
with advantages that compare the episodes of a task with each other."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.baselines.config import GrpoConfig
from nlac_bench.baselines.on_policy import OnPolicy, rewards_of
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


class GRPO(OnPolicy[GrpoConfig]):
    """Trains every token with the advantage of its episode: (return − group mean) / group deviation."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take clipped gradient steps on the groups whose returns differ; other groups are skipped."""
        returns_N = torch.tensor([sum(rewards_of(e)) for e in episodes])
        tasks = {task: i for i, task in enumerate(dict.fromkeys(e.task_id for e in episodes))}
        groups_N = torch.tensor([tasks[e.task_id] for e in episodes])
        advantages_N = losses.group_advantages(returns_N, groups_N, scale=self.config.scale_by_std)
        # An episode with advantage 0 in such a group still counts in the mean over tokens.
        informative_N = torch.isin(groups_N, groups_N[advantages_N != 0])
        sequences: list[TokenSequence] = []
        for turns, advantage, informative in zip(
            self.turns(episodes), advantages_N.tolist(), informative_N.tolist(), strict=True
        ):
            if informative:
                sequences += self.weighed([s for s in turns if s is not None], advantage)
        batches = self.epochs(sequences, self.config.num_epochs)
        metrics = self.take_steps(batches, self.loss, max_steps)
        share = float(informative_N.float().mean())
        return metrics | {"informative": share, "mean_return": float(returns_N.mean())}

    def weighed(self, turns: Sequence[TokenSequence], advantage: float) -> list[TokenSequence]:
        """Return the turns of an episode with its advantage, and the weight of each of its tokens."""
        tokens = sum(sum(s.loss_mask) for s in turns)
        weight = 1 / tokens if tokens and self.config.loss_aggregation == "episode" else 1.0
        return [replace(s, advantages=[advantage * m for m in s.loss_mask], weight=weight) for s in turns]

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return the clipped surrogate plus the KL penalty.

        Both are means over the batch's tokens, or over the means of its episodes' tokens (Shao et al. 2024,
        eq. 3). If a mini-batch has some turns of an episode, the episode counts by its share of tokens.
        """
        c, total = self.config, (batch.loss_mask * batch.weights).sum()
        mean = partial(losses.aggregate, tokens=total)
        high = c.clip_ratio if c.clip_ratio_high is None else c.clip_ratio_high

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            micro = replace(micro, loss_mask=micro.loss_mask * micro.weights)
            policy, metrics = self.surrogate(outputs, micro, mean, c.clip_ratio, high)
            return with_kl(policy, c, outputs, micro.loss_mask, mean, metrics), metrics

        return compute
