"""Changes requests to what one server accepts: learned from its refusals, said once, kept for the whole run.

A refusal that names a field of the request is understood by where the name stands (``param``, ``loc``, a
quoted word, "parameter NAME") and by what is said of it (unsupported, unknown, at most N …), not by a list of
phrases.
"""

import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from nlac_bench.rollout.engines.openai.complaint import Complaint

KEPT = ("model", "messages", "prompt", "tools")
"""Fields that are never left out: without them, the request would be another one."""
ECHOED = re.compile(r"reasoning|thinking|thought|extra_content", re.I)
"""Names of fields of a reply that go back to the server which sent them."""

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "max_tokens": ("max_new_tokens", "max_output_tokens", "max_tokens_to_sample"),
    "max_completion_tokens": ("max_new_tokens", "max_output_tokens"),
    "stop": ("stop_sequences", "stop_words"),
    "n": ("best_of", "candidate_count"),
    "logprobs": ("top_logprobs",),
}
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
_KIND = (
    r"(?:parameters?|param|arguments?|arg|fields?|propert(?:y|ies)|options?|keywords?|keys?|names?|inputs?"
    r"|settings?|values?|attributes?|参数|字段)"
)
_VERB = (
    r"(?:is|are|was|not|must|should|does|do|cannot|can|isn|unsupported|deprecated|parameter|argument|field"
    r"|property|option|value|参数)\b"
)
_STREAM = re.compile(
    r"non[- _]?stream\w*|only supports? (?:the )?stream|stream(?:ing)? (?:mode|only|is required)"
    r"|must (?:use|be) stream"
    r"|stream\W{0,3}(?:=|:|to be|(?:must|should|has to) be(?: set to)?|set to)\W{0,3}(?:true|false)"
    r"|requires? (?:the )?stream"
    r"|仅支持流式|流式",
    re.I,
)
_TOGETHER = re.compile(r"\bboth\b|only one of|together|mutually|at the same time|simultaneous", re.I)
_BOUND = re.compile(
    r"at most|<=|less than|no more|maximum|up to|range|between|should be|must be|too large|exceed|limit"
    r"|at least|>=?|positive|≤",
    re.I,
)
_KNOWN_NAMES = re.compile(
    r"\b(?:expected|must be|should be) (?:one|any) of\b[^.\n]*"
    r"|(?<!not )\b(?:allowed|supported|valid|known|accepted|permitted|expected)"
    r" (?:fields|param\w*s|properties|keys|arguments|options|names)\b[^.\n]*",
    re.I,
)
"""A list of what the server accepts: the field that it refuses is not among it."""
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
        self._values: dict[str, float] = {}
        self._without: set[str] = set()
        self._no_system = False

    def apply(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return ``body`` as this server accepts it."""
        with self._guard:
            sent = dict(body)
            if "stream" in self._values:
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
            for name, value in self._values.items():
                if name in sent and name != "stream":
                    sent[name] = value
            if self._without and "messages" in sent:
                sent["messages"] = [_without(message, self._without) for message in sent["messages"]]
            if self._no_system and "messages" in sent:
                sent["messages"] = _merged(sent["messages"])
            return sent

    def learn(self, complaint: Complaint, sent: Mapping[str, Any]) -> str | None:
        """Return how the next request differs because of ``complaint``; None if it says nothing of this kind.

        Args:
            sent: the body that was refused.
        """
        if complaint.status not in _STATUS or not (_REFUSES.search(complaint.text) or complaint.params):
            return None
        with self._guard:
            return self._learn(complaint, sent)

    def drop(self, name: str) -> str:
        """Leave out the field ``name`` from now on, and return what was done."""
        with self._guard:
            return self._drop(name)

    def note(self, name: str, what: str) -> str:
        """Record a change that is made elsewhere."""
        with self._guard:
            self.changes[name] = what
            return f"{name}: {what}"

    def _learn(self, complaint: Complaint, sent: Mapping[str, Any]) -> str | None:
        message = complaint.message
        if not sent.get("stream") and "stream" not in self._dropped and _STREAM.search(message):
            self._values["stream"] = 1
            return self._did("stream", "set to true")
        echoed = {key for message in sent.get("messages", ()) for key in _keys(message) if ECHOED.search(key)}
        if names := _named(complaint, echoed):
            self._without |= set(names)
            return "; ".join(self._did(f"messages.{name}", "left out") for name in names)
        fields = [name for name in sent if name not in KEPT]
        names = _named(complaint, fields)
        if not names and self._system_refused(complaint, sent):
            self._no_system = True
            return self._did("system message", "put into the first user message")
        if not names:
            return None
        if len(names) > 1 and _TOGETHER.search(message):
            names = [name for name in names if name != "temperature"][:1]
        return "; ".join(self._change(name, complaint, sent) for name in names)

    def _change(self, name: str, complaint: Complaint, sent: Mapping[str, Any]) -> str:
        value, message = sent[name], complaint.message
        unsupported = re.search(
            r"unsupported parameter|not supported with|extra inputs|unknown|unrecogni|only the default"
            r"|deprecated|use '?max_",
            f"{message} {' '.join(complaint.codes)}", re.I,
        )  # fmt: skip
        if type(value) in (int, float) and not unsupported and _BOUND.search(message):
            numbers = [float(number) for number in _NUMBER.findall(message.replace(",", ""))]
            below = [number for number in numbers if 0 < number < value]
            if name in _OTHER_NAME and below and name not in self._most:
                self._most[name] = int(max(below))
                return self._did(name, f"at most {self._most[name]}")
            if name == "temperature" and name not in self._values:
                if value == 0 and re.search(
                    r"positive|greater than 0|> ?0|\(0|above 0|larger than 0", message
                ):
                    self._values[name] = 0.01
                    return self._did(name, "0.01 instead of 0")
                if below and value > 1:
                    self._values[name] = max(below)
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
            self._values.pop("stream", None)
        return self._did(name, "left out")

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


def _named(complaint: Complaint, fields: Iterable[str]) -> list[str]:
    """Return those of ``fields`` that the complaint is about."""
    fields = list(fields)
    spellings = {name: _spellings(name) for name in fields}
    last = {re.split(r"[.\[]", param.rstrip("]"))[-1].strip("'\" ").lower() for param in complaint.params}
    last |= {param.strip("'\" ").lower() for param in complaint.params}
    parameters = [name for name in fields if last & {spelling.lower() for spelling in spellings[name]}]
    if parameters:
        return parameters
    # "Unsupported parameter: 'max_tokens' …. Use 'max_completion_tokens' instead": the request has the first.
    message = _KNOWN_NAMES.sub("", complaint.message)
    return [name for name in fields if any(_mentioned(each, message) for each in spellings[name])]


def _mentioned(name: str, message: str) -> bool:
    """Return whether ``message`` speaks of the field ``name``; ``stop`` and ``seed`` are also words."""
    quoted = rf"['\"`‘“]{name}['\"`’”]|\[['\"]?{name}['\"]?\]"
    if len(name) == 1:
        return re.search(quoted, message) is not None
    if "_" in name or " " in name or name != name.lower() or name in ("temperature", "logprobs"):
        return re.search(rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])", message) is not None
    return (
        re.search(
            rf"{quoted}|{_KIND}\W{{1,3}}{name}\b|(?<![\w]){name}\W?\s+{_VERB}|:\s*{name}\s*(?:[.,;)}}\"]|$)"
            rf"|\b(?:for|of|with|in|body\.)\s*{name}\b(?!\s+\w+ing)",
            message,
            re.I,
        )
        is not None
    )


def _spellings(name: str) -> list[str]:
    names = (name, *_ALIASES.get(name, ()))
    spaced = [each.replace("_", " ") for each in names[1:]]
    return list(dict.fromkeys([*names, *map(_camel, names), *spaced]))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


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


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with the system's text before that of the first user message."""
    system = [m for m in messages if m.get("role") == "system"]
    rest = [dict(m) for m in messages if m.get("role") != "system"]
    for message in rest:
        if message.get("role") == "user":
            message["content"] = "\n\n".join([*(str(m["content"]) for m in system), str(message["content"])])
            return rest
    return messages
