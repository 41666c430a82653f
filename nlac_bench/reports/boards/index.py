"""Arranges boards for the index: those with entries first; the others and old versions have a line each."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.boards.view import BoardView
from nlac_bench.reports.boards.words import conditions
from nlac_bench.reports.report.page import as_sentence

_VERSION = "version"


@dataclass(frozen=True)
class ListedBoard:
    """A board with its name in the index, which says what tells it from the others of its environment."""

    view: BoardView
    name: str
    newest: int | None = None
    """The newest version of the environment on any board."""

    @property
    def note(self) -> str:
        """The conditions, a newer version of the environment if there is one, and numbers of entries."""
        conditions = f"{self.view.conditions} {self.newer}".strip()
        return f"{as_sentence(conditions)} {as_sentence(self.view.summary)}"

    @property
    def newer(self) -> str:
        """The newest version of the environment in words if the board has an older one."""
        version = self.view.version_number
        old = self.newest is not None and version is not None and version < self.newest
        return f"(the newest is {self.newest})" if old else ""

    @property
    def version(self) -> str:
        """The version of the environment in words; empty if it is not known."""
        version = self.view.board.key.env_version
        return "" if version is None else f"{_VERSION} {version}"

    @property
    def shown(self) -> list[RowView]:
        """The entries of the small forest plot, or else the published figures, by descending success."""
        rows = [row for row in self.view.rows or self.view.reported if row.success is not None]
        return sorted(rows, key=lambda row: -(row.success or 0.0))


@dataclass(frozen=True)
class BoardIndex:
    """The boards in the order of the page.

    ``leading`` have entries, ``cited`` only published figures beside floors, ``waiting`` only floors.
    ``earlier`` are boards of old versions of the environment by their names; a board with entries is one only
    if a newer one has entries too.
    """

    leading: list[ListedBoard] = field(default_factory=list)
    cited: list[ListedBoard] = field(default_factory=list)
    waiting: list[ListedBoard] = field(default_factory=list)
    earlier: dict[str, list[ListedBoard]] = field(default_factory=dict)

    @property
    def earlier_boards(self) -> int:
        """The number of boards of old versions."""
        return sum(map(len, self.earlier.values()))


def index_of(views: Sequence[BoardView]) -> BoardIndex:
    """Return the index of ``views``."""
    index = BoardIndex()
    groups: dict[tuple[str, str], list[BoardView]] = {}
    newest: dict[str, int] = {}
    for view in sorted(views, key=lambda view: (view.board.kind, view.board.key.env, view.title, view.stem)):
        groups.setdefault((view.board.key.env, view.board.kind), []).append(view)
        newest[view.board.key.env] = max(newest.get(view.board.key.env, 0), view.version_number or 0)
    for group in groups.values():
        shown = _distinguishing(group)
        for view in group:
            stated = conditions(view.board.key)
            words = ", ".join(stated[name] for name in shown if name in stated and name != _VERSION)
            listed = ListedBoard(
                view, f"{view.name}: {words}" if words else view.name, newest[view.board.key.env]
            )
            if any(_follows(other, view) for other in group):
                index.earlier.setdefault(listed.name, []).append(listed)
            else:
                _place(index, view).append(listed)
    return index


def _place(index: BoardIndex, view: BoardView) -> list[ListedBoard]:
    return index.leading if view.rows else index.cited if view.reported else index.waiting


def _distinguishing(group: Sequence[BoardView]) -> list[str]:
    """Return the conditions that tell the boards of ``group`` apart, as few as suffice, the version first."""
    stated = [conditions(view.board.key) for view in group]
    chosen, told = list[str](), 1
    for name in (_VERSION, *dict.fromkeys(name for each in stated for name in each)):
        found = len({tuple(each.get(n) for n in (*chosen, name)) for each in stated})
        if found > told:
            chosen, told = [*chosen, name], found
    return chosen


def _follows(new: BoardView, old: BoardView) -> bool:
    """Return whether ``new`` has a newer version of the environment under the conditions of ``old``.

    It may state rules that old versions did not have.
    """
    a, b = new.version_number, old.version_number
    if a is None or b is None or a <= b or (old.rows and not new.rows):
        return False
    now, before = conditions(new.board.key), conditions(old.board.key)
    same = all(now.get(name) == words for name, words in before.items() if name != _VERSION)
    return same and new.board.key.arguments == old.board.key.arguments
