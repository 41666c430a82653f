"""Keeps what a server sent beside its text, such as thoughts and signatures, and sends it back.

DeepSeek answers 400 to a conversation without its ``reasoning_content``, Gemini to a call without the
signature in ``extra_content``. Agents see neither. What is kept belongs to one engine, so no other server
gets it.
"""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from nlac_bench.rollout.engines.engine import Sample
from nlac_bench.rollout.engines.openai.adapting import ECHOED

_Call: TypeAlias = tuple[tuple[str, str], dict[str, Any]]
"""The name and the arguments of a call, and its extra fields."""
_MOST_BYTES = 256_000_000


class Echo:
    """The extra fields of the latest replies of one server, by the conversation that they belong to."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._kept: OrderedDict[bytes, tuple[dict[str, Any], list[_Call], int]] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def keep(self, messages: Sequence[Mapping[str, Any]], sample: Sample, reply: Mapping[str, Any]) -> None:
        """Keep the extra fields of ``reply``, the message that answered ``messages`` and was read as
        ``sample``."""
        extra = _extra(reply)
        if isinstance(reply.get("content"), list) and any(_thinks(part) for part in reply["content"]):
            extra["content"] = reply["content"]
        calls = [
            (_said(call.name, call.arguments), _extra_of_call(sent))
            for call, sent in zip(sample.tool_calls, reply.get("tool_calls") or (), strict=False)
        ]
        if not extra and not any(more for _, more in calls):
            return
        size = len(json.dumps([extra, calls], default=str))
        hashed = hashlib.blake2b(digest_size=16)
        for message in messages:
            hashed.update(_plain(message))
        first = next(((call.id, call.name, call.arguments) for call in sample.tool_calls), None)
        key = _end(hashed, sample.text, first)
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
                found = next(filter(None, map(self._kept.get, _ends(hashed, message))), None)
                if found is not None:
                    restored[number] = _with_extra(message, found[0], found[1])
            hashed.update(_plain(message))
        return restored


def _thinks(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")


def _extra(sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extra fields; empty texts too, without which DeepSeek refuses the conversation."""
    return {key: value for key, value in sent.items() if ECHOED.search(key) and value is not None}


def _extra_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extra fields of a call, and under ``function`` those of its function."""
    function = call.get("function")
    extra = _extra(call)
    if of_function := _extra(function if isinstance(function, dict) else {}):
        extra["function"] = of_function
    return extra


def _with_extra(
    message: Mapping[str, Any], extra: Mapping[str, Any], calls: Sequence[_Call]
) -> dict[str, Any]:
    made = {**message, **extra}
    if message.get("tool_calls"):
        made["tool_calls"] = [dict(call) for call in message["tool_calls"]]
        for call, (said, more) in zip(made["tool_calls"], calls, strict=False):
            function = call.get("function", {})
            if _said(function.get("name"), function.get("arguments")) == said:
                call.update({**more, "function": {**function, **more.get("function", {})}})
    return made


def _said(name: object, arguments: object) -> tuple[str, str]:
    """Return what the model wrote of a call; agents send no arguments back as an empty object."""
    return str(name), str(arguments or "").strip() or "{}"


def _ends(hashed: Any, message: Mapping[str, Any]) -> list[bytes]:
    """Return the keys under which the reply may be kept that ``message`` repeats.

    Replies with the same text differ by their first call. Agents give a call without an id one of their own.
    """
    text = str(message.get("content") or "")
    call = next(iter(message.get("tool_calls") or ()), None)
    if call is None:
        return [_end(hashed, text, None)]
    function = call.get("function", {})
    name, arguments = function.get("name"), function.get("arguments")
    return [_end(hashed, text, (own, name, arguments)) for own in (call.get("id"), "")]


def _end(hashed: Any, text: str, call: tuple[object, object, object] | None) -> bytes:
    own = hashed.copy()
    first = None if call is None else [str(call[0] or ""), *_said(*call[1:])]
    own.update(json.dumps([text, first]).encode())
    return bytes(own.digest())


def _plain(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
