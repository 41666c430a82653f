"""Computes from an error how many tokens of an answer still fit beside the prompt.

Servers state the lengths in many forms: of the prompt in one number or in parts, of prompt and answer
together, and of the context. The length of the answer is known, because the request asked for it.
"""

import re
from collections.abc import Sequence
from itertools import combinations

_COUNT = re.compile(r"\d[\d,]{1,11}")
_LIMIT = re.compile(
    r"(?:maximum|max|available)?\s*(?:context|model)\s*(?:length|len|window|size)\s*"
    r"(?:is|of|:|=|\()?\s*(?:only )?\(?(\d[\d,]{0,11})"
    r"|must be <= ?(\d[\d,]{0,11})|(?:limit|maximum) (?:is|of) (\d[\d,]{0,11})",
    re.I,
)
_PROMPT = re.compile(
    r"(\d[\d,]{0,11}) (?:tokens )?(?:in|from) (?:the |your )?(?:input |prompt )?(?:messages|prompt)"
    r"|(?:has|contains)(?: at least)? (\d[\d,]{0,11}) (?:input )?tokens|(\d[\d,]{0,11}) inputs? tokens"
    r"|(?:prompt|input)[_ ]tokens?\W{1,3}(\d[\d,]{0,11})",
    re.I,
)
_AT_LEAST = re.compile(r"\b(?:prompt|inputs?|messages?|request)\b[^.\d]{0,30}\bat least \d", re.I)
"""Only a lower bound of the prompt's length: vLLM counts until there are too many tokens."""
_TOTAL = re.compile(r"\btotal\b|\brequested\b|\breceived\b|\bsum\b", re.I)
_MOST_PARTS = 3
_MOST_NUMBERS = 12


def room_left(message: str, asked: int) -> int | None:
    """Return the number of tokens that still fit beside the prompt, if the message states the lengths.

    If the prompt has "at least" a number of tokens, it is at most half of what was asked for.

    Args:
        asked: the largest length of the answer that the request allowed.
    """
    message = re.sub(r"[`'\"*]", "", message)
    numbers = list(dict.fromkeys(map(_number, _COUNT.findall(message))))
    others = [number for number in numbers if number != asked][:_MOST_NUMBERS]
    limit = _stated(_LIMIT, message)
    prompt = _rest_of_total(others, asked, limit) or _stated(_PROMPT, message)
    if prompt is None and len(others) == 2:
        low, high = sorted(others)
        if asked in numbers:  # PROMPT + ANSWER > CONTEXT
            prompt = low
        elif _TOTAL.search(message) and high - low < asked < high:  # CONTEXT < TOTAL
            prompt, limit = high - asked, low
    if prompt is not None and limit is None:
        between = [number for number in others if prompt < number < prompt + asked]
        limit = between[0] if len(between) == 1 else None
    if prompt is None or limit is None:
        return None
    room = limit - prompt
    return min(room, asked // 2) if 0 < room < asked and _AT_LEAST.search(message) else room


def _rest_of_total(others: Sequence[int], asked: int, limit: int | None) -> int | None:
    """Return the prompt's length if one of the numbers is that of prompt and answer together.

    What remains of it beside the answer must be another number, or the sum of a few: the prompt's parts.
    """
    for total in sorted(others, reverse=True):
        parts = [number for number in others if number not in (total, limit)]
        sums = {sum(some) for count in range(1, _MOST_PARTS + 1) for some in combinations(parts, count)}
        if total != limit and total - asked in sums:
            return total - asked
    return None


def _stated(pattern: re.Pattern[str], message: str) -> int | None:
    match = pattern.search(message)
    return None if match is None else _number(next(filter(None, match.groups())))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
