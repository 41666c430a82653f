"""Collects entries into boards, with places and comparisons of all pairs. It draws nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nlac_bench.leaderboards.against_floors import best_floor, floor_note, published_p, stale_floors
from nlac_bench.leaderboards.entry import BoardKey, Entry, Kind
from nlac_bench.leaderboards.entry_file import EntryError, board_id, canonical, entry_id, read_entry
from nlac_bench.leaderboards.families import FAMILIES, BoardFamily, read_families
from nlac_bench.leaderboards.numbers import differing_numbers
from nlac_bench.leaderboards.pairs import Pair, all_pairs
from nlac_bench.stats.places import Place, places
from nlac_bench.stats.seed_errors import approximate_note

OUTSIDE = "not in the family that this board named beforehand"


@dataclass(frozen=True)
class BoardRow:
    """An entry on a board. Only ranked entries have a place and relations (ids of ranked entries).

    ``floor_note`` says in words that the entry is not significantly above the best floor; None if it is, or
    if the board has no floor. ``notes`` say that its interval is approximate, that another entry has the same
    outcomes, or that it is not in the board's family.
    """

    entry: Entry
    place: Place | None = None
    better_than: tuple[str, ...] = ()
    not_told_apart: tuple[str, ...] = ()
    worse_than: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    """Entries that played other worlds."""
    floor_note: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """A board: entries of one kind whose conditions are equal.

    ``ranked`` is ordered by ``success_if_missing_failed``, ``pinned`` has the oracle first and then the
    floors, ``unranked`` the partial entries and those of few seeds. ``reported`` rows are figures of
    publications about the same environment and data source, measured under other conditions; ``published_p``
    has the p-value of each one's difference to the best floor, by ``entry_id``. ``neighbours`` are the pairs
    of entries with consecutive places. ``family`` are the entries that were registered before they were
    measured, if any.
    """

    board_id: str
    kind: Kind
    key: BoardKey
    ranked: tuple[BoardRow, ...]
    pinned: tuple[BoardRow, ...]
    unranked: tuple[BoardRow, ...]
    reported: tuple[Entry, ...]
    pairs: tuple[Pair, ...]
    published_p: Mapping[str, float]
    neighbours: tuple[Pair, ...]
    family: BoardFamily | None


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
    already in another entry, if its tasks are not those of the other entries of its board, or if it is a
    floor that was not measured again after the version of its environment rose. ``families.toml`` names the
    entries that are tested against each other.

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
    entries = [each.entry for each in read]
    stale = stale_floors(entries)
    rejected += [
        Rejected(each.path, stale[each.entry.entry_id]) for each in read if each.entry.entry_id in stale
    ]
    try:
        boards = make_boards(entries, read_families(results))
    except EntryError as error:
        rejected.append(Rejected(results / FAMILIES, str(error)))
        boards = make_boards(entries)
    return Collected(tuple(boards), tuple(rejected))


@dataclass(frozen=True)
class _Read:
    """An entry of a file, with its ids in full."""

    path: Path
    entry: Entry
    board_id: str
    entry_id: str


def make_boards(
    entries: Iterable[Entry], families: Mapping[tuple[str, Kind], BoardFamily] | None = None
) -> list[Board]:
    """Return the boards of ``entries``, one for the conditions that are equal in full, and each kind.

    Floors and oracles are listed on all boards of their conditions; if there are none, they get a board of
    their own.
    The same holds for reported figures and the boards of the same environment and data source; of several
    versions of the environment, only the newest has them.

    Args:
        families: the registered entries by board and kind (``read_families``).

    Raises:
        EntryError: a registered name fits several entries.
    """
    families = families or {}
    everything = sorted(entries, key=lambda entry: entry.entry_id)
    reported = [entry for entry in everything if entry.level == "reported"]
    measured = [entry for entry in everything if entry.level != "reported"]
    boards = []
    for here in _by_conditions(measured):
        pinned = [entry for entry in here if entry.standing in ("oracle", "floor")]
        others = [entry for entry in here if entry not in pinned]
        about = [e for e in reported if _subject_matter(e) == _subject_matter(here[0])]
        versions = [e.version_number or 0 for e in measured if _subject_matter(e) == _subject_matter(here[0])]
        if (here[0].version_number or 0) < max(versions):
            about = []  # floors of an old version say nothing about them
        kinds: list[Kind] = ["models", "algorithms"]
        boards += [
            _board(
                [e for e in others if e.kind == kind],
                pinned,
                about,
                here[0],
                kind,
                _family(families, here, kind),
            )
            for kind in [kind for kind in kinds if any(e.kind == kind for e in others)] or kinds[:1]
        ]
    shown = {_subject_matter(entry) for entry in measured}
    for here in _by_conditions([e for e in reported if _subject_matter(e) not in shown]):
        boards.append(_board([], [], here, here[0], "models", None))
    return sorted(boards, key=lambda board: (board.board_id, board.kind))


def _family(
    families: Mapping[tuple[str, Kind], BoardFamily], entries: Sequence[Entry], kind: Kind
) -> BoardFamily | None:
    """Return the family of the board of ``entries``, which may be named by any of the board's ids."""
    ids = dict.fromkeys([*(entry.board_id for entry in entries), board_id(entries[0].board)])
    return next((families[each, kind] for each in ids if (each, kind) in families), None)


