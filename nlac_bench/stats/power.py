"""Computes the smallest difference that a paired comparison can detect, from its data or for planning."""

import math
from collections.abc import Callable
from functools import lru_cache

from nlac_bench.errors import NlacBenchError
from nlac_bench.stats.distributions import Z95, binomial_upper, normal_quantile, t_quantile
from nlac_bench.stats.exact_power import attainable, power
from nlac_bench.stats.intervals import PRIOR_DIFFERENCES, Floats, paired_sums
from nlac_bench.stats.verdicts import ALPHA

POWER = 0.8
"""Probability with which a detectable difference is found."""

DISCORDANCE_ERROR = 0.1
"""One-sided error probability of the upper limit of the discordance from which power is computed."""

_MOST_TASKS = 10**9


def detectable_difference(differences: Floats, *, single: bool, level: float = ALPHA) -> float | None:
    """Return the smallest difference that a comparison on these tasks finds with at least ``POWER``.

    The power is that of the exact test (``exact_power.power``) with the largest discordance that the data
    allow: the upper limit of Clopper and Pearson of the share of tasks that differ, and the tasks that the
    difference itself adds (``_discordance``). With several trials a difference of a task is between −1 and 1;
    the result is then multiplied by the root mean square of the differences that are not 0, shrunk towards 1
    as in ``paired_moments``, and by the quotient of Student's and the normal quantile, because the interval
    has Student's.

    Args:
        differences: ``[tasks]``, the differences of the two success rates.
        single: whether both sides have one trial per task.
        level: two-sided error probability of the test.

    Returns:
        None if no difference is found with ``POWER`` on so few tasks.
    """
    nonzero, size = _observed(differences, single=single)
    least = _detectable(len(differences), nonzero, level)
    return None if least is None or size * least > 1 else size * least


def least_over_tasks(means_a: Floats, means_b: Floats, level: float) -> float:
    """Return the difference of two algorithms that is detectable if their seeds do not vary; at most 1.

    It is a lower bound, which the error over seeds lacks if the runs hardly differ.

    Args:
        means_a, means_b: ``[seeds, tasks]`` success rates of the same tasks.
        level: two-sided error probability of the test.
    """
    differences = means_a.mean(axis=0) - means_b.mean(axis=0)
    least = detectable_difference(differences, single=False, level=level)
    return 1.0 if least is None else min(1.0, least)


def tasks_needed(differences: Floats, *, single: bool, level: float = ALPHA) -> int | None:
    """Return the number of tasks on which the observed difference would be found with ``POWER``.

    Args:
        differences, single, level: as for ``detectable_difference``.

    Returns:
        More tasks than there are; None if the observed difference is 0, because no number is enough.
    """
    nonzero, size = _observed(differences, single=single)
    tasks = len(differences)
    difference = min(1.0, abs(float(differences.mean())) / size)
    if difference < 1e-12:
        return None
    discordance = max(difference, binomial_upper(nonzero, tasks, DISCORDANCE_ERROR))
    low, high = tasks, tasks + 1
    while power(high, discordance, difference, level) < POWER:
        low, high = high, 2 * high
        if high > _MOST_TASKS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if power(middle, discordance, difference, level) < POWER:
            low = middle
        else:
            high = middle
    return high


def _observed(differences: Floats, *, single: bool) -> tuple[int, float]:
    """Return how many tasks differ, and the size of their differences (1 with single trials)."""
    tasks = len(differences)
    _, squares, nonzero = (float(each) for each in paired_sums(differences))
    if single or tasks < 2:
        return round(nonzero), 1.0
    size = math.sqrt((squares + PRIOR_DIFFERENCES) / (nonzero + PRIOR_DIFFERENCES))
    return round(nonzero), size * t_quantile(0.975, tasks - 1) / Z95


@lru_cache(maxsize=4096)
def _detectable(tasks: int, nonzero: int, level: float) -> float | None:
    """Return ``detectable_difference`` with single trials, of which ``nonzero`` tasks differ."""
    if tasks < 1:
        return None
    shown = binomial_upper(nonzero, tasks, DISCORDANCE_ERROR)

    def missing(difference: float) -> float:
        return POWER - power(tasks, _discordance(shown, difference), difference, level)

    # of all discordances between, both ends are the hardest: few tasks, or many in both directions
    most, fewest = _first(missing, 1.0), _one_sided(tasks, level)
    return None if most is None or fewest is None else max(most, fewest)


@lru_cache(maxsize=4096)
def _one_sided(tasks: int, level: float) -> float | None:
    """Return the smallest difference that is found if the better run solves all that the other solves.

    The result is at least the smallest difference with a verdict: with six tasks, that is all six of them.
    """
    result = _first(lambda difference: POWER - power(tasks, difference, difference, level), 1.0)
    least = attainable(tasks, level)
    return None if result is None or least is None else max(result, least)


def _discordance(without: float, difference: float) -> float:
    """Return the discordance of two runs that would have the discordance ``without`` if they were equal.

    The better run solves ``difference`` more of the tasks that it would have failed, whatever the other did.
    Of these tasks, a share c makes the runs differ no longer, and 1 − c makes them differ: c is at least
    ``without`` / (2 − ``without``), since two equal runs fail at most 1 − ``without`` / 2 of the tasks.
    """
    added = max(0.0, (2 - 3 * without) / (2 - without))
    return min(1.0, max(difference, without + added * difference))


def _first(missing: Callable[[float], float], most: float) -> float | None:
    """Return the smallest value up to ``most`` where ``missing`` is not positive, by bisection; None without
    one."""
    if missing(most) > 0:
        return None
    low, high = 0.0, most
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return high


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

    result = _first(missing, 1.0 - rate)
    if trials > 1 or result is None:
        return result
    # the formula is wrong where few tasks differ: not even in one direction would the exact test find it
    least = _one_sided(tasks, ALPHA)
    return None if least is None or least > 1 - rate else max(result, least)
