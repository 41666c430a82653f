"""The base class of algorithms that learn from their newest episodes only, token by token: RFT, PPO, GRPO
and plug-ins."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.algorithm import Resources
from nlac_bench.agents.roles.transition import first_state, walk
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import SampleRequest, derive_seed
from nlac_bench.train import losses
from nlac_bench.train.batch import TokenBatch, TokenSequence, pack
from nlac_bench.train.config import TrainConfig
from nlac_bench.train.outputs import LossFn, Metrics, Outputs, mean_of_steps
from nlac_bench.types import Episode, Turn

C = TypeVar("C", bound=TrainConfig)
Mean: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Of values under a mask."""


class OnPolicy(ABC, Generic[C]):
    """An ``Algorithm`` that learns from new episodes, syncs the weights and forgets the episodes.

    A subclass writes ``learn``, usually from ``turns`` (episodes as token sequences), ``mini_batches``,
    ``take_steps`` and a loss. A turn is one sequence, prompt and action; the tokens that the policy sampled
    are the loss mask. Its ``group_id`` is its place in the iteration.
    """

    def __init__(self, resources: Resources[C]) -> None:
        self.resources, self.config, self.learner = resources, resources.config, resources.learner
        self.version = self.too_long = 0
        self._env, self._info = resources.env_info()
        self._format = ChatFormat(resources.tokenizer)
        self._learned: list[TokenSequence] = []

    @abstractmethod
    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Gradient steps, at most ``max_steps`` of them."""

    async def update(self, episodes: Sequence[Episode], max_steps: int | None = None) -> Metrics:
        """Learn from ``episodes``, which the newest weights have just played.

        Raises:
            NlacBenchError: there are none: this algorithm cannot learn from another policy's.
        """
        if not episodes:
            raise NlacBenchError(f"{type(self).__name__} learns on policy, from its own episodes alone")
        metrics = self.learn(episodes, max_steps)
        self.sync()
        too_long, self.too_long = self.too_long, 0
        return metrics | {"too_long": float(too_long)}

    def remember(self, episodes: Sequence[Episode]) -> int:
        """Not supported: an on-policy algorithm keeps no episodes.

        Raises:
            NlacBenchError: always.
        """
        raise NlacBenchError(f"{type(self).__name__} learns on policy, from its own episodes alone")

    async def probe(self, episodes: Sequence[Episode], deep: bool) -> Metrics:
        """KL(π ‖ π at the start) on what was learned last."""
        if not self._learned:
            return {}
        batch = pack(self._learned[:16], self.config.row_tokens)
        return {"kl_to_start": self.learner.reference_kl(batch)}

    def sync(self) -> None:
        """Hand the weights to the engine, which checks that they arrived."""
        self.version += 1
        self.resources.push(self.version)

    def save(self, folder: Path) -> dict[str, Any]:
        """The version of the weights, all that an on-policy algorithm keeps."""
        return {"version": self.version}

    def load(self, folder: Path, state: Mapping[str, Any]) -> None:
        """Restore the version of the weights and hand them to the engine."""
        self.version = int(state["version"])
        self.resources.push(self.version)

    # --- tokens ---------------------------------------------------------------------------------

    def turns(self, episodes: Sequence[Episode]) -> list[list[TokenSequence | None]]:
        """Each episode's turns as sequences; None for one that is too long to train on, or was never played
        because the context was full."""
        numbers = iter(range(sum(len(e.turns) for e in episodes)))
        return [[self._sequence(turn, next(numbers)) for turn in e.turns] for e in episodes]

    def _sequence(self, turn: Turn, number: int) -> TokenSequence | None:
        if not turn.played:
            return None
        prompt, output = turn.prompt_ids, turn.output_ids
        if prompt is None or output is None:
            raise NlacBenchError("the engine reports no token ids; train with a model that runs here")
        c = self.config
        if len(prompt) > c.max_prompt_length or len(output) > c.max_response_length or not output:
            self.too_long += 1
            return None
        mask = [0.0] * len(prompt) + [1.0] * len(output)
        return TokenSequence([*prompt, *output], mask, group_id=number)

    def left_in(self, episode: Episode, number: int) -> TokenSequence | None:
        """The prompt of the state that a cut episode was left in, with one token more: the value at that
        token is the state's."""
        state = first_state(self._env, episode.first_observation, self._info)
        for _, _, following in walk(episode, self._env, self._info):
            state = following
        request = SampleRequest(messages=self.resources.prompts.policy(state).messages)
        ids = self._format.prompt_ids(request)
        if len(ids) > self.config.max_prompt_length:
            return None
        return TokenSequence([*ids, ids[-1]], [0.0] * len(ids) + [1.0], group_id=number)

    def read(
        self, what: Callable[[TokenBatch], Tensor], sequences: Sequence[TokenSequence]
    ) -> dict[int, Tensor]:
        """What the learner says of each sequence's own tokens, by ``group_id``."""
        batch = pack(sequences, self.config.row_tokens)
        own_BT = batch.loss_mask != 0
        values_N, numbers_N = what(batch)[own_BT], batch.group_id[own_BT]
        return {s.group_id: values_N[numbers_N == s.group_id] for s in sequences}

    def mini_batches(self, sequences: Sequence[TokenSequence]) -> list[TokenBatch]:
        """``sequences`` in an order that seed and iteration decide, ``mini_batch_size`` of them a batch."""
        self._learned = list(sequences)
        rng = np.random.default_rng(derive_seed(self.resources.seed, self.version, "batches"))
        order, size = rng.permutation(len(sequences)), self.config.mini_batch_size
        return [
            pack([sequences[i] for i in order[start : start + size]], self.config.row_tokens)
            for start in range(0, len(order), size)
        ]

    def take_steps(
        self, batches: Iterator[TokenBatch], loss: Callable[[TokenBatch], LossFn], max_steps: int | None
    ) -> Metrics:
        """One gradient step a batch, as many as may be; the means of their metrics."""
        return mean_of_steps(
            [
                self.learner.forward_backward(batch, loss(batch)) | self.learner.optim_step()
                for batch in islice(batches, max_steps)
            ]
        )

    def epochs(self, batches: Sequence[TokenBatch], count: int) -> Iterator[TokenBatch]:
        """``count`` passes over ``batches`` with the log-probabilities of the policy that played, which the
        learner recomputes: the ratio is exactly 1 as long as nothing has changed."""
        played = [replace(b, old_logprobs=self.learner.logprobs(b)) for b in batches]
        for _ in range(count):
            yield from played

    def surrogate(
        self, outputs: Outputs, micro: TokenBatch, mean: Mean, clip: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """PPO's clipped loss on ``micro``'s advantages, and how often it clips."""
        assert micro.old_logprobs is not None and micro.advantages is not None
        each_BT = losses.ppo_policy_loss(
            outputs.logprobs_BT, micro.old_logprobs, micro.advantages, clip_low=clip, clip_high=clip
        )
        policy = mean(each_BT, micro.loss_mask)
        ratio_BT = (outputs.logprobs_BT - micro.old_logprobs).exp().detach()
        # Beyond the bound on the side that its advantage pushes to: there the gradient is 0.
        beyond_BT = (ratio_BT - 1) * micro.advantages.sign() > clip
        return policy, {"policy_loss": policy, "clipped": mean(beyond_BT.float(), micro.loss_mask)}

    def token_mean(self, batch: TokenBatch) -> Mean:
        """Reduces a micro-batch's losses per token to its part of the batch's mean over all tokens."""
        tokens = losses.denominator(batch.loss_mask, "token_mean", self.learner.total)
        return lambda loss_BT, mask_BT: losses.aggregate(loss_BT, mask_BT, "token_mean", tokens)

    def with_kl(
        self, total: Tensor, outputs: Outputs, micro: TokenBatch, mean: Mean, metrics: dict[str, Tensor]
    ) -> Tensor:
        """``total`` with the KL penalty to the first model, where one is wanted."""
        if not self.config.kl_coef:
            return total
        metrics["kl"] = mean(outputs.reference_kl_BT, micro.loss_mask)
        return total + self.config.kl_coef * metrics["kl"]


def rewards_of(episode: Episode) -> list[float]:
    """One reward a turn."""
    return [turn.reward for turn in episode.turns]


def spread(values: Tensor, sequence: TokenSequence) -> list[float]:
    """``values`` of the sequence's own tokens, put to their places; 0 elsewhere."""
    spread_T = torch.zeros(len(sequence.ids))
    spread_T[torch.tensor(sequence.loss_mask) != 0] = values.float()
    return [float(value) for value in spread_T]
