"""Implements ``data verify tau --against installed``: compares this engine with the installed original."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nlac_bench.envs.tau.domain import TABLES, Domain, load_official
from nlac_bench.envs.tau.sampling import Pool, gather_value, random_call, spoiled_call
from nlac_bench.envs.tau.verification.recorded import ReplayReport, verify_expected
from nlac_bench.envs.tau.verification.upstream import find_installed
from nlac_bench.errors import DataError


def verify_against_installed(
    data: Path,
    *,
    tasks: int | None = 30,
    episodes: int = 20,
    seed: int = 0,
    timeout_s: float = 1800.0,
    package: Path | None = None,
) -> ReplayReport:
    """Play the installed original and this engine side by side and compare all that they return.

    The original runs in a separate process, without its model client. This engine returns Python's error
    messages as CPython 3.11 writes them, so they are equal only if this runs on 3.11.

    Args:
        data: the data folder that this engine reads; the original reads its own.
        tasks: number of tasks of each split whose gold actions are played; None for all, which takes about
            ten minutes.
        episodes: number of seeded random episodes of 20 calls in each domain; a third of the calls have a
            mistake.
        seed: seeds the random calls.
        timeout_s: seconds before the original's process is killed.
        package: the folder of the package ``tau_bench``; by default the installed one.

    Raises:
        DataError: the original is not installed, or its process failed or took longer than ``timeout_s``.
    """
    package = package or find_installed()
    with tempfile.TemporaryDirectory() as scratch:
        plan, played = Path(scratch) / "plan.jsonl", Path(scratch) / "played.jsonl"
        with plan.open("w", encoding="utf-8") as lines:
            for name in TABLES:
                domain = load_official(name, data)
                for record in (*_gold_records(domain, tasks), *_random_records(domain, episodes, seed)):
                    lines.write(json.dumps(record) + "\n")
        child = Path(__file__).with_name("upstream_child.py")
        command = [sys.executable, str(child), str(package.parent), str(plan), str(played)]
        try:
            # In a separate folder: modules in the caller's folder must not shadow the original's imports.
            done = subprocess.run(
                command,
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"the original in {package} did not finish within {timeout_s:g} s") from None
        if done.returncode != 0:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
            raise DataError(f"the original in {package} failed: {last[0]}")
        return verify_expected(data, played)


def _gold_records(domain: Domain, tasks: int | None) -> Iterator[dict[str, Any]]:
    for split, all_tasks in domain.tasks.items():
        for task in all_tasks[:tasks]:
            calls = [{"name": call.name, "kwargs": dict(call.kwargs)} for call in task.actions]
            yield _record("gt", domain, split, task.index, calls)


def _random_records(domain: Domain, episodes: int, seed: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    tables = {name: list(rows.items()) for name, rows in domain.tables.items()}
    tasks = domain.tasks["test"]
    for _ in range(episodes):
        task = tasks[int(rng.integers(len(tasks)))]
        pool: Pool = {}
        for name, rows in tables.items():
            for _ in range(3):
                row_id, row = rows[int(rng.integers(len(rows)))]
                gather_value({row_id: row}, name.removesuffix("s") + "_id", pool)
        gather_value([dict(call.kwargs) for call in task.actions], "", pool)
        draw = [spoiled_call if rng.random() < 1 / 3 else random_call for _ in range(20)]
        calls = [dict(zip(("name", "kwargs"), make(rng, domain.tools, pool), strict=True)) for make in draw]
        yield _record("fuzz", domain, "test", task.index, calls)


def _record(kind: str, domain: Domain, split: str, task: int, calls: list[Any]) -> dict[str, Any]:
    return {
        "id": f"{kind}/{domain.name}/{split}/{task}", "kind": kind, "domain": domain.name, "split": split,
        "task": task, "calls": calls,
    }  # fmt: skip
