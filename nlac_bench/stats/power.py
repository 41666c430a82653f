"""Computes the smallest difference that a paired comparison can detect, from its data or for planning."""

import math

from nlac_bench.errors import NlacBenchError
from nlac_bench.stats.distributions import normal_quantile, t_quantile
from nlac_bench.stats.intervals import Floats, paired_interval

POWER = 0.8
"""Probability with which a detectable difference is found."""


def detectable_difference(differences: Floats, *, single: bool) -> float | None:
    """Return the difference that a comparison with the spread of ``differences`` ``[tasks]`` finds with
    ``POWER``.

    It is the sum of the quantiles for 5 % two-sided error and for ``POWER``, times the standard error of the
    interval. None if there are fewer than two tasks.
    """
    tasks = len(differences)
    interval = paired_interval(differences, single=single)
    if tasks < 2 or interval is None:
        return None
    quantile = normal_quantile(0.975) if single else t_quantile(0.975, tasks - 1)
    error = (interval.high - interval.low) / 2 / quantile
    return min(1.0, (quantile + normal_quantile(POWER)) * error)


def difference_variance(rate_a: float, rate_b: float, trials: int, icc: float, correlation: float) -> float:
    """Return the variance over tasks of the difference of two task means.

    Args:
        rate_a, rate_b: the two success rates.
        trials: number of trials per task, the same on both sides.
        icc: the share of a single trial's variance that lies between tasks: 0 if all tasks are equally hard,
            1 if each task is always solved or never.
        correlation: of the task difficulties of the two sides.
    """
    a, b = rate_a * (1 - rate_a), rate_b * (1 - rate_b)
    between = icc * (a + b) - 2 * correlation * icc * math.sqrt(a * b)
    within = (1 - icc) * (a + b) / trials
    return between + within


def minimum_detectable_difference(
    tasks: int, trials: int = 1, *, rate: float = 0.5, icc: float = 0.5, correlation: float = 0.5
) -> float | None:
    """Return the difference from ``rate`` that a paired comparison on ``tasks`` tasks finds with power .8.

    Solves ``d = (t(.975) + z(.8)) sqrt(V(d) / tasks) + c`` by bisection, with ``V`` as
    ``difference_variance`` and ``c = 1 / (tasks trials)`` for the discreteness of the exact test (McNemar's
    continuity correction). docs/statistics.md shows how often simulated comparisons found a difference of
    that size.

    Returns:
        None if even a success rate of 1 would not be distinguished from ``rate``.

    Raises:
        NlacBenchError: there are fewer than two tasks or no trials, or ``rate``, ``icc`` or ``correlation``
            is outside [0, 1].
    """
    if tasks < 2 or trials < 1:
        raise NlacBenchError(
            f"at least 2 tasks and 1 trial are needed, got {tasks} tasks and {trials} trials"
        )
    for name, value in (("rate", rate), ("icc", icc), ("correlation", correlation)):
        if not 0 <= value <= 1:
            raise NlacBenchError(f"{name} must be between 0 and 1, got {value}")
    factor = t_quantile(0.975, tasks - 1) + normal_quantile(POWER)

    def missing(difference: float) -> float:
        variance = difference_variance(rate, rate + difference, trials, icc, correlation)
        return factor * math.sqrt(max(variance, 0.0) / tasks) + 1 / (tasks * trials) - difference

    low, high = 0.0, 1.0 - rate
    if missing(high) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high
