"""The base class of algorithms that learn per token from their newest episodes: RFT, PPO, GRPO and
plug-ins."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.initial_policy import Mean
from nlac_bench.agents.roles.transition import first_state, walk
from nlac_bench.agents.trainer import Trainer
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner import losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs, mean_of_steps
from nlac_bench.rollout.engines.engine import SampleRequest, derive_seed
from nlac_bench.types import Episode, Turn

C = TypeVar("C", bound=TrainConfig)


class OnPolicy(Trainer[C]):
    """An ``Algorithm`` that learns from new episodes, syncs the weights and discards the episodes.

    A subclass implements ``learn``, usually with ``turns`` (episodes as token sequences), ``mini_batches``,
    ``take_steps`` and a loss, and ``prepare`` if it asks the roles about the episodes. Each turn is one
    sequence of prompt and action; the loss mask is 1 on the tokens that the policy sampled. Its ``group_id``
    is its index in the iteration.
    """

    def __getstate__(self) -> dict[str, object]:
        """Return what the losses read from the algorithm; it is sent to all ranks with each loss."""
        return {"config": self.config}

    @abstractmethod
    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take at most ``max_steps`` gradient steps on ``episodes`` and return the metrics."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from ``episodes``, which were played with weights at most ``max_staleness`` updates old.

        Raises:
            NlacBenchError: ``episodes`` is empty; the algorithm cannot learn from other policies' episodes.
        """
        if not episodes:
            raise NlacBenchError(
                f"{type(self).__name__} learns on policy and needs new episodes in every iteration; "
                "it cannot train offline"
            )
        await self.resources.in_parts(episodes, None, self.prepare)
        # The weights are synced at the start and in each iteration, so their version is its number.
        self.resources.keep_answers(self.speaking.counts.taken(self.version))
        metrics = await self.resources.learn(lambda: self.learn(episodes, max_steps))
        self.sync()
        return metrics | self.too_long() | self.speaking.shares()

    async def prepare(self, episodes: Sequence[Episode]) -> None:
        """Ask the roles (``self.speaking``) about ``episodes`` before ``learn``; by default does nothing."""

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Raise an error, because an on-policy algorithm does not keep episodes.

        Raises:
            NlacBenchError: always.
        """
        raise NlacBenchError(
            f"{type(self).__name__} learns on policy and needs new episodes in every iteration; it cannot "
            "train offline"
        )

    # --- tokens ---------------------------------------------------------------------------------

    def turns(self, episodes: Sequence[Episode]) -> list[list[TokenSequence | None]]:
        """Return each episode's turns as sequences.

        A turn is None if it is too long to train on, or if it was not played because the context was full.

        Raises:
            NlacBenchError: the engine did not return token ids.
        """
        numbers = iter(range(sum(len(e.turns) for e in episodes)))
        return [[self._sequence(turn, next(numbers)) for turn in e.turns] for e in episodes]

    def _sequence(self, turn: Turn, number: int) -> TokenSequence | None:
        if not turn.played:
            return None
        prompt, output = turn.prompt_ids, turn.output_ids
        if prompt is None or output is None:
            raise NlacBenchError(
                "training needs token ids, which this engine does not return; use an engine that runs the "
                "model in this process (--engine hf or vllm)"
            )
        c = self.config
        if len(prompt) > c.max_prompt_length or len(output) > c.max_response_length or not output:
            self.encoder.too_long += 1
            return None
        mask = [0.0] * len(prompt) + [1.0] * len(output)
        if not self.config.max_staleness:
            return TokenSequence([*prompt, *output], mask, group_id=number)
        if turn.logprobs is None:
            raise NlacBenchError(
                "train.max_staleness = 1 needs the log-probabilities of sampled tokens, which this engine "
                "does not return; set it to 0"
            )
        return TokenSequence(
            [*prompt, *output], mask, group_id=number, old_logprobs=[0.0] * len(prompt) + [*turn.logprobs]
        )

    def left_in(self, episode: Episode, number: int) -> TokenSequence | None:
        """Return the prompt of the state in which a truncated episode ended, plus one token.

        The prompt has the tokens that the policy would have read: it continues those of the last turn, where
        the prompts grow. The value at the added token is the value of the state. None if the prompt is too
        long.
        """
        info, prompts, prefix_ids = self.beginning(episode), self.resources.prompts, None
        state = first_state(self.env, episode.first_observation, info)
        for _, turn, following in walk(episode, self.env, info):
            state = following
            if prompts.grows and turn.prompt_ids is not None and turn.output_ids is not None:
                prefix_ids = [*turn.prompt_ids, *turn.output_ids]
        request = SampleRequest(messages=prompts.policy(state).messages, prefix_ids=prefix_ids)
        ids = self.encoder.format.prompt_ids(request)
        if len(ids) > self.config.max_prompt_length:
            return None
        return TokenSequence([*ids, ids[-1]], [0.0] * len(ids) + [1.0], group_id=number)

    def read(
        self, what: Callable[[TokenBatch], Tensor], sequences: Sequence[TokenSequence]
    ) -> dict[int, Tensor]:
        """Return the output of ``what``, such as ``learner.logprobs``, at each sequence's trained tokens.

        The keys are the sequences' ``group_id``.
        """
        batch = share.packed(sequences, self.config.row_tokens)
        own_BT = batch.loss_mask != 0
        values_N, numbers_N = what(batch)[own_BT], batch.group_id[own_BT]
        return {s.group_id: values_N[numbers_N == s.group_id] for s in sequences}

    def mini_batches(self, sequences: Sequence[TokenSequence], epoch: int = 0) -> list[TokenBatch]:
        """Shuffle ``sequences`` by seed, iteration and ``epoch``; pack ``mini_batch_size`` of them into each
        batch, or all into one if it is 0."""
        self.learned = [s for s in sequences if s.loss == "policy"]
        key = (self.version, "batches", *([epoch] if epoch else []))
        rng = np.random.default_rng(derive_seed(self.resources.seed, *key))
        order, size = rng.permutation(len(sequences)), self.config.mini_batch_size or max(1, len(sequences))
        return [
            share.packed([sequences[i] for i in order[start : start + size]], self.config.row_tokens)
            for start in range(0, len(order), size)
        ]

    def take_steps(
        self, batches: Iterator[TokenBatch], loss: Callable[[TokenBatch], LossFn], max_steps: int | None
    ) -> Metrics:
        """Take one gradient step per batch, at most ``max_steps``; return the means of their metrics."""
        return mean_of_steps(
            [
                self.learner.forward_backward(batch, loss(batch)) | self.learner.optim_step()
                for batch in islice(batches, max_steps)
            ]
        )

    def epochs(self, sequences: Sequence[TokenSequence], count: int) -> Iterator[TokenBatch]:
        """Yield the mini-batches of ``count`` passes over ``sequences``, which are shuffled before each pass.

        They have ``old_logprobs`` of the policy at the start of the update. The learner computes them in the
        mini-batches of the first pass, so that the ratio is exactly 1 until the weights change. The first
        mini-batch of a single pass needs none (see ``surrogate``). If older weights may have sampled them
        (then they have ``old_logprobs``), a token's advantage is multiplied by its importance, the ratio of
        the probabilities of both policies, up to a cap (``losses.importance``).
        """
        batches = self.mini_batches(sequences)
        ready = 1 if count == 1 and not self.config.max_staleness else 0
        started = [
            *batches[:ready],
            *(replace(b, old_logprobs=self.learner.logprobs(b)) for b in batches[ready:]),
        ]
        if self.config.max_staleness and batches and batches[0].old_logprobs is not None:
            started = [weighted(now, played) for now, played in zip(started, batches, strict=True)]
        yield from started
        if count > 1:
            again = [taken_from(started, sequence) for sequence in sequences]
            for epoch in range(1, count):
                yield from self.mini_batches(again, epoch)

    def surrogate(
        self, outputs: Outputs, micro: TokenBatch, mean: Mean, low: float, high: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return PPO's clipped loss with the advantages of ``micro``, and metrics with the clipped share.

        Without ``old_logprobs``, the weights have not changed since the start of the update: the ratio is 1.

        Args:
            low: bound of the ratio below 1.
            high: bound of the ratio above 1.
        """
        assert micro.advantages is not None
        old_BT = outputs.logprobs_BT.detach() if micro.old_logprobs is None else micro.old_logprobs
        each_BT = losses.ppo_policy_loss(
            outputs.logprobs_BT, old_BT, micro.advantages, clip_low=low, clip_high=high
        )
        policy = mean(each_BT, micro.loss_mask)
        ratio_BT = (outputs.logprobs_BT - old_BT).exp().detach()
        # Clipped, so the gradient is 0: the ratio is beyond the bound in the direction of the advantage.
        signs_BT = micro.advantages.sign()
        beyond_BT = (ratio_BT - 1) * signs_BT > torch.where(signs_BT > 0, high, low)
        return policy, {"policy_loss": policy, "clipped": mean(beyond_BT.float(), micro.loss_mask)}

    def token_mean(self, batch: TokenBatch) -> Mean:
        """Return a function that reduces a micro-batch's losses to its part of the mean over all tokens."""
        tokens = (batch.loss_mask != 0).sum().clamp(min=1)
        return lambda loss_BT, mask_BT: losses.aggregate(loss_BT, mask_BT, tokens)


