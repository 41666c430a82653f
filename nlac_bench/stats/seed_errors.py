"""Estimates the error of the difference of two algorithms from runs with several training seeds each.

Comparing one run of each algorithm shows which *model* is better. A statement about algorithms must also hold
for new seeds and new tasks, so both are resampled: a bootstrap over seeds (separately for each algorithm) and
tasks (the same for all runs). Where the runs hardly differ, the paired interval of the tasks is wider and is
used instead (``algorithm_error``).

If each run played a world of its environment, runs of the same world are paired, and worlds are resampled for
both algorithms together (``world_error``).
"""

import math
from collections.abc import Sequence

import numpy as np

from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import Floats, paired_moments, paired_sums

RESAMPLES = 4_000

FEWEST_SEEDS = 3
"""Number of seeds from which intervals over seeds are honest: with two, none here covers 95 %."""

_BLOCK = 500


RESAMPLED = "bootstrap over seeds and tasks, t"
"""Name of the interval of ``hierarchical_error``."""


RESAMPLED_WORLDS = "bootstrap over worlds and tasks, t"
"""Name of the interval of ``world_error``."""


def is_approximate(seeds: int) -> bool:
    """Return whether an interval over so many seeds is only approximate."""
    return 1 < seeds < FEWEST_SEEDS


def approximate_note(seeds: int) -> str:
    """Return the note for a row with so few seeds that its interval is only approximate."""
    return f"{seeds} seeds: interval is approximate"


def algorithm_error(
    means_a: Floats,
    means_b: Floats,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    *,
    paired: bool = False,
) -> tuple[float, float, str]:
    """Return the standard error of the difference of two algorithms' success rates.

    Also return its degrees of freedom and its method.

    Of two standard errors, the one with the wider interval is used:

    - ``hierarchical_error``, the bootstrap over seeds and tasks, or ``world_error`` for ``paired`` seeds;
    - the error of a single paired comparison (``paired_moments``, clustered by task), in which the seeds of a
      side are the trials of a task. It says how well the tasks determine the difference between *these* runs.

    The difference between two algorithms is less certain than the difference between their runs, because
    further seeds may differ too. An interval for algorithms that is narrower than the one for the runs is
    therefore wrong. The bootstrap can become so narrow, because it reflects only the spread in the sample:
    two seeds a side with equal results have an error of 0, although at a success rate of .05 and 20 tasks a
    third of all samples are all zeros. The paired interval (Bonett and Price 2012) adds a pseudo-task for
    each side, so it has a width without any observed spread.

    Args:
        means_a, means_b: ``[seeds, tasks]`` success rates of the same tasks.
        rng: draws the resamples.
        resamples: number of resamples.
        paired: whether the seeds of both sides are the same worlds, in the same order.
    """
    tasks = means_a.shape[1]
    sums = paired_sums(means_a.mean(axis=0) - means_b.mean(axis=0))
    by_task = float(paired_moments(*sums, tasks, single=False)[1])
    error, df, method = resampled_error(means_a, means_b, rng, resamples, paired)
    if t_quantile(0.975, df) * error > t_quantile(0.975, tasks - 1) * by_task:
        return error, df, method
    return by_task, tasks - 1, "Bonett-Price over the mean of seeds, clustered by task"


def resampled_error(
    means_a: Floats, means_b: Floats, rng: np.random.Generator, resamples: int, paired: bool
) -> tuple[float, float, str]:
    """Return the error by resampling, its degrees of freedom and its method."""
    if paired:
        return *world_error(means_a - means_b, rng, resamples), RESAMPLED_WORLDS
    return *hierarchical_error(means_a, means_b, rng, resamples), RESAMPLED


def hierarchical_error(
    means_a: Floats, means_b: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the standard error of the difference of two algorithms' means, and its degrees of freedom.

    Seeds and tasks are drawn with replacement, S − 1 of S seeds and n − 1 of n tasks (Rao and Wu 1988:
    drawing all S would underestimate the variance between three seeds by a third). Drawing along both axes
    counts the noise in each cell of the table three times (Owen 2007), so twice its estimate is subtracted,
    but the result is at least the variance from seeds alone and from tasks alone. The degrees of freedom are
    Satterthwaite's, from the variance between seeds on each side and between tasks.

    Args:
        means_a, means_b: ``[seeds, tasks]`` of the same tasks.
        rng: draws the resamples.
        resamples: number of resamples.
    """
    return _two_way_error([(means_a, 1.0), (means_b, -1.0)], rng, resamples)


def world_error(
    differences_WT: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the standard error of the mean difference of two algorithms, and its degrees of freedom.

    Both algorithms have a run in each world, so the effect of a world on both cancels. Worlds and
    tasks are drawn with replacement as seeds and tasks are in ``hierarchical_error``, each world for both
    algorithms together.

    Args:
        differences_WT: ``[worlds, tasks]`` of A minus B in the same world and task.
        rng: draws the resamples.
        resamples: number of resamples.
    """
    return _two_way_error([(differences_WT, 1.0)], rng, resamples)


def _two_way_error(
    sides: Sequence[tuple[Floats, float]], rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Return the error of the sum of the means of ``sides``, each ``[seeds, tasks]`` with its sign.

    The degrees of freedom are Satterthwaite's for the estimate of the variance: the mean squares of the seeds
    and of the tasks, less that of single cells, which both contain. The subtracted part makes the estimate
    smaller but not more certain, so it counts in the denominator.
    """
    variances = []
    noises = []
    draws = np.zeros(resamples)
    n = sides[0][0].shape[1]
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        weights_t = rng.multinomial(n - 1, np.full(n, 1 / n), size) / (n - 1)
        for means, sign in sides:
            seeds = len(means)
            weights_s = rng.multinomial(seeds - 1, np.full(seeds, 1 / seeds), size) / (seeds - 1)
            draws[start : start + size] += sign * ((weights_s @ means) * weights_t).sum(axis=1)
    for means, _ in sides:
        seeds = len(means)
        by_seed, by_task = means.mean(axis=1), means.mean(axis=0)
        variances.append((float(by_seed.var(ddof=1)) / seeds, seeds - 1))
        residual = means - by_seed[:, None] - by_task[None, :] + means.mean()
        cells = (seeds - 1) * (n - 1)
        noises.append((float((residual**2).sum()) / cells / (seeds * n), cells))
    over_seeds = sum(variance for variance, _ in variances)
    over_tasks = float(sum(sign * means.mean(axis=0) for means, sign in sides).var(ddof=1)) / n
    noise = sum(part for part, _ in noises)
    variance = max(float(draws.var()) - 2 * noise, over_seeds, over_tasks)
    variances.append((over_tasks, n - 1))
    spread = sum(v * v / df for v, df in (*variances, *noises))
    return math.sqrt(variance), max(1.0, variance * variance / spread) if spread > 0 else 1.0