def _by_conditions(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of each board, those with the shortest stated id of the board first."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(board_id(entry.board), []).append(entry)
    return [sorted(group, key=lambda entry: len(entry.board_id)) for group in groups.values()]


def _board(
    entries: Sequence[Entry],
    pinned: Sequence[Entry],
    reported: Sequence[Entry],
    any_of: Entry,
    kind: Kind,
    family: BoardFamily | None,
) -> Board:
    eligible = [e for e in entries if e.standing == "ranked"]
    ranked = sorted(eligible if family is None else family.members(eligible), key=_by_success)
    chosen = {entry.entry_id for entry in ranked}
    others = [e for e in entries if e.entry_id not in chosen]
    alike = _alike(entries)
    pairs = all_pairs(ranked)
    index = {entry.entry_id: i for i, entry in enumerate(ranked)}
    won = [(index[p.winner], index[p.b if p.winner == p.a else p.a]) for p in pairs if p.winner is not None]
    untested = {(index[p.a], index[p.b]) for p in pairs if not p.tested}
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
                    e.entry_id
                    for j, e in enumerate(ranked)
                    if i != j and not {(i, j), (j, i)} & {*won, *untested}
                ),
                worse_than=tuple(e.entry_id for j, e in enumerate(ranked) if (j, i) in won),
                untested=tuple(e.entry_id for j, e in enumerate(ranked) if {(i, j), (j, i)} & untested),
                floor_note=floor_note(entry, floors),
                notes=tuple(_notes(entry, alike)),
            )
            for i, (entry, place) in enumerate(zip(ranked, places(len(ranked), won), strict=True))
        ),
        pinned=tuple(
            BoardRow(e) for e in sorted(pinned, key=lambda e: (e.standing == "floor", *_by_success(e)))
        ),
        unranked=tuple(
            BoardRow(
                e,
                floor_note=floor_note(e, floors),
                notes=(*_notes(e, alike), *([OUTSIDE] if e in eligible else [])),
            )
            for e in sorted(others, key=_by_success)
        ),
        reported=tuple(sorted(reported, key=_by_success)),
        pairs=tuple(pairs),
        published_p=published_p(reported, best_floor(floors)),
        neighbours=tuple(p for p in pairs if index[p.b] == index[p.a] + 1),
        family=family,
    )


def _notes(entry: Entry, alike: Mapping[bytes, list[str]]) -> Iterator[str]:
    """Yield the notes of an entry; ``alike`` are the entries of its board by their success."""
    if entry.few_seeds:
        yield approximate_note(len(entry.outcomes))
    same = [each for each in alike.get(_outcome(entry), ()) if each != entry.entry_id]
    if same:
        yield f"the same outcome in every trial as {', '.join(same[:3])}{' and others' * (len(same) > 3)}"


def _alike(entries: Sequence[Entry]) -> Mapping[bytes, list[str]]:
    """Return the ids of the entries with each outcome of all trials."""
    alike: dict[bytes, list[str]] = {}
    for entry in entries:
        alike.setdefault(_outcome(entry), []).append(entry.entry_id)
    return alike


def _outcome(entry: Entry) -> bytes:
    return canonical(
        [{task: [each.success, each.reward] for task, each in run.tasks.items()} for run in entry.outcomes]
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