def weighted(now: TokenBatch, played: TokenBatch) -> TokenBatch:
    """Return ``now`` with each token's advantage multiplied by its capped importance.

    Args:
        now: the batch, with ``old_logprobs`` of the policy at the start of the update.
        played: the same batch with ``old_logprobs`` of the policy that sampled it.
    """
    assert now.old_logprobs is not None and played.old_logprobs is not None and now.advantages is not None
    importance_BT = losses.importance(now.old_logprobs, played.old_logprobs)
    return replace(now, advantages=importance_BT * now.advantages)


def taken_from(batches: Sequence[TokenBatch], sequence: TokenSequence) -> TokenSequence:
    """Return ``sequence`` with the ``old_logprobs`` and advantages that it has in one of ``batches``."""
    for batch in batches:
        own_BT = (batch.group_id == sequence.group_id) & (batch.segment_ids != 0)
        if own_BT.any():
            assert batch.old_logprobs is not None and batch.advantages is not None
            return replace(
                sequence,
                old_logprobs=batch.old_logprobs[own_BT].tolist(),
                advantages=batch.advantages[own_BT].tolist(),
            )
    raise ValueError(f"no batch has a sequence with group_id {sequence.group_id}")


def rewards_of(episode: Episode) -> list[float]:
    """Return the reward of each turn."""
    return [turn.reward for turn in episode.turns]


def spread(values: Tensor, sequence: TokenSequence) -> list[float]:
    """Put ``values`` at the positions of the sequence's trained tokens; 0 elsewhere."""
    spread_T = torch.zeros(len(sequence.ids))
    spread_T[torch.tensor(sequence.loss_mask) != 0] = values.float()
    return [float(value) for value in spread_T]
