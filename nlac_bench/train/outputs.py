"""What a loss function sees of a forward pass, and what comes of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor

from nlac_bench.train import losses
from nlac_bench.train.batch import TokenBatch
from nlac_bench.train.model import Forward, Head

Metrics: TypeAlias = dict[str, float]


class Outputs:
    """What a loss function may read: aligned with ``TokenBatch``, 0 where nothing was computed.

    ``logprobs_BT[b, t]`` is of the token ``ids[b, t]``; it is computed where ``loss_mask`` is set.
    """

    def __init__(
        self, forward: Forward, wanted_BT: Tensor, batch: TokenBatch, reference: Callable[[], Tensor]
    ) -> None:
        self._forward = forward
        self._wanted_BT = wanted_BT
        self._batch = batch
        self._reference = reference

    def _spread(self, values_M: Tensor) -> Tensor:
        """Values at the wanted positions t - 1, put to their tokens t."""
        spread_BT = torch.zeros(self._wanted_BT.shape, dtype=values_M.dtype, device=values_M.device)
        spread_BT = spread_BT.masked_scatter(self._wanted_BT, values_M)
        return torch.cat([torch.zeros_like(spread_BT[:, :1]), spread_BT[:, :-1]], dim=1)

    @cached_property
    def logprobs_BT(self) -> Tensor:
        """Log-probabilities of the trained tokens at temperature 1."""
        next_ids_BT = self._batch.ids.roll(-1, dims=1)
        logits_MV, ids_M = self._forward.logits_MV, next_ids_BT[self._wanted_BT]
        return self._spread(losses.selective_log_softmax(logits_MV, ids_M))

    @cached_property
    def entropy_BT(self) -> Tensor:
        """Entropy of the distributions that the trained tokens came from."""
        return self._spread(losses.entropy(self._forward.logits_MV.float()))

    @cached_property
    def reference_kl_BT(self) -> Tensor:
        """KL to the reference model over the whole vocabulary (exact on any policy's data)."""
        return self._spread(losses.full_kl(self._forward.logits_MV.float(), self._reference().float()))

    @cached_property
    def values_BT(self) -> Tensor:
        """The value of the state in which each token was sampled."""
        value_BT = self._forward.heads_BT["value"]
        return torch.cat([torch.zeros_like(value_BT[:, :1]), value_BT[:, :-1]], dim=1)

    def q_BT(self, head: Head) -> Tensor:
        """A Q head at each token itself; an action's value is the one at its last token."""
        return self._forward.heads_BT[head]

    @property
    def anchor(self) -> Tensor:
        """0, but attached to what the loss may not be, so that all of the backward pass is run.

        A loss that has read ``logprobs_BT`` and the like is attached to the logits by them; their widest
        array is not gone through once more.
        """
        loose = [head_BT.sum() for head_BT in self._forward.heads_BT.values()]
        if not {"logprobs_BT", "entropy_BT", "reference_kl_BT"} & self.__dict__.keys():
            loose.append(self._forward.logits_MV.sum())
        return 0.0 * sum(loose, torch.zeros((), device=self._forward.logits_MV.device))


LossFn: TypeAlias = Callable[[Outputs, TokenBatch], tuple[Tensor, dict[str, Tensor]]]
"""A micro-batch's *part* of the loss (the parts of all micro-batches and ranks sum to the whole), and
metrics that are summed in the same way. Divide by global counts: see ``Learner.total``."""


def mean_of_steps(steps: Sequence[Metrics]) -> Metrics:
    """The mean of each metric over gradient steps, and how many steps there were."""
    sums: Counter[str] = Counter()
    for metrics in steps:
        sums.update(metrics)
    means = {name: float(value) / len(steps) for name, value in sums.items()}
    return means | {"gradient_steps": float(len(steps))}
