"""Writes entries as JSON in one way, derives their ids from hashes, and reads files of unknown origin."""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.lines import RunFolderError, refuse_special
from nlac_bench.leaderboards.entry import SCHEMA_VERSION, BoardKey, Entry

MAX_ENTRY_BYTES = 64 * 2**20
"""Largest file that is read as an entry; 100,000 episodes of the shop take 13 MB."""
MAX_DEPTH = 30
_LINE = 120
_HASH_CHARS = 12


class EntryError(NlacBenchError):
    """Raised when a run cannot be submitted, or a file is not a valid entry; the message says why."""


def board_id(key: BoardKey) -> str:
    """Return the id of the board with these conditions: the environment's name and a hash of all of them."""
    return f"{_safe(key.env)}-{_digest(key.model_dump(mode='json'))}"


def entry_id(entry: Entry) -> str:
    """Return the id of an entry: environment, agent, and a hash of its board, kind, subject and outcomes.

    Entries of the same run have the same id, whatever their level and warnings. A ``reported`` entry has no
    outcomes, so its numbers are hashed.
    """
    content = entry.model_dump(mode="json", include={"board", "kind", "subject", "outcomes", "source"})
    if entry.level == "reported":
        content["numbers"] = entry.numbers.model_dump(mode="json")
    return f"{_safe(entry.board.env)}-{_safe(entry.subject.agent)}-{_digest(content)}"


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
    """Return the bytes of a file of unknown origin, at most ``MAX_ENTRY_BYTES`` and one more.

    Raises:
        EntryError: ``path`` is not a regular file, or cannot be read.
    """
    try:
        refuse_special(path)
        with path.open("rb") as stream:
            return stream.read(MAX_ENTRY_BYTES + 1)
    except (OSError, RunFolderError) as error:
        raise EntryError(f"cannot be read ({error})") from None


def wrong_ids(entry: Entry) -> list[str]:
    """Return which ids of an entry are not the hash of what they name."""
    ids = (("board_id", entry.board_id, board_id(entry.board)), ("entry_id", entry.entry_id, entry_id(entry)))
    return [
        f"{name} is {given}, but the entry's content has {right}"
        for name, given, right in ids
        if given != right
    ]


def parse_entry(data: bytes) -> Entry:
    """Return the entry in ``data``, whose ids are not checked; raises the errors of ``read_entry``."""
    if len(data) > MAX_ENTRY_BYTES:
        raise EntryError(f"is larger than {MAX_ENTRY_BYTES:,} bytes")
    try:
        result = json.loads(
            data, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_each_once
        )
    except (ValueError, RecursionError) as error:
        raise EntryError(f"is not valid JSON ({str(error)[:200]})") from None
    if not isinstance(result, dict):
        raise EntryError(f"must contain a JSON object, not a {type(result).__name__}")
    version = result.get("schema_version")
    if type(version) is not int or version != SCHEMA_VERSION:
        raise EntryError(
            f"has schema_version {version!r:.80}; this version of nlac-bench reads {SCHEMA_VERSION}"
        )
    if _deeper(result, MAX_DEPTH):
        raise EntryError(f"is nested more than {MAX_DEPTH} deep")
    try:
        return Entry.model_validate_json(data)
    except ValidationError as error:
        raise EntryError(explained(error)) from None


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
    return hashlib.sha256(canonical(value)).hexdigest()[:_HASH_CHARS]


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


def _deeper(value: object, depth: int) -> bool:
    """Return whether ``value`` is nested more than ``depth`` deep."""
    level: Iterable[object] = [value]
    for _ in range(depth):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
    return any(isinstance(each, dict | list) for each in level)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {max(names, key=names.count)!r:.80} occurs twice")
    return result


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"the number {text:.40} is too large")
    return value
