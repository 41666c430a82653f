"""Texts of numbers and values on boards, the same in HTML, Markdown and figures."""

import json

from nlac_bench.reports.figures.figure import compact, time_text

NOTHING = "–"
"""Stands for a number that is not known."""


def amount(value: float | None) -> str:
    """Return a count such as 12.3k, or a dash for None."""
    return NOTHING if value is None else compact(value)


def count_text(value: int | None) -> str:
    """Return a count with separators, or a dash for None."""
    return NOTHING if value is None else f"{value:,}"


def duration(hours: float | None) -> str:
    """Return a time such as ``6 min``, or a dash for None."""
    return NOTHING if hours is None else time_text(hours)


def plain(value: object) -> str:
    """Return a JSON value as text; a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def across(rate: float) -> str:
    """Return where a rate is in the drawing of a row, which is 200 wide."""
    return f"{4 + 192 * rate:.1f}"


def sort_value(value: float | None) -> str:
    """Return the sort key of a column."""
    return "" if value is None else repr(value)
