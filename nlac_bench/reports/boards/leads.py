"""Answers what a reader of a board asks first: who leads, whether the lead is real, and at what cost."""

from collections.abc import Sequence

from nlac_bench.reports.boards.formats import amount, duration
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.report.page import Fact, sentence
from nlac_bench.stats.tables import number


def answer(rows: Sequence[RowView]) -> tuple[Fact, ...]:
    """Return the three answers about the first of ``rows``, which are ordered by place, then by success.

    Returns:
        Nothing without entries, and where the environment reports no success.
    """
    ranked = [row for row in rows if row.ranked]
    known = ranked or sorted(
        (row for row in rows if row.success is not None), key=lambda row: -(row.success or 0.0)
    )
    if not known:
        return ()
    first = known[0]
    return (_leader(known), _lead(known) if ranked else _untested(known), _cost(first, known[1:2]))


def _leader(rows: Sequence[RowView]) -> Fact:
    first = rows[0]
    names = [row.name for row in rows if row.success == first.success]
    bounds = "" if first.low is None else f", {number(first.low)} to {number(first.high)}"
    return Fact("Who leads?", sentence(names), f"success {number(first.success)}{bounds}")


def _lead(rows: Sequence[RowView]) -> Fact:
    """Return what the tests of the first of ``rows``, which are ranked, against the others say."""
    first, untested = rows[0], len(rows[0].untested)
    others = len(rows) - 1 - untested
    floor = f"; {first.below_floor}" if first.below_floor else ""
    elsewhere = f"; {_entries(untested)} played other worlds" if untested else ""
    if not others:
        alone = f"the only ranked entry{' of its world' if untested else ''}"
        return Fact(_REAL, "No other entry", f"{alone}{floor}{elsewhere}")
    told = len(first.better)
    near = [row.name for row in first.tied]
    rest = f" and {len(near) - _NAMED} more" if len(near) > _NAMED else ""
    tied = f"not told apart from {', '.join(near[:_NAMED])}{rest}" if near else ""
    place = f"place {first.place}"
    if told == others:
        return Fact(_REAL, "Yes", f"better than {_entries(others)}, {place}{floor}{elsewhere}", "better")
    if not told:
        return Fact(_REAL, "Not shown", f"{tied}, {place}{floor}{elsewhere}")
    part = f"better than {told} of {_entries(others)}; {tied}, {place}{floor}{elsewhere}"
    return Fact(_REAL, "In part", part)


def _untested(rows: Sequence[RowView]) -> Fact:
    reasons = dict.fromkeys(row.standing.removeprefix("unranked: ") for row in rows)
    said = sentence([_REASONS.get(reason, reason) for reason in reasons])
    return Fact(_REAL, "Not tested", f"no entry is ranked ({said})")


def _cost(first: RowView, following: Sequence[RowView]) -> Fact:
    of = "training" if first.entry.subject.training is not None else "the test episodes"
    steps = f", {first.gradient_steps:,.0f} gradient steps" if first.gradient_steps else ""
    time = f", {duration(first.hours)}" if first.hours else ""
    beside = [f"; {row.name}, the next: {amount(row.tokens)}" for row in following if row.tokens]
    return Fact(_COST, amount(first.tokens), f"generated tokens of {of}{steps}{time}{''.join(beside)}")


_REAL, _COST = "Is the lead real?", "At what cost?"
_REASONS = {"partial": "not all tasks were played"}
_NAMED = 3
"""Entries that are named; of further ones the number is stated."""


def _entries(count: int) -> str:
    return "the other entry" if count == 1 else f"{count} other entries"
