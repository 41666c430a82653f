"""Turns a request into samples of vLLM, whether that runs in this process or on a server."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from nlac_bench.rollout.engines.engine import Finish, Sample, SampleRequest, derive_seed
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.types import Usage


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer of vLLM to one prompt.

    ``stopped`` is False where the answer was cut because it reached ``max_tokens``; ``version`` is that of
    the weights.
    """

    ids: list[int]
    logprobs: list[float]
    text: str
    stopped: bool
    version: int


Generate: TypeAlias = Callable[[Mapping[str, object]], Awaitable[Generated]]
"""Answers one prompt; called with the arguments of vLLM's ``SamplingParams``."""


async def sample(request: SampleRequest, prompt: list[int], context: int, generate: Generate) -> list[Sample]:
    """Return ``request.n`` samples after ``prompt``. Each has its own seed, derived from the request's.

    Args:
        context: largest number of tokens of prompt and answer together.
    """
    began = time.perf_counter()
    left = context - len(prompt)
    if left < 1:
        samples = [Sample("", "context_overflow", prompt, [], []) for _ in range(request.n)]
    else:
        samples = await asyncio.gather(*(_one(request, prompt, left, generate, i) for i in range(request.n)))
    seconds = time.perf_counter() - began
    first, *others = (replace(s, usage=Usage(completion_tokens=len(s.ids or ()))) for s in samples)
    return [replace(first, usage=first.usage + Usage(1, len(prompt), 0, 0.0, seconds)), *others]


async def _one(
    request: SampleRequest, prompt: list[int], left: int, generate: Generate, number: int
) -> Sample:
    sampling, seed = request.sampling, request.seed
    limit = min(left, sampling.max_tokens)
    if seed is not None and number > 0:
        seed = derive_seed(seed, number)
    done = await generate(
        {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": limit,
            "stop": list(sampling.stop),
            "seed": seed,
            "logprobs": 0,
            # The markers of calls are special tokens in some families.
            "skip_special_tokens": not request.tools,
        }
    )
    finish: Finish = "stop"
    if not done.stopped:
        finish = "length" if limit == sampling.max_tokens else "context_overflow"
    text, calls = parse_tool_calls(done.text, request.tools) if request.tools else (done.text, ())
    if calls and finish == "stop":
        finish = "tool_calls"
    return Sample(text, finish, prompt, done.ids, done.logprobs, done.version, Usage(), calls)
