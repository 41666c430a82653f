"""Computes how often a comparison finds the difference that an earlier one printed as detectable.

Two equal runs are compared, and the detectable difference is printed. Then two runs that differ by it are
compared on as many tasks. With single trials both steps are exact: the printed difference depends only on the
number of discordant tasks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import product

import numpy as np

from benchmarks.simulations.coverage_pairs import rejections
from benchmarks.simulations.task_models import beta_binomial, paired_differences
from nlac_bench.stats.exact_power import power
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.power import detectable_difference
from nlac_bench.stats.verdicts import ALPHA

TASKS = (20, 50, 120, 500)
DISCORDANCES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
RATES = (
    (0.05, 0.0, 0.0),
    (0.1, 0.3, 0.8),
    (0.3, 0.0, 0.0),
    (0.3, 0.6, 0.8),
    (0.5, 0.0, 0.0),
    (0.5, 1.0, 0.9),
)
"""(success rate, ICC, share of tasks whose difficulty is the same for both sides)."""
_SAMPLES = 250
"""Divisor of the number of draws: comparisons after each of ``draws`` / 100 samples of equal runs."""


class Population(Enum):
    """The discordance of runs that differ, given that of equal runs and the difference."""

    FEWEST = "only where the better run wins"
    INDEPENDENT = "the better run solves more of all the tasks that it failed"

    def discordance(self, without: float, difference: float) -> float:
        """Return the discordance of runs with ``difference``; without it they have ``without``."""
        if self is Population.FEWEST:
            return max(without, difference)
        # a symmetric pair with the lowest rate, ``without`` / 2: no task is solved by both
        failed = 1 - without / 2
        turned = difference * without / 2 / failed
        return min(1.0, max(difference, without + difference - 2 * turned))


@dataclass(frozen=True)
class Printed:
    """The power at the printed difference, its mean and its smallest value over samples of equal runs."""

    power: float
    mean: float
    smallest: float


def found_at_printed(
    tasks: int,
    discordance: float,
    population: Population,
    printed: Callable[[Floats], float | None] = lambda differences: detectable_difference(
        differences, single=True
    ),
) -> Printed:
    """Return the power at the difference that is ``printed`` after a comparison of equal runs.

    Samples of equal runs after which no difference is printed are left out.
    """
    results = []
    for discordant, chance in enumerate(beta_binomial(tasks, discordance, 0.0)):
        if chance < 1e-4:
            continue
        won = discordant // 2
        difference = printed(np.repeat([1.0, -1.0, 0.0], [won, discordant - won, tasks - discordant]))
        if difference is None:
            continue
        actual = population.discordance(discordance, difference)
        results.append((chance, power(tasks, actual, difference, ALPHA), difference))
    chances, powers, differences = np.array(results).T
    weights = chances / chances.sum()
    return Printed(float(weights @ powers), float(weights @ differences), float(differences.min()))


def detectable_report(draws: int) -> str:
    """The tables of the power at the printed difference, with single and with several trials."""
    lines = [
        "| discordance of equal runs | then discordant | " + " | ".join(f"{n} tasks" for n in TASKS) + " |",
        "|---" * (2 + len(TASKS)) + "|",
    ]
    for discordance, population in product(DISCORDANCES, Population):
        row = []
        for tasks in TASKS:
            found = found_at_printed(tasks, discordance, population)
            row.append(f"{found.mean:.3f} (found {found.power:.0%})")
        lines.append(f"| {discordance:g} | {population.value} | " + " | ".join(row) + " |")
    lines += ["", "| trials | rate | ICC | shared | " + " | ".join(f"{n} tasks" for n in TASKS[:3]) + " |"]
    lines.append("|---" * 7 + "|")
    rng = np.random.default_rng(12)
    for trials, (rate, icc, shared) in product((2, 8), RATES):
        row = [_several(rng, tasks, trials, rate, icc, shared, draws) for tasks in TASKS[:3]]
        lines.append(f"| {trials} | {rate:g} | {icc:g} | {shared:g} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _several(
    rng: np.random.Generator, tasks: int, trials: int, rate: float, icc: float, shared: float, draws: int
) -> str:
    equal, _ = paired_differences(rate, rate, trials, icc, shared)
    values = np.arange(-trials, trials + 1) / trials
    powers, differences = [], []
    for sample in rng.multinomial(tasks, equal, max(2, draws // 100)):
        least = detectable_difference(np.repeat(values, sample), single=False)
        if least is None or rate + least > 1:
            continue
        unequal, _ = paired_differences(rate + least, rate, trials, icc, shared)
        counts = rng.multinomial(tasks, unequal, max(2, draws // _SAMPLES)).astype(float)
        test, outside = rejections(counts, tasks, trials)
        powers.append((test & outside).mean())
        differences.append(least)
    return f"{np.mean(differences):.3f} (found {np.mean(powers):.0%})" if powers else "none"
