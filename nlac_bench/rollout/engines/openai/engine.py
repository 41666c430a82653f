"""OpenAIEngine: a client for servers with OpenAI's protocol (OpenAI, vLLM, SGLang, llama.cpp …).

A server's JSON is untrusted input. Replies are therefore read as bytes up to a limit and parsed here; missing
or malformed parts are faults that are retried, not crashes or empty answers.
"""

import asyncio
import json
import os
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import openai

from nlac_bench.redaction import Redactor, redact, secret_values
from nlac_bench.rollout.engines.backoff import Retries, TransientFault
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Finish,
    Sample,
    SampleRequest,
    Slot,
)
from nlac_bench.rollout.engines.openai.failures import (
    EngineSetupError,
    HttpFailure,
    raise_for_status,
    refusal,
    transport_errors,
)
from nlac_bench.rollout.engines.openai.reply import (
    ContextOverflow,
    Price,
    PromptFiltered,
    parse_reply,
    reply_usage,
    room_left,
)
from nlac_bench.rollout.engines.openai.request import TokenData, request_body
from nlac_bench.secret_forms import is_placeholder
from nlac_bench.types import Usage

_CONNECT_S = 20.0
"""Seconds to connect. A running server accepts connections at once, even if its replies take long."""


@dataclass(slots=True)
class _Connection:
    """The client and semaphore of one event loop; neither can be shared between event loops."""

    client: openai.AsyncOpenAI
    free: asyncio.Semaphore


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
        timeout: seconds for one attempt, from sending to the last byte. Replies are not streamed, so it must
            cover the longest reply and its wait in the server's queue: 300 s are 6,000 tokens at 20 tokens/s.
        retries: how failed requests are repeated.
        max_reply_bytes: longer replies are treated as faults.

    Raises:
        EngineSetupError: the address or the key is invalid, or OpenAI's server is used without a key.
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
        self.generated_tokens = 0
        """Number of tokens in all replies so far; read by progress displays."""
        variable = "NLAC_BENCH_API_KEY" if base_url else "OPENAI_API_KEY"
        self._key = api_key or os.environ.get(variable) or ""
        if not (self._key.isascii() and self._key.isprintable() and self._key == self._key.strip()):
            raise EngineSetupError(
                f"the API key ({'api_key' if api_key else variable}) begins or ends with white space, or "
                "contains a line break or a character outside ASCII, which an HTTP header cannot contain"
            )
        address = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._host = urlsplit(address).hostname or ""
        if not self._host or urlsplit(address).scheme not in ("http", "https"):
            raise EngineSetupError(
                f"{base_url or 'OPENAI_BASE_URL'!r} is not a server address; write it as http://host:port/v1"
            )
        if not self._key and base_url is None:
            raise EngineSetupError("no API key: set OPENAI_API_KEY, or use your own server with --base-url")
        known = secret_values()
        if not is_placeholder(self._key):
            known.setdefault(self._key, "API_KEY")
        self._redactor = Redactor(known)
        self._connections: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Connection] = (
            weakref.WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, host={self._host!r})"

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
            samples += await self._sample_within_context(rest)
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
        data = await self.retries.run(f"{self!r}: logprobs", lambda: self._post("completions", body))
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
        for _ in range(2):
            try:
                samples = await self._sample_once(request, tokens)
            except PromptFiltered:
                return [Sample("", "content_filter") for _ in range(request.n)]
            except ContextOverflow as overflow:
                room = room_left(str(overflow))
                if room is None or not 0 < room < full:
                    break
                tokens = room
            else:
                cut: Finish = "length" if tokens == full else "context_overflow"
                return [replace(s, finish=cut) if s.finish == "length" else s for s in samples]
        return [Sample("", "context_overflow") for _ in range(request.n)]

    async def _sample_once(self, request: SampleRequest, max_tokens: int) -> list[Sample]:
        endpoint = "chat/completions" if request.prompt_ids is None else "completions"
        body = request_body(request, self.model, self._host, max_tokens, self.token_data)
        unanswered = Usage()  # a reply without an answer is asked for again, and costs as much as one with it

        async def attempt() -> list[Sample]:
            nonlocal unanswered
            began = time.perf_counter()
            data = await self._post(endpoint, body)
            seconds = time.perf_counter() - began
            try:
                samples = parse_reply(data, request, self.price, seconds, repr(self))
            except TransientFault:
                unanswered += replace(reply_usage(data, self.price, seconds, repr(self)), calls=0)
                raise
            self.generated_tokens += sum(sample.usage.completion_tokens for sample in samples)
            return samples

        first, *others = await self.retries.run(f"{self!r}", attempt)
        return [replace(first, usage=first.usage + unanswered), *others]

    async def _post(self, endpoint: str, body: Mapping[str, object]) -> Any:
        """Send one request and return the reply's JSON.

        Raises:
            TransientFault, EngineError, EngineSetupError, ContextOverflow, PromptFiltered
        """
        connection = self._connection()
        data: object = None
        async with connection.free:
            try:
                async with asyncio.timeout(self.timeout):
                    read = await self._read(connection.client, endpoint, body)
                data = json.loads(self._redactor.json(read.decode("utf-8-sig")))  # a reply may quote the key
            except TimeoutError:
                raise TransientFault(
                    f"no reply within {self.timeout:g} s; increase --request-timeout, or reduce --retries to "
                    "fail earlier",
                    "timeout",
                ) from None
            except openai.APITimeoutError:
                raise TransientFault(
                    f"no connection to {self._host} within {_CONNECT_S:g} s; check that the server is "
                    "running and that --base-url is right",
                    "connection",
                ) from None
            except openai.OpenAIError as error:
                failure = error if isinstance(error, HttpFailure) else error.__cause__
                if isinstance(failure, HttpFailure):
                    raise refusal(failure, self._host, self.model, self._without_key) from None
                cause = type(error.__cause__ or error).__name__
                raise TransientFault(f"connection to {self._host} failed ({cause})", "connection") from None
            except transport_errors() as error:
                raise TransientFault(
                    f"the connection broke during the reply ({type(error).__name__})", "connection"
                ) from None
            except (ValueError, RecursionError):
                raise TransientFault("the reply is not valid JSON", "bad_reply") from None
        return data

    async def _read(self, client: openai.AsyncOpenAI, endpoint: str, body: Mapping[str, Any]) -> bytes:
        resource: Any = client.chat.completions if endpoint == "chat/completions" else client.completions
        # The SDK takes other parameters as extra_body; the server receives one JSON object.
        required = {key: body[key] for key in ("model", "messages", "prompt") if key in body}
        extra = {key: value for key, value in body.items() if key not in required}
        async with resource.with_streaming_response.create(**required, extra_body=extra) as response:
            read = bytearray()
            async for chunk in response.iter_bytes():
                read += chunk
                if len(read) > self.max_reply_bytes:
                    raise TransientFault(
                        f"the reply is longer than {self.max_reply_bytes:,} bytes", "bad_reply"
                    )
            return bytes(read)

    def _without_key(self, text: str) -> str:
        """Return ``text`` without secrets and the key, even one too short to be searched for in replies."""
        text = redact(self._redactor.text(text))
        return text.replace(self._key, "***") if self._key else text

    def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(loop)
        if connection is None:
            client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._key or "none",
                max_retries=0,  # ``Retries`` repeats requests, with jitter and typed errors
                timeout=openai.Timeout(None, connect=_CONNECT_S),
                default_headers={"Accept-Encoding": "identity"},  # against decompression bombs
                http_client=openai.DefaultAsyncHttpxClient(
                    event_hooks={"response": [raise_for_status]},
                    follow_redirects=False,  # prompts, and custom headers with keys, would go elsewhere
                ),
            )
            connection = _Connection(client, asyncio.Semaphore(self.concurrency))
            self._connections[loop] = connection
        return connection
