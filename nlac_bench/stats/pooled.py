"""The error of a difference between two entries of a board, and the tasks needed to detect the difference.

For algorithms the spread between seeds is pooled over all entries of the board. ``compare_algorithms``
estimates it from two algorithms; with two seeds each, the estimate is sometimes far too small by chance, and
among the many pairs of a board this is almost certain to occur. docs/statistics.md shows both.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nlac_bench.stats.distributions import t_cdf, t_quantile
from nlac_bench.stats.intervals import Floats, Interval, rate_interval
from nlac_bench.stats.power import POWER, detectable_difference, tasks_needed


@dataclass(frozen=True, slots=True)
class PairedTasks:
    """The differences ``[tasks]`` of two runs on the same tasks, as ``PairError`` is used.

    ``single``: both runs have one trial per task.
    """

    differences: Floats
    single: bool

    @property
    def difference(self) -> float:
        """The mean difference."""
        return float(self.differences.mean())

    def detectable(self, level: float) -> float | None:
        """Return the difference that is found with ``POWER`` by a test at ``level``; None without one."""
        return detectable_difference(self.differences, single=self.single, level=level)

    def tasks_needed(self, level: float) -> int | None:
        """Return the number of tasks with which this difference is found with ``POWER`` by a test at
        ``level``; None if it is 0."""
        return tasks_needed(self.differences, single=self.single, level=level)


@dataclass(frozen=True, slots=True)
class PairError:
    """A difference of two algorithms with its error, in two parts: ``over_tasks`` shrinks with more tasks,
    ``over_seeds`` does not. Both are variances; ``df`` are the degrees of freedom. ``by_task`` ``[tasks]``
    are the differences of the means over seeds."""

    by_task: Floats
    over_seeds: float
    over_tasks: float
    df: float

    @property
    def difference(self) -> float:
        """The mean difference."""
        return float(self.by_task.mean())

    @property
    def error(self) -> float:
        """The standard error."""
        return math.sqrt(self.over_seeds + self.over_tasks)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of Student's t; 1 without any spread."""
        if self.error == 0:
            return 1.0
        return 2 * (1 - t_cdf(abs(self.difference) / self.error, self.df))

    def detectable(self, level: float) -> float | None:
        """Return the difference that is found with ``POWER`` by a test at ``level``; None above 1.

        It is not less than on these tasks without any spread between seeds.
        """
        least = detectable_difference(self.by_task, single=False, level=level)
        detectable = max(self._quantiles(level) * self.error, 1.0 if least is None else least)
        return None if detectable > 1 else detectable

    def tasks_needed(self, level: float) -> int | None:
        """Return the number of tasks with which this difference is found with ``POWER`` by a test at
        ``level``; None if it is 0, or if the seeds differ so much that no number is enough."""
        factor, tasks = self._quantiles(level) ** 2, len(self.by_task)
        left = self.difference**2 - factor * self.over_seeds
        if left <= 0:
            return None
        return max(tasks + 1, math.ceil(factor * self.over_tasks * tasks / left))

    def _quantiles(self, level: float) -> float:
        return t_quantile(1 - level / 2, self.df) + t_quantile(POWER, self.df)


def pooled_errors(means_ST: Sequence[Floats]) -> list[PairError]:
    """Return the error of the difference for each pair of algorithms, in the order of ``combinations``.

    As in an analysis of variance, the spread between seeds is taken to be the same for all algorithms. The
    error has the degrees of freedom of this spread, as if only seeds varied. Satterthwaite's formula gives
    more, which is too many if the spread is underestimated.

    Args:
        means_ST: for each algorithm ``[seeds, tasks]`` success rates of the same tasks; at least two seeds
            and two tasks.
    """
    n = means_ST[0].shape[1]
    df = sum(len(means) - 1 for means in means_ST)
    between = sum(float(np.square(m.mean(axis=1) - m.mean()).sum()) for m in means_ST) / df
    noise = [_cell_noise(means) for means in means_ST]
    results = []
    for i, j in combinations(range(len(means_ST)), 2):
        a, b = means_ST[i], means_ST[j]
        by_task = a.mean(axis=0) - b.mean(axis=0)
        over_tasks = float(by_task.var(ddof=1)) / n
        # The noise of single episodes is in both parts, so it is left out of the spread of seeds. The sum of
        # both is at least the spread of seeds alone.
        seeds = between * (1 / len(a) + 1 / len(b))
        over_seeds = max(seeds - noise[i] - noise[j], seeds - over_tasks, 0.0)
        results.append(PairError(by_task, over_seeds, over_tasks, min(df, n - 1)))
    return results


def algorithm_interval(means_ST: Floats) -> Interval:
    """Return the interval of one algorithm's success rate over further training seeds and tasks.

    The wider of two intervals is used: Student's t with the spread of seeds and of tasks and
    Satterthwaite's degrees of freedom, as in ``seed_errors.hierarchical_error`` but without resampling; and
    ``rate_interval`` of the tasks, which has a width without any observed spread.

    Args:
        means_ST: ``[seeds, tasks]`` success rates; at least two seeds.
    """
    seeds, n = means_ST.shape
    mean, by_task = float(means_ST.mean()), means_ST.mean(axis=0)
    tasks = rate_interval(by_task, math.inf)
    assert tasks is not None  # there are tasks
    if n == 1:
        return tasks
    over_seeds = float(means_ST.mean(axis=1).var(ddof=1)) / seeds
    over_tasks = float(by_task.var(ddof=1)) / n
    noise = _cell_noise(means_ST)
    variance = max(over_seeds + over_tasks - noise, over_seeds, over_tasks)
    if variance == 0:
        return tasks
    spread = over_seeds**2 / (seeds - 1) + over_tasks**2 / (n - 1) + noise**2 / ((seeds - 1) * (n - 1))
    df = variance**2 / spread  # of the estimate, its subtracted part included
    half = t_quantile(0.975, max(1.0, df)) * math.sqrt(variance)
    if 2 * half <= tasks.high - tasks.low:
        return tasks
    return Interval(max(mean - half, 0.0), min(mean + half, 1.0), "t over seeds and tasks")


def interval_over_seeds(means_ST: Floats) -> Interval | None:
    """Return ``algorithm_interval`` over the tasks with a score in every seed; None if there is no such task.

    Args:
        means_ST: ``[seeds, tasks]`` success rates, NaN where there is no score; at least two seeds.
    """
    scored_ST = means_ST[:, ~np.isnan(means_ST).any(axis=0)]
    return algorithm_interval(scored_ST) if scored_ST.size else None


def _cell_noise(means: Floats) -> float:
    """Return the variance that single cells of ``[seeds, tasks]`` add to their mean."""
    seeds, n = means.shape
    residual = means - means.mean(axis=1)[:, None] - means.mean(axis=0) + means.mean()
    return float(np.square(residual).sum()) / ((seeds - 1) * (n - 1)) / (seeds * n)
