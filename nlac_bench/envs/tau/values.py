"""Finds the numbers in a text, with their kind: amounts of money, counts, identifiers and other numbers."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["amount", "count", "identifier", "number"]

MOST_COUNTED = 20
"""A whole number below this, without a currency, is a count."""
_LEAST_IDENTIFIER = 6
"""Digits from which a whole number, without a currency, is an identifier."""
_MOST_ROWS = 100
"""Entries of a list in a tool's result up to which their fields are counted."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_NO_VALUE = re.compile(
    rf"""
      \b{_MONTH}\s{_DAY}\b(?:,?\s\d{{4}}\b)? | \b{_DAY}\s(?:of\s)?{_MONTH}\b(?:,?\s\d{{4}}\b)?
    | \bending\s(?:in|with)\s\d+ | \bzip(?:\scode)?:?\s\d+
    | \b\d+(?:\.\d+)?[\s-]?(?:%|percent\b|(?:(?:business|working|calendar)\s)?(?:second|minute|hour|day|week
      |month|year)s?\b|[ap]\.?m\b|[ck]?m\b|mm\b|kg\b|g\b|[gmt]b\b|inch(?:es)?\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Dates, durations, measures, shares, last digits of cards and zip codes."""
_NUMBER = re.compile(
    r"(?P<sign>(?:\b(?:us)?\$|\bUSD|[$€£])\s?)?(?<![^\W_])(?<!\d[-:/.])(?<!\#)"
    r"(?P<whole>\d{1,3}(?:,\d{3}(?!\d))+|\d+)(?P<decimals>\.\d+)?"
    r"(?![^\W_])(?![-:/.]\d)(?P<unit>\s?(?:dollars?|bucks|USD)\b)?",
    re.IGNORECASE | re.ASCII,
)
_LIST_NUMBER = re.compile(r"^\s*(\d{1,2})[.)]\s", re.MULTILINE)
_ANY_NUMBER = re.compile(r"\d+(?:,\d{3}(?!\d))*(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Stated:
    """A number in a text: its value, written without redundant zeros, its kind and its place."""

    value: str
    kind: Kind
    start: int
    end: int


def stated(text: str) -> list[Stated]:
    """Return the numbers in ``text`` that can be an answer, in order.

    Not among them are parts of words, ids and dates, ranges (``3-5``), durations, measures, shares, and the
    numbers of a numbered list.
    """
    skipped = [match.span() for match in _NO_VALUE.finditer(text)] + _list_numbers(text)
    covered = {place for start, end in skipped for place in range(start, end)}
    result = []
    for match in _NUMBER.finditer(text):
        if match.start("whole") in covered:
            continue
        digits = match["whole"].replace(",", "")
        value = canonical(digits + (match["decimals"] or ""))
        result.append(Stated(value, _kind(match, digits), match.start(), match.end()))
    return result


def canonical(digits: str) -> str:
    """Return a number without redundant zeros: ``54`` for ``54.00``; an identifier as it is."""
    if "." not in digits:
        return digits if len(digits) >= _LEAST_IDENTIFIER else digits.lstrip("0") or "0"
    whole, _, decimals = digits.partition(".")
    decimals = decimals.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{decimals}" if decimals else whole


def numbers_of(text: str) -> frozenset[str]:
    """Return the values of all digits in ``text``, also those in ids, dates and words."""
    return frozenset(canonical(match[0].replace(",", "")) for match in _ANY_NUMBER.finditer(text))


def counts_of(text: str) -> frozenset[str]:
    """Return what can be counted in a tool's JSON result: the entries of a list, those with the same value of
    a field or of two fields, and the different values of a field."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(str(count) for count in _counts(value))


def as_decimal(value: str) -> Decimal:
    """Return a value of ``canonical`` as an exact number."""
    return Decimal(value)


def _kind(match: re.Match[str], digits: str) -> Kind:
    if match["sign"] or match["unit"] or match["decimals"]:
        return "amount"
    if "," not in match["whole"] and len(digits) >= _LEAST_IDENTIFIER:
        return "identifier"
    return "count" if len(digits) < 4 and int(digits) < MOST_COUNTED else "number"


def _list_numbers(text: str) -> list[tuple[int, int]]:
    """Return the places of the numbers 1, 2, 3 … at the beginning of lines."""
    places, due = [], 1
    for match in _LIST_NUMBER.finditer(text):
        if int(match[1]) == due:
            places.append(match.span(1))
            due += 1
    return places if len(places) > 1 else []


def _counts(value: Any) -> Iterator[int]:
    if not isinstance(value, dict | list):
        return
    entries = list(value.values()) if isinstance(value, dict) else value
    yield len(entries)
    for entry in entries:
        yield from _counts(entry)
    rows = [set(_fields(entry)) for entry in entries if isinstance(entry, dict)]
    if not 1 < len(rows) <= _MOST_ROWS:
        return
    alike: Counter[object] = Counter()
    for row in rows:
        alike.update(row)
        alike.update(combinations(sorted(row), 2))
    yield from set(alike.values())
    yield from Counter(field for field, _ in set().union(*rows)).values()


def _fields(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the scalar fields of an entry, and those of the objects in it, with their values as text."""
    for key, value in list(row.items())[:20]:
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", str(each)) for inner, each in list(value.items())[:20])
        elif not isinstance(value, list):
            yield key, str(value)
