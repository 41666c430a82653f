"""Changes requests to what one server accepts: learned from its refusals, said once, kept for the whole run.

A refusal that names a field of the request is understood by where the name stands (``param``, ``loc``, a
quoted word, "parameter NAME") and by what is said of it (unsupported, unknown, at most N …), not by a list of
phrases.
"""

import json
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from nlac_bench.rollout.engines.openai.complaint import Complaint
from nlac_bench.rollout.engines.openai.naming import bounds_answer, named, stated_bound
from nlac_bench.rollout.engines.openai.quotation import unquoted, words_sent

KEPT = ("model", "messages", "prompt", "tools")
"""Fields that are never left out: without them, the request would be another one."""
ECHOED = re.compile(r"reasoning|thinking|thought|extra_content", re.I)
"""Names of fields of a reply that go back to the server which sent them."""

_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_STATUS = (0, 400, 404, 405, 406, 415, 422, 500, 501)
_REFUSES = re.compile(
    r"\b(?:un|not[ _]+|n['o]?t |no |isn't |doesn't )(?:currently |yet |longer )?(?:support|permit|allow"
    r"|accept|implement|recogni|available)"
    r"|\b(?:un|in)(?:supported|recogni[sz]ed|known|expected|allowed|available|valid|compatible)"
    r"|\b(?:extra|forbidden|deprecated|removed|cannot|can't|must|should|only|required?|rejected|illegal|bad"
    r"|exceeds?|disable\w*|too|please (?:remove|use)"
    r"|invalid|got|expected|range|between|unable|conflict\w*|mutually|does not|do not|greater|less|at most"
    r"|at least)\b"
    r"|不支持|无效|非法|不能|必须|仅支持",
    re.I,
)
_UNSUPPORTED = re.compile(
    r"unsupported|(?:not|n['o]?t)(?: be)? (?:supported|support|permitted|allowed|implemented)"
    r"|extra inputs|unknown|unrecogni|unexpected keyword|deprecated|不支持",
    re.I,
)
"""Words that say of a field that it is not accepted at all, with which a server does not fail in passing."""
_STREAM = re.compile(
    r"non[- _]?stream\w*|only supports? (?:the )?stream|stream(?:ing)? (?:mode|only|is required)"
    r"|must (?:use|be) stream"
    r"|stream\W{0,3}(?:=|:|to be|(?:must|should|has to) be(?: set to)?|set to)\W{0,3}(?:true|false)"
    r"|requires? (?:the )?stream"
    r"|仅支持流式|流式",
    re.I,
)
_DEMANDED = re.compile(
    r"\bmissing\b|\brequired?\b|must be (?:passed|provided|included|sent)|pass\w* back", re.I
)
"""A field of a message that the server wants back, as DeepSeek does with reasoning beside calls."""
_TOGETHER = re.compile(r"\bboth\b|only one of|together|mutually|at the same time|simultaneous", re.I)
_TOO_SMALL = re.compile(
    r"(?:must|should|has to|needs to) (?:be )?(?:greater|larger|more|higher|exceed)", re.I
)
_BOUND = re.compile(
    r"at most|<=|less (?:than|or equal)|no more|maximum|up to|range|between|should be|must be|too large"
    r"|exceed|limit|at least|>=?|positive|≤|≥|greater than|larger than|above|non-?zero",
    re.I,
)
_LOWEST = re.compile(
    r"(?:at least|>=?|≥|(?:greater|larger|more|higher) than(?: or equal to)?|above|between|[(\[])\s*"
    r"([01]?\.\d{1,4}|[01])(?![\d.]*\d)|positive|non-?zero",
    re.I,
)
_RANGE = re.compile(r"(?<=\[)(\d{1,9}),(\d{1,9})(?=[\])])")
"""Both numbers of ``[1,512]``, which is no thousand."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?:\.\d{1,4})?(?![\w])")


class Adaptations:
    """What the requests to one server are changed to. It may be used from any thread."""

    def __init__(self) -> None:
        self.changes: dict[str, str] = {}
        """What was done to each field, by its name; the names of a run's manifest and of ``--json``."""
        self._guard = threading.Lock()
        self._dropped: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._most: dict[str, float] = {}
        self._least: dict[str, float] = {}
        self._streams = False
        self._without: set[str] = set()
        self._failures: set[int] = set()
        """Hashes of the requests at which the server failed, and of its words."""
        self._no_system = False

    def apply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``body`` as this server accepts it."""
        with self._guard:
            sent = dict(body)
            if self._streams:
                sent["stream"] = True
            if sent.get("stream"):  # otherwise a stream has no token counts
                sent.setdefault("stream_options", {"include_usage": True})
            for name, new in self._renamed.items():
                if name in sent:
                    sent[new] = sent.pop(name)
            for name in self._dropped:
                sent.pop(name, None)
            if not sent.get("stream"):
                sent.pop("stream_options", None)
            for name, most in self._most.items():
                if name in sent:
                    sent[name] = min(sent[name], most)
            for name, least in self._least.items():
                if name in sent:
                    sent[name] = max(sent[name], least)
            if self._without and "messages" in sent:
                sent["messages"] = [_without(message, self._without) for message in sent["messages"]]
            if self._no_system and "messages" in sent:
                sent["messages"] = merged(sent["messages"])
            return sent

    def learn(self, complaint: Complaint, sent: Mapping[str, Any]) -> str | None:
        """Return how the next request differs because of ``complaint``; None if it says nothing of this kind.

        Args:
            sent: the body that was refused.
        """
        if complaint.status not in _STATUS or not (_REFUSES.search(complaint.text) or complaint.params):
            return None
        with self._guard:
            if complaint.status == 500 and not _UNSUPPORTED.search(complaint.text):
                failure = hash((complaint.message, json.dumps(sent, sort_keys=True)))
                if failure not in self._failures:
                    self._failures.add(failure)
                    return None  # it may pass
            return self._learn(complaint, sent)

    def adopt(self, left_out: Iterable[str], streams: bool, no_system: bool) -> str:
        """Change later requests as told, and return what was done.

        Args:
            left_out: names of fields.
            streams: ask for streamed replies.
            no_system: put the system's text into the first user message.
        """
        with self._guard:
            done = [self._drop(name) for name in left_out]
            if streams:
                done.append(self._ask_for_a_stream())
            if no_system:
                done.append(self._merge_system())
            return "; ".join(done)

    def begin_as(self, other: "Adaptations") -> None:
        """Change requests as ``other`` does, which has learned it from the same server."""
        with other._guard:
            self._dropped, self._without = set(other._dropped), set(other._without)
            self._most, self._least = dict(other._most), dict(other._least)
            self._renamed = dict(other._renamed)
            self._streams, self._no_system = other._streams, other._no_system

    def note(self, name: str, what: str) -> str:
        """Record a change that is made elsewhere."""
        with self._guard:
            self.changes[name] = what
            return f"{name}: {what}"

    def _learn(self, complaint: Complaint, sent: Mapping[str, Any]) -> str | None:
        message = complaint.message
        if not sent.get("stream") and "stream" not in self._dropped and _STREAM.search(message):
            return self._ask_for_a_stream()
        echoed = {key for message in sent.get("messages", ()) for key in _keys(message) if ECHOED.search(key)}
        if (names := named(complaint, echoed)) and not _DEMANDED.search(message):
            self._without |= set(names)
            return "; ".join(self._did(f"messages.{name}", "left out") for name in names)
        fields = [name for name in sent if name not in KEPT]
        plain = replace(complaint, message=unquoted(message, words_sent(sent)))
        names = named(plain, fields) or _of_answer(plain.message, sent)
        if not names and self._system_refused(complaint, sent):
            return self._merge_system()
        if not names:
            return None
        if len(names) > 1 and _TOGETHER.search(message):
            names = [name for name in names if name != "temperature"]
        elif len(names) > 1 and names[0] in _OTHER_NAME and _TOO_SMALL.search(message):
            names = names[1:]  # it is too large for the answer's length, which was asked for
        # If the server refuses another field too, it says so again.
        return self._change(names[0], plain, sent)

    def _change(self, name: str, complaint: Complaint, sent: Mapping[str, Any]) -> str:
        value, message = sent[name], complaint.message
        unsupported = re.search(
            r"unsupported parameter|not supported with|extra inputs|unknown|unrecogni|only the default"
            r"|deprecated|use '?max_",
            f"{message} {' '.join(complaint.codes)}", re.I,
        )  # fmt: skip
        if type(value) in (int, float) and not unsupported and _BOUND.search(message):
            plain = _THOUSANDS.sub("", _RANGE.sub(r"\1 \2", message))
            numbers = [float(number) for number in _NUMBER.findall(plain)]
            below = [number for number in numbers if 0 < number < value]
            if name in _OTHER_NAME and below and name not in self._most:
                bound = stated_bound(plain, value) or int(max(below))
                excluded = re.search(
                    rf"(?:lower|less|smaller|fewer) than {bound}\b|\b{bound} \(exclusive", plain
                )
                self._most[name] = bound - bool(excluded)
                return self._did(name, f"at most {self._most[name]}")
            if name == "temperature":
                lowest = _LOWEST.search(plain)
                if value == 0 and lowest and name not in self._least:
                    self._least[name] = float(lowest[1] or 0) or 0.01
                    return self._did(name, f"{self._least[name]:g} instead of 0")
                if below and value > 1 and name not in self._most:
                    self._most[name] = max(below)
                    return self._did(name, f"{max(below):g} instead of {value:g}")
        other = _OTHER_NAME.get(name)
        if other and other not in self._dropped and other not in self._renamed:
            self._renamed[name] = other
            return self._did(name, f"renamed to {other}")
        original = next((old for old, new in self._renamed.items() if new == name), None)
        if original is not None:
            del self._renamed[original]
            self._dropped.add(original)
            return self._did(original, "left out")
        return self._drop(name)

    def _drop(self, name: str) -> str:
        self._dropped.add(name)
        if name == "stream":
            self._streams = False
        return self._did(name, "left out")

    def _ask_for_a_stream(self) -> str:
        self._streams = True
        return self._did("stream", "set to true")

    def _merge_system(self) -> str:
        self._no_system = True
        return self._did("system message", "put into the first user message")

    def _did(self, name: str, what: str) -> str:
        self.changes[name] = what
        return f"{name}: {what}"

    def _system_refused(self, complaint: Complaint, sent: Mapping[str, Any]) -> bool:
        roles = [message.get("role") for message in sent.get("messages", ())]
        text = complaint.message
        return (
            not self._no_system
            and "system" in roles
            and "user" in roles
            and bool(
                re.search(r"\b(?:system|developer)\b.{0,40}\b(?:role|message|prompt|instruction)", text, re.I)
                or re.search(r"roles? must alternate", text, re.I)
            )
        )


def _of_answer(message: str, sent: Mapping[str, Any]) -> list[str]:
    """Return the field of the answer's length if the message bounds that length without its name."""
    return [name for name in _OTHER_NAME if name in sent and bounds_answer(message, sent[name])]


def _keys(message: Mapping[str, Any]) -> set[str]:
    """Return the names in a message and in its tool calls."""
    calls = message.get("tool_calls") or ()
    return set(message) | {key for call in calls for key in (*call, *call.get("function", {}))}


def _without(message: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if key not in names}
    if kept.get("tool_calls"):
        kept["tool_calls"] = [
            {
                key: {k: v for k, v in value.items() if k not in names} if isinstance(value, dict) else value
                for key, value in call.items()
                if key not in names
            }
            for call in kept["tool_calls"]
        ]
    return kept


def merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system's text before that of the first user message."""
    system = [m for m in messages if m.get("role") == "system"]
    rest = [dict(m) for m in messages if m.get("role") != "system"]
    for message in rest:
        if message.get("role") == "user":
            message["content"] = "\n\n".join([*(str(m["content"]) for m in system), str(message["content"])])
            return rest
    return messages
