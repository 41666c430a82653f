"""Reads MATH-500 and the 12,000 training problems from their folder. The package does not contain them."""

import os
from functools import lru_cache
from importlib import resources
from typing import Any

from nlac_bench.envs.datasets import Dataset, DataSource, open_dataset
from nlac_bench.envs.math500_hard.problem import LEVELS, SUBJECTS, Problem
from nlac_bench.errors import DataError

FILES = {"test": "math500.jsonl", "train": "math_train.jsonl.gz"}
"""Split → file of the data set ``math``."""

MAX_TEXT_CHARS = 20_000
"""Maximal length of a statement or answer; the longest in the data has 4,309 characters."""


def load_problems(split: str, data: str | os.PathLike[str]) -> tuple[tuple[Problem, ...], DataSource]:
    """Return all playable problems of ``split`` from ``data`` in the file's order, and their source.

    Rows with an empty gold answer are left out, since an empty answer would then be rewarded, as are the rows
    of ``several_boxes.txt``, whose solutions box several different values.

    Raises:
        DataError: a file is missing or altered (``data="official"``), or a row is malformed.
    """
    dataset, file = open_dataset("math", data, [FILES[split]]), FILES[split]
    key = dataset.source, file
    if key not in _parsed:
        if len(_parsed) >= 8:
            _parsed.clear()
        _parsed[key] = _parse(dataset, file)
    return _parsed[key], dataset.source


_parsed: dict[tuple[DataSource, str], tuple[Problem, ...]] = {}
"""Problems by source and file, shared by all environments of the process: a vector environment of 64 rows
reads the file's bytes 64 times, to check its hash, and parses it once."""


def _parse(dataset: Dataset, file: str) -> tuple[Problem, ...]:
    ambiguous = _several_boxes()
    problems = []
    seen: set[str] = set()
    for number, row in enumerate(dataset.jsonl(file), start=1):
        try:
            problem = _problem(row)
        except ValueError as error:
            raise DataError(f"{dataset.folder / file}, row {number}: {error}") from None
        if problem.task_id in seen:
            raise DataError(
                f"{dataset.folder / file}, row {number}: unique_id {problem.task_id!r} occurs twice"
            )
        seen.add(problem.task_id)
        if problem.answer.strip() and problem.task_id not in ambiguous:
            problems.append(problem)
    if not problems:
        raise DataError(f"{dataset.folder / file} contains no problems")
    return tuple(problems)


def _problem(row: Any) -> Problem:
    """Return a row as a problem; raise ValueError if the row is malformed."""
    if not isinstance(row, dict):
        raise ValueError(f"expected an object, got {type(row).__name__}")
    for field in ("unique_id", "problem", "answer", "subject"):
        if not isinstance(row.get(field), str):
            raise ValueError(f"field {field!r} must be text, got {row.get(field)!r:.80}")
        if len(row[field]) > MAX_TEXT_CHARS:
            raise ValueError(
                f"field {field!r} has {len(row[field]):,} characters, more than {MAX_TEXT_CHARS:,}"
            )
        try:
            row[field].encode()
        except UnicodeEncodeError:
            raise ValueError(f"field {field!r} contains lone surrogates, which are not valid text") from None
    if not row["unique_id"] or not row["problem"].strip():
        raise ValueError("'unique_id' and 'problem' must not be empty")
    if row["subject"] not in SUBJECTS.values():
        raise ValueError(f"field 'subject' must be one of MATH's seven, got {row['subject']!r:.80}")
    level = row.get("level")
    if level is not None and (isinstance(level, bool) or level not in LEVELS):
        raise ValueError(f"field 'level' must be 1 to 5 or null, got {level!r:.80}")
    return Problem(row["unique_id"], row["problem"], row["answer"], row["subject"], level)


@lru_cache(maxsize=1)
def _several_boxes() -> frozenset[str]:
    text = resources.files("nlac_bench.envs.math500_hard").joinpath("several_boxes.txt").read_text("utf-8")
    return frozenset(f"{line}.json" for line in text.split() if line)
