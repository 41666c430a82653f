"""Formats plain text tables and numbers."""

from collections.abc import Sequence
from typing import TypeAlias

from nlac_bench.stats.intervals import Interval
from nlac_bench.visible import one_line

Cell: TypeAlias = str | int | float | None


def render_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render columns two spaces apart; the first is aligned left, the others right."""
    cells = [list(map(one_line, header)), *(list(map(one_line, row)) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = []
    for row in cells:
        first, *others = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *others]).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def number(value: float | None, *, sign: bool = False, digits: int = 3) -> str:
    """Return ``value`` with ``digits`` decimals, or a dash for None."""
    if value is None:
        return "–"
    return f"{value:{'+' if sign else ''}.{digits}f}"


def bracket(interval: Interval | None, *, sign: bool = False) -> str:
    """Return ``interval`` as ``[low, high]``, or a dash for None."""
    if interval is None:
        return "–"
    return f"[{number(interval.low, sign=sign)}, {number(interval.high, sign=sign)}]"


def p_text(p: float | None) -> str:
    """Return a p-value with three decimals, or ``<0.001``, or a dash for None."""
    if p is None:
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def cell_text(cell: Cell) -> str:
    """Return a cell of a table as a page shows it.

    Integers have separators, other numbers three decimals and from 100 on one; None is a dash.
    """
    if cell is None or isinstance(cell, str):
        return "–" if cell is None else cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.3f}" if abs(cell) < 100 else f"{cell:,.1f}"
