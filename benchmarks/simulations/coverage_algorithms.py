"""Simulates the coverage of the interval of the difference between two algorithms, over seeds and tasks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from benchmarks.simulations.task_models import beta_tasks
from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.pooled import algorithm_interval
from nlac_bench.stats.seed_errors import RESAMPLED, algorithm_error, hierarchical_error

RATES = ((0.0, 0.0), (0.0, 0.02), (0.0, 0.05), (0.0, 0.1), (0.05, 0.1), (0.9, 1.0), (1.0, 1.0), (0.05, 0.95))
"""True success rates of both algorithms for a seed without luck, at and near 0 and 1."""
FEW_SEEDS = (2, 3)
FEW_TASKS = (5, 20, 50)
TRIALS = (1, 4)
TASK_POPULATIONS = ((0.0, 0.0), (0.3, 1.0), (1.0, 0.0))
"""(ICC, share of tasks with the same rank of difficulty for both algorithms); at an ICC of 1 all seeds of an
algorithm end every task alike."""
SPREADS = (0.0, 0.6)
"""Standard deviations between seeds, on the logit scale."""
SPREADS_OF_ONE = (0.0, 0.2, 0.6)
_RESAMPLES = 500
_FEW_RESAMPLES = 250


@dataclass(frozen=True)
class Boundary:
    """A cell near the bounds of the rates; the coverage of both intervals and the share without a width."""

    seeds: int
    tasks: int
    trials: int
    rates: tuple[float, float]
    icc: float
    shared: float
    spread: float
    used: float
    resampled: float
    widthless: float

    def __str__(self) -> str:
        a, b = self.rates
        return (
            f"{self.tasks} tasks, {self.seeds} seeds, {self.trials} trials, rates {a:g} and {b:g}, "
            f"ICC {self.icc:g}, shared {self.shared:g}, spread {self.spread:g}"
        )


def algorithms_report(draws: int) -> str:
    """The table of the coverage of the interval of the difference between two equal algorithms."""
    rng = np.random.default_rng(4)
    lines = ["| seeds a side | tasks | trials | spread of seeds | coverage | half width |", "|---" * 6 + "|"]
    for seeds, (tasks, trials), spread in product((2, 3, 5, 10), ((50, 1), (134, 4)), (0.0, 0.2, 0.6)):
        covered, width, repeats = 0, 0.0, max(1, draws // 10)
        for _ in range(repeats):
            difficulty = rng.normal(0, 1.5, tasks)
            sides = [_algorithm(rng, seeds, difficulty, trials, spread) for _ in range(2)]
            error, df, _ = algorithm_error(sides[0], sides[1], rng, _RESAMPLES)
            half = t_quantile(0.975, df) * error
            covered += abs(sides[0].mean() - sides[1].mean()) <= half
            width += half
        lines.append(
            f"| {seeds} | {tasks} | {trials} | {spread:g} | {covered / repeats:.1%} | {width / repeats:.3f} |"
        )
    return "\n".join(lines)


def one_algorithm_report(draws: int) -> str:
    """The table of the coverage of the interval of one algorithm's success rate, over seeds and tasks."""
    rng = np.random.default_rng(11)
    lines = [
        "| seeds | tasks | trials | mean rate | spread of seeds | coverage | half width |",
        "|---" * 7 + "|",
    ]
    for seeds, (tasks, trials), centre, spread in product(
        (2, 3, 5), ((120, 1), (50, 4)), (0.0, 1.5), SPREADS_OF_ONE
    ):
        deviation = math.sqrt(1.5**2 + 0.5**2 + 0.5**2 + spread**2)  # of the parts that ``_algorithm`` adds
        truth = _mean_rate(np.array([1 / (1 + math.exp(-centre))]), deviation)
        repeats = max(1, draws // 2)
        low, high = np.array(
            [
                (found.low, found.high)
                for _ in range(repeats)
                for found in [
                    algorithm_interval(_algorithm(rng, seeds, rng.normal(centre, 1.5, tasks), trials, spread))
                ]
            ]
        ).T
        covered = ((low <= truth) & (truth <= high)).mean()
        lines.append(
            f"| {seeds} | {tasks} | {trials} | {truth:.2f} | {spread:g} | {covered:.1%} "
            f"| {(high - low).mean() / 2:.3f} |"
        )
    return "\n".join(lines)


def boundary_report(draws: int) -> str:
    """The table of the coverage near the bounds, where the runs may all end alike, for unequal algorithms."""
    cells = list(_boundary_cells(draws))
    lines = [
        "| | mean | cells below 92 % | worst cell | resampled interval: mean | worst | without a width |",
        "|---" * 7 + "|",
    ]
    for spread in SPREADS:
        some = [c for c in cells if c.spread == spread]
        groups = [(f"**spread of seeds {spread:g}**", some)]
        groups += [(f"{n} seeds a side", [c for c in some if c.seeds == n]) for n in FEW_SEEDS]
        groups += [(f"{n} tasks", [c for c in some if c.tasks == n]) for n in FEW_TASKS]
        groups += [(f"rates {a:g} and {b:g}", [c for c in some if c.rates == (a, b)]) for a, b in RATES]
        lines += [_describe(name, group) for name, group in groups]
    return "\n".join(lines)


def _describe(name: str, cells: Sequence[Boundary]) -> str:
    worst = min(cells, key=lambda c: c.used)
    below = sum(c.used < 0.92 for c in cells)
    return (
        f"| {name} | {np.mean([c.used for c in cells]):.1%} | {below} of {len(cells)} "
        f"| {worst.used:.1%} at {worst} | {np.mean([c.resampled for c in cells]):.1%} "
        f"| {min(c.resampled for c in cells):.1%} | {np.mean([c.widthless for c in cells]):.1%} |"
    )


def _boundary_cells(draws: int) -> Iterator[Boundary]:
    rng = np.random.default_rng(6)
    repeats = max(1, draws // 10)
    for rates, (icc, shared), spread in product(RATES, TASK_POPULATIONS, SPREADS):
        populations = [beta_tasks(rate, icc) for rate in rates]
        truth = _mean_rate(populations[0], spread) - _mean_rate(populations[1], spread)
        for seeds, tasks, trials in product(FEW_SEEDS, FEW_TASKS, TRIALS):
            used = resampled = widthless = 0
            for _ in range(repeats):
                a, b = _near_bounds(rng, populations, shared, seeds, tasks, trials, spread)
                missed = abs(float(a.mean() - b.mean()) - truth) - 1e-12
                half, alone = _half_widths(a.tobytes(), b.tobytes(), seeds)
                used += missed <= half
                resampled += missed <= alone
                widthless += alone < 1e-9
            counts = (count / repeats for count in (used, resampled, widthless))
            yield Boundary(seeds, tasks, trials, rates, icc, shared, spread, *counts)


def _near_bounds(
    rng: np.random.Generator,
    populations: list[Floats],
    shared: float,
    seeds: int,
    tasks: int,
    trials: int,
    spread: float,
) -> list[Floats]:
    """Success rates ``[seeds, tasks]`` of both algorithms; tasks are drawn from ``populations`` ``[types]``.

    The tasks are sorted by result, because their order does not matter and equal samples are then found in
    the cache of ``_half_widths``.
    """
    ranks = rng.integers(0, len(populations[0]), (2, tasks))
    ranks[1] = np.where(rng.random(tasks) < shared, ranks[0], ranks[1])
    found = [
        rng.binomial(trials, _shifted(population[rank], rng.normal(0, spread, seeds)[:, None])) / trials
        for population, rank in zip(populations, ranks, strict=True)
    ]
    order = np.lexsort(np.concatenate(found))
    return [np.ascontiguousarray(side[:, order]) for side in found]


@lru_cache(maxsize=100_000)
def _half_widths(a: bytes, b: bytes, seeds: int) -> tuple[float, float]:
    """Half widths of the interval that is used and of the resampled one, of one sample."""
    sides = [np.frombuffer(side).reshape(seeds, -1) for side in (a, b)]
    error, df, method = algorithm_error(sides[0], sides[1], np.random.default_rng(0), _FEW_RESAMPLES)
    used = t_quantile(0.975, df) * error
    if method == RESAMPLED:
        return used, used
    error, df = hierarchical_error(sides[0], sides[1], np.random.default_rng(0), _FEW_RESAMPLES)
    return used, t_quantile(0.975, df) * error


def _shifted(rates: Floats, luck: Floats) -> Floats:
    """``rates`` moved by ``luck`` on the logit scale; 0 and 1 stay what they are."""
    return rates / (rates + (1 - rates) * np.exp(-luck))


def _mean_rate(population: Floats, spread: float) -> float:
    """The mean of ``_shifted`` over tasks and normal luck, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    return float((weights / weights.sum()) @ _shifted(population, spread * nodes[:, None]).mean(axis=1))


def _algorithm(
    rng: np.random.Generator, seeds: int, difficulty: Floats, trials: int, spread: float
) -> Floats:
    """``[seeds, tasks]`` success rates of one algorithm, on the logit scale: tasks + seeds + interactions."""
    likes = rng.normal(0, 0.5, len(difficulty))  # some tasks suit this algorithm better
    luck = rng.normal(0, spread, seeds)[:, None] + rng.normal(0, 0.5, (seeds, len(difficulty)))
    rates = 1 / (1 + np.exp(-(difficulty + likes + luck)))
    return rng.binomial(trials, rates) / trials
