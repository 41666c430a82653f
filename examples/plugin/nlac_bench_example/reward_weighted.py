"""Reward-weighted regression (Peters and Schaal 2007), on the tokens of whole episodes."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from pydantic import Field
from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.baselines.on_policy import OnPolicy, rewards_of
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


class RewardWeightedConfig(TrainConfig):
    beta: float = Field(0.5, gt=0, description="temperature of the weights exp(return / beta)")


class RewardWeighted(OnPolicy[RewardWeightedConfig]):
    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Maximise the likelihood of all turns, weighted by their episode's return; weights have mean 1."""
        returns_N = torch.tensor([sum(rewards_of(episode)) for episode in episodes])
        weights_N = torch.softmax(returns_N / self.config.beta, dim=0) * len(episodes)
        pairs = zip(self.turns(episodes), weights_N.tolist(), strict=True)
        sequences = [replace(turn, weight=w) for turns, w in pairs for turn in turns if turn is not None]
        metrics = self.take_steps(iter(self.mini_batches(sequences)), self.loss, max_steps)
        return metrics | {"mean_return": float(returns_N.mean())}

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return the weighted negative log-likelihood, a mean over the policy's tokens."""
        mean = self.token_mean(batch)

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            nll = mean(-outputs.logprobs_BT * micro.weights, micro.loss_mask)
            return with_kl(nll, self.config, outputs, micro.loss_mask, mean, metrics := {"nll": nll}), metrics

        return compute
