"""Replaces the weights of a vLLM instance and verifies the result in three layers.

1. Versions: vLLM reports the slot and version of the new weights.
2. Digests: each worker compares what it has loaded with the tensors that were sent (``Loading``).
3. Probe: log-probabilities of a probe text. They must be the source's, and must have moved as far as the
   source's: a transfer that did nothing would pass the first check if the weights differ little. Scoring a
   prompt does not read the prefix cache, so a text is also continued whose beginning was cached with the old
   weights.
"""

import math
from collections.abc import Coroutine, Sequence
from typing import Protocol, TypeVar

from nlac_bench.rollout.engines.engine import SyncError
from nlac_bench.rollout.engines.shared_source import Receiving, SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.weights import NOISE, PROBE, check_arrived, check_moved, probe_ids

T = TypeVar("T")

CONTINUED = 8
"""Number of tokens sampled after the beginning that was cached with the old weights."""


class Call(Protocol):
    """Runs a coroutine on vLLM's event loop and returns its result."""

    def __call__(self, coroutine: Coroutine[object, object, T]) -> T:
        """Return the result."""


class Receiver(Receiving, Protocol):
    """A vLLM that takes weights: an ``Instance`` in this process, or a ``Server``."""

    intact: bool
    """Whether the weights are known: False from the start of a transfer until it has been verified."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The Hugging Face tokenizer."""

    @property
    def context(self) -> int:
        """Largest number of tokens of prompt and answer together."""

    @property
    def exact(self) -> bool:
        """Whether the model computes in float32."""

    @property
    def block_size(self) -> int:
        """Number of tokens of a block of the prefix cache; only whole blocks are cached."""

    async def logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
        """Return the log-probabilities of ``ids[prompt_len:]``; the prefix cache is not read."""

    async def greedy(self, prompt: Sequence[int], count: int) -> tuple[list[int], list[float]]:
        """Return ``count`` greedy tokens after ``prompt`` and their log-probabilities at temperature 1."""

    async def transfer(self, source: SharedSource, version: int) -> None:
        """Load the weights of ``source``, which the workers check, and set their version."""

    async def check_version(self, version: int) -> None:
        """Check the version of the weights that vLLM reports."""


def push(
    instance: Receiver, source: SharedSource, version: int, tolerance: float, call: Call
) -> float | None:
    """Load the weights of ``source`` and verify them. No other requests may run.

    Args:
        tolerance: largest mean difference of the probe's log-probabilities.

    Returns:
        As ``check_moved``; None if the weights were not known before.

    Raises:
        SyncError: the weights were refused or are not those of ``source``; the message names the layer.
    """
    noise = NOISE[instance.exact and source.exact]
    probe = probe_ids(instance.tokenizer)
    beginning, count = _cacheable(instance)
    before = call(instance.logprobs(probe, 1)) if instance.intact else None
    if count > 0 and instance.intact:
        call(instance.greedy(beginning, 1))  # fills the prefix cache
    instance.intact = False
    call(instance.transfer(source, version))
    call(instance.check_version(version))
    after, expected = call(instance.logprobs(probe, 1)), source.logprobs(probe, 1)
    gap = check_arrived(after, expected, tolerance, version)
    slope = None
    if before is not None:
        slope = check_moved(before, after, expected, noise, version)
    if count > 0:
        ids, logprobs = call(instance.greedy(beginning, count))
        _check_cache(logprobs, source.logprobs([*beginning, *ids], len(beginning)), gap, noise)
    instance.intact = True
    return slope


def _cacheable(instance: Receiver) -> tuple[list[int], int]:
    """Return a text that fills a block of the prefix cache, and the number of tokens that fit after it."""
    ids = [int(i) for i in instance.tokenizer(PROBE, add_special_tokens=False)["input_ids"]]
    length = instance.block_size + 1
    beginning = (ids * math.ceil(length / len(ids)))[:length]
    return beginning, min(CONTINUED, instance.context - length)


def _check_cache(actual: Sequence[float], expected: Sequence[float], cold: float, noise: float) -> None:
    """Check the log-probabilities of the continuation.

    Args:
        cold: the mean difference without the prefix cache.
        noise: smaller differences are rounding errors.

    Raises:
        SyncError: the mean difference is more than ten times ``cold``, and exceeds ``noise``.
    """
    gap = sum(abs(a - b) for a, b in zip(actual, expected, strict=True)) / len(expected)
    if not gap <= max(10 * cold, noise):
        raise SyncError(
            f"prefix cache: log-probabilities after a cached beginning differ from the learner's by "
            f"{gap:.3g} on average, without the cache by {cold:.3g}: vLLM reads those of other weights"
        )
