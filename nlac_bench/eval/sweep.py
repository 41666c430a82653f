"""Methods × environments × seeds from one TOML file: which runs there are, and playing what is not done.

Every run is a folder of its own, made by ``nlac-bench run`` in a process of its own, so that a sweep that
was interrupted goes on where it stopped and each run can be looked at, resumed and compared like any other.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nlac_bench.baselines.registry import METHODS
from nlac_bench.eval.config import ConfigError
from nlac_bench.eval.curve import latest
from nlac_bench.eval.rundir import RunFolder

BASE = "base"
"""The untrained model on an environment that is not trained on."""


@dataclass(frozen=True)
class Sweep:
    """What ``sweep.toml`` says.

    Args:
        methods: names of training algorithms.
        seeds: of each environment's runs.
        run: settings of every run (``RunConfig``): model, limit, concurrency …
        train: training settings of every method, above all ``budget``; ``method_train`` those of one.
        transfer: environment on which the checkpoints of another are measured, untrained: ``{to: from}``.
        learning_rates, tuning_seed, tuning_env: each method is trained with each rate on that seed, and
            takes the one whose best validation is highest; without rates nothing is tuned.
    """

    methods: tuple[str, ...]
    seeds: Mapping[str, tuple[int, ...]]
    run: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)
    method_train: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    transfer: Mapping[str, str] = field(default_factory=dict)
    learning_rates: tuple[float, ...] = ()
    tuning_seed: int = 100
    tuning_env: str = ""

    @classmethod
    def read(cls, path: Path) -> "Sweep":
        """From a TOML file.

        Raises:
            ConfigError: naming what is unknown, missing or impossible.
        """
        try:
            found = tomllib.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read as TOML: {error}") from error
        known = {"methods", "seeds", "run", "train", "methods_train", "transfer", "tuning"}
        if unknown := sorted(set(found) - known):
            raise ConfigError(f"{path}: unknown entry {unknown[0]!r}; there are {', '.join(sorted(known))}")
        methods = tuple(found.get("methods", ()))
        if wrong := [m for m in (*methods, *found.get("methods_train", {})) if m not in METHODS]:
            raise ConfigError(f"{path}: unknown method {wrong[0]!r}; there are {', '.join(METHODS)}")
        seeds = {env: tuple(s) for env, s in found.get("seeds", {}).items()}
        if not methods or not seeds:
            raise ConfigError(
                f"{path}: give `methods = [...]` and a table `[seeds]` such as tau_retail = [0]"
            )
        for to, source in (transfer := found.get("transfer", {})).items():
            if source not in seeds:
                raise ConfigError(f"{path}: transfer {to!r} is from {source!r}, which is not trained on")
        tuning = found.get("tuning", {})
        return cls(
            methods, seeds, found.get("run", {}), found.get("train", {}), found.get("methods_train", {}),
            transfer, tuple(tuning.get("lr", ())), int(tuning.get("seed", 100)),
            str(tuning.get("env", next(iter(seeds)))),
        )  # fmt: skip

    def cells(self) -> Iterator["Cell"]:
        """Every run that is compared, first one seed of everything, then the next."""
        for place in range(max(map(len, self.seeds.values()))):
            for env, seeds in self.seeds.items():
                for method in self.methods:
                    if place < len(seeds):
                        yield Cell(method, env, seeds[place])

    def tuning(self) -> Iterator["Cell"]:
        """The runs that choose each method's learning rate."""
        for lr in self.learning_rates:
            for method in self.methods:
                yield Cell(method, self.tuning_env, self.tuning_seed, lr)

    def settings(self, cell: "Cell", lr: float | None) -> dict[str, Any]:
        """The configuration of ``cell``'s run."""
        train = {**self.train, **self.method_train.get(cell.method, {})}
        if lr is not None:
            train["lr"] = lr
        return {**self.run, "env": cell.env, "agent": cell.method, "seed": cell.seed, "train": train}


@dataclass(frozen=True)
class Cell:
    """One training run; ``lr`` is set where it is part of the tuning."""

    method: str
    env: str
    seed: int
    lr: float | None = None

    def folder(self, out: Path) -> Path:
        """Where it is."""
        last = f"{self.method}-{self.seed}" if self.lr is None else f"{self.method}-lr{self.lr:g}"
        return out / ("tuning" if self.lr is not None else self.env) / last

    def transferred(self, out: Path, to: str) -> Path:
        """Where its checkpoint's episodes on ``to`` are."""
        return out / to / f"{self.method}-{self.seed}"


