"""Runs a sweep: tuning, floors, the untrained model, the runs that are compared, and the transfers.

Each run has its own folder and is made by ``nlac-bench run`` in its own process. An interrupted sweep
therefore continues where it stopped, and each run can be inspected, resumed and compared like any other.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from nlac_bench.harness.measure.prepare import outline
from nlac_bench.harness.runs.configuration import ConfigError, RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError, make_folder
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.trust import as_options, to_repeat
from nlac_bench.sweep.file import check_sweep
from nlac_bench.sweep.plan import (
    ALWAYS_A_FLOOR,
    FLOORS,
    Cell,
    Sweep,
    base_folder,
    chosen_rates,
    done,
    floor_folder,
    further_tuning,
)
from nlac_bench.sweep.progress import SweepProgress
from nlac_bench.sweep.status import failure_path, record_failure

Say = Callable[[str], None]
LOG_TAIL = 64 * 1024
"""Number of bytes at the end of a failed run's log in which the reason is looked for."""


@dataclass(frozen=True)
class SweepJob:
    """A call of ``nlac-bench run`` or ``eval`` with ``settings`` that writes to ``folder``.

    ``inputs`` are further settings: paths to other runs of the same sweep. They are not compared when a sweep
    is continued, because they change when the whole sweep is moved.
    """

    verb: Literal["run", "eval"]
    folder: Path
    settings: dict[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> Path:
        """The configuration file beside the folder. (``with_suffix`` would cut ``lr0.0001`` at the dot.)"""
        return self.folder.with_name(f"{self.folder.name}.json")

    def check(self) -> None:
        """Check that an existing run in the folder was started with these settings.

        Raises:
            ConfigError: the run was started with other settings.
        """
        if not (self.folder / "manifest.json").exists():
            return
        before = read_config(self.written) if self.written.exists() else {}
        for name in self.inputs:
            before.pop(name, None)
        if self._replaced() or before != json.loads(json.dumps(self.settings)):
            raise ConfigError(
                f"{self.folder} was started with other settings ({self.written}); choose another --out, or "
                "move that folder away to run it again"
            )

    def _replaced(self) -> bool:
        """Return whether the folder is that of another run. A damaged one is left to those that read it."""
        try:
            own = RunFolder.open(self.folder).config
        except RunFolderError:
            return False
        return any(own.get(name) != self.settings.get(name) for name in ("agent", "seed"))

    def command(self) -> list[str]:
        """Return the command that starts or resumes the run; writes the configuration file of a new run."""
        repeated = as_options(to_repeat(self.settings))
        if (self.folder / "manifest.json").exists():
            return ["resume", str(self.folder), *repeated]
        config = self.written
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps({**self.settings, **self.inputs}, indent=1))
        return [self.verb, "--config", str(config), "--out", str(self.folder), *repeated]


def play(sweep: Sweep, out: Path, jobs: int, say: Say) -> None:
    """Run or resume every run that is not done. A run that fails is reported and skipped.

    Each run is a process in its own session, so that Ctrl-C reaches it only through this function: after
    SIGINT or SIGTERM the running processes save what they have played and stop, and no others start.

    Args:
        jobs: number of runs at the same time; they share the cores.
        say: called with a line of text for each run, and on the way every half minute.

    Raises:
        ConfigError: a run cannot start, or was started with other settings.
        RunFolderError: ``out`` cannot be created or written to.
    """
    check_sweep(sweep)
    make_folder(out)
    play_jobs([training_job(sweep, cell, out, cell.lr) for cell in sweep.tuning()], jobs, say)
    play_jobs([training_job(sweep, cell, out, cell.lr) for cell in further_tuning(sweep, out)], jobs, say)
    play_jobs([*_floors(sweep, out), *_bases(sweep, out)], jobs, say)
    rates = chosen_rates(sweep, out)
    tuned = [c for c in sweep.cells() if not sweep.learning_rates or c.method in rates]
    tuned = [c for c in tuned if done(base_folder(out, c.env, c.seed))]
    play_jobs([training_job(sweep, c, out, rates.get(c.method)) for c in tuned], jobs, say)
    trained = [c for c in tuned if done(c.folder(out))]
    play_jobs(list(_transfers(sweep, trained, out)), jobs, say)


