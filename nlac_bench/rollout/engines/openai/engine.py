"""OpenAIEngine: a client for servers with OpenAI's protocol (OpenAI, vLLM, SGLang, llama.cpp …).

A server's JSON is untrusted input. Replies are therefore read as bytes up to a limit and parsed here; missing
or malformed parts are faults that are retried, not crashes or empty answers.
"""

import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nlac_bench.redaction import Redactor, redact, secret_values
from nlac_bench.rollout.engines.backoff import Pause, Retries, TransientFault
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Finish,
    Sample,
    SampleRequest,
    Slot,
)
from nlac_bench.rollout.engines.openai.address import read_address
from nlac_bench.rollout.engines.openai.client import Client
from nlac_bench.rollout.engines.openai.connection import Connections
from nlac_bench.rollout.engines.openai.echo import Echo
from nlac_bench.rollout.engines.openai.failures import EngineSetupError
from nlac_bench.rollout.engines.openai.reply import (
    AnswerCut,
    ContextOverflow,
    MalformedCall,
    Price,
    PromptFiltered,
    malformed_call,
    parse_reply,
    reply_usage,
)
from nlac_bench.rollout.engines.openai.request import TokenData, most_tokens, request_body
from nlac_bench.rollout.engines.openai.room import room_left
from nlac_bench.secret_forms import is_placeholder
from nlac_bench.types import Usage

_MOST_ROUNDS = 8
"""Number of requests for one answer, each with a shorter one than before, until it fits into the context."""


