"""Simulates coverage, false alarms and power of comparisons; ``__main__.py`` prints the sections."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.simulations.coverage import Cell, covers
from benchmarks.simulations.task_models import beta_binomial, paired_differences
from nlac_bench.stats.intervals import Floats, paired_bounds
from nlac_bench.stats.power import minimum_detectable_difference
from nlac_bench.stats.significance import sign_flip_p
from nlac_bench.stats.verdicts import ALPHA

TASKS = (20, 50, 115, 134, 500)
TRIALS = (1, 2, 4, 8)
PAIRS = (
    (0.05, 0.05), (0.1, 0.1), (0.3, 0.3), (0.5, 0.5), (0.9, 0.9), (0.95, 0.95),
    (0.1, 0.05), (0.2, 0.1), (0.45, 0.3), (0.6, 0.5), (0.7, 0.5), (0.95, 0.8),
)  # fmt: skip
TASK_POPULATIONS = (
    (0.0, 0.0),
    (0.1, 0.8),
    (0.3, 0.0),
    (0.3, 0.8),
    (0.6, 0.0),
    (0.6, 0.8),
    (0.6, 1.0),
    (1.0, 0.8),
)
"""(ICC, share of tasks whose difficulty is the same for both sides)."""
_SLOW_SHARE = 5
"""Divisor of the number of draws where each sample needs an exact test of its own."""


def paired_report(draws: int) -> str:
    """The table of the coverage of the interval of a difference."""
    cells = list(_paired_cells(draws))
    lines = ["| difference of | mean | cells below 92 % | worst cell | highest |", "|---|---|---|---|---|"]
    groups = [("all", cells)]
    groups += [(f"{t} trials a side", [c for c in cells if c[0].trials == t]) for t in TRIALS]
    groups += [(f"{n} tasks", [c for c in cells if c[0].tasks == n]) for n in TASKS]
    for name, group in groups:
        values = np.array([cell.coverage for cell, _ in group])
        worst, what = min(group, key=lambda c: c[0].coverage)
        below = int((values < 0.92).sum())
        lines.append(
            f"| {name} | {values.mean():.1%} | {below} of {len(group)} | {worst.coverage:.1%} at "
            f"{worst.tasks} tasks, {worst.trials} trials, {what} | {values.max():.1%} |"
        )
    return "\n".join(lines)


def _paired_cells(draws: int) -> Iterator[tuple[Cell, str]]:
    rng = np.random.default_rng(1)
    for trials, (rate_a, rate_b), (icc, shared) in product(TRIALS, PAIRS, TASK_POPULATIONS):
        chances, truth = paired_differences(rate_a, rate_b, trials, icc, shared)
        for tasks in TASKS:
            low, high = _bounds(rng.multinomial(tasks, chances, draws).astype(float), tasks, trials)
            what = f"rates {rate_a:g} and {rate_b:g}, ICC {icc:g}, shared {shared:g}"
            yield Cell(tasks, rate_a, trials, icc, float(covers(low, truth, high).mean())), what


def verdict_report(draws: int) -> str:
    """The table of false alarms: how often equal runs are distinguished, which should be at most 5 %."""
    rng = np.random.default_rng(2)
    lines = ["| tasks | trials | mean | worst | where | test alone | interval alone |", "|---" * 7 + "|"]
    for tasks, trials in product((20, 50, 115, 134, 500), (1, 4)):
        found = []
        for rate, (icc, shared) in product(
            (0.05, 0.1, 0.3, 0.5, 0.9), TASK_POPULATIONS[:1] + TASK_POPULATIONS[3:7]
        ):
            chances, _ = paired_differences(rate, rate, trials, icc, shared)
            samples = rng.multinomial(tasks, chances, draws if trials == 1 else draws // _SLOW_SHARE)
            test, outside = rejections(samples.astype(float), tasks, trials)
            verdict = float((test & outside).mean())
            found.append(
                (verdict, f"rate {rate:g}, ICC {icc:g}, shared {shared:g}", test.mean(), outside.mean())
            )
        worst = max(found)
        lines.append(
            f"| {tasks} | {trials} | {np.mean([f[0] for f in found]):.1%} | {worst[0]:.1%} | {worst[1]} | "
            f"{max(f[2] for f in found):.1%} | {max(f[3] for f in found):.1%} |"
        )
    return "\n".join(lines)


def unlike_report(draws: int) -> str:
    """The table of false alarms for equal rates, if one side is random and the other deterministic.

    A solves every task with the same probability, B solves some tasks always and the others never. This is
    the hardest case for a test by task, because a sample may contain none of B's few large differences.
    """
    rng = np.random.default_rng(5)
    tasks = (20, 50, 115, 134)
    lines = ["| rate | trials | " + " | ".join(f"{n} tasks" for n in tasks) + " |", "|---" * 6 + "|"]
    for rate, trials in product((0.1, 0.3, 0.5), (4, 8)):
        joint = np.outer(beta_binomial(trials, rate, 0.0), beta_binomial(trials, rate, 1.0))
        chances = np.array([np.trace(joint, offset=-d) for d in range(-trials, trials + 1)])
        row = []
        for n in tasks:
            samples = rng.multinomial(n, chances / chances.sum(), draws // _SLOW_SHARE).astype(float)
            test, outside = rejections(samples, n, trials)
            row.append(f"{np.mean(test & outside):.1%}")
        lines.append(f"| {rate:g} | {trials} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def power_report(draws: int) -> str:
    """The table of minimum detectable differences, and of how often simulated comparisons found them."""
    rng = np.random.default_rng(3)
    header = ["rate of B", "ICC", "shared", "trials", *(f"{n} tasks" for n in (50, 115, 134))]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for (rate, icc, shared), trials in product(
        ((0.5, 0.5, 0.5), (0.3, 0.5, 0.5), (0.5, 0.0, 0.0)), (1, 4, 8)
    ):
        row = []
        for tasks in (50, 115, 134):
            # With different rates, equal ranks give a correlation of nearly, but not exactly, 1.
            least = minimum_detectable_difference(tasks, trials, rate=rate, icc=icc, correlation=shared)
            if least is None:
                row.append("none")
                continue
            chances, _ = paired_differences(rate + least, rate, trials, icc, shared)
            samples = rng.multinomial(tasks, chances, draws if trials == 1 else draws // _SLOW_SHARE)
            test, outside = rejections(samples.astype(float), tasks, trials)
            row.append(f"{least:.3f} (found {np.mean(test & outside):.0%})")
        lines.append(f"| {rate:g} | {icc:g} | {shared:g} | {trials} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _bounds(samples: Floats, tasks: int, trials: int) -> tuple[Floats, Floats]:
    values = np.arange(-trials, trials + 1) / trials
    nonzero = tasks - samples[:, trials]
    return paired_bounds(samples @ values, samples @ values**2, nonzero, tasks, single=trials == 1)


def rejections(samples: Floats, tasks: int, trials: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each sample, whether the test rejects and whether the interval excludes 0."""
    low, high = _bounds(samples, tasks, trials)
    p_values = np.array([_p_value(tuple(int(n) for n in sample)) for sample in samples])
    return p_values < ALPHA, (low > 0) | (high < 0)


@lru_cache(maxsize=200_000)
def _p_value(sample: tuple[int, ...]) -> float:
    trials = len(sample) // 2
    return sign_flip_p(np.repeat(np.arange(-trials, trials + 1) / trials, sample))
