"""Tells which planned runs of a sweep finished, and why the others did not.

A run that ends with an exit code other than 0 leaves ``NAME.failure.json`` beside its folder. The file is
removed when the run is started again.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError, write_atomically
from nlac_bench.redaction import redact
from nlac_bench.sweep.plan import Cell, Sweep, base_folder, further_tuning
from nlac_bench.untrusted import MAX_SETTINGS_BYTES, read_json

State: TypeAlias = Literal["finished", "failed", "interrupted", "not started"]

LONGEST_REASON = 200
"""Number of characters of a reason; the run's log has the whole text."""
_STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_ERROR = re.compile(r"^error: ", re.MULTILINE)
_STOPPED = re.compile(r"^(?P<why>.*); continue with: ", re.MULTILINE)


@dataclass(frozen=True)
class Status:
    """The state of a planned run; ``reason`` is one line of text, for failed runs always."""

    state: State
    reason: str | None = None

    @property
    def finished(self) -> bool:
        """Whether the run has a result."""
        return self.state == "finished"

    def __str__(self) -> str:
        return self.state if self.reason is None else f"{self.state} ({self.reason})"


FINISHED, NOT_STARTED = Status("finished"), Status("not started")


@dataclass(frozen=True)
class CellCount:
    """Numbers of planned, finished and failed seeds of a method on an environment.

    ``reason`` describes the seeds that did not finish (None if all finished).
    """

    method: str
    env: str
    planned: int
    finished: int
    failed: int
    reason: str | None

    @classmethod
    def count_of(cls, method: str, env: str, seeds: Mapping[int, Status]) -> "CellCount":
        """Count the ``seeds`` of ``method`` on ``env``."""
        states = [status.state for status in seeds.values()]
        finished, failed = states.count("finished"), states.count("failed")
        parts = [_reasons(state, seeds) for state in dict.fromkeys(states) if state != "finished"]
        return cls(method, env, len(seeds), finished, failed, "; ".join(parts) or None)

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return asdict(self)

    def __str__(self) -> str:
        seeds = f"{self.finished} of {self.planned} seeds"
        return seeds if self.reason is None else f"{seeds}: {self.reason}"


def _reasons(state: State, seeds: Mapping[int, Status]) -> str:
    """Return ``state`` with the reason of each seed in it: ``failed (no memory)`` if the same holds for all
    seeds, otherwise ``failed (seed 1: no memory; seed 2: full disk)``."""
    same: dict[str | None, list[str]] = {}
    for seed, status in seeds.items():
        if status.state == state:
            same.setdefault(status.reason, []).append(str(seed))
    if len(same) == 1 and all(status.state == state for status in seeds.values()):
        return str(Status(state, *same))
    each = [
        ("seed " if len(who) == 1 else "seeds ") + ", ".join(who) + (f": {why}" if why else "")
        for why, who in same.items()
    ]
    return f"{state} ({'; '.join(each)})"


def status_of(folder: Path) -> Status:
    """Return the status of the run in ``folder``, which need not exist. A damaged run counts as failed."""
    try:
        if (folder / "manifest.json").exists():
            run = RunFolder.open(folder)
            owed = len(run.owed())
            if not owed:
                return FINISHED
            failure = _recorded(folder)
            return failure or Status("interrupted", f"{owed} of {len(run.plan)} episodes are not played")
    except RunFolderError as error:
        return Status("failed", one_line(str(error)))
    return _recorded(folder) or NOT_STARTED


def cell_status(sweep: Sweep, cell: Cell, out: Path) -> Status:
    """Return the status of a run that is compared. If it could not start because its tuning or the untrained
    model's run failed, it failed for that reason."""
    own = status_of(cell.folder(out))
    if own.state != "not started":
        return own
    alone = replace(sweep, methods=(cell.method,))  # the metrics of other methods are not read
    tuning = (*alone.tuning(), *further_tuning(alone, out))
    needed = {f"tuning at rate {t.lr:g}": t.folder(out) for t in tuning}
    needed["run of the untrained model"] = base_folder(out, cell.env, cell.seed)
    for name, folder in needed.items():
        status = status_of(folder)
        if status.state == "failed":
            return Status("failed", one_line(f"{name}: {status.reason}"))
    return own


def transfer_status(sweep: Sweep, cell: Cell, out: Path, to: str) -> Status:
    """Return the status of the run that measures ``cell``'s checkpoint on ``to``."""
    source = cell_status(sweep, cell, out)
    if source.finished:
        return status_of(cell.transferred(out, to))
    if source.state == "failed":
        return Status("failed", one_line(f"training on {cell.env}: {source.reason}"))
    return NOT_STARTED


def failure_path(folder: Path) -> Path:
    """Return the file with the reason why the run in ``folder`` failed."""
    return folder.with_name(f"{folder.name}.failure.json")


def record_failure(folder: Path, code: int, output: bytes) -> Status:
    """Store that the run in ``folder`` ended with exit code ``code`` (negative: the signal that killed it).

    Args:
        folder: the run's folder.
        code: as ``subprocess.Popen.returncode``.
        output: what the process printed; the reason is its error message.

    Raises:
        RunFolderError: the file cannot be written.
    """
    how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    # redact first: shortening could leave a part of a key
    message = redact(error_message(output.decode(errors="replace")))
    reason = one_line(f"{how}: {message}")
    write_atomically(failure_path(folder), json.dumps({"exit_code": code, "reason": reason}))
    return Status("failed", reason)


def error_message(output: str) -> str:
    """Return the error message in the output of ``nlac-bench``, or its last line."""
    text = _STYLE.sub("", output)
    stopped = list(_STOPPED.finditer(text))
    before = text[: stopped[-1].start()] if stopped else text
    if errors := list(_ERROR.finditer(before)):
        return before[errors[-1].end() :]
    if stopped and stopped[-1]["why"] != "stopped by an unexpected error":  # after a traceback
        return stopped[-1]["why"]
    lines = [line for line in before.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def one_line(text: str) -> str:
    """Return ``text`` without control characters, as one line of at most ``LONGEST_REASON`` characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in _STYLE.sub("", text)).split())
    return plain if len(plain) <= LONGEST_REASON else f"{plain[: LONGEST_REASON - 1]}…"


def _recorded(folder: Path) -> Status | None:
    """Return the failure that is stored for ``folder``, or None."""
    try:
        row = read_json(failure_path(folder), MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        row = None
    reason = row.get("reason") if isinstance(row, dict) else None
    return Status("failed", one_line(reason if isinstance(reason, str) else "unknown reason; see its log"))
