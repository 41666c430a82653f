"""Playing what a sweep owes: tuning, then the runs that are compared, then the transfers.

Every run is a folder of its own, made by ``nlac-bench run`` in a process of its own, so that a sweep that
was interrupted goes on where it stopped and each run can be looked at, resumed and compared like any other.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nlac_bench.eval.sweep import BASE, Cell, Sweep, chosen_rates, done

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """``nlac-bench run`` or ``eval`` with ``settings`` into ``folder``."""

    verb: Literal["run", "eval"]
    folder: Path
    settings: dict[str, Any]

    def command(self) -> list[str]:
        """To begin it, or to go on with it; a new one's configuration is written beside its folder."""
        if (self.folder / "manifest.json").exists():
            return ["resume", str(self.folder)]
        config = self.folder.with_suffix(".json")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps(self.settings, indent=1))
        return [self.verb, "--config", str(config), "--out", str(self.folder)]


def play(sweep: Sweep, out: Path, jobs: int, say: Say) -> bool:
    """Do what is not done.

    Args:
        jobs: runs at once; the cores are shared out among them.
        say: hears one line a run.

    Returns:
        Whether everything is done. A run that fails is told of and left; the others go on.
    """
    complete = _play([_training(sweep, cell, out, cell.lr) for cell in sweep.tuning()], jobs, say)
    rates = chosen_rates(sweep, out)
    tuned = [c for c in sweep.cells() if not sweep.learning_rates or c.method in rates]
    complete &= _play([_training(sweep, c, out, rates.get(c.method)) for c in tuned], jobs, say)
    trained = [c for c in tuned if done(c.folder(out))]
    complete &= _play(list(_transfers(sweep, trained, out)), jobs, say)
    return complete and len(tuned) == len(list(sweep.cells()))


def _play(jobs: Sequence[Job], at_once: int, say: Say) -> bool:
    """Whether all that was owed among ``jobs`` ended well."""
    owed = [job for job in jobs if not done(job.folder)]
    # processes that each take all cores for themselves stand in each other's way
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // at_once))}

    def one(number: int, job: Job) -> bool:
        command = job.command()
        log = job.folder.with_suffix(".log")
        say(f"{number} of {len(owed)}: {job.folder}")
        with log.open("a") as stream:
            code = subprocess.run(
                [sys.executable, "-m", "nlac_bench", *command],
                stdout=stream, stderr=stream, env=environment, check=False,
            ).returncode  # fmt: skip
        if code:
            say(f"failed with exit code {code}: {job.folder}; see {log}")
        return code == 0

    with ThreadPoolExecutor(at_once) as pool:
        return all(list(pool.map(one, range(1, len(owed) + 1), owed)))


def _training(sweep: Sweep, cell: Cell, out: Path, lr: float | None) -> Job:
    return Job("run", cell.folder(out), sweep.settings(cell, lr))


def _transfers(sweep: Sweep, trained: Sequence[Cell], out: Path) -> Iterator[Job]:
    """The model that training begins with, and every checkpoint, on what was not trained on."""
    for to, source in sweep.transfer.items():
        for seed in sweep.seeds[source]:
            settings = {**sweep.run, "env": to, "agent": sweep.methods[0], "seed": seed}
            yield Job("eval", out / to / f"{BASE}-{seed}", settings)
        for cell in trained:
            if cell.env == source:
                best = {"model": str(cell.folder(out) / "checkpoints" / "best")}
                settings = {**sweep.run, "env": to, "agent": cell.method, "seed": cell.seed, **best}
                yield Job("eval", cell.transferred(out, to), settings)