class OpenAIEngine:
    """An engine that samples from a model on a server.

    Args:
        model: the model's name on the server.
        base_url: such as ``http://localhost:8000/v1``; None uses ``OPENAI_BASE_URL`` or, if that is not set,
            OpenAI.
        api_key: by default read from ``OPENAI_API_KEY`` if ``base_url`` is None, else from
            ``NLAC_BENCH_API_KEY``, so that OpenAI's key is not sent to other servers. Messages, logs and
            representations do not contain the key.
        token_data: ``logprobs`` requests log-probabilities, ``ids`` also token ids (vLLM). They are those of
            the sampling distribution only if the server is configured so (``vllm serve --logprobs-mode
            processed_logprobs``).
        price: US dollars per million tokens; None uses the cost in the server's replies, or 0.
        concurrency: largest number of concurrent requests; further ones wait in this process.
        timeout: seconds for one attempt, from sending to the last byte. It must cover the longest reply and
            its wait in the server's queue: 300 s are 6,000 tokens at 20 tokens/s.
        retries: how failed requests are repeated.
        max_reply_bytes: longer replies are treated as faults.
        extra: further fields of each request, such as ``{"reasoning_effort": "low"}`` or ``{"stream":
            True}``.

    Raises:
        EngineSetupError: the address, the key or a proxy is invalid, or OpenAI's server is used without a
            key.
        ValueError: ``concurrency`` is not between 1 and 1000.
    """

    tokenizer: None = None
    """See ``Engine.tokenizer``: the server tokenises and renders chats itself."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        token_data: TokenData = "none",
        price: Price | None = None,
        concurrency: int = 256,
        timeout: float = 300.0,
        retries: Retries | None = None,
        max_reply_bytes: int = 32_000_000,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        if not 1 <= concurrency <= 1000:
            raise ValueError(f"concurrency must be within 1 and 1000, got {concurrency!r}")
        self.model = model
        self.base_url = base_url
        self.token_data = token_data
        self.price = price
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries if retries is not None else Retries()
        self.max_reply_bytes = max_reply_bytes
        self._replied_tokens = 0
        variable = "OPENAI_API_KEY" if base_url is None else "NLAC_BENCH_API_KEY"
        self._key = api_key or os.environ.get(variable) or ""
        if not (self._key.isascii() and self._key.isprintable() and self._key == self._key.strip()):
            raise EngineSetupError(
                f"the API key ({'api_key' if api_key else variable}) begins or ends with white space, or "
                "contains a line break or a character outside ASCII, which an HTTP header cannot contain"
            )
        if base_url is None:
            given = os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
            read = read_address(given, "OPENAI_BASE_URL")
        else:
            read = read_address(base_url, "--base-url")
        self._host = read.host
        if not self._key and base_url is None:
            raise EngineSetupError("no API key: set OPENAI_API_KEY, or use your own server with --base-url")
        known = secret_values()
        if not is_placeholder(self._key):
            known.setdefault(self._key, "API_KEY")
        self._redactor = Redactor(known)
        self._extra = dict(extra or {})
        self._echo = Echo()
        self._pause = Pause()
        self.client = Client(
            model, Connections(read, self._key, concurrency), repr(self), timeout, max_reply_bytes,
            self._redactor.json, self._without_key,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, host={self._host!r})"

    @property
    def generated_tokens(self) -> int:
        """Number of tokens in all replies so far, read by progress displays; of unfinished streamed ones,
        about that."""
        return self._replied_tokens + self.client.streamed

    @property
    def waiting(self) -> tuple[int, float]:
        """See ``Client.waiting``; read by progress displays."""
        return self.client.waiting

    @property
    def adapted(self) -> dict[str, str]:
        """What was changed in requests because the server refused it, by field."""
        return dict(self.client.adaptations.changes)

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``. ``slot`` and ``prefix_ids`` of the request are ignored.

        Raises:
            EngineError: all attempts failed, or the server rejected this request.
            EngineSetupError: the server rejects every request.
        """
        samples: list[Sample] = []
        while len(samples) < request.n:  # some servers ignore n and return one sample
            rest = replace(
                request,
                n=request.n - len(samples),
                seed=None if request.seed is None else request.seed + len(samples),
            )
            try:
                samples += await self._sample_within_context(rest)
            except EngineError as error:
                error.charge({request.role: sum((sample.usage for sample in samples), Usage())})
                raise
        return samples

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``. It uses the completions endpoint with ``echo`` (of vLLM and others).

        Raises:
            EngineError: also if the server does not return a log-probability for every token.
        """
        body = {
            "model": self.model, "prompt": list(ids), "max_tokens": 1, "echo": True, "logprobs": 1,
            "temperature": 1.0,
        }  # fmt: skip
        what = f"{self!r}: logprobs"
        data, _ = await self.retries.run(what, lambda: self.client.post("completions", body), self._pause)
        try:
            numbers = data["choices"][0]["logprobs"]["token_logprobs"][prompt_len : len(ids)]
            values = [float(value) for value in numbers]
        except (KeyError, IndexError, TypeError, ValueError, OverflowError):
            values = []
        if len(values) != len(ids) - prompt_len:
            raise EngineError(
                f"{self!r} does not return log-probabilities of prompt tokens (completions with echo)",
                "refused",
            )
        return values

    async def _sample_within_context(self, request: SampleRequest) -> list[Sample]:
        """Return at least one sample; an answer that would not fit is requested again with the room left."""
        full = tokens = request.sampling.max_tokens
        for _ in range(_MOST_ROUNDS):
            try:
                samples = await self._sample_once(request, tokens)
            except ContextOverflow as overflow:
                room = room_left(str(overflow), tokens)
                if room is None or not 0 < room < tokens:
                    break
                tokens = room
            else:
                cut: Finish = "length" if tokens == full else "context_overflow"
                return [replace(s, finish=cut) if s.finish == "length" else s for s in samples]
        return [Sample("", "context_overflow") for _ in range(request.n)]

    async def _sample_once(self, request: SampleRequest, max_tokens: int) -> list[Sample]:
        endpoint = "chat/completions" if request.prompt_ids is None else "completions"
        body = request_body(
            request, self.model, self._host, max_tokens, self.token_data, self._echo, self._extra
        )
        unanswered = Usage()  # a reply without an answer is asked for again, and costs as much as one with it

        async def attempt() -> list[Sample]:
            nonlocal unanswered
            began = time.perf_counter()
            data, sent = await self.client.post(endpoint, body)
            seconds = time.perf_counter() - began
            try:
                samples = parse_reply(data, request, self.price, seconds, repr(self), most_tokens(sent))
            except TransientFault:
                unanswered += replace(reply_usage(data, self.price, seconds, repr(self)), calls=0)
                raise
            self._replied_tokens += sum(sample.usage.completion_tokens for sample in samples)
            for sample, choice in zip(samples, data["choices"], strict=False):
                if request.messages is not None and isinstance(message := choice.get("message"), dict):
                    self._echo.keep(request.messages, sample, message)
            return samples

        try:
            first, *others = await self.retries.run(f"{self!r}", attempt, self._pause)
        except EngineError as error:
            error.charge({request.role: unanswered})
            raise
        except PromptFiltered:
            first, *others = [Sample("", "content_filter") for _ in range(request.n)]
        except MalformedCall as call:
            warnings.warn(
                f"{self!r} could not read a call that the model wrote, which is an invalid action",
                stacklevel=2,
            )
            first, *others = [malformed_call(str(call))]
        except AnswerCut:
            first, *others = [Sample("", "length") for _ in range(request.n)]
        return [replace(first, usage=first.usage + unanswered), *others]

    def _without_key(self, text: str) -> str:
        """Return ``text`` without secrets and the key, even one too short to be searched for in replies."""
        text = redact(self._redactor.text(text))
        return text.replace(self._key, "***") if self._key else text
