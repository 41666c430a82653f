"""A figure with the table of its numbers, as inline SVG for a page or as files for a paper."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nlac_bench.reports.pages.notebook import html_table
from nlac_bench.reports.pages.svg import GREY, PALETTE, drawing, inline_svg
from nlac_bench.reports.pages.text import csv_text
from nlac_bench.stats.tables import Cell, cell_text, render_table
from nlac_bench.visible import visible

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.figure import Figure as Canvas

Format: TypeAlias = Literal["svg", "png", "csv"]

__all__ = [
    "ACCENT",
    "BLACK",
    "GREY",
    "NARROW",
    "SECOND",
    "SMALL",
    "WHITE",
    "WIDTH",
    "Cell",
    "Figure",
    "Format",
    "Table",
    "canvas",
    "cell_text",
    "compact",
    "file_name",
    "label",
    "time_text",
]  # fmt: skip

BLACK, WHITE, ACCENT, SECOND = "#000000", "#ffffff", PALETTE[0], PALETTE[1]
"""Colours of text, page, emphasised series and test results; shapes carry the same information."""
SMALL = 8.0
"""Font size of labels, in points."""
WIDTH = 8.9
"""Width of all figures, in inches; ``page.css`` gives them the width of a page's column."""
NARROW = 3.4
"""Width of the drawings for phones, in inches."""
PNG_DPI = 200
_STYLE: dict[Any, Any] = {
    "font.size": 9.0, "axes.titlesize": 9.0, "axes.labelsize": 9.0, "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL, "axes.linewidth": 0.8, "lines.linewidth": 1.4,
}  # fmt: skip


_NUMBER = re.compile(r"–|<?[+-]?[\d,]+(\.\d+)?[kMG]?")


@dataclass(frozen=True)
class Table:
    """Numbers and texts under a header. None stands for an unknown number."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def numeric(self, column: int) -> bool:
        """Return whether a column has only numbers, known or not, formatted or not."""
        cells = [row[column] for row in self.rows]
        return all(not isinstance(cell, str) or _NUMBER.fullmatch(cell) for cell in cells)

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
        narrow: draws it for the width of a phone; without it the page scrolls.
    """

    name: str
    title: str
    table: Table
    draw: Callable[["type[Canvas]"], "Canvas"]
    narrow: Callable[["type[Canvas]"], "Canvas"] | None = None

    def inline(self) -> "Markup":
        """Return the figure as an ``<svg>`` element for a page, followed by that for phones if there is one.

        Raises:
            NlacBenchError: matplotlib is not installed.
        """
        with canvas() as new:
            wide = inline_svg(self.draw(new), self.title)
            return wide if self.narrow is None else wide + inline_svg(self.narrow(new), self.title, "narrow")

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


def compact(value: float, _: object = None) -> str:
    """Return a number as an axis shows it: 0.5, 800, 50k, 1.5M. The second argument is ignored; matplotlib
    passes it."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (1 - 1e-9):
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def time_text(hours: float) -> str:
    """Return a time such as ``0.3 s``, ``6 min`` or ``12 h`` with two digits."""
    seconds = hours * 3600
    value, unit = (seconds, "s") if seconds < 60 else (seconds / 60, "min") if hours < 1 else (hours, "h")
    return f"{value:.2g} {unit}" if value < 10 else f"{value:,.0f} {unit}"


def file_name(*parts: str) -> str:
    """Return a file name without ending: the ``parts`` that are not empty, in ASCII letters and digits."""
    return "_".join(
        "".join(c if c.isalnum() and c.isascii() else "_" for c in part)[:60] for part in parts if part
    )
