"""OpenAIEngine: any server that speaks OpenAI's protocol (OpenAI, vLLM, SGLang, llama.cpp …).

Replies are read as bytes up to a limit and parsed here, for a server's JSON is foreign input: what is
missing or malformed is a fault to retry, never a crash and never an empty answer.
"""

import asyncio
import contextlib
import importlib
import json
import os
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import openai

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.backoff import Retries, TransientFault
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Slot,
)
from nlac_bench.rollout.engines.openai.reply import (
    ContextOverflow,
    Price,
    parse_reply,
    room_left,
    says_overflow,
)

TokenData: TypeAlias = Literal["none", "logprobs", "ids"]

_MAX_ERROR_BYTES = 64_000
_CONNECT_S = 20.0
"""Seconds to connect: a server that is up accepts at once, however long its replies take."""
_SETUP_STATUS = (401, 403, 404)
_PASSING_STATUS = (408, 409, 425, 429)


class EngineSetupError(NlacBenchError):
    """The server refuses every request: a wrong key, address or model name. Stops a run at once."""


class _HttpFailure(openai.OpenAIError):
    """A reply with an error status, its body read up to a limit."""

    def __init__(self, status: int, retry_after: float | None, body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.retry_after, self.body = status, retry_after, body


@dataclass(slots=True)
class _Connection:
    """What belongs to one event loop: connection pools and semaphores do."""

    client: openai.AsyncOpenAI
    free: asyncio.Semaphore


class OpenAIEngine:
    """A served model.

    Args:
        model: its name on the server.
        base_url: such as ``http://localhost:8000/v1``; None is OpenAI (or ``OPENAI_BASE_URL``).
        api_key: None reads ``OPENAI_API_KEY`` where ``base_url`` is None, else ``NLAC_BENCH_API_KEY``, so
            that a key never goes to another's server. It is in no message, log or representation.
        token_data: ``logprobs`` asks for log-probabilities; ``ids`` also for token ids (vLLM). They are
            those of the sampling distribution if the server says so (``vllm serve --logprobs-mode
            processed_logprobs``).
        price: US dollars per million tokens; None counts what the server says, or 0.
        concurrency: requests in flight at most; others wait here.
        timeout: seconds for one attempt, from sending to the last byte. Replies are not streamed, so this
            must cover the longest reply and its wait in the server's queue: 300 s are 6,000 tokens at 20
            tokens/s.
        retries: how often a request that failed is repeated; time-outs are repeated once.
        max_reply_bytes: longer replies are a fault.
    """

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
        """In all replies so far; read by progress displays."""
        self._key = api_key or os.environ.get("NLAC_BENCH_API_KEY" if base_url else "OPENAI_API_KEY") or ""
        address = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self._host = urlsplit(address).hostname or ""
        if not self._host or urlsplit(address).scheme not in ("http", "https"):
            raise EngineSetupError(
                f"{base_url or 'OPENAI_BASE_URL'!r} is no server address; write http://host:port/v1"
            )
        if not self._key and base_url is None:
            raise EngineSetupError(
                "no API key: set OPENAI_API_KEY, or give --base-url of a server of your own"
            )
        self._connections: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Connection] = (
            weakref.WeakKeyDictionary()
        )

    def __repr__(self) -> str:
        return f"OpenAIEngine({self.model!r}, host={self._host!r})"

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """``request.n`` samples, as ``Engine.sample``; ``slot`` and ``prefix_ids`` mean nothing to a server.

        Raises:
            EngineError: retries are spent, or this request was refused.
            EngineSetupError: the server refuses every request.
        """
        samples: list[Sample] = []
        while len(samples) < request.n:  # some servers ignore n
            rest = replace(
                request,
                n=request.n - len(samples),
                seed=None if request.seed is None else request.seed + len(samples),
            )
            try:
                samples += (await self._sample_once(rest, rest.sampling.max_tokens))[: rest.n]
            except ContextOverflow as overflow:
                room = room_left(str(overflow))
                if room is None or not 0 < room < rest.sampling.max_tokens:
                    return [Sample("", "context_overflow") for _ in range(request.n)]
                try:
                    samples += (await self._sample_once(rest, room))[: rest.n]
                except ContextOverflow:
                    return [Sample("", "context_overflow") for _ in range(request.n)]
        return samples

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """As ``Engine.logprobs``, from the completions endpoint with ``echo`` (vLLM and others have it).

        Raises:
            EngineError: also when the server does not give a log-probability for every token.
        """
        body = {
            "model": self.model, "prompt": list(ids), "max_tokens": 1, "echo": True, "logprobs": 1,
            "temperature": 1.0,
        }  # fmt: skip
        data = await self.retries.run(f"{self!r}: logprobs", lambda: self._post("completions", body))
        try:
            found = data["choices"][0]["logprobs"]["token_logprobs"][prompt_len : len(ids)]
            values = [float(value) for value in found]
        except (KeyError, IndexError, TypeError, ValueError):
            values = []
        if len(values) != len(ids) - prompt_len:
            raise EngineError(f"{self!r} does not return log-probabilities of a prompt (echo)", "refused")
        return values

    async def _sample_once(self, request: SampleRequest, max_tokens: int) -> list[Sample]:
        endpoint = "chat/completions" if request.prompt_ids is None else "completions"
        body = self._body(request, max_tokens)

        async def attempt() -> list[Sample]:
            began = time.perf_counter()
            data = await self._post(endpoint, body)
            samples = parse_reply(data, request, self.price, time.perf_counter() - began)
            self.generated_tokens += sum(sample.usage.completion_tokens for sample in samples)
            return samples

        return await self.retries.run(f"{self!r}", attempt)

    def _body(self, request: SampleRequest, max_tokens: int) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {"model": self.model, "temperature": sampling.temperature}
        # OpenAI's reasoning models know only the new name, other servers may know only the old one.
        body["max_completion_tokens" if self._host == "api.openai.com" else "max_tokens"] = max_tokens
        if sampling.top_p < 1:
            body["top_p"] = sampling.top_p
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if request.seed is not None:
            body["seed"] = request.seed & 0x7FFFFFFF  # llama.cpp reads 32 bits
        if request.n > 1:
            body["n"] = request.n
        if self.token_data == "ids":
            body["return_token_ids"] = True
        if request.prompt_ids is not None:
            body["prompt"] = list(request.prompt_ids)
            if self.token_data != "none":
                body["logprobs"] = 1
            return body
        body["messages"] = [dict(message) for message in request.messages or ()]
        if self.token_data != "none":
            body["logprobs"] = True
        if request.tools:
            body["tools"] = [dict(tool) for tool in request.tools]
        return body

    async def _post(self, endpoint: str, body: Mapping[str, Any]) -> Any:
        """One attempt: the reply's JSON.

        Raises:
            TransientFault, EngineError, EngineSetupError, ContextOverflow
        """
        connection = self._connection()
        data: Any = None
        async with connection.free:
            try:
                async with asyncio.timeout(self.timeout):
                    data = json.loads(await self._read(connection.client, endpoint, body))
            except TimeoutError:
                raise TransientFault(
                    f"no reply within {self.timeout:g} s; allow more time with --request-timeout S, or fewer "
                    "attempts with --retries N",
                    "timeout",
                ) from None
            except openai.APITimeoutError:
                raise TransientFault(
                    f"no connection to {self._host} within {_CONNECT_S:g} s; check that the server is up, "
                    "and --base-url",
                    "connection",
                ) from None
            except openai.OpenAIError as error:
                failure = error if isinstance(error, _HttpFailure) else error.__cause__
                if isinstance(failure, _HttpFailure):
                    raise self._refusal(failure) from None
                cause = type(error.__cause__ or error).__name__
                raise TransientFault(f"connection to {self._host} failed ({cause})", "connection") from None
            except _transport_errors() as error:
                raise TransientFault(f"the reply broke off ({type(error).__name__})", "connection") from None
            except (ValueError, RecursionError):
                raise TransientFault("the reply is not valid JSON", "bad_reply") from None
        return data

    async def _read(self, client: openai.AsyncOpenAI, endpoint: str, body: Mapping[str, Any]) -> bytes:
        resource: Any = client.chat.completions if endpoint == "chat/completions" else client.completions
        # What is no argument of the SDK's own travels as extra_body; to the server it is all one.
        required = {key: body[key] for key in ("model", "messages", "prompt") if key in body}
        extra = {key: value for key, value in body.items() if key not in required}
        async with resource.with_streaming_response.create(**required, extra_body=extra) as response:
            read = bytearray()
            async for chunk in response.iter_bytes():
                read += chunk
                if len(read) > self.max_reply_bytes:
                    raise TransientFault(f"a reply of over {self.max_reply_bytes:,} bytes", "bad_reply")
            return bytes(read)

    def _refusal(self, failure: _HttpFailure) -> Exception:
        """What an error status means."""
        message = failure.body.decode("utf-8", "replace")
        code = ""
        with contextlib.suppress(ValueError, RecursionError):
            data = json.loads(message)
            inner = data.get("error", data) if isinstance(data, dict) else data
            if isinstance(inner, dict):
                code, message = str(inner.get("code") or ""), str(inner.get("message") or message)
        if self._key:
            message = message.replace(self._key, "***")
        told = f"HTTP {failure.status} from {self._host}: {message[:500]}"
        if code == "context_length_exceeded" or says_overflow(message):
            return ContextOverflow(message[:2000])
        if failure.status in _SETUP_STATUS:
            return EngineSetupError(f"{told}. Check the key, --base-url and --model {self.model!r}")
        if code == "insufficient_quota":
            return EngineSetupError(f"{told}. The account has no money left")
        if failure.status in _PASSING_STATUS or failure.status >= 500:
            kind = "rate_limit" if failure.status == 429 else "server"
            return TransientFault(told, kind, failure.retry_after)
        return EngineError(told, "refused")

    def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        connection = self._connections.get(loop)
        if connection is None:
            client = openai.AsyncOpenAI(
                base_url=self.base_url,
                api_key=self._key or "none",
                max_retries=0,  # retried here, where jitter, budgets and reasons are known
                timeout=openai.Timeout(None, connect=_CONNECT_S),
                default_headers={"Accept-Encoding": "identity"},  # no bomb is unpacked
                http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [_raise_for_status]}),
            )
            connection = _Connection(client, asyncio.Semaphore(self.concurrency))
            self._connections[loop] = connection
        return connection


async def _raise_for_status(response: Any) -> None:
    """Before the SDK would read an error's body whole: read it here, up to a limit."""
    if response.status_code < 400:
        return
    body = bytearray()
    parts: AsyncIterator[bytes] = response.aiter_bytes()
    async for part in parts:
        body += part
        if len(body) > _MAX_ERROR_BYTES:
            break
    asked: float | None = None
    with contextlib.suppress(ValueError):  # a date is allowed too, but no model server sends one
        asked = float(response.headers.get("retry-after", ""))
    raise _HttpFailure(response.status_code, asked, bytes(body))


def _transport_errors() -> tuple[type[BaseException], ...]:
    """What the HTTP library raises while a body is read; openai 3 and 2 use different ones."""
    errors: list[type[BaseException]] = [OSError]
    for name in ("httpx2", "httpx"):
        with contextlib.suppress(ImportError):
            errors.append(importlib.import_module(name).HTTPError)
    return tuple(errors)