def check_started(sweep: Sweep, out: Path) -> None:
    """Check that every run in ``out`` was started with the settings of ``sweep``.

    Raises:
        ConfigError: a run was started with other settings.
    """
    cells, rates = list(sweep.cells()), chosen_rates(sweep, out)
    known = [cell for cell in cells if not sweep.learning_rates or cell.method in rates]
    for cell in (*sweep.tuning(), *further_tuning(sweep, out)):
        training_job(sweep, cell, out, cell.lr).check()
    for cell in known:
        training_job(sweep, cell, out, rates.get(cell.method)).check()
    for job in (*_floors(sweep, out), *_bases(sweep, out), *_transfers(sweep, cells, out)):
        job.check()


def complete(sweep: Sweep, out: Path) -> bool:
    """Return whether every run that is compared is done."""
    cells = list(sweep.cells())
    owed = [*_floors(sweep, out), *_bases(sweep, out), *_transfers(sweep, cells, out)]
    return all(map(done, [cell.folder(out) for cell in cells] + [job.folder for job in owed]))


def play_jobs(jobs: Sequence[SweepJob], at_once: int, say: Say) -> None:
    for job in jobs:
        job.check()
    owed = [job for job in jobs if not done(job.folder)]
    # each process would otherwise use all cores, which slows all of them down
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // at_once))}

    running: set[subprocess.Popen[bytes]] = set()
    stopped = threading.Event()

    def one(number: int, job: SweepJob) -> None:
        if stopped.is_set():
            return
        command = job.command()
        log = job.folder.with_name(f"{job.folder.name}.log")
        failure_path(job.folder).unlink(missing_ok=True)
        say(f"{number} of {len(owed)}: {job.folder}")
        with log.open("a") as stream:
            begin = stream.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "nlac_bench", *command],
                stdout=stream, stderr=stream, env=environment, start_new_session=True,
            )  # fmt: skip
            running.add(process)
            progress.begin(job.folder, log)
            if stopped.is_set():  # the signal arrived between the check above and the start
                process.send_signal(signal.SIGTERM)
            code = process.wait()
            running.discard(process)
        if code and not stopped.is_set():
            with log.open("rb") as output:
                output.seek(max(begin, output.seek(0, os.SEEK_END) - LOG_TAIL))
                status = record_failure(job.folder, code, output.read())
            say(f"failed: {job.folder} ({status.reason}); see {log}")
        progress.end(job.folder, finished=not code)

    with SweepProgress(len(owed), say) as progress, ThreadPoolExecutor(at_once) as pool:
        try:
            list(pool.map(one, range(1, len(owed) + 1), owed))
        except (KeyboardInterrupt, SystemExit):
            stopped.set()
            say(f"stopping {len(running)} runs; each saves its progress")
            for process in list(running):
                process.send_signal(signal.SIGTERM)
            raise


def _floors(sweep: Sweep, out: Path) -> Iterator[SweepJob]:
    """Yield the runs of policies without a model, one per environment and policy.

    ``constant`` is run only if the environment defines constant actions. The settings include the model,
    because the default tasks may depend on it.
    """
    for env, seeds in sweep.seeds_by_env().items():
        measured = outline(RunConfig.from_mapping(sweep.base(env), "[run]")).environments.measured
        for name in FLOORS if measured.constant_actions() else (ALWAYS_A_FLOOR,):
            settings = {**sweep.base(env), "agent": name, "seed": seeds[0]}
            yield SweepJob("eval", floor_folder(out, env, name), settings)


def _bases(sweep: Sweep, out: Path) -> Iterator[SweepJob]:
    """Yield the runs of the untrained model, one per environment and seed."""
    for env, chosen in sweep.seeds_by_env().items():
        for seed in chosen:
            yield SweepJob("eval", base_folder(out, env, seed), {**sweep.base(env), "seed": seed})


def training_job(sweep: Sweep, cell: Cell, out: Path, lr: float | None) -> SweepJob:
    """Return the job that trains ``cell`` into its folder in ``out``; ``lr`` is a tuned learning rate."""
    base = {"base": str(base_folder(out, cell.env, cell.seed))} if cell.lr is None else {}
    return SweepJob("run", cell.folder(out), sweep.settings(cell, lr), base)


def _transfers(sweep: Sweep, trained: Sequence[Cell], out: Path) -> Iterator[SweepJob]:
    """Yield the runs that measure checkpoints on the environments of ``transfer``."""
    for to, source in sweep.transfer.items():
        for cell in trained:
            if cell.env == source:
                best = {"model": str(cell.folder(out) / "checkpoints" / "best")}
                run = {name: value for name, value in sweep.run.items() if name != "model"}
                agent = sweep.algorithm(cell.method)
                settings = {**run, "env": to, "agent": agent, "seed": cell.seed}
                yield SweepJob("eval", cell.transferred(out, to), settings, best)
