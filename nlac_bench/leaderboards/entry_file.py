"""Writes entries as JSON in one way, derives their ids from hashes, and reads files of unknown origin."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nlac_bench.errors import NlacBenchError
from nlac_bench.leaderboards.entry import SCHEMA_VERSION, BoardKey, Entry, WrongOutcomeError
from nlac_bench.untrusted import count_values, parse_json, read_untrusted

MAX_ENTRY_BYTES = 64 * 2**20
"""Largest file that is read as an entry; 100,000 episodes of the shop take 13 MB."""
MAX_DEPTH = 30
MAX_OTHER_VALUES = 200_000
"""Largest number of values beside the outcomes of tasks: pydantic describes each one that is wrong, in about
a kilobyte."""
_LINE = 120
SHORT_HASH = 12
"""Number of hexadecimal digits in the ids of entries that earlier versions wrote; new ids have all 64."""


class EntryError(NlacBenchError):
    """Raised when a run cannot be submitted, or a file is not a valid entry; the message says why."""


def board_id(key: BoardKey) -> str:
    """Return the id of the board with these conditions: the environment's name and a hash of all of them.

    Entries of earlier versions state only the first 12 digits of the hash, which two conditions can share.
    """
    return f"{_safe(key.env)}-{_digest(key.model_dump(mode='json'))}"


def entry_id(entry: Entry) -> str:
    """Return the id of an entry: environment, agent, and a hash of its board, kind, subject and outcomes.

    Entries of the same run have the same id, whatever their level and warnings. A ``reported`` entry has no
    outcomes, so its numbers are hashed.
    """
    content = entry.model_dump(mode="json", include={"board", "kind", "subject", "outcomes", "source"})
    if entry.level == "reported":
        content["numbers"] = entry.numbers.model_dump(mode="json")
    return f"{_safe(entry.board.env)}-{_safe(entry.subject.label)}-{_digest(content)}"


def sealed(fields: dict[str, Any]) -> Entry:
    """Return the entry with ``fields``; its version and its two ids are added.

    Raises:
        EntryError: a field has a wrong type or length.
    """
    try:
        draft = Entry(schema_version=SCHEMA_VERSION, entry_id="draft", board_id="draft", **fields)
    except ValidationError as error:
        raise EntryError(f"this entry cannot be written: {explained(error)}") from None
    return draft.model_copy(update={"board_id": board_id(draft.board), "entry_id": entry_id(draft)})


def entry_text(entry: Entry) -> str:
    """Return the file's content: ASCII JSON with sorted keys; short objects and lists are on one line."""
    return _rendered(entry.model_dump(mode="json"), 0) + "\n"


def read_entry(path: Path) -> Entry:
    """Read an entry of unknown origin.

    Raises:
        EntryError: the file is too large or not a regular file; it is not JSON, nested too deep, or has a key
            twice; a field is unknown, missing or invalid; the version of the schema is another one; or an id
            is not the hash of what it names. The message states the fault.
    """
    entry = parse_entry(file_content(path))
    if wrong := wrong_ids(entry):
        raise EntryError(f"{wrong[0]}; it was altered")
    return entry


def file_content(path: Path) -> bytes:
    """Return the bytes of a file of unknown origin.

    Raises:
        EntryError: ``path`` is a link, not a regular file or too large, or cannot be read.
    """
    try:
        return read_untrusted(path, MAX_ENTRY_BYTES)
    except OSError as error:
        raise EntryError(f"cannot be read ({error.strerror})") from None


def wrong_ids(entry: Entry) -> list[str]:
    """Return which ids of an entry are not the hash of what they name, nor its first 12 digits."""
    ids = (("board_id", entry.board_id, board_id(entry.board)), ("entry_id", entry.entry_id, entry_id(entry)))
    return [
        f"{name} is {given}, but the entry's content has {right}"
        for name, given, right in ids
        if given not in (right, right[: SHORT_HASH - 64])
    ]


def parse_entry(data: bytes) -> Entry:
    """Return the entry in ``data``, whose ids are not checked; raises the errors of ``read_entry``."""
    try:
        result = parse_json(data, depth=MAX_DEPTH, finite=True)
    except ValueError as error:
        raise EntryError(f"is not valid JSON of an entry ({str(error)[:200]})") from None
    if not isinstance(result, dict):
        raise EntryError(f"must contain a JSON object, not a {type(result).__name__}")
    version = result.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise EntryError(
            f"has schema_version {version!r:.80}; this version of nlac-bench reads {SCHEMA_VERSION}"
        )
    if count_values(_without_tasks(result)) > MAX_OTHER_VALUES:
        raise EntryError(f"has more than {MAX_OTHER_VALUES:,} values beside the outcomes of its tasks")
    del result  # its memory is needed for the entry
    try:
        return Entry.model_validate_json(data)
    except ValidationError as error:
        raise EntryError(explained(error)) from None
    except WrongOutcomeError as error:
        raise EntryError(f"outcomes: {explained(error.fault)}") from None


def _without_tasks(content: dict[str, Any]) -> list[Any]:
    """Return the parts of an entry, and of its runs, without the outcomes of tasks."""
    runs = content.get("outcomes")
    rest = (
        [{**run, "tasks": None} if isinstance(run, dict) else run for run in runs or ()]
        if isinstance(runs, list)
        else runs
    )
    return [{**content, "outcomes": None}, rest]


def explained(error: ValidationError) -> str:
    """Return the first fault of ``error`` on one line."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part)[:80] for part in fault["loc"])
    message = str(fault["msg"])[:300]
    return f"{where}: {message}, got {fault['input']!r:.80}" if where else message


def canonical(value: object) -> bytes:
    """Return ``value`` as the JSON bytes from which hashes are computed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def _digest(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def _safe(name: str) -> str:
    """Return at most 40 characters of ``name`` that are safe in file names and links."""
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:40] or "x"


def _rendered(value: object, depth: int) -> str:
    line = json.dumps(value, sort_keys=True, allow_nan=False)
    if not value or not isinstance(value, dict | list) or len(line) + depth <= _LINE:
        return line
    pad = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_rendered(value[key], depth + 1)}" for key in sorted(value)]
    else:
        parts = [_rendered(each, depth + 1) for each in value]
    opened, closed = "{}" if isinstance(value, dict) else "[]"
    return f"{opened}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * depth}{closed}"