def done(folder: Path) -> bool:
    """Whether the run in ``folder`` owes nothing."""
    return (folder / "manifest.json").exists() and not RunFolder.open(folder).owed()


def best_validation(folder: Path) -> float:
    """The highest validation success of a run."""
    return max(row["success"] for row in latest(list(RunFolder.open(folder).metrics()), "validation"))


def chosen_rates(sweep: Sweep, out: Path) -> dict[str, float]:
    """Each method's learning rate: of equals the smallest. Methods whose tuning is not done are left out."""
    rates: dict[str, float] = {}
    for method in sweep.methods:
        tried = [cell for cell in sweep.tuning() if cell.method == method]
        if tried and all(done(cell.folder(out)) for cell in tried):
            best = max(tried, key=lambda c: (best_validation(c.folder(out)), -(c.lr or 0.0)))
            rates[method] = best.lr or 0.0
    return rates


def play(sweep: Sweep, out: Path, jobs: int, say: Callable[[str], None]) -> bool:
    """Do what is not done: tuning, then the cells, then the transfers.

    Args:
        jobs: runs at once; the cores are shared out among them.
        say: hears one line a run.

    Returns:
        Whether everything is done. A run that fails is told of and left; the others go on.
    """
    out.mkdir(parents=True, exist_ok=True)
    complete = _all((cell.folder(out), _training(sweep, cell, out, cell.lr)) for cell in sweep.tuning())(
        jobs, say
    )
    rates = chosen_rates(sweep, out)
    tuned = [c for c in sweep.cells() if not sweep.learning_rates or c.method in rates]
    complete &= _all((c.folder(out), _training(sweep, c, out, rates.get(c.method))) for c in tuned)(jobs, say)
    transfers = [
        (
            out / to / f"{BASE}-{seed}",
            _measuring(sweep, out / to / f"{BASE}-{seed}", to, sweep.methods[0], seed),
        )
        for to, source in sweep.transfer.items()
        for seed in sweep.seeds[source]
    ]
    transfers += [
        (
            folder := cell.transferred(out, to),
            _measuring(sweep, folder, to, cell.method, cell.seed, cell.folder(out) / "checkpoints" / "best"),
        )
        for to, source in sweep.transfer.items()
        for cell in tuned
        if cell.env == source and done(cell.folder(out))
    ]
    return _all(transfers)(jobs, say) and complete and len(tuned) == len(list(sweep.cells()))


def _all(runs: Any) -> Callable[[int, Callable[[str], None]], bool]:
    owed = [(folder, command) for folder, command in runs if not done(folder)]

    def play_them(jobs: int, say: Callable[[str], None]) -> bool:
        threads = max(1, (os.cpu_count() or 1) // jobs)

        def one(number: int, folder: Path, command: Sequence[str]) -> bool:
            if (folder / "manifest.json").exists():
                command = ["resume", str(folder)]
            log = folder.with_suffix(".log")
            log.parent.mkdir(parents=True, exist_ok=True)
            say(f"{number} of {len(owed)}: {folder}")
            with log.open("a") as stream:
                code = subprocess.run(
                    [sys.executable, "-m", "nlac_bench", *command], stdout=stream, stderr=stream, check=False,
                    # processes that each take all cores for themselves stand in each other's way
                    env={**os.environ, "OMP_NUM_THREADS": str(threads)},
                ).returncode  # fmt: skip
            if code:
                say(f"failed with exit code {code}: {folder}; see {log}")
            return code == 0

        with ThreadPoolExecutor(jobs) as pool:
            return (
                all(list(pool.map(one, range(1, len(owed) + 1), *zip(*owed, strict=True)))) if owed else True
            )

    return play_them


def _training(sweep: Sweep, cell: Cell, out: Path, lr: float | None) -> list[str]:
    folder = cell.folder(out)
    config = folder.with_suffix(".json")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps(sweep.settings(cell, lr), indent=1))
    return ["run", "--config", str(config), "--out", str(folder)]


def _measuring(
    sweep: Sweep, folder: Path, env: str, method: str, seed: int, model: Path | None = None
) -> list[str]:
    """A run without training: of a checkpoint, or of the model that training begins with."""
    config = folder.with_suffix(".json")
    config.parent.mkdir(parents=True, exist_ok=True)
    settings = {**sweep.run, "env": env, "agent": method, "seed": seed}
    if model is not None:
        settings["model"] = str(model)
    config.write_text(json.dumps(settings, indent=1))
    return ["eval", "--config", str(config), "--out", str(folder)]
