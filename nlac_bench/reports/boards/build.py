"""Renders boards as files: HTML, Markdown and CSV for each board, an index, and all numbers as JSON.

The same entries give the same bytes with the same versions of jinja2 and matplotlib (constraints.txt).
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.lines import new_files
from nlac_bench.leaderboards.boards import Board
from nlac_bench.reports.boards.formats import NOTHING, across, amount, duration, plain, sort_value
from nlac_bench.reports.boards.index import index_of
from nlac_bench.reports.boards.rows import RowView
from nlac_bench.reports.boards.view import BoardView
from nlac_bench.reports.pages.render import environment
from nlac_bench.reports.pages.text import csv_text
from nlac_bench.stats.tables import cell_text, number
from nlac_bench.untrusted import read_json, read_untrusted

LISTING = "boards.json"
"""The file with all numbers and the names of the board's files; a later build reads it to find old files."""
_OUR_FILE = re.compile(r"(index|[a-z0-9][a-z0-9_.-]{0,140}-(models|algorithms))\.(html|md|csv)")
_MAX_FILE_BYTES = 256 * 2**20


def render_boards(boards: Sequence[Board]) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        MissingError: matplotlib is not installed.
    """
    html, markdown = (environment("nlac_bench.reports.boards", html=html) for html in (True, False))
    for each in (html, markdown):
        each.filters |= _FORMATS
    views = [BoardView(board) for board in boards]
    files = {}
    for view in views:
        files[f"{view.stem}.html"] = html.get_template("board.html.jinja").render(board=view)
        files[f"{view.stem}.md"] = markdown.get_template("board.md.jinja").render(board=view)
        files[f"{view.stem}.csv"] = _board_csv(view)
    index = index_of(views)
    files["index.html"] = html.get_template("index.html.jinja").render(index=index)
    files["index.md"] = markdown.get_template("index.md.jinja").render(index=index)
    listed = [view.data | {"files": board_files(view.stem)} for view in views]
    files[LISTING] = json.dumps({"boards": listed}, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return files


def board_files(stem: str) -> list[str]:
    """Return the names of a board's files."""
    return [f"{stem}.{ending}" for ending in ("html", "md", "csv")]


def differing(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the names of files in ``folder`` that are missing, differ from ``files`` or are out of date."""
    changed = [name for name, text in files.items() if _bytes_at(folder / name) != text.encode()]
    return sorted({*changed, *_stale(files, folder)})


def write_boards(files: Mapping[str, str], folder: Path) -> None:
    """Write ``files`` to ``folder``, all or none, and remove those of boards that an earlier build listed.

    Raises:
        NlacBenchError: the folder cannot be created or written to, or has a link with the name of a file.
    """
    with new_files(folder, remove=_stale(files, folder)) as draft:
        for name, text in files.items():
            (draft / name).write_bytes(text.encode())


def _stale(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the files that the listing in ``folder`` names, exist, and are not among ``files``.

    Raises:
        NlacBenchError: there is a listing that no build has written.
    """
    listing = folder / LISTING
    try:
        result = read_json(listing, _MAX_FILE_BYTES)
        names = {name for board in result["boards"] for name in board["files"]}
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NlacBenchError(
            f"{listing} was not written by leaderboard build ({reason}): name another --out, or remove it"
        ) from None
    ours = {name for name in names if isinstance(name, str) and _OUR_FILE.fullmatch(name)}
    return sorted(name for name in ours - set(files) if (folder / name).is_file())


def _bytes_at(path: Path) -> bytes | None:
    """Return the content of a file; None if there is none, or it is no file that a build has written."""
    try:
        return read_untrusted(path, _MAX_FILE_BYTES)
    except OSError:
        return None


_FORMATS = {
    "rate": number, "amount": amount, "duration": duration, "across": across, "value": sort_value,
    "cell": cell_text,
}  # fmt: skip

_COLUMNS = (
    "standing", "place_best", "place_worst", "entry_id", "agent", "model", "revision", "training", "seeds",
    "success_if_missing_failed", "ci_low", "ci_high", "ci_method", "success_scored_only", "success_by_seed",
    "mean_reward", "pass_k", "tasks", "trials", "planned", "scored", "unscored", "infra_errors", "owed",
    "truncated", "content_filter", "environment_steps", "gradient_steps", "generated_tokens", "hours",
    "generated_per_episode",
    "budget_kind", "budget_planned", "budget_spent", "budget_overshoot",
    "tokens_by_role", "level", "partial", "warnings", "floor_note", "notes",
    "reproduce", "source", "source_url",
)  # fmt: skip


def _board_csv(view: BoardView) -> str:
    """Return a line for each entry of a board, the reported ones last; lists are JSON."""
    return csv_text(_COLUMNS, [_csv_row(row) for row in (*view.pinned, *view.rows, *view.reported)])


def _csv_row(row: RowView) -> list[object]:
    entry, place, numbers = row.entry, row.places, row.entry.numbers
    weights = entry.subject.weights
    tokens = {name: spent for name, _, _, spent, _ in row.token_rows}
    return [
        row.standing or "ranked",
        None if place is None else place.best,
        None if place is None else place.worst,
        entry.entry_id,
        row.agent,
        row.model_name,
        entry.subject.revision or (None if weights is None else f"sha256:{weights.sha256}"),
        None if row.training == NOTHING else row.training,
        len(entry.outcomes) or None,
        row.success,
        row.low,
        row.high,
        numbers.ci_method,
        numbers.success,
        plain(numbers.by_seed),
        row.reward,
        plain({str(each.k): each.value for each in numbers.pass_k}),
        numbers.tasks,
        numbers.trials,
        *(
            row.count(name)
            for name in (
                "planned",
                "scored",
                "unscored",
                "infra_errors",
                "owed",
                "truncated",
                "content_filter",
            )
        ),
        row.environment_steps,
        row.gradient_steps,
        row.tokens,
        row.hours,
        row.episode_tokens,
        *((None,) * 4 if (use := row.budget) is None else use.to_json().values()),
        plain(tokens),
        row.level,
        str(entry.partial).lower(),
        plain(entry.warnings),
        row.below_floor or None,
        row.notes or None,
        entry.reproduce,
        None if entry.source is None else f"{entry.source.title}, {entry.source.where}",
        None if entry.source is None else entry.source.url,
    ]
