"""What a sweep's finished runs hold, read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlac_bench.eval.compare import Measured
from nlac_bench.eval.curve import AXES, latest
from nlac_bench.eval.rundir import RunFolder
from nlac_bench.eval.sweep import Cell, Sweep, base_folder, done


@dataclass(frozen=True)
class Played:
    """A finished run: its test, and the training it comes from (that of a transferred one: on another
    environment)."""

    measured: Measured
    validations: tuple[dict[str, Any], ...]
    cost: dict[str, float]
    """By the names of ``AXES``: gradient steps, environment steps, generated tokens, training seconds."""

    def steps_to(self, success: float) -> int | None:
        """The gradient steps after which a validation first was at least ``success``; None: never."""
        reached = (v["gradient_steps_total"] for v in self.validations if v["success"] >= success)
        return next(reached, None)

    @property
    def best(self) -> float:
        """The highest validation success."""
        return max(float(v["success"]) for v in self.validations)

    @property
    def chosen_step(self) -> int:
        """The gradient steps of the tested checkpoint; 0: no validation was better than the first."""
        return int([v["gradient_steps_total"] for v in self.validations if v["best"]][-1])


@dataclass(frozen=True)
class Results:
    """Finished runs by environment, method and seed, and the untrained model's by environment and seed."""

    runs: Mapping[tuple[str, str], Mapping[int, Played]]
    bases: Mapping[str, Mapping[int, Measured]]

    @classmethod
    def read(cls, sweep: Sweep, out: Path) -> "Results":
        """What is finished of ``sweep`` in the folder ``out``."""
        runs: dict[tuple[str, str], dict[int, Played]] = {}
        for cell in sweep.cells():
            for env in (cell.env, *(to for to, source in sweep.transfer.items() if source == cell.env)):
                folder = cell.folder(out) if env == cell.env else cell.transferred(out, env)
                if done(cell.folder(out)) and done(folder):
                    runs.setdefault((env, cell.method), {})[cell.seed] = _played(cell, out, folder)
        bases = {}
        for env in (*sweep.seeds, *sweep.transfer):
            paths = {s: base_folder(out, env, s) for s in sweep.seeds[sweep.transfer.get(env, env)]}
            bases[env] = {s: Measured.read(path, path.name) for s, path in paths.items() if done(path)}
        return cls(runs, bases)

    def of(self, env: str, method: str) -> Mapping[int, Played]:
        """By seed; empty where nothing is finished."""
        return self.runs.get((env, method), {})


def _played(cell: Cell, out: Path, folder: Path) -> Played:
    rows = list(RunFolder.open(cell.folder(out)).metrics())
    last = latest(rows, "iteration")[-1]
    return Played(
        Measured.read(folder, f"{cell.method}-{cell.seed}"),
        tuple(latest(rows, "validation")),
        {label: float(last[key]) for key, label in AXES.items()},
    )
