"""The KL divergence from the initial policy, as a penalty in losses and as a metric; for all algorithms."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from torch import Tensor

from nlac_bench.learner import share
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.learner.config import TrainConfig
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.outputs import Metrics, Outputs

Mean: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Called with values and a mask; returns this micro-batch's part of the mean over the batch."""

PROBED = 16
"""Sequences on which ``kl_to_start`` is measured."""


def with_kl(
    total: Tensor,
    config: TrainConfig,
    outputs: Outputs,
    mask_BT: Tensor,
    mean: Mean,
    metrics: dict[str, Tensor],
) -> Tensor:
    """Return ``total`` plus ``kl_coef`` · KL(π ‖ initial π), if ``kl_coef`` is not 0.

    Args:
        mask_BT: the policy's tokens in this micro-batch.
        mean: reduces the KL at these tokens to this micro-batch's part of the mean.
        metrics: gets this part as ``kl``.
    """
    if not config.kl_coef:
        return total
    metrics["kl"] = mean(outputs.reference_kl_BT, mask_BT)
    return total + config.kl_coef * metrics["kl"]


def kl_to_start(learner: Learner, config: TrainConfig, sequences: Sequence[TokenSequence]) -> Metrics:
    """Return the metric ``kl_to_start``, KL(π ‖ initial π) on the first ``PROBED`` of ``sequences``.

    Empty without sequences, or if ``kl_probe`` is off.
    """
    if not sequences or not config.kl_probe:
        return {}
    return {"kl_to_start": learner.reference_kl(share.packed(sequences[:PROBED], config.row_tokens))}
