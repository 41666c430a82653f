"""Joins the events of a streamed reply to the JSON of a reply that was sent whole.

The time is linear in the length of the stream, which a server chooses: texts are joined once, at the end, and
the call to which a part belongs is not searched for.
"""

import json
from collections.abc import Iterable
from typing import Any

from nlac_bench.rollout.engines.backoff import TransientFault
from nlac_bench.rollout.engines.openai.complaint import error_in

_TEXTS = ("content", "refusal", "arguments", "text")
_MOST_CHECKS = 100
"""Number of times that the arguments of a call are found incomplete before a part with a name is taken for
their continuation without looking; each look reads all of them."""


class _Text:
    """A text that arrives in parts; ``str`` joins them."""

    def __init__(self, first: str) -> None:
        self.parts, self.length, self.checks = [first], len(first), 0

    def add(self, part: str) -> None:
        self.parts.append(part)
        self.length += len(part)

    def __len__(self) -> int:
        return self.length

    def __str__(self) -> str:
        return "".join(self.parts)


class _Calls(list[Any]):
    """The tool calls of a message, and the last call with each index and each id."""

    def __init__(self, calls: Iterable[Any]) -> None:
        super().__init__(calls)
        known = [call for call in self if isinstance(call, dict)]
        self.by_index: dict[Any, dict[str, Any]] = {call.get("index"): call for call in known}
        self.by_id: dict[Any, dict[str, Any]] = {call.get("id"): call for call in known}


def read_body(body: bytes) -> Any:
    """Return the JSON of a reply, which is one value or a stream of server-sent events.

    Raises:
        ValueError: it is neither, or an event is not in OpenAI's format.
        TransientFault: a stream broke off.
    """
    text = body.decode("utf-8-sig")
    if text.lstrip()[:1] in ("{", "[", "") or not _events(text):
        return json.loads(text)
    try:
        return _joined(_events(text))
    except (AttributeError, TypeError, OverflowError, RecursionError) as error:  # an index may be 1e999
        raise ValueError("an event of the stream is not in OpenAI's format") from error


def _events(text: str) -> list[str]:
    """Return the data of each event; comments such as ``: PROCESSING``, other fields and empty data are
    skipped. Some servers (older llama.cpp) send an error as a field of that name."""
    events: list[str] = []
    lines: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        name, colon, value = line.partition(":")
        if colon and name in ("data", "error"):
            lines.append(value.removeprefix(" "))
        elif not line and lines:
            events += _events_in(lines)
            lines = []
    return [event for event in events if event.strip()]


def _events_in(lines: list[str]) -> list[str]:
    """Return the event in ``lines``, or several: some servers leave out the empty line between events."""
    whole = "\n".join(lines)
    return lines if not _is_json(whole) and all(map(_is_json, lines)) else [whole]


def _is_json(text: str) -> bool:
    if text.strip() == "[DONE]":
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _joined(events: list[str]) -> Any:
    whole: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    done = False
    for event in events:
        if event.strip() == "[DONE]":
            done = True
            continue
        chunk = json.loads(event)
        if not isinstance(chunk, dict):
            raise ValueError("an event of the stream is not a JSON object")
        if error_in(chunk) is not None:
            return chunk  # an error of the server, as in a reply that is sent whole
        for choice in chunk.pop("choices", None) or ():
            _add(choices.setdefault(int(choice.get("index") or 0), {}), choice)
        whole |= {key: value for key, value in chunk.items() if value is not None}
    for each in choices.values():
        _join_texts(each)
    whole["choices"] = [_one_message(choices[index]) for index in sorted(choices)]
    if not done and not any(choice.get("finish_reason") for choice in whole["choices"]):
        raise TransientFault("the stream ended before the reply was complete", "connection")
    return whole


def _one_message(choice: dict[str, Any]) -> dict[str, Any]:
    """Return the choice with one message: that of its deltas, if they have more than a role.

    Some servers (Perplexity) repeat the whole message so far beside each delta.
    """
    delta = choice.pop("delta", {})
    if any(value for key, value in delta.items() if key != "role"):
        choice["message"] = delta
    else:
        choice.setdefault("message", delta)
    return choice


