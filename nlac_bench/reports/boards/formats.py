"""Texts of numbers and values on boards, the same in HTML, Markdown and figures."""

import json

from nlac_bench.reports.figures.figure import compact

NOTHING = "–"
"""Stands for a number that is not known."""


def amount(value: float | None) -> str:
    """Return a count such as 12.3k, or a dash for None."""
    return NOTHING if value is None else compact(value)


def count_text(value: int | None) -> str:
    """Return a count with separators, or a dash for None."""
    return NOTHING if value is None else f"{value:,}"


def duration(hours: float | None) -> str:
    """Return a time such as ``0.3 s``, ``6 min`` or ``12 h`` with two digits, or a dash for None."""
    if hours is None:
        return NOTHING
    seconds = hours * 3600
    value, unit = (seconds, "s") if seconds < 60 else (seconds / 60, "min") if hours < 1 else (hours, "h")
    return f"{value:.2g} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def plain(value: object) -> str:
    """Return a JSON value as text; a string without quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def across(rate: float) -> str:
    """Return where a rate is in the drawing of a row, which is 200 wide."""
    return f"{4 + 192 * rate:.1f}"


def sort_value(value: float | None) -> str:
    """Return the sort key of a column."""
    return "" if value is None else repr(value)
