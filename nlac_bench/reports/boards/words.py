"""Sentences of a board's page. Each sentence states only what holds for the given board."""

from collections.abc import Sequence

from nlac_bench.leaderboards.boards import Board, Pair
from nlac_bench.leaderboards.entry import BoardKey, Entry
from nlac_bench.reports.boards.facts import reports_success
from nlac_bench.reports.boards.formats import plain
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.report.page import sentence
from nlac_bench.stats.tables import number

NO_SUCCESS = "The environment reports no success, so the mean rewards are shown and nothing is compared."


_TITLE_RULES = ("level", "rules", "user", "oracle", "unknowns")
"""Rules of an environment that the titles of its boards contain, in addition to arguments."""


def conditions(key: BoardKey) -> dict[str, str]:
    """Return the conditions that distinguish boards, in words, by their names."""
    stated = key.arguments | {name: key.rules[name] for name in _TITLE_RULES if name in key.rules}
    words = {
        "data": "" if key.data_source is None else f"{key.data_source} data",
        "split": "" if key.split is None else f"{key.split} tasks",
        **{
            f"setting {name}": f"{name} {plain(value)}"
            for name, value in sorted(stated.items())
            if isinstance(value, str | int | float) and len(f"{name} {value}") <= 60
        },
        "version": "" if key.env_version is None else f"version {key.env_version}",
    }
    return {name: text for name, text in words.items() if text}


def summary(board: Board) -> str:
    """Return the numbers of entries of each kind, and of tasks and trials."""
    entries = (*board.ranked, *board.unranked)
    ranked = sum(reports_success(row.entry) for row in board.ranked)
    oracles = sum(row.entry.standing == "oracle" for row in board.pinned)
    parts = [
        _counted(ranked, "ranked entry", "ranked entries"),
        _counted(len(entries) - ranked, "unranked entry", "unranked entries"),
        "" if entries else "no entry yet",
        _counted(oracles, "oracle", "oracles"),
        _counted(len(board.pinned) - oracles, "floor", "floors"),
        _counted(len(board.reported), "published figure", "published figures"),
    ]
    words = ", ".join(filter(None, parts))
    numbers = next((row.entry.numbers for row in (*entries, *board.pinned)), None)
    if numbers is None or numbers.tasks is None or numbers.trials is None:
        return words
    played = f"{_counted(numbers.tasks, 'task', 'tasks')} × {_counted(numbers.trials, 'trial', 'trials')}"
    return f"{words}; {played}{' for each seed' if board.kind == 'algorithms' else ''}"


def unranked(rows: Sequence[RowView], pinned: Sequence[RowView]) -> str:
    """Return the result of a board without ranked entries: its highest rate, its best floor, the oracle."""
    floors = [row for row in pinned if row.entry.standing == "floor"]
    oracles = [row for row in pinned if row.entry.standing == "oracle"]
    sentences = ["No entry of this board is ranked."]
    for of, words in (
        (rows, ""),
        (floors, "The best floor, {name}, has a success rate of {rate}."),
        (oracles, "The oracle has a success rate of {rate}."),
    ):
        if of:
            best = max(of, key=lambda row: row.success or 0.0)
            names = [row.name for row in of if row.success == best.success]
            sentences.append(
                words.format(name=best.name, rate=number(best.success)) or highest(names, best.success)
            )
    return " ".join(sentences)


def highest(names: Sequence[str], rate: float | None) -> str:
    """Return which entries have the highest success rate."""
    if len(names) == 1:
        return f"{names[0]} has the highest success rate, {number(rate)}."
    return f"{sentence(list(names))} have the same success rate, {number(rate)}; none is higher."


def share(pairs: Sequence[Pair]) -> str:
    """Return how many of ``pairs``, of which there is at least one, are told apart."""
    tested = [pair for pair in pairs if pair.tested]
    decided = sum(pair.winner is not None for pair in tested)
    if not tested:
        return "The entries played different worlds, so no pair is tested."
    if len(pairs) == 1:
        return f"The two entries are {'told apart' if decided else 'not told apart'}."
    where = "" if len(tested) == len(pairs) else " of entries that played the same world"
    pairs_tested = _counted(len(tested), "pair", "pairs")
    return f"Of {pairs_tested}{where}, {decided or 'none'} {_be(decided or 1)} told apart."


def caption(board: Board) -> str:
    """Return the columns of the table of entries, and its order."""
    words = f"{summary(board)}."
    entries = len(board.ranked) + len(board.unranked)
    if entries > 1 and any(reports_success(row.entry) for row in (*board.ranked, *board.unranked)):
        words += " Entries are ordered by success."
    if board.pinned and entries:
        words += " Oracle and floors come last, without a place."
    return words


def note(rows: Sequence[RowView], lines: Sequence[str], *, compared: bool) -> str:
    """Return how to read the table of entries.

    Args:
        lines: what dashed lines mark.
        compared: whether opened rows have comparisons with other entries.
    """
    opened = (
        "its tasks" if any(row.entry.outcomes for row in rows) else "",
        "its comparisons" if compared else "",
        "tokens by role" if any(row.token_rows for row in rows) else "",
        "its provenance",
        "the command that reproduces it" if any(row.entry.reproduce for row in rows) else "",
    )
    words = f"Open a row for {sentence(list(filter(None, opened)))}."
    if any(row.entry.subject.training is not None for row in rows):
        words += (
            " Tokens, steps and time are the training's, the mean over its seeds; of an entry without "
            "training, tokens and time are those of its test episodes."
        )
    else:
        words += " Tokens and time are those of the test episodes."
    return words + (f" Dashed lines mark {sentence(lines)}." if lines else "")


def floor(best: Entry, name: str, above: int, below: int, reported: int) -> str:
    """Return the success of the best floor, and how many ``reported`` figures are above and below it.

    Args:
        best, name: the floor, and what the board calls it.
        above, below: numbers of figures that differ significantly.
        reported: number of published figures.
    """
    runs = [run.tasks for run in best.outcomes]
    tasks = runs[0].keys()
    won = sum(all(all(run[task].success) for run in runs) for task in tasks)
    solved = f"{won} of the {_counted(len(tasks), 'task', 'tasks')} here {_be(won)} solved"
    published = _counted(reported, "published figure", "published figures")
    return (
        f"{solved} by the agent {name}, which uses no model "
        f"(success {number(best.numbers.success_if_missing_failed)}). Of the {published}, {above} "
        f"{_be(above)} significantly above it and {below} below it (Fisher's exact test as if each were "
        f"measured on {len(tasks)} tasks, Holm's correction)."
    )


def _counted(count: int, one: str, many: str) -> str:
    """Return a count with its noun; "" for 0."""
    return "" if not count else f"{count:,} {one if count == 1 else many}"


def _be(count: int) -> str:
    return "is" if count == 1 else "are"
