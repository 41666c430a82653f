"""The smallest difference that a paired comparison can see: planned, or read off its data."""

import math

from nlac_bench.errors import NlacBenchError
from nlac_bench.eval.statistics.distributions import normal_quantile, t_quantile
from nlac_bench.eval.statistics.intervals import Floats, paired_interval

POWER = 0.8
"""How often a difference of the size that is called detectable is found."""


def detectable_difference(differences: Floats, *, single: bool) -> float | None:
    """What a comparison with the spread of ``differences`` ``[tasks]`` finds four times in five.

    The quantiles for 5 % two-sided error and for ``POWER``, times the interval's own standard error. None
    with fewer than two tasks.
    """
    tasks = len(differences)
    interval = paired_interval(differences, single=single)
    if tasks < 2 or interval is None:
        return None
    quantile = normal_quantile(0.975) if single else t_quantile(0.975, tasks - 1)
    error = (interval.high - interval.low) / 2 / quantile
    return min(1.0, (quantile + normal_quantile(POWER)) * error)


def difference_variance(rate_a: float, rate_b: float, trials: int, icc: float, correlation: float) -> float:
    """Variance over tasks of the difference of two task means.

    Args:
        rate_a, rate_b: the two success rates.
        trials: a task, the same on both sides.
        icc: the share of a single trial's variance that lies between tasks: 0 where all tasks are equally
            hard, 1 where each is always solved or never.
        correlation: of the two sides' task difficulties.
    """
    a, b = rate_a * (1 - rate_a), rate_b * (1 - rate_b)
    between = icc * (a + b) - 2 * correlation * icc * math.sqrt(a * b)
    within = (1 - icc) * (a + b) / trials
    return between + within


def minimum_detectable_difference(
    tasks: int, trials: int = 1, *, rate: float = 0.5, icc: float = 0.5, correlation: float = 0.5
) -> float | None:
    """The difference above ``rate`` that a paired comparison on ``tasks`` tasks finds with power .8, or None.

    Solves ``d = (t(.975) + z(.8)) sqrt(V(d) / tasks) + c`` by bisection, with ``V`` as
    ``difference_variance`` and ``c = 1 / (tasks trials)`` for what the exact test's discreteness costs
    (McNemar's continuity correction). docs/statistics.md shows how often simulated comparisons found a
    difference of that size. None where even certain success would not be told from ``rate``.

    Raises:
        NlacBenchError: fewer than two tasks, or a rate, icc or correlation outside [0, 1].
    """
    if tasks < 2 or trials < 1:
        raise NlacBenchError(f"at least 2 tasks and 1 trial are needed, got {tasks} and {trials}")
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
