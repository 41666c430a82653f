"""Turns what servers report instead of a reply into exceptions: error statuses and broken connections."""

import contextlib
import importlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import openai

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.backoff import TransientFault, parse_retry_after
from nlac_bench.rollout.engines.engine import EngineError
from nlac_bench.rollout.engines.openai.reply import (
    ContextOverflow,
    PromptFiltered,
    says_filtered,
    says_overflow,
    says_rate_limit,
)

_MAX_ERROR_BYTES = 64_000
_SETUP_STATUS = (401, 403, 404)
_PASSING_STATUS = (408, 409, 425)


class EngineSetupError(NlacBenchError):
    """The server rejects every request (a wrong key, address or model name). It stops a run at once."""


class HttpFailure(openai.OpenAIError):
    """A reply with an error status, its body read up to a limit; of a redirect, ``body`` is the address."""

    def __init__(self, status: int, retry_after: float | None, body: bytes) -> None:
        super().__init__(f"HTTP {status}")
        self.status, self.retry_after, self.body = status, retry_after, body


def refusal(failure: HttpFailure, host: str, model: str, redacted: Callable[[str], str]) -> Exception:
    """Convert a reply with an error status to an exception; ``redacted`` removes secrets from the message."""
    message = failure.body.decode("utf-8", "replace")
    if failure.status < 400:
        return EngineSetupError(
            f"HTTP {failure.status} from {host}: it redirects to {redacted(message)!r}. Redirects are not "
            "followed, because prompts and keys would go to another address; if you trust that server, pass "
            "its address as --base-url"
        )
    code = ""
    with contextlib.suppress(ValueError, RecursionError):
        data = json.loads(message)
        inner = data.get("error", data) if isinstance(data, dict) else data
        if isinstance(inner, dict):
            code, message = str(inner.get("code") or ""), str(inner.get("message") or message)
    message = redacted(message)
    reason = f"HTTP {failure.status} from {host}: {message[:500] or 'an empty reply'}"
    if code == "insufficient_quota":
        return EngineSetupError(f"{reason}. The account's quota is used up; add credit or use another key")
    if failure.status == 429 or says_rate_limit(code, message):
        return TransientFault(reason, "rate_limit", failure.retry_after)
    if code == "context_length_exceeded" or failure.status == 413 or says_overflow(failure.status, message):
        return ContextOverflow(message[:2000])
    if says_filtered(failure.status, code, message):
        return PromptFiltered(message[:2000])
    if failure.status in _SETUP_STATUS:
        return EngineSetupError(f"{reason}. Check the API key, --base-url and --model {model!r}")
    if failure.status in _PASSING_STATUS or failure.status >= 500:
        return TransientFault(reason, "server", failure.retry_after)
    return EngineError(reason, "refused")


async def raise_for_status(response: Any) -> None:
    """Raise for redirects, and for errors with the beginning of the body, which the SDK would read whole."""
    if response.status_code < 300:
        return
    if response.status_code < 400:
        raise HttpFailure(response.status_code, None, response.headers.get("location", "").encode()[:500])
    body = bytearray()
    parts: AsyncIterator[bytes] = response.aiter_bytes()
    async for part in parts:
        body += part
        if len(body) > _MAX_ERROR_BYTES:
            break
    asked = parse_retry_after(response.headers.get("retry-after"))
    raise HttpFailure(response.status_code, asked, bytes(body))


def transport_errors() -> tuple[type[BaseException], ...]:
    """Return the HTTP library's exceptions while a body is read; openai 2 and 3 use different libraries."""
    errors: list[type[BaseException]] = [OSError]
    for name in ("httpx2", "httpx"):
        with contextlib.suppress(ImportError):
            errors.append(importlib.import_module(name).HTTPError)
    return tuple(errors)
