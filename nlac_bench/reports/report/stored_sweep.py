"""Reads ``comparison.json``, which a sweep writes; the sweep's run folders need not be there."""

from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.figures.curves import MethodCurves, Reference
from nlac_bench.reports.figures.forest import ForestRow, Kind
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.intervals import Floats, rate_interval
from nlac_bench.stats.pooled import interval_over_seeds
from nlac_bench.stats.seed_errors import approximate_note, is_approximate
from nlac_bench.training.curve import AXES, Tested, TrainedSeed
from nlac_bench.training.metrics_row import fault_of
from nlac_bench.training.untrained import BASE
from nlac_bench.untrusted import parse_json, read_untrusted

COMPARISON = "comparison.json"
_MAX_BYTES = 64 * 2**20
_MAX_VALUES = 500_000
"""pydantic keeps a description of every fault, with about a kilobyte for each value that is wrong."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class StoredDifference(_Stored):
    """A difference of two methods with its interval; ``mean`` is None if it could not be measured."""

    mean: float | None
    low: float | None
    high: float | None
    verdict: str
    why_not: str | None = None


class StoredRun(_Stored):
    """A run: success by task, and for training its validations."""

    success: dict[str, float | None]
    validations: list[dict[str, int | float]] = []

    @field_validator("validations")
    @classmethod
    def _check(cls, rows: list[dict[str, int | float]]) -> list[dict[str, int | float]]:
        for row in rows:
            if fault := fault_of(row, "compared"):
                raise ValueError(fault)
        return rows


class StoredBudget(_Stored):
    """The use of a budget, the mean over seeds."""

    kind: str
    planned: float
    spent: float
    overshoot: float


class StoredRow(_Stored):
    """A method on an environment."""

    env: str
    method: str
    success: float | None
    seeds: dict[str, float | None]
    floors: dict[str, float | None]
    episodes: dict[str, int] | None
    gain: StoredDifference
    versus: StoredDifference | None
    p_holm: float | None
    cost: dict[str, float]
    chosen_steps: dict[str, int]
    generated: dict[str, float] = Field({}, description="generated tokens by role, mean over seeds")
    budget: StoredBudget | None = None
    cost_notes: list[str] = Field([], description="sentences on unequal costs with the reference method")
    status: dict[str, dict[str, object]] = Field({}, description="state and reason of each seed")

    @property
    def finished(self) -> int:
        """Number of seeds with a result."""
        return sum(success is not None for success in self.seeds.values())

    @property
    def title(self) -> str:
        """The method's name and, where seeds are missing, how many there are."""
        if self.finished == len(self.seeds):
            return self.method
        return f"{self.method} ({self.finished} of {len(self.seeds)} seeds)"

    @property
    def note(self) -> str:
        """How many seeds there are, where some are missing or the interval is only approximate."""
        if is_approximate(self.finished):
            return f"({approximate_note(self.finished)})"
        return self.title.removeprefix(self.method).strip()


class StoredSweep(_Stored):
    """A sweep's comparison."""

    against: str
    rows: list[StoredRow]
    runs: dict[str, dict[str, StoredRun]]

    @classmethod
    def read(cls, folder: Path) -> "StoredSweep":
        """Read the comparison in ``folder``.

        Raises:
            RunFolderError: the file cannot be read, or is not such a comparison.
        """
        path = folder / COMPARISON
        try:
            data = read_untrusted(path, _MAX_BYTES)
            parse_json(data, values=_MAX_VALUES)
            return cls.model_validate_json(data)
        except OSError as error:
            raise RunFolderError(f"{path} cannot be read ({error.strerror})") from None
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            raise RunFolderError(
                f"{path} is damaged ({where}: {fault['msg']}); write it with `nlac-bench sweep FILE.toml"
                f" --out {folder} --report-only`"
            ) from None
        except ValueError as error:
            raise RunFolderError(f"{path} is damaged ({error}); write it again") from None

    def envs(self) -> list[str]:
        """Return the environments in their order."""
        return list(dict.fromkeys(row.env for row in self.rows))

    def rows_on(self, env: str) -> list[StoredRow]:
        """Return the methods on ``env``, by descending success."""
        return [row for row in self.rows if row.env == env]

    def runs_of(self, env: str, method: str) -> dict[str, StoredRun]:
        """Return the runs of ``method`` (or ``BASE``) by seed."""
        results = {}
        for name, run in self.runs.get(env, {}).items():
            before, _, seed = name.rpartition("-")
            if before == method:
                results[seed] = run
        return results

    def forest_row(self, env: str, method: str, kind: Kind, note: str = "") -> ForestRow:
        """Return the success over tasks and seeds of ``method``, its interval and the mean of each seed.

        The interval of a trained method covers further training seeds too if it has at least two.
        """
        runs = self.runs_of(env, method)
        tasks = list(dict.fromkeys(task for run in runs.values() for task in run.success))
        means = means_over(list(runs.values()), tasks)
        means = means[~np.isnan(means)]
        trials = next(
            (r.episodes["planned"] for r in self.rows_on(env) if r.method == method and r.episodes), 0
        )
        interval = rate_interval(means, max(len(runs), trials / max(1, len(tasks))))
        if kind == "trained" and len(runs) > 1:
            interval = interval_over_seeds(np.array([means_over([run], tasks) for run in runs.values()]))
        seeds = [np.array([s for s in run.success.values() if s is not None]) for run in runs.values()]
        estimate = Estimate.with_interval(float(means.mean()) if len(means) else None, interval)
        each = tuple(float(s.mean()) for s in seeds if len(s)) if len(runs) > 1 else ()
        return ForestRow("untrained model" if method == BASE else method, kind, estimate, each, note)

    def methods(self, env: str) -> list[MethodCurves]:
        """Return the learning curves of the methods on ``env``, with the tests of their checkpoints."""
        results = []
        for row in self.rows_on(env):
            seeds = []
            for seed, run in self.runs_of(env, row.method).items():
                seeds.append(TrainedSeed(seed, run.validations, _tested(row, seed, run)))
            results.append(MethodCurves(row.method, row.title, seeds))
        return results

    def references(self, env: str) -> list[Reference]:
        """Return the floors and the untrained model on ``env``."""
        values = dict(self.rows_on(env)[0].floors)
        values["untrained (test)"] = self.forest_row(env, BASE, "base").estimate.value
        return [Reference(name.removeprefix("floor-"), v) for name, v in values.items() if v is not None]


def means_over(runs: list[StoredRun], tasks: list[str]) -> Floats:
    """Return the mean over ``runs`` for each of ``tasks`` ``[tasks]``, NaN without a score."""
    scores = [[s for run in runs if (s := run.success.get(task)) is not None] for task in tasks]
    return np.array([np.mean(each) if each else np.nan for each in scores])


def _tested(row: StoredRow, seed: str, run: StoredRun) -> Tested | None:
    """Return the test of a seed at the cost of its checkpoint; None if that is not stored."""
    step = row.chosen_steps.get(seed)
    at = [each for each in run.validations if each.get("gradient_steps_total") == step]
    means = np.array([s for s in run.success.values() if s is not None])
    interval = rate_interval(means, 1)
    if not at or interval is None:
        return None
    return Tested({key: at[0][key] for key in AXES}, float(means.mean()), interval.low, interval.high)
