"""The inputs and results of loss functions: the outputs of a forward pass, and metrics."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor, nn

from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.logits import Logits
from nlac_bench.learner.model import Forward, HeadKind

Metrics: TypeAlias = dict[str, float]


class Outputs:
    """The outputs of a forward pass, for loss functions; aligned with ``TokenBatch`` and computed when read.

    ``logprobs_BT[b, t]`` belongs to the token ``ids[b, t]``; it is 0 where ``loss_mask`` is 0.

    Args:
        forward: the outputs of the policy.
        head: maps its hidden states to logits.
        wanted_BT: the positions whose next token is trained.
        batch: the micro-batch.
        reference: computes the reference model's logits at the same positions.
        kinds: what each scalar head values.
    """

    def __init__(
        self,
        forward: Forward,
        head: nn.Module,
        wanted_BT: Tensor,
        batch: TokenBatch,
        reference: Callable[[], Logits],
        kinds: Mapping[str, HeadKind],
    ) -> None:
        self._heads_BT = forward.heads_BT
        self._logits = Logits(forward.hidden_MH, head)
        self._wanted_BT = wanted_BT
        self._batch = batch
        self._reference = reference
        self._kinds = kinds

    def _spread(self, values_M: Tensor) -> Tensor:
        """Move values from the wanted positions t - 1 to the tokens t that they predict."""
        spread_BT = torch.zeros(self._wanted_BT.shape, dtype=values_M.dtype, device=values_M.device)
        spread_BT = spread_BT.masked_scatter(self._wanted_BT, values_M)
        return torch.cat([torch.zeros_like(spread_BT[:, :1]), spread_BT[:, :-1]], dim=1)

    @cached_property
    def logprobs_BT(self) -> Tensor:
        """Log-probabilities of the trained tokens at temperature 1; of a restricted choice (``allowed``), in
        the restricted distribution."""
        return self._logprobs_BT(self._logits)

    @cached_property
    def reference_logprobs_BT(self) -> Tensor:
        """Log-probabilities of the same tokens under the reference model, without a gradient."""
        with torch.no_grad():
            return self._logprobs_BT(self._reference())

    def _logprobs_BT(self, logits: Logits) -> Tensor:
        ids_M = self._batch.ids.roll(-1, dims=1)[self._wanted_BT]
        if self._batch.allowed is None:
            return self._spread(logits.each(losses.selective_log_softmax, ids_M))
        allowed_MA = self._batch.allowed.roll(-1, dims=1)[self._wanted_BT]
        return self._spread(logits.each(losses.restricted_log_softmax, ids_M, allowed_MA))

    @cached_property
    def entropy_BT(self) -> Tensor:
        """Entropy of the distributions of the trained tokens, in nats."""
        return self._spread(self._logits.each(lambda logits_mV: losses.entropy(logits_mV.float())))

    @cached_property
    def reference_kl_BT(self) -> Tensor:
        """KL to the reference model over the whole vocabulary, in nats (exact on any policy's data)."""
        reference = self._reference()

        def kl_m(logits_mV: Tensor, hidden_mH: Tensor) -> Tensor:
            return losses.full_kl(logits_mV.float(), reference.head(hidden_mH).float())

        return self._spread(self._logits.each(kl_m, reference.hidden_MH))

    @property
    def referred(self) -> bool:
        """Whether the reference model was computed."""
        return bool({"reference_logprobs_BT", "reference_kl_BT"} & self.__dict__.keys())

    def scalar_BT(self, name: str) -> Tensor:
        """Return the output of the scalar head ``name`` for each token (see ``HeadKind``)."""
        scalar_BT = self._heads_BT[name]
        if self._kinds[name] == "action":
            return scalar_BT
        return torch.cat([torch.zeros_like(scalar_BT[:, :1]), scalar_BT[:, :-1]], dim=1)

    @property
    def anchor(self) -> Tensor:
        """A zero that depends on all outputs, to be added to the loss so that the whole backward pass runs.

        The hidden states and the vocabulary's head are left out if the loss has read ``logprobs_BT``,
        ``entropy_BT`` or ``reference_kl_BT``, which depend on them already.
        """
        zero = torch.zeros((), device=self._wanted_BT.device)
        zero = zero + 0.0 * sum(head_BT.sum() for head_BT in self._heads_BT.values())
        if not {"logprobs_BT", "entropy_BT", "reference_kl_BT"} & self.__dict__.keys():
            zero = zero + self._logits.zero()
        return zero


LossFn: TypeAlias = Callable[[Outputs, TokenBatch], tuple[Tensor, dict[str, Tensor]]]
"""Returns a micro-batch's *part* of the loss (the parts of all micro-batches and ranks are summed), and
metrics that are summed in the same way. Divide by global counts; see ``Learner.total``."""


def mean_of_steps(steps: Sequence[Metrics]) -> Metrics:
    """Return the mean of each metric over the gradient steps that report it, and the number of all steps
    (``gradient_steps``)."""
    sums: Counter[str] = Counter()
    for metrics in steps:
        sums.update(metrics)
    counts = Counter(name for metrics in steps for name in metrics)
    means = {name: float(value) / counts[name] for name, value in sums.items()}
    return means | {"gradient_steps": float(len(steps))}
