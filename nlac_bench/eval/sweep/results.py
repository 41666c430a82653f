"""Reads the finished runs of a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.statistics.compare import Measured
from nlac_bench.eval.sweep.plan import FLOORS, Cell, Sweep, base_folder, done, floor_folder
from nlac_bench.eval.training.curve import AXES, latest

K = TypeVar("K")


@dataclass(frozen=True)
class Played:
    """A finished run: its test episodes and its training. A transferred run's training is that on the other
    environment."""

    measured: Measured
    validations: tuple[dict[str, Any], ...]
    cost: dict[str, float]
    """By the names of ``AXES``: gradient steps, environment steps, generated tokens and training seconds."""

    def steps_to(self, success: float) -> int | None:
        """The gradient steps at the first validation with at least ``success``, or None."""
        reached = (v["gradient_steps_total"] for v in self.validations if v["success"] >= success)
        return next(reached, None)

    @property
    def best(self) -> float:
        """The highest validation success."""
        return max(float(v["success"]) for v in self.validations)

    @property
    def chosen_step(self) -> int:
        """The gradient steps of the tested checkpoint; 0 if no validation was better than the first."""
        return int([v["gradient_steps_total"] for v in self.validations if v["best"]][-1])


@dataclass(frozen=True)
class Results:
    """The finished runs of a sweep: ``runs`` by (environment, method) and seed, ``bases`` (the untrained
    model) by environment and seed, ``floors`` (policies without a model) by environment and name."""

    runs: Mapping[tuple[str, str], Mapping[int, Played]]
    bases: Mapping[str, Mapping[int, Measured]]
    floors: Mapping[str, Mapping[str, Measured]] = field(default_factory=dict)

    @classmethod
    def read(cls, sweep: Sweep, out: Path) -> "Results":
        """Read the finished runs of ``sweep`` in the folder ``out``."""
        runs: dict[tuple[str, str], dict[int, Played]] = {}
        for cell in sweep.cells():
            for env in (cell.env, *(to for to, source in sweep.transfer.items() if source == cell.env)):
                folder = cell.folder(out) if env == cell.env else cell.transferred(out, env)
                if done(cell.folder(out)) and done(folder):
                    runs.setdefault((env, cell.method), {})[cell.seed] = _played(cell, out, folder)
        bases, floors = {}, {}
        for env, seeds in sweep.seeds_by_env().items():
            bases[env] = _finished({seed: base_folder(out, env, seed) for seed in seeds})
            floors[env] = _finished({name: floor_folder(out, env, name) for name in FLOORS})
        return cls(runs, bases, floors)

    def of(self, env: str, method: str) -> Mapping[int, Played]:
        """The finished runs by seed."""
        return self.runs.get((env, method), {})

    def measured(self, env: str, method: str) -> dict[int, Measured]:
        """The conditions and test outcomes of the finished runs by seed."""
        return {seed: run.measured for seed, run in self.of(env, method).items()}


def _finished(paths: Mapping[K, Path]) -> dict[K, Measured]:
    return {key: Measured.read(path, path.name) for key, path in paths.items() if done(path)}


def _played(cell: Cell, out: Path, folder: Path) -> Played:
    rows = list(RunFolder.open(cell.folder(out)).metrics())
    last = latest(rows, "iteration")[-1]
    return Played(
        Measured.read(folder, f"{cell.method}-{cell.seed}"),
        tuple(latest(rows, "validation")),
        {label: float(last[key]) for key, label in AXES.items()},
    )
