"""Simulates the coverage of the intervals of a single run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulations.task_models import beta_binomial, beta_moment
from nlac_bench.stats.distributions import Z95, t_quantile
from nlac_bench.stats.intervals import Floats, clustered_bounds

TASKS = (20, 50, 115, 134, 500)
RATES = (0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
TRIALS = (1, 2, 4, 8)
ICCS = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)
DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the grid, and the share of samples whose interval contains the true value."""

    tasks: int
    rate: float
    trials: int
    icc: float
    coverage: float

    def __str__(self) -> str:
        return (
            f"{self.coverage:.1%} at {self.tasks} tasks, rate {self.rate:g}, {self.trials} trials, "
            f"ICC {self.icc:g}"
        )


Bounds = Callable[[Floats, Floats, int, int], tuple[Floats, Floats]]
"""(means, variances, tasks, trials) → lower and upper bounds, one per sample."""


def success_cells(bounds: Bounds, draws: int, seed: int = 0) -> Iterator[Cell]:
    """Coverage of the interval of a success rate over the grid.

    A sample is drawn as the numbers of tasks with 0, 1 … successes. With one trial per task there are only
    ``tasks`` + 1 different samples, so the coverage of these cells is computed exactly.
    """
    rng = np.random.default_rng(seed)
    for tasks, rate, trials in product(TASKS, RATES, TRIALS):
        for icc in ICCS if trials > 1 else ICCS[:1]:
            chances = beta_binomial(trials, rate, icc)
            if trials == 1:
                successes = np.arange(tasks + 1)
                samples = np.stack([tasks - successes, successes], axis=1).astype(float)
                weights = beta_binomial(tasks, rate, 0)
            else:
                samples = rng.multinomial(tasks, chances, draws).astype(float)
                weights = np.full(draws, 1 / draws)
            means, variances = moments(samples, np.arange(trials + 1) / trials, tasks)
            low, high = bounds(means, variances, tasks, trials)
            yield Cell(tasks, rate, trials, icc, float(weights[covers(low, rate, high)].sum()))


def pass_k_cells(draws: int, seed: int = 0) -> Iterator[tuple[int, float, Cell]]:
    """Coverage of the interval of pass^k over the same grid: (k, true pass^k, cell)."""
    rng = np.random.default_rng(seed)
    for trials, k in ((4, 2), (4, 3), (4, 4), (8, 2), (8, 4), (8, 8)):
        values = np.array([comb(c, k) / comb(trials, k) for c in range(trials + 1)])
        for tasks, rate, icc in product(TASKS, RATES, ICCS):
            samples = rng.multinomial(tasks, beta_binomial(trials, rate, icc), draws).astype(float)
            means, variances = moments(samples, values, tasks)
            low, high = clustered_bounds(means, variances, tasks, 1 if k == trials else float("inf"))
            truth = beta_moment(rate, icc, k)
            yield k, truth, Cell(tasks, rate, trials, icc, float(covers(low, truth, high).mean()))


def t_bounds(mean: Floats, variance: Floats, tasks: int, trials: int) -> tuple[Floats, Floats]:
    """Student's t interval, which is not used for rates; the tables show the reason."""
    half = t_quantile(0.975, tasks - 1) * np.sqrt(variance / (tasks - 1))
    return mean - half, mean + half


def normal_bounds(mean: Floats, variance: Floats, tasks: int, trials: int) -> tuple[Floats, Floats]:
    """The normal interval with the population variance, which is not used either."""
    half = Z95 * np.sqrt(variance / tasks)
    return mean - half, mean + half


def moments(samples: Floats, values: Floats, tasks: int) -> tuple[Floats, Floats]:
    """Mean and variance (divisor ``tasks``) of task values, from ``[draws, values]`` counts of each value."""
    means = samples @ values / tasks
    return means, np.maximum(samples @ values**2 / tasks - means**2, 0.0)


def covers(low: Floats, truth: float, high: Floats) -> NDArray[np.bool_]:
    """Whether each closed interval contains the true value."""
    return (low <= truth + 1e-12) & (truth - 1e-12 <= high)


def describe(name: str, cells: Sequence[Cell]) -> str:
    """A table row: mean, number of cells below 92 %, worst cell and highest coverage."""
    values = np.array([cell.coverage for cell in cells])
    worst = min(cells, key=lambda cell: cell.coverage)
    below = int((values < 0.92).sum())
    return f"| {name} | {values.mean():.1%} | {below} of {len(cells)} | {worst} | {values.max():.1%} |"


HEADER = "| interval | mean | cells below 92 % | worst cell | highest |\n|---|---|---|---|---|"


def success_report(draws: int) -> str:
    """The tables about success rates."""
    cells = list(success_cells(clustered_bounds, draws))
    lines = [HEADER, describe("**as used**", cells)]
    lines += [describe(f"as used, {t} trials", [c for c in cells if c.trials == t]) for t in TRIALS]
    several = [c for c in cells if c.trials > 1]
    lines += [
        describe(f"as used, several trials, ICC {icc:g}", [c for c in several if c.icc == icc])
        for icc in ICCS
    ]
    lines.append(describe("Student's t on task means", list(success_cells(t_bounds, draws))))
    lines.append(describe("normal on task means", list(success_cells(normal_bounds, draws))))
    lines += ["", "| tasks | rate | " + " | ".join(f"{t} trials" for t in TRIALS) + " |", "|---" * 6 + "|"]
    for tasks, rate in product(TASKS, RATES):
        row = []
        for trials in TRIALS:
            some = [c.coverage for c in cells if (c.tasks, c.rate, c.trials) == (tasks, rate, trials)]
            row.append(f"{some[0]:.1%}" if trials == 1 else f"{np.mean(some):.1%} ({min(some):.1%})")
        lines.append(f"| {tasks} | {rate:g} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def pass_k_report(draws: int) -> str:
    """The table about pass^k."""
    cells = list(pass_k_cells(draws))
    lines = [HEADER, describe("all", [cell for _, _, cell in cells])]
    lines.append(describe("true pass^k of .05 or more", [cell for _, truth, cell in cells if truth >= 0.05]))
    lines.append(describe("true pass^k below .05", [cell for _, truth, cell in cells if truth < 0.05]))
    for trials, k in dict.fromkeys((cell.trials, k) for k, _, cell in cells):
        some = [cell for j, _, cell in cells if (cell.trials, j) == (trials, k)]
        lines.append(describe(f"pass^{k} of {trials} trials", some))
    return "\n".join(lines)
