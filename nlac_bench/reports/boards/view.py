"""Describes a board in words and numbers: what its page, its Markdown and its CSV print."""

from dataclasses import replace
from functools import cached_property
from typing import Any

from nlac_bench.leaderboards.against_floors import best_floor
from nlac_bench.leaderboards.boards import Board, BoardRow
from nlac_bench.reports.boards import words
from nlac_bench.reports.boards.facts import Facts
from nlac_bench.reports.boards.figures import Chart, board_charts
from nlac_bench.reports.boards.formats import NOTHING, plain
from nlac_bench.reports.boards.leads import answer
from nlac_bench.reports.boards.names import entry_names
from nlac_bench.reports.boards.pair_view import (
    COSTS,
    MatrixRow,
    PairView,
    cost_notes,
    cost_rows,
    matrix,
    needed,
    neighbour_views,
    pair_views,
    relations,
)
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.figures.figure import Cell
from nlac_bench.reports.report.page import Fact
from nlac_bench.stats.tables import number
from nlac_bench.stats.verdicts import ALPHA


class BoardView:
    """The texts of a board for the templates, not escaped yet."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._names = entry_names([row.entry for row in (*board.pinned, *board.ranked, *board.unranked)])
        self.pinned = [self._row(row) for row in board.pinned]
        self.rows = [self._row(row) for row in (*board.ranked, *board.unranked)]
        self.reported = [RowView(BoardRow(entry), entry.subject.label) for entry in board.reported]

    @property
    def stem(self) -> str:
        """The names of the board's files, without their endings."""
        return f"{self.board.board_id}-{self.board.kind}"

    @property
    def name(self) -> str:
        """The environment and the kind."""
        return f"{self.board.key.env}, {self.board.kind}"

    @property
    def title(self) -> str:
        """The name with the conditions that distinguish boards."""
        return f"{self.name} ({self.conditions})" if self.conditions else self.name

    @property
    def conditions(self) -> str:
        """The conditions that distinguish boards, in words."""
        return ", ".join(words.conditions(self.board.key).values())

    @property
    def version_number(self) -> int | None:
        """The version of the environment, if it is a number."""
        rows = (*self.rows, *self.pinned, *self.reported)
        return rows[0].entry.version_number if rows else None

    @property
    def answer(self) -> tuple[Fact, ...]:
        """Who leads, whether the lead is real, and at what cost; empty without entries."""
        return answer(self.rows)

    @property
    def verdict(self) -> str:
        """The result in one or two sentences."""
        ranked = [row for row in self.rows if row.ranked]
        if (self.rows or self.pinned) and not self.reports_success:
            return words.NO_SUCCESS
        if not ranked:
            return words.unranked(self.rows, self.pinned)
        first = ranked[0]
        if len(ranked) == 1:
            return f"The only ranked entry is {first.name}, with a success rate of {number(first.success)}."
        share = words.share(self.board.pairs)
        place = first.place if "–" not in first.place else f"between {first.place.replace('–', ' and ')}"
        highest = [row.name for row in ranked if row.success == first.success]
        if len(highest) > 1:
            return f"{words.highest(highest, first.success)} {share}"
        rate = f"{first.name} has the highest success rate, {number(first.success)}"
        return f"{rate}; its place is {place}. {share}"

    @property
    def summary(self) -> str:
        """Numbers of entries of each kind, and of tasks and trials."""
        return words.summary(self.board)

    @property
    def caption(self) -> str:
        """The columns of the table, and its order."""
        return words.caption(self.board)

    @property
    def note(self) -> str:
        """How to read the table of entries."""
        references = (("the best floor", self.floor), ("the oracle", self.oracle))
        lines = [name for name, rate in references if rate is not None]
        return words.note((*self.pinned, *self.rows), lines, compared=bool(self.pairs))

    @property
    def warnings(self) -> dict[str, list[str]]:
        """The names of the entries that have each warning."""
        results: dict[str, list[str]] = {}
        for row in (*self.pinned, *self.rows):
            for warning in row.entry.warnings:
                results.setdefault(warning, []).append(row.name)
        return results

    @property
    def interval_methods(self) -> str:
        """The methods of the intervals of success on this board; empty if there are no intervals."""
        methods = {row.entry.numbers.ci_method for row in (*self.pinned, *self.rows)}
        return ", ".join(sorted(filter(None, methods)))

    @property
    def levels(self) -> set[str]:
        """The levels of the entries that the page shows."""
        return {row.level for row in (*self.pinned, *self.rows, *self.reported)}

    @property
    def floor_against_reported(self) -> str:
        """The success of the best floor, and how many published figures are above and below it; empty
        without both."""
        below = sum(self.below_best_floor(row) for row in self.reported)
        differ = sum(self._differs_from_floor(row) for row in self.reported)
        best = best_floor(row.entry for row in self._floors)
        if best is None or not self.reported:
            return ""
        return words.floor(best, self._names[best.entry_id], differ - below, below, len(self.reported))

    def below_best_floor(self, row: RowView) -> bool:
        """Return whether a published figure is significantly below the best floor of this board."""
        differs = self._differs_from_floor(row)
        return differs and self.floor is not None and row.success is not None and row.success < self.floor

    def _differs_from_floor(self, row: RowView) -> bool:
        return self.board.published_p.get(row.id, 1.0) < ALPHA

    @property
    def _floors(self) -> list[RowView]:
        return [row for row in self.pinned if row.entry.standing == "floor"]

    @property
    def facts(self) -> Facts:
        """The conditions that all entries of the board share."""
        key = self.board.key
        facts = [
            ("Board", self.board.board_id),
            ("Environment", key.env),
            ("Version", key.env_version or NOTHING),
            ("Tasks", key.split or NOTHING),
            ("Data", key.data_source or NOTHING),
            ("Data, SHA-256", key.data_sha256 or NOTHING),
            ("Reward", key.reward or NOTHING),
        ]
        facts += [(f"Argument {name}", plain(value)) for name, value in sorted(key.arguments.items())]
        facts += [(f"Rule {name}", plain(value)) for name, value in sorted(key.rules.items())]
        if key.simulator is not None:
            facts += [
                (f"Simulator, {name.replace('_', ' ')}", plain(value))
                for name, value in key.simulator.model_dump().items()
            ]
        # Only runs state that there is no limit; for other levels this is unknown.
        unlimited = "none" if self.levels & {"recomputed", "replayed"} else NOTHING
        facts += [
            (f"Limit, {name.replace('_', ' ')}", unlimited if value is None else plain(value))
            for name, value in key.limits.model_dump().items()
        ]
        return facts

    @property
    def has_pass_k(self) -> bool:
        return any(row.pass_k_value is not None for row in self.rows or self.pinned)

    @property
    def has_reward(self) -> bool:
        """Whether mean rewards differ from success rates."""
        means = [(row.reward, row.entry.numbers.success) for row in (*self.pinned, *self.rows)]
        return any(a is not None and (b is None or abs(a - b) > 1e-9) for a, b in means)

    @property
    def reports_success(self) -> bool:
        """Whether the environment says if an episode was a success."""
        return any(row.success is not None for row in (*self.pinned, *self.rows))

    @property
    def oracle(self) -> float | None:
        """The oracle's success rate."""
        return next((row.success for row in self.pinned if row.entry.standing == "oracle"), None)

    @property
    def floor(self) -> float | None:
        """The success rate of the best floor."""
        return max((row.success for row in self._floors if row.success is not None), default=None)

    @property
    def filters(self) -> list[tuple[str, str, list[str]]]:
        """Key, label and choices of each filter that leaves something out."""
        return [
            (key, label, choices)
            for key, label, choices in (
                ("agent", "Agent", sorted({row.agent for row in self.rows})),
                ("level", "Level", sorted({row.level for row in self.rows})),
            )
            if len(choices) > 1
        ]

    @cached_property
    def pairs(self) -> list[PairView]:
        return pair_views(self.board, self._names) if self.reports_success else []

    @property
    def neighbours(self) -> list[list[Cell]]:
        """The verdict of each pair of consecutive entries by itself."""
        return neighbour_views(self.board, self._names) if self.reports_success else []

    @property
    def cost_columns(self) -> list[str]:
        """The columns of ``costs``."""
        return ["pair, A and B", "A − B", *(f"{name}, A / B" for name in COSTS)]

    @cached_property
    def costs(self) -> list[list[Cell]]:
        """The difference and the ratios of the costs of each pair."""
        return cost_rows(self.board, self._names) if self.reports_success else []

    @cached_property
    def cost_notes(self) -> list[str]:
        """Sentences about entries that spent more of their budget, and about the better one at equal cost."""
        return cost_notes(self.board, self._names) if self.reports_success else []

    @property
    def matrix(self) -> list[MatrixRow]:
        return matrix(self.board, self._names)

    @property
    def needed(self) -> list[list[Cell]]:
        """The detectable difference and the tasks needed of each pair that is not distinguished."""
        return needed(self.board, self._names) if self.reports_success else []

    @cached_property
    def figures(self) -> list[Chart]:
        return board_charts(self.rows, self.pinned)

    @property
    def data(self) -> dict[str, Any]:
        """The board's numbers, as ``leaderboard build --json`` prints them, without the names of files."""
        return {
            "board_id": self.board.board_id,
            "kind": self.board.kind,
            "entries": [
                {
                    "entry_id": row.id,
                    "place": None if row.places is None else [row.places.best, row.places.worst],
                    "success": row.success,
                    "ci": None if row.interval is None else list(row.interval),
                }
                for row in (*self.pinned, *self.rows)
            ],
            "pairs": [
                {
                    "a": pair.a, "b": pair.b, "difference": pair.difference,
                    "p": pair.p if pair.tested else None, "p_holm": pair.p_holm if pair.tested else None,
                }
                for pair in self.board.pairs
            ],
        }  # fmt: skip

    def _row(self, row: BoardRow) -> RowView:
        one = row.entry.entry_id
        better, tied, worse, untested = (
            relations(self.board, self._names, one, others)
            for others in (row.better_than, row.not_told_apart, row.worse_than, row.untested)
        )
        named = replace(row, notes=tuple(map(self._with_names, row.notes)))
        return RowView(named, self._names[one], better=better, tied=tied, worse=worse, untested=untested)

    def _with_names(self, note: str) -> str:
        """Return ``note`` with the entries' names instead of their ids."""
        for one, name in self._names.items():
            note = note.replace(one, name)
        return note
