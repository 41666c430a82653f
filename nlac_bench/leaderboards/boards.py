"""Collects entries into boards: places, pairs, and what could not be told apart. It draws nothing."""

from dataclasses import dataclass
from pathlib import Path

from nlac_bench.eval.statistics.places import Place
from nlac_bench.leaderboards.entry import BoardKey, Bounds, Entry, Kind


@dataclass(frozen=True)
class Pair:
    """The comparison of two ranked entries, A minus B, in ``success_if_missing_failed``.

    ``p_holm`` is adjusted over all pairs of the board. ``detectable`` is the difference that this pair would
    have shown with a probability of 80 % on this board, and ``tasks_needed`` the number of tasks with which
    the present difference would be shown; None if no number of tasks is enough (equal rates, or seeds that
    differ too much).
    """

    a: str
    b: str
    difference: float
    ci: Bounds | None
    p: float
    p_holm: float
    winner: str | None
    """``entry_id`` of the significantly better entry, or None."""
    detectable: float | None
    tasks_needed: int | None


@dataclass(frozen=True)
class Row:
    """An entry on a board. Only ranked entries have a place and relations (ids of ranked entries).

    ``floor_note`` says in words that the entry is not significantly above the best floor; None if it is, or
    if the board has no floor.
    """

    entry: Entry
    place: Place | None = None
    better_than: tuple[str, ...] = ()
    not_told_apart: tuple[str, ...] = ()
    worse_than: tuple[str, ...] = ()
    floor_note: str | None = None


@dataclass(frozen=True)
class Board:
    """A board: entries of one kind whose conditions are equal.

    ``ranked`` is ordered by ``success_if_missing_failed``, ``pinned`` has the oracle first and then the
    floors, ``unranked`` the partial and imported entries. ``reported`` rows are figures of publications about
    the same environment and data source, measured under other conditions.
    """

    board_id: str
    kind: Kind
    key: BoardKey
    ranked: tuple[Row, ...]
    pinned: tuple[Row, ...]
    unranked: tuple[Row, ...]
    reported: tuple[Entry, ...]
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Rejected:
    """A file that is not an entry of any board, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Collected:
    """All boards, ordered by id and kind, and the files that were rejected."""

    boards: tuple[Board, ...]
    rejected: tuple[Rejected, ...]
