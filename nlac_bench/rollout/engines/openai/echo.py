"""Keeps what a server sent beside its text, such as thoughts and signatures, and sends it back.

DeepSeek answers 400 to a conversation without its ``reasoning_content``, Gemini to a call without the
signature in ``extra_content``. Agents see neither. What is kept belongs to one engine, so no other server
gets it.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.rollout.engines.openai.adapting import ECHOED

_MOST_BYTES = 256_000_000


class Echo:
    """The extra fields of the latest replies of one server, by the conversation that they belong to."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._kept: OrderedDict[bytes, tuple[dict[str, Any], list[dict[str, Any]], int]] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def keep(self, messages: Sequence[Mapping[str, Any]], text: str, reply: Mapping[str, Any]) -> None:
        """Keep the extra fields of ``reply``, the message that answered ``messages`` and was read as
        ``text``."""
        extra = {key: value for key, value in reply.items() if ECHOED.search(key) and value}
        if isinstance(reply.get("content"), list) and any(_thinks(part) for part in reply["content"]):
            extra["content"] = reply["content"]
        calls = [_extra_of_call(call) for call in reply.get("tool_calls") or () if isinstance(call, dict)]
        if not extra and not any(calls):
            return
        size = len(json.dumps([extra, calls], default=str))
        key = _key(messages, text)
        self._bytes += size - self._kept.pop(key, (None, None, 0))[2]
        self._kept[key] = (extra, calls, size)
        while self._bytes > self._most and self._kept:
            self._bytes -= self._kept.popitem(last=False)[1][2]

    def restore(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return ``messages`` with the extra fields of those that this server sent."""
        restored = [dict(message) for message in messages]
        if not self._kept:
            return restored
        hashed = hashlib.blake2b(digest_size=16)
        for number, message in enumerate(messages):
            if message.get("role") == "assistant":
                extra = self._kept.get(_end(hashed, str(message.get("content") or "")))
                if extra is not None:
                    restored[number] = _with_extra(message, extra[0], extra[1])
            hashed.update(_plain(message))
        return restored


def _thinks(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")


def _extra_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extra fields of a call, and under ``function`` those of its function."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else {}
    extra = {key: value for key, value in call.items() if ECHOED.search(key) and value}
    if of_function := {key: value for key, value in inner.items() if ECHOED.search(key) and value}:
        extra["function"] = of_function
    return extra


def _with_extra(
    message: Mapping[str, Any], extra: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    made = {**message, **extra}
    if message.get("tool_calls"):
        made["tool_calls"] = [dict(call) for call in message["tool_calls"]]
        for call, more in zip(made["tool_calls"], calls, strict=False):
            function = {**call.get("function", {}), **more.get("function", {})}
            call.update({**more, "function": function})
    return made


def _key(messages: Sequence[Mapping[str, Any]], text: str) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for message in messages:
        hashed.update(_plain(message))
    return _end(hashed, text)


def _end(hashed: Any, text: str) -> bytes:
    own = hashed.copy()
    own.update(text.encode("utf-8", "surrogatepass"))
    return bytes(own.digest())


def _plain(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
