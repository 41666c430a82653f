"""Reads the texts of a training run's language critic: ``critiques.jsonl`` and ``probes.jsonl``."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.harness.runs.lines import RunFolderError, read_lines

CRITIQUES = "critiques.jsonl"
PROBES = "probes.jsonl"
PROBE_SET = "probe_set.jsonl"
"""A line for each state: the episode that it is from, without token ids, and the number of the step."""

_TAIL_BYTES = 2**20
"""The end of the file in which the newest lessons are looked for."""

_Record = TypeVar("_Record", CritiqueRecord, ProbeRecord)


def read_critiques(folder: Path) -> Iterator[CritiqueRecord]:
    """Yield the stored lessons of the training run in ``folder``, oldest first, read one at a time.

    Yields nothing if the run has no such file, as with a method without a language critic.

    Raises:
        RunFolderError: a line is damaged, or is not such a record.
    """
    return _records(folder / CRITIQUES, CritiqueRecord)


def last_critiques(folder: Path, count: int) -> list[dict[str, Any]]:
    """Return up to ``count`` of the newest lessons as they are stored; only the end of the file is read."""
    path = folder / CRITIQUES
    if not path.exists():
        return []
    with path.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES)
        file.seek(start)
        lines = file.read().splitlines()
    return [json.loads(line) for line in lines[1 if start else 0 :][-count:]]


def read_probes(folder: Path) -> Iterator[ProbeRecord]:
    """Yield the readings of the fixed probe set, oldest validation first; otherwise as ``read_critiques``."""
    return _records(folder / PROBES, ProbeRecord)


def _records(path: Path, kind: type[_Record]) -> Iterator[_Record]:
    adapter = TypeAdapter(kind)
    for number, (row, _) in enumerate(read_lines(path), start=1):
        try:
            yield adapter.validate_python(row)  # pydantic's JSON reader refuses lone surrogates
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            raise RunFolderError(
                f"{path} line {number} is damaged ({where}: {fault['msg']}); restore the file, or remove it"
            ) from None
