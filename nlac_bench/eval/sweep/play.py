"""Playing what a sweep owes: tuning, floors, the untrained model, the runs that are compared, the transfers.

Every run is a folder of its own, made by ``nlac-bench run`` in a process of its own, so that a sweep that
was interrupted goes on where it stopped and each run can be looked at, resumed and compared like any other.
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

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.eval.measure.prepare import outline
from nlac_bench.eval.runs.configuration import ConfigError, RunConfig
from nlac_bench.eval.sweep.file import check_sweep
from nlac_bench.eval.sweep.plan import FLOORS, Cell, Sweep, base_folder, chosen_rates, done, floor_folder

Say = Callable[[str], None]


@dataclass(frozen=True)
class Job:
    """``nlac-bench run`` or ``eval`` with ``settings`` into ``folder``.

    ``inputs`` are settings too: paths to other runs of the same sweep, which say nothing that the folder's
    own place does not, and change when all of them are moved.
    """

    verb: Literal["run", "eval"]
    folder: Path
    settings: dict[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def written(self) -> Path:
        """Its configuration, beside its folder. (A rate's point is no suffix.)"""
        return self.folder.with_name(f"{self.folder.name}.json")

    def check(self) -> None:
        """Whether what is there was begun with these settings.

        Raises:
            ConfigError: it was begun with others, and would be compared as if it had not.
        """
        if not (self.folder / "manifest.json").exists():
            return
        before = json.loads(self.written.read_text()) if self.written.exists() else {}
        for name in self.inputs:
            before.pop(name, None)
        if before != json.loads(json.dumps(self.settings)):
            raise ConfigError(
                f"{self.folder} was begun with other settings ({self.written}); take another --out, or "
                "move it away to have it played anew"
            )

    def command(self) -> list[str]:
        """To begin it, or to go on with it; a new one's configuration is written beside its folder."""
        if (self.folder / "manifest.json").exists():
            return ["resume", str(self.folder)]
        config = self.written
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(json.dumps({**self.settings, **self.inputs}, indent=1))
        return [self.verb, "--config", str(config), "--out", str(self.folder)]


def play(sweep: Sweep, out: Path, jobs: int, say: Say) -> None:
    """Play every run that is not done. A run that fails is reported and skipped.

    Each run is a process in a session of its own, so that Ctrl-C reaches it once, from here: SIGINT or
    SIGTERM stops the running ones, which save what they have played, and starts no others.

    Args:
        jobs: runs at once; they share the cores.
        say: called with one line for each run.

    Raises:
        ConfigError: a run of the sweep could not begin, or was begun with other settings.
    """
    check_sweep(sweep)
    _play([_training(sweep, cell, out, cell.lr) for cell in sweep.tuning()], jobs, say)
    _play([*_floors(sweep, out), *_bases(sweep, out)], jobs, say)
    rates = chosen_rates(sweep, out)
    tuned = [c for c in sweep.cells() if not sweep.learning_rates or c.method in rates]
    tuned = [c for c in tuned if done(base_folder(out, c.env, c.seed))]
    _play([_training(sweep, c, out, rates.get(c.method)) for c in tuned], jobs, say)
    trained = [c for c in tuned if done(c.folder(out))]
    _play(list(_transfers(sweep, trained, out)), jobs, say)


def complete(sweep: Sweep, out: Path) -> bool:
    """Whether every run that is compared is done."""
    cells = list(sweep.cells())
    owed = [*_floors(sweep, out), *_bases(sweep, out), *_transfers(sweep, cells, out)]
    return all(map(done, [cell.folder(out) for cell in cells] + [job.folder for job in owed]))


def _play(jobs: Sequence[Job], at_once: int, say: Say) -> None:
    for job in jobs:
        job.check()
    owed = [job for job in jobs if not done(job.folder)]
    # processes that each take all cores for themselves stand in each other's way
    environment = {**os.environ, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // at_once))}

    running: set[subprocess.Popen[bytes]] = set()
    stopped = threading.Event()

    def one(number: int, job: Job) -> None:
        if stopped.is_set():
            return
        command = job.command()
        log = job.folder.with_name(f"{job.folder.name}.log")
        say(f"{number} of {len(owed)}: {job.folder}")
        with log.open("a") as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "nlac_bench", *command],
                stdout=stream, stderr=stream, env=environment, start_new_session=True,
            )  # fmt: skip
            running.add(process)
            if stopped.is_set():  # the signal came between the check above and the start
                process.send_signal(signal.SIGTERM)
            code = process.wait()
            running.discard(process)
        if code:
            say(f"failed with exit code {code}: {job.folder}; see {log}")

    with ThreadPoolExecutor(at_once) as pool:
        try:
            list(pool.map(one, range(1, len(owed) + 1), owed))
        except (KeyboardInterrupt, SystemExit):
            stopped.set()
            say(f"stopping {len(running)} runs; each saves what it has played")
            for process in list(running):
                process.send_signal(signal.SIGTERM)
            raise


def _floors(sweep: Sweep, out: Path) -> Iterator[Job]:
    """What plays without a model, once for every environment; constant where it names what to try.

    Their settings name the model all the same: what is played by default may depend on it.
    """
    for env, seeds in sweep.seeds_by_env().items():
        raw = outline(RunConfig.from_mapping(sweep.base(env), "[run]")).make_env().unwrapped
        if not isinstance(raw, TextEnv):
            continue
        for name in FLOORS if raw.constant_actions() else FLOORS[:1]:
            settings = {**sweep.base(env), "agent": name, "seed": seeds[0]}
            yield Job("eval", floor_folder(out, env, name), settings)


def _bases(sweep: Sweep, out: Path) -> Iterator[Job]:
    """The model that training begins with, once for every environment and seed."""
    for env, chosen in sweep.seeds_by_env().items():
        for seed in chosen:
            yield Job("eval", base_folder(out, env, seed), {**sweep.base(env), "seed": seed})


def _training(sweep: Sweep, cell: Cell, out: Path, lr: float | None) -> Job:
    base = {"base": str(base_folder(out, cell.env, cell.seed))} if cell.lr is None else {}
    return Job("run", cell.folder(out), sweep.settings(cell, lr), base)


def _transfers(sweep: Sweep, trained: Sequence[Cell], out: Path) -> Iterator[Job]:
    """Every checkpoint, on what was not trained on."""
    for to, source in sweep.transfer.items():
        for cell in trained:
            if cell.env == source:
                best = {"model": str(cell.folder(out) / "checkpoints" / "best")}
                run = {name: value for name, value in sweep.run.items() if name != "model"}
                settings = {**run, "env": to, "agent": cell.method, "seed": cell.seed}
                yield Job("eval", cell.transferred(out, to), settings, best)
