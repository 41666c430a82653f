"""Computes the power of a comparison of two runs with single trials: exact McNemar test and interval.

The power depends on the discordance, the probability that exactly one of the two runs solves a task.
"""

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nlac_bench.stats.distributions import Z95, normal_cdf, normal_quantile
from nlac_bench.stats.intervals import Floats

Integers: TypeAlias = NDArray[np.int_]

_MOST = 1_000
"""Number of discordant tasks up to which the power is computed exactly; above, the test is nearly normal."""
_LOG_FACTORIALS: Floats = np.array([math.lgamma(n + 1) for n in range(_MOST + 1)])


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
    discordant = np.arange(low, high + 1)
    chances = _binomial(_log_ways(tasks, high)[discordant], discordant, tasks - discordant, discordance)
    needed = _critical(level, tasks)[discordant]
    won = np.arange(needed[0], high + 1)[:, None]
    lost = np.maximum(discordant - won, 0)
    log_ways = _LOG_FACTORIALS[discordant] - _LOG_FACTORIALS[won] - _LOG_FACTORIALS[lost]
    better = _binomial(log_ways, won, lost, (1 + difference / discordance) / 2)
    return float(chances @ (better * ((won >= needed) & (won <= discordant))).sum(axis=0))


def attainable(tasks: int, level: float) -> float | None:
    """Return the smallest observed difference that a comparison on ``tasks`` tasks can call; None if none.

    Then one run solves all tasks that exactly one of them solves.
    """
    needed = _critical(level, tasks)
    wins = np.flatnonzero(needed <= np.arange(len(needed)))
    return float(wins[0]) / tasks if len(wins) else None


@lru_cache(maxsize=256)
def _critical(level: float, tasks: int) -> Integers:
    """``[discordant tasks + 1]`` least numbers of wins with which the verdict is that the run is better."""
    discordant = np.arange(min(tasks, _MOST) + 1)
    least = _exact_critical(level)[discordant]
    # Bonett and Price: (wins − losses)² (1 + z² / (n + 2)) > z² (discordant + 2)
    outside = Z95 * np.sqrt((discordant + 2) / (1 + Z95**2 / (tasks + 2)))
    return np.maximum(least, np.floor((discordant + outside) / 2).astype(int) + 1)


@lru_cache(maxsize=64)
def _exact_critical(level: float) -> Integers:
    """``[_MOST + 1]`` least numbers of wins with which the exact test rejects; above the number if none."""
    least = np.empty(_MOST + 1, dtype=int)
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


def _log_ways(n: int, most: int) -> Floats:
    """``[most + 1]`` logarithms of the numbers of ways to choose 0 … ``most`` of ``n``."""
    chosen = np.arange(most)
    return np.concatenate([[0.0], np.cumsum(np.log(n - chosen) - np.log(chosen + 1))])


def _binomial(log_ways: Floats, won: Integers, lost: Integers, chance: float) -> Floats:
    """Return the binomial probabilities of ``won`` successes and ``lost`` failures."""
    with np.errstate(divide="ignore", invalid="ignore"):
        failed = np.where(lost == 0, 0.0, lost * np.log1p(-chance))
    chances: Floats = np.exp(log_ways + won * math.log(chance) + failed)
    return chances
