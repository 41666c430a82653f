"""Grades a file of cases and writes the same rows with their verdicts, in order."""

import json
import math
import os
import statistics
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from nlac_bench.errors import DataError
from nlac_bench.files import replace_file
from nlac_bench.simulators.math_grader.grader import Grade, Grader
from nlac_bench.untrusted import open_untrusted, parse_json

_WANTED = 'name a file of JSON lines, each with "gold" and "pred"'
MAX_LINE_BYTES = 64 * 2**20
_MAX_VALUES = 1_000_000
_AHEAD = 64  # rows per worker that are read before the first of them is written


def grade_file(path: Path | str, out: Path | str, workers: int = 1, timeout_s: float = 3.0) -> dict[str, Any]:
    """Grade the rows of a JSON-lines file and write them to `out` with `correct`, `reason` and `ms`.

    A row is an object with the strings (or numbers) `gold` and `pred`; other keys are kept. Any other line
    raises no exception: it is written as `{"line": n, "correct": null, "reason": …}` with its number in the
    reason, is listed in the summary and counts as ungraded. Empty lines are skipped. `out` is written under
    a temporary name in the same folder and renamed when it is complete; it is not written if no row can be
    graded.

    Returns:
        `n`, `correct`, `ungraded`, `ms_median`, `ms_p99`, `broken_lines` (numbers of the first 100), and
        if rows have a boolean `expected`: `accuracy`, `false_positives`, `false_negatives` over those rows;
        an ungraded case counts as false.

    Raises:
        DataError: the file cannot be read or has no row that can be graded, `out` cannot be written, or both
            are the same file.
        EnvInfraError: no worker can be started.
    """
    path, out = Path(path), Path(out)
    if out.resolve() == path.resolve():
        raise DataError(f"{path} would overwrite itself; name another file with --out")
    _check_input(path)
    summary = _Summary()
    partial = out.with_name(f".{out.name}.{os.getpid()}.partial")
    try:
        with (
            Grader(timeout_s=timeout_s, workers=workers) as grader,
            ThreadPoolExecutor(workers) as threads,
            partial.open("x", encoding="utf-8") as output,
        ):
            waiting: deque[tuple[dict[str, Any], Future[Grade] | None]] = deque()

            def write_first() -> None:
                row, future = waiting.popleft()
                if future is not None:
                    verdict = future.result()
                    row.update(correct=verdict.correct, reason=verdict.reason, ms=round(verdict.ms, 3))
                summary.add(row, broken=future is None)
                output.write(json.dumps(row) + "\n")

            for row, problem in _rows(path):
                if problem:
                    waiting.append(
                        ({**row, "correct": None, "reason": f"ungraded: {problem}", "ms": 0.0}, None)
                    )
                else:
                    future = threads.submit(grader.grade, str(row["gold"]), str(row["pred"]))
                    waiting.append((row, future))
                if len(waiting) >= _AHEAD * workers:
                    write_first()
            while waiting:
                write_first()
        if not summary.ms:
            raise DataError(
                f"{path} has no row that can be graded: {summary.problem or 'it is empty'}; {_WANTED}"
            )
        replace_file(partial, out)
    except OSError as error:
        reason = f"({error.strerror or error}); name another file with --out"
        raise DataError(f"{out} cannot be written {reason}") from error
    finally:
        with suppress(OSError):  # `out` was already renamed, or its folder does not exist
            partial.unlink()
    return summary.result()


def _check_input(path: Path) -> None:
    """Raise DataError if the file cannot be read, before anything is written."""
    try:
        with open_untrusted(path) as lines:
            lines.read(1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}); {_WANTED}") from error


def _rows(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each row with its error, or an empty string."""
    with open_untrusted(path) as lines:
        for number, line in enumerate(iter(lambda: lines.readline(MAX_LINE_BYTES + 1), b""), 1):
            if not line.strip():
                continue
            if len(line) > MAX_LINE_BYTES:
                raise DataError(f"{path}, line {number} has more than {MAX_LINE_BYTES:,} bytes; {_WANTED}")
            try:
                row = parse_json(line, values=_MAX_VALUES, finite=True)
            except ValueError as error:
                yield {"line": number}, f"line {number} is not JSON ({error})"[:300]
                continue
            if not isinstance(row, dict):
                yield {"line": number}, f"line {number} is {type(row).__name__}, not an object"
                continue
            wrong = [
                name
                for name in ("gold", "pred")
                if not isinstance(row.get(name), str | int | float) or isinstance(row.get(name), bool)
            ]
            if wrong:
                yield (
                    {**row, "line": number},
                    f"line {number}: {' and '.join(wrong)} must be a string or a number",
                )
            else:
                yield row, ""


class _Summary:
    def __init__(self) -> None:
        self.n = self.correct = self.ungraded = 0
        self.labelled = self.false_positives = self.false_negatives = 0
        self.broken: list[int] = []
        self.problem = ""
        self.ms: list[float] = []

    def add(self, row: dict[str, Any], *, broken: bool) -> None:
        self.n += 1
        self.correct += row["correct"] is True
        self.ungraded += row["correct"] is None
        if broken:
            self.broken.append(row["line"])
            self.problem = self.problem or row["reason"].removeprefix("ungraded: ")
        else:
            self.ms.append(row["ms"])
        expected = row.get("expected")
        if isinstance(expected, bool):
            self.labelled += 1
            self.false_positives += row["correct"] is True and not expected
            self.false_negatives += row["correct"] is not True and expected

    def result(self) -> dict[str, Any]:
        ms = sorted(self.ms)
        summary: dict[str, Any] = {"n": self.n, "correct": self.correct, "ungraded": self.ungraded}
        if self.labelled:
            wrong = self.false_positives + self.false_negatives
            summary.update(
                accuracy=(self.labelled - wrong) / self.labelled,
                false_positives=self.false_positives,
                false_negatives=self.false_negatives,
            )
        summary.update(
            ms_median=round(statistics.median(ms), 3) if ms else None,
            ms_p99=round(ms[max(0, math.ceil(0.99 * len(ms)) - 1)], 3) if ms else None,
            broken_lines=self.broken[:100],
        )
        return summary
