"""Replaces the weights of a vLLM instance and verifies the result in three layers.

1. Versions: vLLM reports the slot and version of the new weights.
2. Digests: each worker compares what it has loaded with the tensors that were sent (``FileTransfer``).
3. Probe: log-probabilities of a probe text. They must be the source's, and must have moved as far as the
   source's: a transfer that did nothing would pass the first check if the weights differ little. Scoring a
   prompt does not read the prefix cache, so a text is also continued whose beginning was cached with the old
   weights.
"""

import math
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from nlac_bench.rollout.engines.engine import SyncError
from nlac_bench.rollout.engines.vllm.instance import Instance
from nlac_bench.rollout.engines.weight_file import WeightFile, digest
from nlac_bench.rollout.engines.weights import PROBE, check_arrived, check_moved, probe_ids

T = TypeVar("T")

CONTINUED = 8
"""Number of tokens sampled after the beginning that was cached with the old weights."""
NOISE = {True: 2e-5, False: 0.04}
"""Differences of log-probabilities between vLLM and a learner with the same weights that rounding may cause,
in float32 (True) and lower precision. Measured on CPUs: 2e-6 and 0.016 on average."""


class Call(Protocol):
    """Runs a coroutine on vLLM's event loop and returns its result."""

    def __call__(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result."""


def push(instance: Instance, file: WeightFile, version: int, tolerance: float, call: Call) -> None:
    """Load the weights of ``file`` and verify them. No other requests may run.

    The source behind ``file`` is used in the calling thread alone.

    Args:
        tolerance: largest mean difference of the probe's log-probabilities.

    Raises:
        SyncError: the weights were refused or are not those of ``file``; the message names the layer.
    """
    probe = probe_ids(instance.tokenizer)
    beginning, count = _cacheable(instance)
    before = call(instance.logprobs(probe, 1)) if instance.intact else None
    if count > 0 and instance.intact:
        call(instance.greedy(beginning, 1))  # fills the prefix cache
    call(
        instance.transfer(file.path, {name: digest(tensor) for name, tensor in file.named_tensors()}, version)
    )
    call(instance.check_version(version))
    after, expected = call(instance.logprobs(probe, 1)), file.logprobs(probe, 1)
    gap = check_arrived(after, expected, tolerance, version)
    if before is not None:
        check_moved(before, after, expected, NOISE[instance.exact], version)
    if count > 0:
        ids, found = call(instance.greedy(beginning, count))
        _check_cache(found, file.logprobs([*beginning, *ids], len(beginning)), gap, NOISE[instance.exact])
    instance.intact = True


def _cacheable(instance: Instance) -> tuple[list[int], int]:
    """Return a text that fills a block of the prefix cache, and the number of tokens that fit after it."""
    ids = [int(i) for i in instance.tokenizer(PROBE, add_special_tokens=False)["input_ids"]]
    length = instance.block_size + 1
    beginning = (ids * math.ceil(length / len(ids)))[:length]
    return beginning, min(CONTINUED, instance.context - length)


def _check_cache(found: Sequence[float], expected: Sequence[float], cold: float, noise: float) -> None:
    """Check the log-probabilities of the continuation.

    Args:
        cold: the mean difference without the prefix cache.
        noise: smaller differences are rounding errors.

    Raises:
        SyncError: the mean difference is more than ten times ``cold``, and exceeds ``noise``.
    """
    gap = sum(abs(a - b) for a, b in zip(found, expected, strict=True)) / len(expected)
    if not gap <= max(10 * cold, noise):
        raise SyncError(
            f"prefix cache: log-probabilities after a cached beginning differ from the learner's by "
            f"{gap:.3g} on average, without the cache by {cold:.3g}: vLLM reads those of other weights"
        )
