"""Computes the power of a comparison of two runs with single trials: exact McNemar test and interval.

The power depends on the discordance, the probability that exactly one of the two runs solves a task.
"""

import math
from functools import lru_cache

import numpy as np

from nlac_bench.stats.distributions import Z95, normal_cdf, normal_quantile
from nlac_bench.stats.intervals import Floats

_MOST = 1_000
"""Number of discordant tasks up to which the power is computed exactly; above, the test is nearly normal."""


def power(tasks: int, discordance: float, difference: float, level: float) -> float:
    """Return the probability that a comparison on ``tasks`` tasks finds that the better run is better.

    The number of discordant tasks is binomial, and so is, given it, the number of those that the better run
    solves. The comparison finds the difference if the two-sided exact test rejects at ``level`` and the 95 %
    interval of Bonett and Price (2012) excludes 0, as in ``compare``.

    Args:
        tasks: number of tasks, each with one trial a side.
        discordance: probability that exactly one run solves a task, at most 1.
        difference: of the success rates; above 0, at most ``discordance``.
        level: two-sided error probability of the test.
    """
    spread = 9 * math.sqrt(tasks * discordance * (1 - discordance)) + 9
    low, high = max(0, math.floor(tasks * discordance - spread)), math.ceil(tasks * discordance + spread)
    high = min(high, tasks)
    if high > _MOST:
        error = math.sqrt(tasks * max(discordance - difference**2, 1e-300))
        least = normal_quantile(1 - level / 2) * math.sqrt(tasks * discordance) + 1
        return normal_cdf((tasks * difference - least) / error)
    found = np.arange(low, high + 1)
    chances = _binomial(np.array([tasks]), found[:, None], discordance)[:, 0]
    least = _critical(level, tasks)[found]
    won = np.arange(least[0], high + 1)
    better = _binomial(found, won[:, None].astype(int), (1 + difference / discordance) / 2)
    rejected = won[:, None] >= least
    return float(chances @ (better * rejected).sum(axis=0))


@lru_cache(maxsize=256)
def _critical(level: float, tasks: int) -> Floats:
    """``[discordant tasks + 1]`` least numbers of wins with which the verdict is that the run is better."""
    discordant = np.arange(min(tasks, _MOST) + 1)
    least = _exact_critical(level)[discordant]
    # Bonett and Price: (wins − losses)² (1 + z² / (n + 2)) > z² (discordant + 2)
    outside = Z95 * np.sqrt((discordant + 2) / (1 + Z95**2 / (tasks + 2)))
    return np.maximum(least, np.floor((discordant + outside) / 2) + 1)


@lru_cache(maxsize=64)
def _exact_critical(level: float) -> Floats:
    """``[_MOST + 1]`` least numbers of wins with which the exact test rejects; above the number if none."""
    least = np.empty(_MOST + 1)
    wins, tail = 0, 1.0  # P(Bin(n, 1/2) ≥ wins), for the n of the loop
    for n in range(_MOST + 1):
        if n:
            tail += _half(n - 1, wins - 1) / 2  # P(Bin(n) ≥ w) = P(Bin(n-1) ≥ w) + P(Bin(n-1) = w - 1) / 2
        while 2 * tail >= level and wins <= n:
            tail -= _half(n, wins)
            wins += 1
        least[n] = wins
    return least


def _half(n: int, k: int) -> float:
    """Return P(Bin(n, 1/2) = k)."""
    if not 0 <= k <= n:
        return 0.0
    return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))


def _binomial(n: Floats, k: Floats, chance: float) -> Floats:
    """Return P(Bin(n, chance) = k) of arrays of whole numbers that broadcast; 0 where k > n."""
    log = _log_factorials(int(n.max()))
    inside = k <= n
    lost = np.where(inside, n - k, 0)
    won = np.where(inside, k, 0)
    logs = log[n] - log[won] - log[lost]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = logs + np.where(won == 0, 0.0, won * np.log(chance))
        logs = logs + np.where(lost == 0, 0.0, lost * np.log1p(-chance))
    return np.exp(np.where(inside, logs, -np.inf))


@lru_cache(maxsize=8)
def _log_factorials_up_to(power_of_two: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2**power_of_two + 1)))])


def _log_factorials(n: int) -> Floats:
    """Return at least ``n + 1`` logarithms of factorials."""
    return _log_factorials_up_to(max(8, n.bit_length()))
