"""Finds what an error quotes of the request: the conversation's words are not the reason of a refusal."""

import json
import re
from collections.abc import Mapping
from typing import Any

_SHORTEST = 20
"""Number of letters from which equal text is taken for a quotation."""
_STEP = _SHORTEST // 2
"""A quotation contains a whole piece of the message of this length, at a multiple of this length."""
_MOST_LETTERS, _MOST_PLACES = 4000, 3
_SPACE = re.compile(r"(?:\s|\\[nrt])+")
_ESCAPED = re.compile(r"\\(.)", re.S)
_LETTER = re.compile(rf"{_SPACE.pattern}|\\?.", re.S)
_MARKS = str.maketrans(dict.fromkeys("'`‘’“”", '"'))


def words_sent(body: Mapping[str, Any]) -> str:
    """Return the texts of a request: its messages, calls and tools."""
    return json.dumps([body.get("messages"), body.get("tools")], ensure_ascii=False, default=str)


def unquoted(message: str, words: str) -> str:
    """Return the beginning of ``message`` without what it quotes of ``words``.

    Servers print texts with escapes and with other quotation marks. The time is that of some hundred searches
    in ``words``.
    """
    message = message[:_MOST_LETTERS]
    spans = [match.span() for match in _LETTER.finditer(message)]
    plain = "".join(_plain(message[start:end]) for start, end in spans)
    words = _plain(words)
    kept, place = [], 0
    for first, last in _common(plain, words):
        begin, end = spans[first][0], spans[last - 1][1]
        kept.append(message[place:begin])
        place = max(place, end)
    return " ".join([*kept, message[place:]])


def _common(plain: str, words: str) -> list[tuple[int, int]]:
    """Return where ``plain`` has pieces of ``words`` of at least ``_SHORTEST`` letters, in order."""
    pieces: list[tuple[int, int]] = []
    start = 0
    while start + _STEP <= len(plain):
        found, longest = -1, (start, start)
        for _ in range(_MOST_PLACES):
            found = words.find(plain[start : start + _STEP], found + 1)
            if found < 0:
                break
            longest = max(longest, _extended(plain, start, words, found), key=_length)
        if _length(longest) >= _SHORTEST:
            pieces.append(longest)
        start = max(start + _STEP, longest[1] - longest[1] % _STEP)
    return pieces


def _length(piece: tuple[int, int]) -> int:
    return piece[1] - piece[0]


def _extended(plain: str, start: int, words: str, found: int) -> tuple[int, int]:
    """Return the piece around ``plain[start]`` that is equal to that around ``words[found]``."""
    before = 0
    while before < min(start, found) and plain[start - before - 1] == words[found - before - 1]:
        before += 1
    after, most = _STEP, min(len(plain) - start, len(words) - found)
    while after < most and plain[start + after] == words[found + after]:
        after += 1
    return start - before, start + after


def _plain(text: str) -> str:
    """Return ``text`` with one kind of space and of quotation mark, and without escapes."""
    return _ESCAPED.sub(r"\1", _SPACE.sub(" ", text)).translate(_MARKS)
