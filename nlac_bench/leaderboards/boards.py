"""Collects entries into boards, with places and comparisons of all pairs. It draws nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nlac_bench.leaderboards.entry import BoardKey, Entry, Kind
from nlac_bench.leaderboards.entry_file import EntryError, board_id, entry_id, read_entry
from nlac_bench.leaderboards.numbers import differing_numbers
from nlac_bench.leaderboards.pairs import Pair, all_pairs, floor_note
from nlac_bench.stats.places import Place, places


@dataclass(frozen=True)
class BoardRow:
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
    ranked: tuple[BoardRow, ...]
    pinned: tuple[BoardRow, ...]
    unranked: tuple[BoardRow, ...]
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


def collect(results: Path) -> Collected:
    """Read every ``.json`` file in the folder ``results`` and in its folders, and make the boards.

    A file is rejected if it is not a valid entry, if its numbers do not follow from its outcomes, if episodes
    are missing and it is not partial, if another entry has one of its ids for something else, if its run is
    already in another entry, or if its tasks are not those of the other entries of its board.

    Raises:
        EntryError: ``results`` is not a folder.
    """
    if not results.is_dir():
        raise EntryError(f"{results} is not a folder; pass the folder of the entries")
    read: list[_Read] = []
    rejected = []
    for path in sorted(results.rglob("*.json")):
        try:
            entry = read_entry(path)
            each = _Read(path, entry, board_id(entry.board), entry_id(entry))
            _refuse(each, read)
        except EntryError as error:
            rejected.append(Rejected(path, str(error)))
        else:
            read.append(each)
    return Collected(tuple(make_boards(each.entry for each in read)), tuple(rejected))


@dataclass(frozen=True)
class _Read:
    """An entry of a file, with its ids in full."""

    path: Path
    entry: Entry
    board_id: str
    entry_id: str


def make_boards(entries: Iterable[Entry]) -> list[Board]:
    """Return the boards of ``entries``, one for the conditions that are equal in full, and each kind.

    Floors and oracles are listed on all boards of their conditions; if there are none, they get a board of
    their own.
    The same holds for reported figures and the boards of the same environment and data source.
    """
    everything = sorted(entries, key=lambda entry: entry.entry_id)
    reported = [entry for entry in everything if entry.level == "reported"]
    measured = [entry for entry in everything if entry.level != "reported"]
    boards = []
    for here in _by_conditions(measured):
        pinned = [entry for entry in here if entry.standing in ("oracle", "floor")]
        others = [entry for entry in here if entry not in pinned]
        about = [e for e in reported if _subject_matter(e) == _subject_matter(here[0])]
        kinds: list[Kind] = ["models", "algorithms"]
        boards += [
            _board(kind, [e for e in others if e.kind == kind], pinned, about, here[0])
            for kind in [kind for kind in kinds if any(e.kind == kind for e in others)] or kinds[:1]
        ]
    shown = {_subject_matter(entry) for entry in measured}
    for here in _by_conditions([e for e in reported if _subject_matter(e) not in shown]):
        boards.append(_board("models", [], [], here, here[0]))
    return sorted(boards, key=lambda board: (board.board_id, board.kind))


def _by_conditions(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of each board, those with the shortest stated id of the board first."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(board_id(entry.board), []).append(entry)
    return [sorted(group, key=lambda entry: len(entry.board_id)) for group in groups.values()]


def _board(
    kind: Kind, entries: Sequence[Entry], pinned: Sequence[Entry], reported: Sequence[Entry], any_of: Entry
) -> Board:
    ranked = sorted((e for e in entries if e.standing == "ranked"), key=_by_success)
    pairs = all_pairs(ranked)
    index = {entry.entry_id: i for i, entry in enumerate(ranked)}
    won = [(index[p.winner], index[p.b if p.winner == p.a else p.a]) for p in pairs if p.winner is not None]
    floors = [entry for entry in pinned if entry.standing == "floor"]
    return Board(
        board_id=any_of.board_id,
        kind=kind,
        key=any_of.board,
        ranked=tuple(
            BoardRow(
                entry,
                place,
                better_than=tuple(e.entry_id for j, e in enumerate(ranked) if (i, j) in won),
                not_told_apart=tuple(
                    e.entry_id for j, e in enumerate(ranked) if i != j and not {(i, j), (j, i)} & {*won}
                ),
                worse_than=tuple(e.entry_id for j, e in enumerate(ranked) if (j, i) in won),
                floor_note=floor_note(entry, floors),
            )
            for i, (entry, place) in enumerate(zip(ranked, places(len(ranked), won), strict=True))
        ),
        pinned=tuple(
            BoardRow(e) for e in sorted(pinned, key=lambda e: (e.standing == "floor", *_by_success(e)))
        ),
        unranked=tuple(
            BoardRow(e, floor_note=floor_note(e, floors))
            for e in sorted((e for e in entries if e.standing == "unranked"), key=_by_success)
        ),
        reported=tuple(sorted(reported, key=_by_success)),
        pairs=tuple(pairs),
    )


def _by_success(entry: Entry) -> tuple[float, str]:
    numbers = entry.numbers
    rate = numbers.success if entry.level == "reported" else numbers.success_if_missing_failed
    return -(rate or 0.0), entry.entry_id


def _subject_matter(entry: Entry) -> tuple[str, str | None]:
    return entry.board.env, entry.board.data_source


def _refuse(read: _Read, earlier: Sequence[_Read]) -> None:
    """Check an entry by itself and against ``earlier`` entries.

    Raises:
        EntryError: its numbers do not follow from its outcomes, episodes are missing and it is not partial,
            an earlier entry has one of its ids with other content, its run is in an earlier entry, or its
            tasks differ from those of an earlier ranked entry of its board.
    """
    collision = "ids of 12 digits collide; derive the entry again with this version, whose ids have 64"
    entry = read.entry
    if faults := differing_numbers(entry):
        raise EntryError(f"its numbers do not follow from its outcomes: {faults[0]}")
    counts = entry.numbers.counts
    missing = 0 if counts is None else counts.owed + counts.infra_errors
    if missing and entry.level in ("recomputed", "replayed") and not entry.partial:
        raise EntryError(
            f"{missing} of its episodes were not played or failed for a reason outside the agent, and it is "
            "not partial: finish the run, or submit it with --partial"
        )
    spent = entry.cost.tokens_by_role.get("policy")
    engine = entry.subject.engine if entry.provenance.runs else None
    if engine is not None and (spent is None or not spent.calls or not spent.completion_tokens):
        raise EntryError(f"its agent acts with a model ({engine:.80}), but its cost has no calls or tokens")
    runs = {run.episodes_sha256 for run in entry.provenance.runs}
    for each in earlier:
        path, other, same_board = each.path, each.entry, each.board_id == read.board_id
        if each.entry_id == read.entry_id:
            raise EntryError(f"has the same run as {path}")
        if other.board_id == entry.board_id and not same_board:
            raise EntryError(
                f"has the board_id {entry.board_id} of {path}, but other conditions: {collision}"
            )
        if other.entry_id == entry.entry_id:
            raise EntryError(f"has the entry_id {entry.entry_id} of {path}, but another content: {collision}")
        if not same_board or other.kind != entry.kind:
            continue
        if runs & {run.episodes_sha256 for run in other.provenance.runs}:
            raise EntryError(f"has a run that is also in {path}")
        ranked = entry.standing == other.standing == "ranked"
        if ranked and set(other.outcomes[0].tasks) != set(entry.outcomes[0].tasks):
            raise EntryError(f"has other tasks than {path}, although both are whole splits of one board")