def _add(choice: dict[str, Any], chunk: dict[str, Any]) -> None:
    for key, value in chunk.items():
        if key in ("delta", "message") and isinstance(value, dict):
            if key == "message" and _continues(
                value.get("content"), choice.get("message", {}).get("content")
            ):
                choice["message"] = value  # the whole message so far
            else:
                _merge(choice.setdefault(key, {}), value)
        elif key == "text" and isinstance(value, str):
            _append(choice, key, value)
        elif key == "logprobs" and isinstance(value, dict):
            logprobs = choice.setdefault("logprobs", {})
            for name, listed in value.items():
                if isinstance(listed, list):
                    logprobs.setdefault(name, []).extend(listed)
        elif key == "token_ids" and isinstance(value, list):
            choice.setdefault(key, []).extend(value)
        elif value is not None:
            choice[key] = value


def _merge(message: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add ``delta``: texts are appended, the parts of tool calls joined by their index."""
    for key, value in delta.items():
        old = message.get(key)
        if value is None:
            continue
        if key == "tool_calls" and isinstance(value, list):
            if not isinstance(old, _Calls):
                old = message[key] = _Calls(old or ())
            _merge_calls(old, value)
        elif isinstance(value, dict):
            if not isinstance(old, dict):
                old = message[key] = {}
            _merge(old, value)
        elif isinstance(value, list) or isinstance(old, list):  # Mistral sends text and parts by turns
            if not isinstance(old, list):
                old = message[key] = _parts(old)
            old += _parts(value)
        elif (
            isinstance(value, str)
            and isinstance(old, str | _Text)
            and (key in _TEXTS or "reason" in key or "think" in key)
        ):
            _append(message, key, value)
        elif old is None or value != "":
            message[key] = value


def _append(message: dict[str, Any], key: str, text: str) -> None:
    old = message.get(key, "")
    if not isinstance(old, _Text):
        old = message[key] = _Text(old)
    old.add(text)


def _join_texts(message: dict[str, Any]) -> None:
    for key, value in message.items():
        if isinstance(value, _Text):
            message[key] = str(value)
        for each in value if isinstance(value, _Calls) else (value,):
            if isinstance(each, dict):
                _join_texts(each)


def _continues(content: Any, said: Any) -> bool:
    """Return whether ``content`` begins with what was ``said``, which is only joined if it is not longer."""
    return (
        isinstance(content, str)
        and isinstance(said, str | _Text)
        and 0 < len(said) <= len(content)
        and content.startswith(str(said))
    )


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str | _Text):
        return [{"type": "text", "text": str(content)}] if content else []
    return content if isinstance(content, list) else []


def _merge_calls(calls: _Calls, parts: list[Any]) -> None:
    for part in parts:
        if not isinstance(part, dict):
            calls.append(part)
            continue
        index, own = part.get("index"), part.get("id")
        named = bool((part.get("function") or {}).get("name"))
        same = None
        if index is not None:
            same = calls.by_index.get(index)
            # Gemini and Ollama number every call of a message 0, but give each a name and an id of its own.
            # Older versions of vLLM give each part of one call another id.
            if same is not None and named and _begins_another(part, same):
                same = None
        elif own:
            same = calls.by_id.get(own)
        elif calls and not named:
            same = calls[-1]
        if same is None:
            same = {}
            calls.append(same)
            calls.by_index[index] = calls.by_id[own] = same
        elif own and _repeats(_arguments(part), _arguments(same)) and _is_complete(same):
            continue  # the whole call again
        _merge(same, part)
        calls.by_id.setdefault(own, same)


def _begins_another(part: dict[str, Any], call: dict[str, Any]) -> bool:
    """Return whether ``part``, which has a name, is not a part of ``call`` although the index is the same."""
    own, known = part.get("id"), call.get("id")
    if own and known:
        return bool(own != known)
    if not str(_arguments(part)).lstrip().startswith("{"):
        return False
    arguments = _arguments(call)
    if isinstance(arguments, _Text):
        arguments.checks += 1
        if arguments.checks > _MOST_CHECKS:
            return False
    return _is_complete(call)


def _arguments(call: dict[str, Any]) -> str | _Text:
    arguments = (call.get("function") or {}).get("arguments")
    return arguments if isinstance(arguments, str | _Text) else ""


def _repeats(part: str | _Text, known: str | _Text) -> bool:
    return 0 < len(part) == len(known) and str(part) == str(known)


def _is_complete(call: dict[str, Any]) -> bool:
    """Return whether the arguments of a call are a whole JSON object."""
    arguments = str(_arguments(call)).strip()
    return arguments.startswith("{") and arguments.endswith("}") and _is_json(arguments)
