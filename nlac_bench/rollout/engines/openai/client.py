"""Posts requests to a server: adapts them to what it accepts, and finds out what its refusals mean."""

import asyncio
import json
import re
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import openai

from nlac_bench.rollout.engines.backoff import TransientFault
from nlac_bench.rollout.engines.openai.adapting import Adaptations
from nlac_bench.rollout.engines.openai.complaint import error_in, read_complaint
from nlac_bench.rollout.engines.openai.connection import (
    CONNECT_S,
    Connection,
    Connections,
    HttpFailure,
    innermost,
    no_tls,
    proxy_variable,
    transport_errors,
)
from nlac_bench.rollout.engines.openai.context_length import find_model
from nlac_bench.rollout.engines.openai.failures import (
    EngineSetupError,
    ServerComplained,
    exception_of,
    redirected,
)
from nlac_bench.rollout.engines.openai.probing import Accepted, Finding, why_refused
from nlac_bench.rollout.engines.openai.prompt_lengths import PromptLengths
from nlac_bench.rollout.engines.openai.reply import ContextOverflow
from nlac_bench.rollout.engines.openai.stream import read_body

_MOST_CHANGES = 16
"""Largest number of changes of one request; a server that refuses more is assumed to refuse every request."""
# A body that is neither JSON nor a page.
_PROSE = re.compile(rb"\s*[A-Za-z][^{]{0,2000}$", re.S)
_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype|html)", re.I)
_MODEL = re.compile(r"(?<!/)\b(?:models?|deployments?)\b", re.I)
_TOOLS = re.compile(r"\b(?:tools?|functions?)\b", re.I)
_TOOLS_REFUSED = re.compile(
    r"\btools param requires\b|\btools?\b.{0,20}\b(?:not supported|unsupported|disabled)"
    r"|\b(?:not|n['o]?t) support\w*\b.{0,20}\b(?:tools?|function)",
    re.I,
)
"""Words with which a server that fails (status 500) says that it will always fail."""
_NO_TOOLS = (
    "The server accepts requests without tools only; use --agent react, which describes them in the prompt, "
    "or start the server with a parser of tool calls"
)
_REPORTED_S = 30.0
"""Time limit for the list of models."""


