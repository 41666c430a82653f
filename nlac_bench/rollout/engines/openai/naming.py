"""Finds the fields of a request that an error is about, by where a name stands in it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from nlac_bench.rollout.engines.openai.complaint import Complaint

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "max_tokens": ("max_new_tokens", "max_output_tokens", "max_tokens_to_sample"),
    "max_completion_tokens": ("max_new_tokens", "max_output_tokens"),
    "stop": ("stop_sequences", "stop_words"),
    "n": ("best_of", "candidate_count"),
    "logprobs": ("top_logprobs",),
}
_KIND = (
    r"(?:parameters?|param|arguments?|arg|fields?|propert(?:y|ies)|options?|keywords?|keys?|names?|inputs?"
    r"|settings?|values?|attributes?|参数|字段)"
)
_VERB = (
    r"(?:is|are|was|not|must|should|does|do|cannot|can|isn|unsupported|deprecated|parameter|argument|field"
    r"|property|option|value|参数)\b"
)
_KNOWN_NAMES = re.compile(
    r"\b(?:expected|must be|should be) (?:one|any) of\b[^.\n]*"
    r"|(?<!not )\b(?:allowed|supported|valid|known|accepted|permitted|expected)"
    r" (?:fields|param\w*s|properties|keys|arguments|options|names)\b[^.\n]*",
    re.I,
)
"""A list of what the server accepts: the field that it refuses is not among it."""
_ANSWER_LENGTH = re.compile(
    r"\bmax(?:imum)? (?:(?:new|output|completion) )?tokens\b"
    r"|\b(?:output|completion|response|answer|generation) (?:tokens|length|limit)\b",
    re.I,
)
_QUOTATION = 20
"""Number of letters from which text that also stands in the conversation is taken for a quotation of it."""


def words_sent(sent: Mapping[str, Any]) -> str:
    """Return the text of the conversation in ``sent``."""
    return "\n".join(str(message.get("content") or "") for message in sent.get("messages", ()))


def named(complaint: Complaint, fields: Iterable[str], quotable: str) -> list[str]:
    """Return those of ``fields`` that the complaint is about.

    Args:
        quotable: the text of the conversation, which a server may quote; a field in a quotation is not meant.
    """
    fields = list(fields)
    spellings = {name: _spellings(name) for name in fields}
    last = {re.split(r"[.\[]", param.rstrip("]"))[-1].strip("'\" ").lower() for param in complaint.params}
    last |= {param.strip("'\" ").lower() for param in complaint.params}
    parameters = [name for name in fields if last & {spelling.lower() for spelling in spellings[name]}]
    if parameters:
        return parameters
    # "Unsupported parameter: 'max_tokens' …. Use 'max_completion_tokens' instead": the request has the first.
    message = _unquoted(_KNOWN_NAMES.sub("", complaint.message), quotable)
    return [name for name in fields if any(_mentioned(each, message) for each in spellings[name])]


def _unquoted(message: str, quotable: str) -> str:
    """Return ``message`` without what it quotes of ``quotable``, in pieces of some length."""
    kept, place = [], 0
    while place < len(message):
        length = _QUOTATION
        if message[place : place + length] in quotable and place + length <= len(message):
            while message[place : place + length + 1] in quotable and place + length < len(message):
                length += 1
            place += length
        else:
            kept.append(message[place])
            place += 1
    return "".join(kept)


def _mentioned(name: str, message: str) -> bool:
    """Return whether ``message`` speaks of the field ``name``; ``stop`` and ``seed`` are also words."""
    quoted = rf"['\"`‘“]{name}['\"`’”]|\[['\"]?{name}['\"]?\]"
    if len(name) == 1:
        return re.search(quoted, message) is not None
    if "_" in name or " " in name or name != name.lower() or name in ("temperature", "logprobs"):
        word = rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])"
        return re.search(word, message, re.I if name == "temperature" else 0) is not None
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


def speaks_of_answer(message: str) -> bool:
    """Return whether ``message`` speaks of the answer's length."""
    return _ANSWER_LENGTH.search(message) is not None


def numbers_below(message: str, most: float) -> list[int]:
    """Return the whole numbers in ``message`` from 1 to ``most``, which is not one of them."""
    found = map(int, re.findall(r"(?<![\w.,])\d{1,7}(?![\w.,]\d)", message))
    return [number for number in found if 0 < number < most]
