"""Turns a request into samples of vLLM, whether that runs in this process or on a server.

A form is filled in with one request for each of its slots: a choice is restricted to the tokens of its
options (``allowed_token_ids``), whose log-probabilities vLLM renormalises. Fixed words become part of the
next prompt, and the prefix cache has the keys and values of all earlier tokens.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from nlac_bench.rollout.engines.engine import (
    EngineError,
    Finish,
    Sample,
    SampleRequest,
    Sampling,
    derive_seed,
)
from nlac_bench.rollout.engines.filling import Filling
from nlac_bench.rollout.engines.forms import FormTokens, Free
from nlac_bench.rollout.engines.tokenizer import Tokenizer, special_ids
from nlac_bench.rollout.engines.tool_calls import read_sample
from nlac_bench.types import Usage


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer of vLLM to one prompt.

    ``text`` has no special tokens. ``stopped`` is False where the answer was cut because it reached
    ``max_tokens``; ``version`` is that of the weights.
    """

    ids: list[int]
    logprobs: list[float]
    text: str
    stopped: bool
    version: int


Generate: TypeAlias = Callable[[list[int], Mapping[str, object]], Awaitable[Generated]]
"""Answers a prompt; called with its tokens and the arguments of vLLM's ``SamplingParams``."""


async def sample(
    request: SampleRequest, prompt: list[int], context: int, generate: Generate, tokenizer: Tokenizer
) -> list[Sample]:
    """Return ``request.n`` samples after ``prompt``. Each has its own seed, derived from the request's.

    Args:
        context: largest number of tokens of prompt and answer together.
    """
    form = None if request.form is None else FormTokens(request.form, tokenizer)
    began = time.perf_counter()
    left = context - len(prompt)
    if left < 1:
        samples = [Sample("", "context_overflow", prompt, [], []) for _ in range(request.n)]
    else:
        numbers = range(request.n)
        if form is None:
            samples = await asyncio.gather(
                *(_one(request, prompt, left, generate, tokenizer, i) for i in numbers)
            )
        else:
            samples = await asyncio.gather(
                *(_fill(request, form, prompt, left, generate, i) for i in numbers)
            )
    seconds = time.perf_counter() - began
    first, *others = (replace(s, usage=Usage(completion_tokens=_sampled(s))) for s in samples)
    return [replace(first, usage=first.usage + Usage(1, len(prompt), 0, 0.0, seconds)), *others]


async def _one(
    request: SampleRequest,
    prompt: list[int],
    left: int,
    generate: Generate,
    tokenizer: Tokenizer,
    number: int,
) -> Sample:
    sampling = request.sampling
    limit = min(left, sampling.max_tokens)
    seed = _seed(request, number)
    done = await generate(prompt, _arguments(sampling, limit, sampling.stop, seed))
    finish: Finish = "stop"
    if not done.stopped:
        finish = "length" if limit == sampling.max_tokens else "context_overflow"
    ended = done.stopped and bool(done.ids) and done.ids[-1] in special_ids(tokenizer)
    ids = done.ids[: len(done.ids) - ended]
    text, calls = read_sample(
        tokenizer, prompt, ids, done.text, lambda: sampling.cut(str(tokenizer.decode(ids))), request.tools
    )
    if calls and finish == "stop":
        finish = "tool_calls"
    return Sample(text, finish, prompt, done.ids, done.logprobs, done.version, Usage(), calls)


async def _fill(
    request: SampleRequest, form: FormTokens, prompt: list[int], left: int, generate: Generate, number: int
) -> Sample:
    """Return a sample in ``form``; it is sampled again if the weights change meanwhile."""
    sampling = request.sampling
    limit = min(left, sampling.max_tokens)
    filling = Filling(form, limit)
    version: int | None = None
    while filling.finish is None:
        if filling.given:
            filling.take(filling.given[0], 0.0)
            continue
        allowed, segment = filling.allowed, filling.segment
        seed = _seed(request, number, len(filling.ids))
        if allowed is not None:
            arguments = _arguments(sampling, 1, (), seed) | {"allowed_token_ids": allowed}
        else:
            assert isinstance(segment, Free)
            arguments = _arguments(sampling, filling.ahead, segment.stop, seed)
        done = await generate([*prompt, *filling.ids], arguments)
        if version not in (None, done.version):
            return await _fill(request, form, prompt, left, generate, number)
        if not done.ids or (allowed is not None and done.ids[0] not in allowed):
            raise EngineError("vLLM returned a token that allowed_token_ids excludes, or none", "server")
        version = done.version
        for token, logprob in zip(done.ids, done.logprobs, strict=True):
            filling.take(token, logprob)
            if filling.finish is not None or filling.segment is not segment:
                break
    finish: Finish = "stop"
    if filling.finish == "length":
        finish = "length" if limit == sampling.max_tokens else "context_overflow"
    text = filling.read(prompt)
    return Sample(text, finish, prompt, filling.ids, filling.logprobs, version or 0, filled=filling.filled)


def _sampled(sample: Sample) -> int:
    return len(sample.ids or ()) if sample.filled is None else sum(sample.filled.sampled)


def _seed(request: SampleRequest, number: int, tokens: int = 0) -> int | None:
    """Return the seed of a sample's next tokens: the request's own for the first ones of the first sample."""
    if request.seed is None or not (number or tokens):
        return request.seed
    return derive_seed(request.seed, number, tokens) if tokens else derive_seed(request.seed, number)


def _arguments(
    sampling: Sampling, max_tokens: int, stop: Sequence[str], seed: int | None
) -> dict[str, object]:
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": max_tokens,
        "stop": list(stop),
        "seed": seed,
        "logprobs": 0,
    }
