"""Proximal policy optimisation (PPO; Schulman et al. 2017) per token, over the turns of an episode."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.baselines.config import PpoConfig
from nlac_bench.baselines.on_policy import OnPolicy, rewards_of, spread
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs
from nlac_bench.types import Episode


class PPO(OnPolicy[PpoConfig]):
    """PPO with a value head on the policy's last hidden states."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Compute values, GAE over each episode's tokens and whitened advantages; then take clipped steps."""
        batches = self.epochs(self.advantages(episodes), self.config.num_epochs)
        metrics = self.take_steps(batches, self.loss, max_steps)
        return metrics | {"mean_return": sum(sum(rewards_of(e)) for e in episodes) / len(episodes)}

    def advantages(self, episodes: Sequence[Episode]) -> list[TokenSequence]:
        """Return every turn with its old values, returns and whitened advantages.

        The time steps of GAE are the policy's tokens in an episode's turns, without observations. A truncated
        episode is bootstrapped with the value of its last state.
        """
        c = self.config
        played = self.turns(episodes)
        whole = [s for turns in played for s in turns if s is not None]
        if not whole:
            return []
        beyond = sum(map(len, played))
        cut = {i: self.left_in(e, beyond + i) for i, e in enumerate(episodes) if e.truncated}
        left = {i: s for i, s in cut.items() if s is not None}
        values = self.read(self.values, [*whole, *left.values()])
        sequences: list[TokenSequence] = []
        for i, (episode, turns) in enumerate(zip(episodes, played, strict=True)):
            pairs: list[tuple[TokenSequence, float]] = []
            for sequence, reward in zip(turns, self.rewards(episode), strict=True):
                if sequence is not None:
                    pairs.append((sequence, reward))
                elif pairs:  # earlier turns also get the reward of a turn that is too long to train on
                    pairs[-1] = pairs[-1][0], pairs[-1][1] + reward
            if not pairs:
                continue
            lengths = [len(values[s.group_id]) for s, _ in pairs]
            values_1T = torch.cat([values[s.group_id] for s, _ in pairs])[None]
            rewards_1T = torch.zeros_like(values_1T)
            rewards_1T[0, torch.tensor(lengths).cumsum(0) - 1] = torch.tensor([r for _, r in pairs])
            bootstrap_1 = values[left[i].group_id] if i in left else None
            if episode.truncated and bootstrap_1 is None:  # the prompt is too long; use the last value
                bootstrap_1 = values_1T[:, -1]
            advantages_1T, returns_1T = losses.gae(
                rewards_1T, values_1T, torch.ones_like(values_1T),
                gamma=c.gamma, lam=c.gae_lambda, bootstrap_B=bootstrap_1,
            )  # fmt: skip
            for (s, _), own_T, return_T in zip(
                pairs, advantages_1T[0].split(lengths), returns_1T[0].split(lengths), strict=True
            ):
                old = spread(values[s.group_id], s)
                sequences.append(
                    replace(s, advantages=spread(own_T, s), returns=spread(return_T, s), old_values=old)
                )
        return self._whitened(sequences)

    def rewards(self, episode: Episode) -> list[float]:
        """Return the reward of each turn that advantages are computed from."""
        return rewards_of(episode)

    def values(self, batch: TokenBatch) -> Tensor:
        """Return the value of the state in which each token was sampled, ``[B, T]``."""
        return self.learner.scalars(batch, ["value"])[..., 0]

    def _whitened(self, sequences: list[TokenSequence]) -> list[TokenSequence]:
        """Normalise advantages to mean 0 and variance 1 over the iteration's tokens."""
        flat_1T = torch.tensor([a for s in sequences for a in s.advantages or ()])[None]
        mask_1T = torch.tensor([m for s in sequences for m in s.loss_mask])[None]
        white = losses.whiten(flat_1T, mask_1T)[0].split([len(s.ids) for s in sequences])
        return [replace(s, advantages=w.tolist()) for s, w in zip(sequences, white, strict=True)]

    def loss(self, batch: TokenBatch) -> LossFn:
        """Return clipped surrogate + c1 · clipped value loss − c2 · entropy (+ KL), means over tokens."""
        mean, c = self.token_mean(batch), self.config

        def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
            assert micro.old_values is not None and micro.returns is not None
            policy, metrics = self.surrogate(outputs, micro, mean, c.clip_ratio, c.clip_ratio)
            value_BT = losses.value_loss(
                outputs.scalar_BT("value"), micro.old_values, micro.returns, clip=c.value_clip
            )
            metrics["value_loss"] = mean(value_BT, micro.loss_mask)
            total = policy + c.value_coef * metrics["value_loss"]
            if c.entropy_coef:
                metrics["entropy"] = mean(outputs.entropy_BT, micro.loss_mask)
                total = total - c.entropy_coef * metrics["entropy"]
            return with_kl(total, self.config, outputs, micro.loss_mask, mean, metrics), metrics

        return compute
