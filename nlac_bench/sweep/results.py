"""Reads the finished runs of a sweep, and the reasons why others did not finish."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.stats.pairing import MeasuredRun, NotComparableError, check_seeds
from nlac_bench.sweep.plan import ALWAYS_A_FLOOR, FLOORS, Cell, Sweep, base_folder, floor_folder
from nlac_bench.sweep.status import CellCount, Status, cell_status, one_line, status_of, transfer_status
from nlac_bench.training.costs import RunCost
from nlac_bench.training.curve import AXES, rows_of, success_of_planned
from nlac_bench.training.untrained import BASE

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True)
class Played:
    """A finished run: its test episodes and its training. A transferred run's training is that on the other
    environment."""

    measured: MeasuredRun
    validations: tuple[dict[str, Any], ...]
    cost: dict[str, float]
    """Cost by the names of ``AXES``: gradient steps, environment steps, generated tokens, seconds."""
    spent: RunCost
    """The same with the tokens by role and the use of the budget."""

    def steps_to(self, success: float) -> int | None:
        """Return the gradient steps at the first validation with at least ``success``, or None."""
        rising = [v for v in self.validations if v["best"]]
        reached = (v["gradient_steps_total"] for v in rising if success_of_planned(v) >= success)
        return next(reached, None)

    @property
    def chosen(self) -> dict[str, Any]:
        """The validation of the tested checkpoint."""
        return [v for v in self.validations if v["best"]][-1]

    @property
    def best(self) -> float:
        """The validation success of the tested checkpoint."""
        return success_of_planned(self.chosen)

    @property
    def last_change(self) -> float | None:
        """The success of the last validation minus that of the one before; None with fewer than two."""
        if len(self.validations) < 2:
            return None
        return success_of_planned(self.validations[-1]) - success_of_planned(self.validations[-2])

    @property
    def chosen_step(self) -> int:
        """The gradient steps of the tested checkpoint; 0 if no validation was better than the first."""
        return int(self.chosen["gradient_steps_total"])


@dataclass(frozen=True)
class Results:
    """The planned runs of a sweep.

    ``runs`` has the finished runs by (environment, method) and seed, ``bases`` (the untrained model) by
    environment and seed, ``floors`` (policies without a model) by environment and name. ``statuses`` has
    every planned run of a method or of the untrained model (``BASE``) by (environment, method) and seed.
    ``floor_statuses`` has the floors that every environment has or that were started, by environment and
    name.
    """

    runs: Mapping[tuple[str, str], Mapping[int, Played]]
    bases: Mapping[str, Mapping[int, MeasuredRun]]
    floors: Mapping[str, Mapping[str, MeasuredRun]] = field(default_factory=dict)
    statuses: Mapping[tuple[str, str], Mapping[int, Status]] = field(default_factory=dict)
    floor_statuses: Mapping[str, Mapping[str, Status]] = field(default_factory=dict)

    @classmethod
    def read(cls, sweep: Sweep, out: Path) -> "Results":
        """Read the runs of ``sweep`` in the folder ``out``. A run that cannot be read counts as failed."""
        runs: dict[tuple[str, str], dict[int, Played]] = {}
        statuses: dict[tuple[str, str], dict[int, Status]] = {}
        for cell in sweep.cells():
            for env in (cell.env, *(to for to, source in sweep.transfer.items() if source == cell.env)):
                if env == cell.env:
                    folder, status = cell.folder(out), cell_status(sweep, cell, out)
                else:
                    folder, status = cell.transferred(out, env), transfer_status(sweep, cell, out, env)
                run, status = _read(status, partial(_played, cell, out, folder))
                if run is not None:
                    run, status = _once(run, runs.get((env, cell.method), {}).values(), status)
                statuses.setdefault((env, cell.method), {})[cell.seed] = status
                if run is not None:
                    runs.setdefault((env, cell.method), {})[cell.seed] = run
        bases, floors, floor_statuses = {}, {}, {}
        for env, seeds in sweep.seeds_by_env().items():
            bases[env], statuses[env, BASE] = _read_all({seed: base_folder(out, env, seed) for seed in seeds})
            floors[env], result = _read_all({name: floor_folder(out, env, name) for name in FLOORS})
            floor_statuses[env] = {
                name: status
                for name, status in result.items()
                if name == ALWAYS_A_FLOOR or status.state != "not started"
            }
        return cls(runs, bases, floors, statuses, floor_statuses)

    def by_seed(self, env: str, method: str) -> Mapping[int, Played]:
        """Return the finished runs by seed."""
        return self.runs.get((env, method), {})

    def measured(self, env: str, method: str) -> dict[int, MeasuredRun]:
        """Return the conditions and test outcomes of the finished runs by seed."""
        return {seed: run.measured for seed, run in self.by_seed(env, method).items()}

    def count(self, env: str, method: str) -> CellCount:
        """Return how many planned seeds of ``method`` (or ``BASE``) finished, and what happened to the
        others."""
        return CellCount.count_of(method, env, self.statuses.get((env, method), {}))


def _once(run: Played, others: Iterable[Played], status: Status) -> tuple[Played | None, Status]:
    """Return ``run`` and its status; None if it is a copy of one of ``others``, which are its other seeds."""
    for other in others:
        try:
            check_seeds([other.measured, run.measured])
        except NotComparableError as error:
            return None, Status("failed", one_line(str(error)))
    return run, status


def _read_all(folders: Mapping[K, Path]) -> tuple[dict[K, MeasuredRun], dict[K, Status]]:
    results = {
        key: _read(status_of(path), partial(MeasuredRun.read, path, path.name))
        for key, path in folders.items()
    }
    runs = {key: run for key, (run, _) in results.items() if run is not None}
    return runs, {key: status for key, (_, status) in results.items()}


def _read(status: Status, reader: Callable[[], T]) -> tuple[T | None, Status]:
    """Return the result of ``reader`` if the run is finished, else None; and the run's status."""
    if not status.finished:
        return None, status
    try:
        return reader(), status
    except RunFolderError as error:
        return None, Status("failed", one_line(str(error)))


def _played(cell: Cell, out: Path, folder: Path) -> Played:
    """Read a finished run.

    Raises:
        RunFolderError: the folder is damaged.
    """
    path = cell.folder(out)
    try:
        training = RunFolder.open(path)
        iterations = rows_of(training, "iteration")
        last = iterations[-1]
        cost = {label: float(last[key]) for key, label in AXES.items()}
        run = Played(
            MeasuredRun.read(folder, f"{cell.method}-{cell.seed}"),
            tuple(rows_of(training, "validation")),
            cost,
            RunCost.trained(training, iterations),
        )
        _ = run.chosen
    except (LookupError, TypeError, ValueError) as error:
        raise RunFolderError(f"{path / 'metrics.jsonl'} is damaged ({error!r})") from error
    return run
