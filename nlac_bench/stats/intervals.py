"""Computes 95 % confidence intervals of success rates, rewards and paired differences.

``benchmarks/simulations`` measures their coverage; docs/statistics.md shows the results. The unit of sampling
is the task, because repeated trials of one task resemble each other. The normal interval on task means,
Student's t and BCa are not used for success rates: with few successes a sample's variance is small along with
its mean, and all zeros give an interval of width zero. At 20 tasks and a rate of .05 a third of all
single-trial samples are all zeros, so each of these intervals covers at most 64 %; at 50 tasks and several
trials normal and t cover 85 to 94 %.
"""

from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlac_bench.stats.distributions import Z95, t_quantile

Floats: TypeAlias = NDArray[np.float64]

PRIOR_TASKS = 0.15
"""Weight, in tasks, of the assumption that all trials of a task agree; see ``clustered_bounds``.

Chosen on the grid of ``benchmarks/simulations/coverage.py``: with 0 the worst cell (20 tasks, 8 trials, rate
.05) covers 87 %; with 0.5, independent trials cover more than 96.5 % on average. Values from 0.1 to 0.2 are
equally good."""

ROUNDING = 1e-9
"""Relative size up to which a spread is only rounding."""

PRIOR_DIFFERENCES = 0.5
"""Weight, in tasks with a difference, of the assumption that differences are 1; see ``paired_bounds``."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval and the name of its method."""

    low: float
    high: float
    method: str

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return asdict(self)


def wilson_bounds(rate: Floats, n: Floats | float, z: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval (1927) of ``rate`` in ``n`` draws; ``n`` may be fractional."""
    shrunk = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / shrunk
    half = z / shrunk * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return np.where(rate <= 0, 0.0, centre - half), np.where(rate >= 1, 1.0, centre + half)


def clustered_bounds(mean: Floats, variance: Floats, tasks: int, trials: float) -> tuple[Floats, Floats]:
    """Return Wilson's interval for the mean of task means in [0, 1], with the effective number of independent
    trials.

    ``variance`` is that of the task means around ``mean`` with divisor ``tasks``, and ``icc = variance /
    (mean (1 − mean))`` is 1 if all trials of a task have the same result and 1 / trials if they are
    independent, so ``tasks / icc`` is the effective number of independent trials (Kish's design effect; Korn
    and Graubard 1998 use it in intervals). With few successes or few failures the estimate of ``icc`` is
    uncertain, so it is shrunk towards 1, its largest value, as if ``PRIOR_TASKS`` further informative tasks
    had shown 1. The quantile is Student's, because the variance is estimated. With one trial per task this is
    Wilson's interval.

    Args:
        mean, variance: arrays of the same shape, one entry per sample.
        tasks: number of task means in each sample.
        trials: number of trials of each task; ``inf`` if the task means are not proportions of trials.
    """
    if trials == 1 or tasks == 1:
        return wilson_bounds(mean, float(tasks), Z95)
    spread = mean * (1 - mean)
    some = spread > 1e-12
    icc = np.where(some, variance / np.where(some, spread, 1.0), 1.0)
    informative = np.minimum(mean, 1 - mean) * tasks
    icc = np.clip((informative * icc + PRIOR_TASKS) / (informative + PRIOR_TASKS), 1 / trials, 1.0)
    return wilson_bounds(mean, tasks / icc, t_quantile(0.975, tasks - 1))


def rate_interval(task_means: Floats, trials: float) -> Interval | None:
    """Return the interval of a success rate (or of any mean of task means in [0, 1]), clustered by task.

    Args:
        task_means: ``[tasks]``, each task's mean over its trials.
        trials: the largest number of trials of a task; 1 gives Wilson's interval.

    Returns:
        None if there are no tasks.
    """
    if len(task_means) == 0:
        return None
    mean, variance = np.asarray(task_means.mean()), np.asarray(task_means.var())
    low, high = clustered_bounds(mean, variance, len(task_means), trials)
    return Interval(float(low), float(high), "wilson" if trials == 1 else "wilson, clustered by task")


def mean_interval(task_means: Floats) -> Interval | None:
    """Return Student's t interval of a mean without known bounds (rewards), clustered by task.

    Returns:
        None if there are fewer than two tasks or their means are all equal, because the spread is then
        unknown.
    """
    tasks = len(task_means)
    if tasks < 2 or np.ptp(task_means) <= ROUNDING * np.abs(task_means).max():
        return None
    half = t_quantile(0.975, tasks - 1) * float(task_means.std(ddof=1)) / np.sqrt(tasks)
    mean = float(task_means.mean())
    return Interval(mean - half, mean + half, "t, clustered by task")


def paired_moments(
    total: Floats, squares: Floats, nonzero: Floats, tasks: int, *, single: bool
) -> tuple[Floats, Floats]:
    """Return the mean difference of two success rates on the same tasks, and its standard error, adjusted for
    few differences.

    This is Bonett and Price's adjustment (2012): one pseudo-task is added in favour of each side, and mean
    and variance are computed over all tasks. With several trials a task's difference is not −1, 0 or 1 but
    any value between, so the pseudo-tasks have the root mean square of the differences that are not 0 (shrunk
    towards 1 as if ``PRIOR_DIFFERENCES`` further differences had been 1).

    Args:
        total, squares, nonzero: sum, sum of squares and number of the differences that are not 0; one entry
            per sample.
        tasks: number of tasks in each sample.
        single: whether both sides have one trial per task, as Bonett and Price assume.
    """
    size = np.where(single, 1.0, (squares + PRIOR_DIFFERENCES) / (nonzero + PRIOR_DIFFERENCES))
    mean = total / (tasks + 2)
    variance = (squares + 2 * size) / (tasks + 2) - mean**2
    return mean, np.sqrt(variance / (tasks + 2))


def paired_bounds(
    total: Floats, squares: Floats, nonzero: Floats, tasks: int, *, single: bool
) -> tuple[Floats, Floats]:
    """Return the interval of the mean difference of two success rates on the same tasks.

    This is Bonett and Price's adjusted Wald interval (2012), computed from ``paired_moments``. With several
    trials the quantile is Student's. The arguments are those of ``paired_moments``.
    """
    mean, error = paired_moments(total, squares, nonzero, tasks, single=single)
    half = (Z95 if single or tasks == 1 else t_quantile(0.975, tasks - 1)) * error
    return np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0)


def paired_interval(differences: Floats, *, single: bool) -> Interval | None:
    """Return the interval of the mean of ``differences`` ``[tasks]`` of success rates; None without tasks."""
    if len(differences) == 0:
        return None
    low, high = paired_bounds(*paired_sums(differences), len(differences), single=single)
    method = "Bonett-Price" if single else "Bonett-Price, clustered by task"
    return Interval(float(low), float(high), method)


def paired_sums(differences: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the first three arguments of ``paired_moments`` for one sample, ``differences`` ``[tasks]``."""
    nonzero = float(np.count_nonzero(np.abs(differences) > 1e-12))
    return np.asarray(differences.sum()), np.asarray((differences**2).sum()), np.asarray(nonzero)
