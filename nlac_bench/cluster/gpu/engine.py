"""Weight pushes to an engine, its agreement with the learner, and its speed."""

import asyncio
import functools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlac_bench.rollout.engines.engine import (
    Sample,
    SampleRequest,
    Sampling,
    TrainableEngine,
    WeightSource,
    derive_seed,
)


@dataclass(frozen=True)
class Mismatch:
    """The difference between the log-probabilities of an engine and of the source of its weights.

    ``gap`` is the mean absolute difference on sampled tokens, ``kl`` an estimate of KL(engine ‖ source) a
    token, in nats.
    """

    gap: float
    kl: float


class Remembered:
    """A source of weights that computes the log-probabilities of each text once."""

    def __init__(self, source: WeightSource) -> None:
        self.named_tensors = source.named_tensors
        self._logprobs = functools.cache(source.logprobs)

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """See ``WeightSource.logprobs``."""
        result: Sequence[float] = self._logprobs(tuple(ids), prompt_len)
        return result


def push_seconds(engine: TrainableEngine, source: WeightSource) -> float:
    """Return the seconds of a verified push of ``source`` to the engine.

    The push is made twice and the second one is timed: the first one also computes the source's
    log-probabilities, possibly on a slower device than a learner's.
    """
    remembered = Remembered(source)
    engine.sync(remembered, 1)
    began = time.perf_counter()
    engine.sync(remembered, 2)
    return time.perf_counter() - began


def random_prompts(count: int, length: int, vocabulary: int) -> list[list[int]]:
    """Return prompts of random tokens; the first half of each is the same for all of them."""
    rng = np.random.default_rng(0)
    shared = rng.integers(vocabulary, size=length // 2).tolist()
    return [shared + rng.integers(vocabulary, size=length - length // 2).tolist() for _ in range(count)]


async def sampled(engine: TrainableEngine, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Sample]:
    """Return a sample for each prompt at temperature 1; all requests are made at once."""
    requests = (
        SampleRequest(
            prompt_ids=prompt, sampling=Sampling(max_tokens=max_tokens), seed=derive_seed("bench-gpu", number)
        )
        for number, prompt in enumerate(prompts)
    )
    return [sample for (sample,) in await asyncio.gather(*map(engine.sample, requests))]


def tokens_per_second(engine: TrainableEngine, prompts: Sequence[Sequence[int]], max_tokens: int) -> float:
    """Return how many tokens the engine generates in a second, reading the prompts included."""
    began = time.perf_counter()
    samples = asyncio.run(sampled(engine, prompts, max_tokens))
    return sum(len(sample.ids or ()) for sample in samples) / (time.perf_counter() - began)


def mismatch(
    engine: TrainableEngine, source: WeightSource, prompts: Sequence[Sequence[int]], max_tokens: int
) -> Mismatch:
    """Compare the log-probabilities of samples of the engine with those that ``source`` computes.

    The KL is the mean of exp(r) − 1 − r with r = log p(source) − log p(engine), an unbiased estimate without
    negative terms (Schulman, "Approximating KL divergence", k3).
    """
    ratios: list[float] = []
    for prompt, sample in zip(prompts, asyncio.run(sampled(engine, prompts, max_tokens)), strict=True):
        own = sample.logprobs or []
        theirs = source.logprobs([*prompt, *(sample.ids or ())], len(prompt))
        ratios += [b - a for a, b in zip(own, theirs, strict=True)]
    gap = sum(map(abs, ratios)) / len(ratios)
    return Mismatch(gap, sum(math.expm1(ratio) - ratio for ratio in ratios) / len(ratios))