class Client:
    """Posts requests to one server and returns the JSON of its replies.

    Args:
        name: the subject of messages.
        clean: removes secrets from JSON text.
        redacted: removes secrets from prose.
    """

    def __init__(
        self,
        model: str,
        connections: Connections,
        name: str,
        timeout: float,
        max_reply_bytes: int,
        clean: Callable[[str], str],
        redacted: Callable[[str], str],
    ) -> None:
        self.model, self.name = model, name
        self.adaptations = Adaptations()
        self._answered = {False: 0, True: 0}
        """Number of requests that the server has answered, without and with tools."""
        self._connections = connections
        self._timeout, self._max_reply_bytes = timeout, max_reply_bytes
        self._clean, self._redacted = clean, redacted
        self._sent: dict[object, float] = {}
        """When each request was sent that has no reply yet."""
        self.streamed = 0
        """Number of events of unfinished streamed replies; an event is about a token."""
        self._refused_all: set[str] = set()
        """The words in which the server refused every request."""
        self._too_long: dict[str, int] = {}
        """By the words of a refusal, the shortest prompt that was too long, in characters."""
        self._context: int | None = None
        self._asked_context = False
        self._lengths = PromptLengths()
        self._first_route: ServerComplained | None = None
        """Why the given address was left, until the server answers at the other one."""

    @property
    def host(self) -> str:
        """The server's host."""
        return self._connections.address.host

    @property
    def waiting(self) -> tuple[int, float]:
        """The number of requests without a reply, and the seconds since the first of them was sent."""
        sent = list(self._sent.values())
        return len(sent), time.monotonic() - min(sent) if sent else 0.0

    async def post(self, endpoint: str, body: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Send a request until the server accepts its form.

        Returns:
            The reply's JSON, and the body as it was sent.

        Raises:
            TransientFault, EngineError, EngineSetupError, ContextOverflow, PromptFiltered
        """
        for _ in range(_MOST_CHANGES):
            sent = self.adaptations.apply(body)
            try:
                data = await self._send(endpoint, sent)
            except ServerComplained as error:
                if self.adaptations.apply(body) != sent or error.base != self._connections.address.base:
                    continue  # another request has learned it meanwhile
                if error.meaning in ("refused", "server", "setup") and self._adapt(error, sent):
                    continue
                if error.meaning == "setup" and self._another_route(error):
                    continue
                self._keep_route()
                if error.meaning == "setup" and not error.complaint.status and any(self._answered.values()):
                    error.meaning = "server"  # it has answered, so the words are about something else
                self._refuse_tools(error, sent)
                if (
                    error.meaning == "refused"
                    and "messages" in sent
                    and await self._explain(error, endpoint, sent)
                ):
                    continue
                raise exception_of(error, self.host, self.model, self._redacted) from None
            self._keep_route()
            self._answered["tools" in sent] += 1
            self._learn_lengths(sent, data)
            return data, sent
        raise EngineSetupError(
            f"{self.name} refuses each form of the request; tried: "
            f"{self._redacted(str(self.adaptations.changes))}"
        )

    async def context_length(self) -> int | None:
        """Return the length of the model's context in tokens, if the server's list of models states it."""
        return (await self.models())[1]

    async def models(self) -> tuple[list[str], int | None]:
        """Return the names of the server's models, and the context of this one if it is stated."""
        try:
            async with asyncio.timeout(_REPORTED_S):
                resource = self._connections.get().client.models
                async with resource.with_streaming_response.list() as response:
                    listed = json.loads(b"".join([chunk async for chunk in self._chunks(response)]))
        except Exception:  # servers without such a list answer in many ways
            return [], None
        return find_model(listed, self.model)

    def _adapt(self, error: ServerComplained, sent: Mapping[str, Any]) -> bool:
        what = self.adaptations.learn(error.complaint, sent)
        if what is None:
            return False
        self._say(what, error)
        return True

    def _say(self, what: str, error: ServerComplained) -> None:
        why = self._redacted(error.complaint.message)[:200] or "no reason"
        warnings.warn(
            f"{self.name}: requests are changed for the whole run ({what}), because the server says: {why}",
            stacklevel=2,
        )

    def _refuse_tools(self, error: ServerComplained, sent: Mapping[str, Any]) -> None:
        """Raise an error that says what to use instead, if the server knows no endpoint with tools."""
        message = self._redacted(error.complaint.message)
        words = {"setup": _TOOLS, "server": _TOOLS_REFUSED}.get(error.meaning)
        if words and "tools" in sent and not self._answered[True] and words.search(message):
            raise EngineSetupError(
                f"HTTP {error.complaint.status} from {self.host}: {message[:500]}. {_NO_TOOLS}"
            ) from None

    def _another_route(self, error: ServerComplained) -> bool:
        """Try the address with or without ``/v1`` if the server does not know the route.

        If it does not know the other one either, return to the given address for its own refusal.
        """
        others = self._connections.address.others
        unknown = error.complaint.status in (404, 405) and not _MODEL.search(error.complaint.text)
        if any(self._answered.values()) or not unknown or not (others or self._first_route):
            return False
        self._connections.move(self._first_route.base if self._first_route else others[0])
        self._first_route = None if self._first_route else error
        return True

    def _keep_route(self) -> None:
        """Say that the address was changed, since the server knows the other one."""
        if self._first_route is not None:
            base = self._redacted(self._connections.address.base)
            self._say(self.adaptations.note("base_url", base), self._first_route)
            self._first_route = None

    async def _explain(self, error: ServerComplained, endpoint: str, sent: Mapping[str, Any]) -> bool:
        """Return whether a changed request may be accepted, after a refusal that does not say why.

        Raises:
            ContextOverflow: the prompt was too long.
            EngineSetupError: the server refuses every request.
        """
        alike = f"{error.complaint.status} {re.sub(r'[0-9]+', '#', error.complaint.message)[:300]}"
        async with self._connections.get().probing:
            if self.adaptations.apply(sent) != sent:
                return True
            characters = _characters(sent)
            finding: Finding | Accepted

            async def accepts(body: Mapping[str, Any]) -> bool:
                try:
                    await self._send(endpoint, body)
                except ServerComplained as other:
                    if other.meaning in ("rate_limit", "server", "quota"):
                        raise exception_of(other, self.host, self.model, self._redacted) from None
                    return False
                self._answered["tools" in sent] += set(body) == set(sent)  # the form is accepted
                return True

            if alike in self._refused_all:
                finding = "everything"
            elif characters >= self._too_long.get(alike, sys.maxsize):
                finding = "too long"
            else:
                if not self._asked_context:
                    self._context, self._asked_context = await self.context_length(), True
                tokens = characters / self._lengths.per_token
                answered = self._answered["tools" in sent] > 0
                finding = await why_refused(sent, accepts, tokens, self._context, answered)
                if finding == "too long":
                    self._too_long[alike] = characters
                elif finding == "everything":
                    self._refused_all.add(alike)
        if finding == "too long":
            raise ContextOverflow(self._redacted(error.complaint.message)[:2000]) from None
        reason = self._redacted(error.complaint.message)[:500] or "an empty reply"
        status = f"HTTP {error.complaint.status} from {self.host}: {reason}"
        if finding == "everything":
            raise EngineSetupError(
                f"{status}. The server refuses every request, however short. Check --model {self.model!r}, "
                "--base-url and --request, or run nlac-bench doctor --base-url"
            ) from None
        if finding == "tools":
            raise EngineSetupError(f"{status}. {_NO_TOOLS}") from None
        if not isinstance(finding, Accepted):
            return await accepts(sent)  # some refusals are passing failures of a gateway
        done = self.adaptations.adopt(finding.left_out, finding.streams, finding.no_system)
        self._say(done, error)
        return True

    async def _send(self, endpoint: str, body: Mapping[str, Any]) -> Any:
        """Send one request and return the reply's JSON.

        Raises:
            ServerComplained: the reply is an error, whatever its status.
            TransientFault, EngineSetupError
        """
        connection, request, read = self._connections.get(), object(), b""
        async with connection.free:
            base = self._connections.address.base
            self._sent[request] = time.monotonic()
            try:
                async with asyncio.timeout(self._timeout):
                    read = await self._read(connection, endpoint, body)
                data = read_body(self._clean(read.decode("utf-8-sig")).encode())  # a reply may quote the key
            except TimeoutError:
                raise TransientFault(
                    f"no reply within {self._timeout:g} s; increase --request-timeout, or reduce --retries "
                    "to fail earlier",
                    "timeout",
                ) from None
            except openai.APITimeoutError:
                raise TransientFault(
                    f"no connection to {self.host} within {CONNECT_S:g} s; check that the server is "
                    "running and that --base-url is right",
                    "connection",
                ) from None
            except openai.OpenAIError as error:
                failure = error if isinstance(error, HttpFailure) else error.__cause__
                if isinstance(failure, HttpFailure):
                    body_text = failure.body.decode("utf-8", "replace")
                    if failure.status < 400:
                        raise redirected(failure.status, self._redacted(body_text), self.host) from None
                    raise ServerComplained(
                        read_complaint(failure.status, body_text, failure.retry_after), base
                    ) from None
                if (wrong := no_tls(error, self.host)) is not None:
                    raise wrong from None
                cause = innermost(error)
                why = f"{type(cause).__name__}: {self._redacted(str(cause))[:200]}".rstrip(": ")
                proxy = proxy_variable(self._connections.address)
                through = f" through the proxy in {proxy}" if proxy else ""
                raise TransientFault(
                    f"connection to {self.host}{through} failed ({why})", "connection"
                ) from None
            except transport_errors() as error:
                raise TransientFault(
                    f"the connection broke during the reply ({type(error).__name__})", "connection"
                ) from None
            except (ValueError, RecursionError):
                if _PROSE.match(read):  # gateways state errors as plain text
                    text = self._clean(read.decode("utf-8", "replace"))
                    raise ServerComplained(read_complaint(200, text), base) from None
                if not _PAGE.match(read):
                    raise TransientFault("the reply is not valid JSON", "bad_reply") from None
                page = f"{self.host} sent an HTML page instead of a reply; check the path in --base-url"
                if any(self._answered.values()):
                    raise TransientFault(page, "bad_reply") from None
                raise EngineSetupError(page) from None
            finally:
                del self._sent[request]
        try:
            failed = error_in(data)
            complaint = None if failed is None else read_complaint(200, failed)
        except RecursionError:
            raise TransientFault("the reply is nested too deeply", "bad_reply") from None
        if complaint is not None:
            raise ServerComplained(complaint, base)
        return data

    async def _read(self, connection: Connection, endpoint: str, body: Mapping[str, Any]) -> bytes:
        client = connection.client
        resource: Any = client.chat.completions if endpoint == "chat/completions" else client.completions
        # The SDK takes other parameters as extra_body; the server receives one JSON object.
        required = {key: body[key] for key in ("model", "messages", "prompt") if key in body}
        extra = {key: value for key, value in body.items() if key not in required}
        events = 0
        try:
            async with resource.with_streaming_response.create(**required, extra_body=extra) as response:
                read = bytearray()
                async for chunk in self._chunks(response):
                    read += chunk
                    new = chunk.count(b"data:") if body.get("stream") else 0
                    events, self.streamed = events + new, self.streamed + new
                return bytes(read)
        finally:
            self.streamed -= events  # the reply states its tokens

    async def _chunks(self, response: Any) -> AsyncIterator[bytes]:
        """Yield the decompressed body of a reply.

        Raises:
            TransientFault: it is too long.
        """
        read = 0
        async for chunk in response.iter_bytes():
            read += len(chunk)
            if read > self._max_reply_bytes:
                raise TransientFault(f"the reply is longer than {self._max_reply_bytes:,} bytes", "bad_reply")
            yield chunk

    def _learn_lengths(self, sent: Mapping[str, Any], data: Any) -> None:
        usage = data.get("usage") if isinstance(data, dict) else None
        if self._lengths.add(_characters(sent), usage):
            self.adaptations.note("context", "the server reads only a part of long prompts")
            warnings.warn(
                f"{self.name} reads only a part of long prompts, as its token counts show; start it "
                "with a longer context (Ollama: OLLAMA_CONTEXT_LENGTH), because conversations lose their "
                "beginning",
                stacklevel=2,
            )


def _characters(body: Mapping[str, Any]) -> int:
    return len(str(body.get("messages", ""))) + len(str(body.get("tools", "")))
