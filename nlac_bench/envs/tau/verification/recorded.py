"""Replays recorded calls and checks that this engine returns what the original returned.

A record (one JSON object per line) has the format of ``expected_sample.jsonl`` in the data folder: calls
with the observation, or the exception that left the original's step; the database hash after each call that
changed it; the hash at the start and the end; rewards. A record starts with a new database, and all its calls
are made in order, even if one of them ends the episode.
"""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.envs.tau.actions import RESPOND
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import TABLES, Task, load_official
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.errors import DataError, UnknownIdError
from nlac_bench.simulators.customer import STOP
from nlac_bench.untrusted import open_untrusted

MAX_LINE_BYTES = 64 * 2**20
SHOWN_DIFFERENCES = 10


@dataclass(slots=True)
class MatchCount:
    """Number of comparisons and of matches."""

    matched: int = 0
    total: int = 0


@dataclass(slots=True)
class ReplayReport:
    """The result of a replay. The replies of a recorded user are not compared: for a ``respond`` call only
    whether it ended the episode or failed is compared."""

    observations: MatchCount = field(default_factory=MatchCount)
    hashes: MatchCount = field(default_factory=MatchCount)
    rewards: MatchCount = field(default_factory=MatchCount)
    differences: list[str] = field(default_factory=list)
    """Descriptions of the first differences."""

    @property
    def ok(self) -> bool:
        """Whether every comparison matched."""
        counts = (self.observations, self.hashes, self.rewards)
        return all(count.matched == count.total for count in counts)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        counts = {"observations": self.observations, "hashes": self.hashes, "rewards": self.rewards}
        return {
            **{name: {"matched": count.matched, "total": count.total} for name, count in counts.items()},
            "differences": self.differences,
        }

    def compare(self, count: MatchCount, place: str, ours: object, theirs: object) -> None:
        """Count a comparison, and add its description if it fails."""
        count.total += 1
        if ours == theirs:
            count.matched += 1
        elif len(self.differences) < SHOWN_DIFFERENCES:
            self.differences.append(f"{place}: {_contrast(ours, theirs)}")


def verify_expected(data_dir: str | os.PathLike[str], expected_file: str | os.PathLike[str]) -> ReplayReport:
    """Replay the records of ``expected_file`` (.jsonl or .jsonl.gz) on the data in ``data_dir``.

    Raises:
        DataError: a file is missing or truncated, or a record is malformed; the message names the line.
    """
    report = ReplayReport()
    graders: dict[str, TauGrader] = {}
    path = Path(expected_file)
    records = 0
    for number, record in _records(path):
        place = f"{path}, line {number}"
        try:
            if record["domain"] not in TABLES:
                raise ValueError(f"unknown domain {record['domain']!r}")
            grader = graders.get(record["domain"])
            if grader is None:
                grader = graders[record["domain"]] = TauGrader(load_official(record["domain"], data_dir))
            task = grader.domain.task(record["split"], record["task"])
            _replay(report, grader, task, record)
        except KeyError as error:
            missing = error if isinstance(error, UnknownIdError) else f"it lacks {error}"
            raise DataError(f"{place} is not a record of calls: {missing}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{place} is not a record of calls: {error}") from None
        records += 1
    if not records:
        raise DataError(f"{path} has no records")
    return report


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with open_untrusted(path) as file, gzip.open(file) if path.suffix == ".gz" else file as stream:
            number = 0
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise DataError(f"{path}, line {number} has more than {MAX_LINE_BYTES:,} bytes")
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise DataError(
                        f"{path}, line {number} is not JSON ({error}); the file may be truncated"
                    ) from None
                if not isinstance(record, dict):
                    raise DataError(f"{path}, line {number} is not a record of calls: {line[:80]!r}")
                yield number, record
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} cannot be read ({error}); the file may be truncated") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); name a file of recorded calls") from error


def _replay(report: ReplayReport, grader: TauGrader, task: Task, record: dict[str, Any]) -> None:
    db = grader.database()
    name = str(record.get("id", task.task_id))
    if "init_hash" in record:
        report.compare(report.hashes, f"{name}, initial hash", db.hash(), record["init_hash"])
    sent: list[str] = []
    for index, call in enumerate(record["calls"]):
        place = f"{name}, call {index} ({call['name']})"
        before = db.fork()
        outcome = _call(grader, db, call, sent)
        theirs = {key: call[key] for key in ("raises", "done") if call.get(key)}
        if "raises" not in theirs:
            theirs["obs"] = call["obs"]
        report.compare(report.observations, place, outcome, theirs)
        changed = not db.same_as(before)
        if changed or "hash" in call:
            after = db.hash() if changed else "unchanged"
            report.compare(report.hashes, f"{place}, hash", after, call.get("hash", "unchanged"))
    if "final_hash" in record:
        report.compare(report.hashes, f"{name}, final hash", db.hash(), record["final_hash"])
    ends = {
        "reward_gt": (db, []),
        "reward_said": (db, [" ".join(task.outputs)]),
        "reward_nothing": (grader.database(), []),
        "reward_now": (db, sent),
    }
    for key, (end, messages) in ends.items():
        if key in record:
            ours = _reward(grader, task, end, messages)
            report.compare(report.rewards, f"{name}, {key}", ours, record[key])


def _call(grader: TauGrader, db: Database, call: dict[str, Any], sent: list[str]) -> dict[str, Any]:
    """Return the result of a call in this engine, in the format of a record."""
    name, kwargs = call["name"], call["kwargs"]
    if not isinstance(name, str) or not isinstance(kwargs, dict):
        return {"raises": "ValidationError"}
    if name == RESPOND:
        sent.append(kwargs.get("content", _Missing()))
        if "content" not in kwargs:
            return {"raises": "KeyError"}
        reply = call["obs"]
        return {"obs": reply, "done": True} if STOP in reply else {"obs": reply}
    result = invoke(grader.tools, db, name, kwargs)
    if result.raises is not None:
        return {"raises": result.raises}
    return {"obs": result.observation, "done": True} if result.done else {"obs": result.observation}


class _Missing:
    """Stands for the missing content of a message, which makes the original's reward raise KeyError."""

    def lower(self) -> str:
        raise KeyError("content")


def _reward(grader: TauGrader, task: Task, db: Database, sent: list[str]) -> dict[str, Any]:
    try:
        reward = grader.judge(task, db, sent)
    except (AttributeError, KeyError) as error:
        return {"raises": type(error).__name__}
    return {"reward": reward.original, "info": reward.info()}


def _contrast(ours: object, theirs: object) -> str:
    """Return both values, cut to the place where they begin to differ."""
    a, b = (value if isinstance(value, str) else json.dumps(value) for value in (ours, theirs))
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    start = max(0, start - 40)
    cut = "…" if start else ""
    return f"here {cut}{a[start : start + 160]!r}, recorded {cut}{b[start : start + 160]!r}"
