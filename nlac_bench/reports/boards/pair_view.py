"""Describes the pairs of a board's ranked entries: as a list, as a matrix, and beside each entry."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nlac_bench.leaderboards.boards import Board, Pair
from nlac_bench.leaderboards.spent import spent_by_runs
from nlac_bench.reports.boards.formats import NOTHING
from nlac_bench.reports.boards.rows import Relation
from nlac_bench.reports.figures.figure import Cell
from nlac_bench.reports.report.page import as_sentence
from nlac_bench.stats.tables import number, p_text
from nlac_bench.training.costs import PER_EPISODE, CostComparison
from nlac_bench.training.curve import AXES

COSTS = (AXES["env_steps"], AXES["tokens"], AXES["gradient_steps_total"], "seconds", PER_EPISODE)
"""The costs of ``cost_rows``."""


@dataclass(frozen=True)
class PairView:
    """A pair of ranked entries; ``difference`` is A minus B."""

    a: str
    b: str
    difference: str
    p: str
    p_holm: str
    words: str


@dataclass(frozen=True)
class MatrixCell:
    """A cell of the matrix of pairs, row minus column; ``word`` is empty if they are not distinguished."""

    difference: str
    p: str
    word: str


@dataclass(frozen=True)
class MatrixRow:
    """A row of the matrix of pairs; the cell of an entry with itself is None."""

    name: str
    cells: list[MatrixCell | None]


def pair_views(board: Board, names: Mapping[str, str]) -> list[PairView]:
    """Return all pairs.

    Args:
        names: of the entries by their ids, in all functions of this module.
    """
    return [
        PairView(
            names[pair.a], names[pair.b], number(pair.difference, sign=True), _p(pair, pair.p),
            _p(pair, pair.p_holm),
            _verdict(pair, pair.winner, names),
        )
        for pair in board.pairs
    ]  # fmt: skip


def _p(pair: Pair, p: float) -> str:
    return p_text(p) if pair.tested else NOTHING


def _verdict(pair: Pair, winner: str | None, names: Mapping[str, str]) -> str:
    if not pair.tested:
        return "not tested: different worlds"
    return "not told apart" if winner is None else f"{names[winner]} is better"


def neighbour_views(board: Board, names: Mapping[str, str]) -> list[list[Cell]]:
    """Return the difference, the p-value and the verdict of each pair of consecutive entries by itself."""
    return [
        [
            f"{names[pair.a]} and {names[pair.b]}",
            number(pair.difference, sign=True),
            _p(pair, pair.p),
            _verdict(pair, pair.winner_alone, names),
        ]
        for pair in board.neighbours
    ]


def matrix(board: Board, names: Mapping[str, str]) -> list[MatrixRow]:
    """Return the matrix of all pairs, in the order of the ranked entries."""
    ids = [row.entry.entry_id for row in board.ranked]
    cells: dict[tuple[str, str], MatrixCell] = {}
    for pair in board.pairs:
        for one, other, sign in ((pair.a, pair.b, 1), (pair.b, pair.a, -1)):
            word = "" if pair.winner is None else "better" if pair.winner == one else "worse"
            difference = number(sign * pair.difference + 0.0, sign=True)  # not -0.000
            cells[one, other] = MatrixCell(difference, _p(pair, pair.p_holm), word)
    return [MatrixRow(names[one], [cells.get((one, other)) for other in ids]) for one in ids]


def needed(board: Board, names: Mapping[str, str]) -> list[list[Cell]]:
    """Return the detectable difference and the tasks needed of each pair that is not distinguished."""
    tasks = next((row.entry.numbers.tasks for row in board.ranked), None)
    return [
        [
            f"{names[pair.a]} and {names[pair.b]}",
            number(pair.difference, sign=True),
            number(pair.detectable),
            tasks,
            "no number of tasks" if pair.tasks_needed is None else pair.tasks_needed,
        ]
        for pair in board.pairs
        if pair.tested and pair.winner is None
    ]


def cost_rows(board: Board, names: Mapping[str, str]) -> list[list[Cell]]:
    """Return the ratios of both entries' costs (A / B) for each pair, the means over seeds.

    Its columns are ``COSTS``. Costs that an entry does not state have None.
    """
    rows: list[list[Cell]] = []
    for pair, both in _compared(board, names):
        ratios = {name.strip(): ratio for name, _, _, ratio in both.table()}
        if ratios:
            difference = number(pair.difference, sign=True)
            rows.append(
                [f"{names[pair.a]} and {names[pair.b]}", difference, *(ratios.get(name) for name in COSTS)]
            )
    return rows


def cost_notes(board: Board, names: Mapping[str, str]) -> list[str]:
    """Return sentences on the pairs that spent unequal budgets, and what holds for them at equal cost."""
    return [
        as_sentence(f"{names[pair.a]} and {names[pair.b]}: {note}")
        for pair, both in _compared(board, names)
        if pair.tested and both.spent is not None  # other pairs have no budgets to compare
        for note in both.notes(verdict=False)
    ]


def _compared(board: Board, names: Mapping[str, str]) -> Iterator[tuple[Pair, CostComparison]]:
    spent = {row.entry.entry_id: spent_by_runs(row.entry) for row in board.ranked}
    for pair in board.pairs:
        yield pair, CostComparison(spent[pair.a], spent[pair.b], (names[pair.a], names[pair.b]))


def relations(board: Board, names: Mapping[str, str], one: str, others: Sequence[str]) -> list[Relation]:
    """Return how the entry ``one`` compares with each of ``others``."""
    results = {frozenset((pair.a, pair.b)): pair for pair in board.pairs}
    return [Relation(names[other], _words(results[frozenset((one, other))], one)) for other in others]


def _words(pair: Pair, one: str) -> str:
    difference = pair.difference if pair.a == one else 0.0 - pair.difference
    if not pair.tested:
        return f"{number(difference, sign=True)}, not tested: different worlds"
    words = f"{number(difference, sign=True)}, p {p_text(pair.p_holm)}"
    if pair.winner is None and pair.detectable is not None:
        words += f"; {number(pair.detectable)} could have been seen"
        words += f", about {pair.tasks_needed:,} tasks needed" if pair.tasks_needed is not None else ""
    return words
