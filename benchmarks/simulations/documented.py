"""Writes the tables of docs/statistics.md from the tables that the sections print."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nlac_bench.stats.power import minimum_detectable_difference

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")
_SIZES = {"50 tasks (airline)": 50, "115 tasks (retail)": 115, "134 tasks (MATH500-Hard)": 134}


@dataclass(frozen=True)
class Table:
    """A Markdown table."""

    header: list[str]
    rows: list[list[str]]

    def column(self, name: str, **where: Iterable[str]) -> list[float]:
        """Return the first percentage of each cell in the column ``name``, where other columns have values.

        Args:
            where: by the column's name with ``_`` in place of spaces, the values of the rows that count.
        """
        kept = [
            row
            for row in self.rows
            if all(row[self.header.index(key.replace("_", " "))] in values for key, values in where.items())
        ]
        place = self.header.index(name)
        return [float(found[1]) for row in kept if (found := _PERCENT.search(row[place]))]

    def cells(self) -> list[float]:
        """Return the first percentage of every cell."""
        return [float(found[1]) for row in self.rows for cell in row if (found := _PERCENT.search(cell))]


def tables(text: str) -> list[Table]:
    """Return the Markdown tables of ``text``."""
    result = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        result.append(Table(lines[0], lines[2:]))
    return result


def _range(values: list[float]) -> tuple[str, str]:
    """Return the number of cells, and their range."""
    return str(len(values)), f"{min(values):g}–{max(values):g} %"


def _grouped(names: Iterable[str], table: Table) -> tuple[str, str]:
    """Return the number and the range of the cells of the groups ``names``, which a row each summarises."""
    rows = [row for row in table.rows if row[0].strip("*") in names]
    place = table.header.index("cells below 92 %")
    below, cells = (sum(int(row[place].split(" of ")[i]) for row in rows) for i in (0, 1))
    chosen = Table(table.header, rows)
    low = min(chosen.column("worst cell"))
    high = f"{low:g}–{max(chosen.column('highest')):g} %" if "highest" in table.header else f"from {low:g} %"
    return str(cells), high + (f"; {below} below 92 %" if below else "")


def _verdicts(table: Table) -> tuple[str, str]:
    means, worst = table.column("mean"), table.column("worst")
    return f"{len(means)} groups", f"mean {min(means):g}–{max(means):g} %, highest cell {max(worst):g} %"


_Found = Callable[[list[Table]], tuple[str, str]]


def _group(*names: str) -> _Found:
    return lambda found: _grouped(names, found[0])


def _column(name: str, **where: Iterable[str]) -> _Found:
    return lambda found: _range(found[0].column(name, **where))


def _cells(place: int) -> _Found:
    return lambda found: _range(found[place].cells())


ROWS: tuple[tuple[str, str, _Found], ...] = (
    ("success rate, one trial", "success", _group("as used, 1 trials")),
    ("success rate, several trials", "success", _group(*(f"as used, {n} trials" for n in (2, 4, 8)))),
    ("pass^k of .05 or more", "pass-k", _group("true pass^k of .05 or more")),
    ("pass^k below .05", "pass-k", _group("true pass^k below .05")),
    ("difference of two runs", "paired", _group("all")),
    ("two equal runs: false verdicts", "verdict", lambda found: _verdicts(found[0])),
    ("equal rates, one side random, one deterministic: false verdicts", "unlike", _cells(0)),
    ("differences of `minimum_detectable_difference`: found", "power", _cells(0)),
    ("printed detectable differences, one trial: found", "detectable", _cells(0)),
    ("the same, several trials", "detectable", _cells(1)),
    ("two equal algorithms, 2 seeds a side", "algorithms", _column("coverage", seeds_a_side=("2",))),
    ("the same, 3 to 10 seeds", "algorithms", _column("coverage", seeds_a_side=("3", "5", "10"))),
    ("two algorithms, rates near or at 0 or 1, spread 0", "boundary", _group("spread of seeds 0")),
    ("the same, spread .6", "boundary", _group("spread of seeds 0.6")),
    ("two equal algorithms, paired in 2 worlds", "worlds", _column("coverage", worlds=("2",))),
    ("the same, 4 or 8 worlds", "worlds", _column("coverage", worlds=("4", "8"))),
    ("all places of a board of models", "places", _column("all intervals hold")),
    ("all places of a board of algorithms", "places of algorithms", _column("all intervals hold")),
    ("one algorithm's rate, 2 seeds", "one algorithm", _column("coverage", seeds=("2",))),
    ("the same, 3 seeds", "one algorithm", _column("coverage", seeds=("3",))),
    ("the same, 5 seeds", "one algorithm", _column("coverage", seeds=("5",))),
    ("algorithms as good as a floor: called above it", "floors", _column("above the floor")),
    ("`--seeds auto`: families with a wrong verdict", "sequential", _column("wrong verdict")),
)
"""The rows of the table of coverage: label, section, and what is taken from the section's tables."""


def coverage_table(texts: Mapping[str, str]) -> str:
    """Return the table of the measured coverage, from what the sections print."""
    lines = ["| interval or verdict | section | cells | range over the cells |", "|---|---|---|---|"]
    for label, section, found in ROWS:
        cells, span = found(tables(texts[section]))
        lines.append(f"| {label} | `{section}` | {cells} | {span} |")
    return "\n".join(lines)


def planning_table() -> str:
    """Return the table of minimum detectable differences."""
    lines = ["| trials | " + " | ".join(_SIZES) + " |", "|---" * (1 + len(_SIZES)) + "|"]
    for trials in (1, 4, 8):
        least = map(partial(minimum_detectable_difference, trials=trials), _SIZES.values())
        lines.append(f"| {trials} | " + " | ".join(f"{value:.3f}" for value in least) + " |")
    return "\n".join(lines)


def write_page(texts: Mapping[str, str], page: Path = PAGE) -> None:
    """Replace the tables of ``page`` that have the headers of these two."""
    text = page.read_text(encoding="utf-8")
    for table in (planning_table(), coverage_table(texts)):
        header = table.partition("\n")[0]
        parts = re.split(rf"^{re.escape(header)}\n(?:\|.*\n)+", text, flags=re.MULTILINE)
        if len(parts) != 2:
            raise SystemExit(f"{page} has {len(parts) - 1} tables with the header {header!r}")
        text = f"{parts[0]}{table}\n{parts[1]}"
    page.write_text(text, encoding="utf-8")
