"""A figure with the table of its numbers, as inline SVG for a page or as files for a paper."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nlac_bench.reports.pages.notebook import html_table
from nlac_bench.reports.pages.svg import GREY, PALETTE, drawing, inline_svg
from nlac_bench.reports.pages.text import csv_text
from nlac_bench.stats.tables import render_table
from nlac_bench.visible import visible

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure as Canvas

Cell: TypeAlias = str | int | float | None
Format: TypeAlias = Literal["svg", "png", "csv"]

__all__ = ["ACCENT", "BLACK", "GREY", "SECOND", "SMALL", "WHITE", "Cell", "Figure", "Format", "Table",
           "canvas", "cell_text", "compact", "file_name", "label"]  # fmt: skip

BLACK, WHITE, ACCENT, SECOND = "#000000", "#ffffff", PALETTE[0], PALETTE[1]
"""Colours of text, page, emphasised series and test results; shapes carry the same information."""
SMALL = 8.0
"""Font size of labels, in points."""
PNG_DPI = 200
_STYLE: dict[Any, Any] = {
    "font.size": 9.0, "axes.titlesize": 9.0, "axes.labelsize": 9.0, "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL, "axes.linewidth": 0.8, "lines.linewidth": 1.4,
}  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Numbers and texts under a header. None stands for an unknown number."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def numeric(self, column: int) -> bool:
        """Return whether a column has only numbers, known or not."""
        return all(not isinstance(row[column], str) for row in self.rows)

    def to_csv(self) -> str:
        """Return the table as CSV whose cells a spreadsheet cannot take for formulas."""
        return csv_text(self.header, self.rows)

    def __str__(self) -> str:
        return render_table(self.header, [[cell_text(cell) for cell in row] for row in self.rows])

    def _repr_html_(self) -> str:
        return html_table(self.header, [[cell_text(cell) for cell in row] for row in self.rows])


@dataclass(frozen=True)
class Figure:
    """A figure that is drawn on request.

    Args:
        name: name of its files without ending.
        title: what it shows, in one sentence.
        table: its numbers.
        draw: called with the class ``matplotlib.figure.Figure``; returns an instance. Its texts have passed
            ``label``.
    """

    name: str
    title: str
    table: Table
    draw: Callable[["type[Canvas]"], "Canvas"]

    def inline(self) -> "Markup":
        """Return the figure as an ``<svg>`` element for a page.

        Raises:
            NlacBenchError: matplotlib is not installed.
        """
        with canvas() as new:
            return inline_svg(self.draw(new), self.title)

    def save(self, path: Path, form: Literal["svg", "png"]) -> None:
        """Write the figure to ``path`` on a white background.

        Raises:
            NlacBenchError: matplotlib is not installed.
        """
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        with canvas() as new:
            self.draw(new).savefig(path, format=form, dpi=PNG_DPI, facecolor="white", metadata=metadata)


@contextmanager
def canvas() -> "Iterator[type[Canvas]]":
    """Give the class ``matplotlib.figure.Figure`` with the style of all figures."""
    with drawing() as new, warnings.catch_warnings():
        import matplotlib

        warnings.filterwarnings("ignore", message="Glyph")  # matplotlib's font lacks some scripts
        matplotlib.rcParams.update(_STYLE)
        yield new


def label(text: str, longest: int = 36) -> str:
    """Return ``text`` on one line of at most ``longest`` characters, with its middle left out; tables show it
    whole."""
    line = " ".join(visible(text).split())
    if len(line) <= longest:
        return line
    tail = (longest - 1) // 2
    return f"{line[: longest - 1 - tail]}…{line[-tail:]}"


def cell_text(cell: Cell) -> str:
    """Return a cell of a table as a page shows it.

    Integers have separators, other numbers three decimals and from 100 on one; None is a dash.
    """
    if cell is None or isinstance(cell, str):
        return "–" if cell is None else cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.3f}" if abs(cell) < 100 else f"{cell:,.1f}"


def compact(value: float, _: object = None) -> str:
    """Return a number as an axis shows it: 0.5, 800, 50k, 1.5M. The second argument is ignored; matplotlib
    passes it."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (1 - 1e-9):
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def file_name(*parts: str) -> str:
    """Return a file name without ending: the ``parts`` that are not empty, in ASCII letters and digits."""
    return "_".join(
        "".join(c if c.isalnum() and c.isascii() else "_" for c in part)[:60] for part in parts if part
    )
