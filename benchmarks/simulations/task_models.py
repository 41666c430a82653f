"""Defines populations of tasks for the simulations: distributions of difficulty and of trial results."""

from functools import lru_cache
from math import comb, exp, lgamma

import numpy as np

from nlac_bench.stats.intervals import Floats

_TYPES = 2_000
"""Number of equally frequent kinds of tasks by which ``beta_tasks`` approximates a continuous population."""


def beta_binomial(trials: int, rate: float, icc: float) -> Floats:
    """``[trials + 1]`` probabilities of 0 … ``trials`` successes in a task whose rate is beta distributed.

    ``rate`` is the mean over tasks, ``icc`` the intra-class correlation: with 0 every task has ``rate``, with
    1 each task is solved always or never.
    """
    counts = np.arange(trials + 1)
    ways = np.array([comb(trials, int(c)) for c in counts], dtype=float)
    if icc == 0:
        return ways * rate**counts * (1 - rate) ** (trials - counts)
    if icc == 1:
        chances = np.zeros(trials + 1)
        chances[0], chances[-1] = 1 - rate, rate
        return chances
    a, b = rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1)
    chances = ways * np.array([exp(_log_beta(c + a, trials - c + b) - _log_beta(a, b)) for c in counts])
    return chances / chances.sum()


def beta_moment(rate: float, icc: float, k: int) -> float:
    """The true pass^k of the population of ``beta_binomial``: the mean k-th power of the task rates."""
    if icc == 0:
        return float(rate**k)
    if icc == 1:
        return rate
    a, b = rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1)
    return exp(_log_beta(a + k, b) - _log_beta(a, b))


@lru_cache(maxsize=256)
def beta_tasks(rate: float, icc: float) -> Floats:
    """``[_TYPES]`` task rates in ascending order: the quantiles of the beta distribution."""
    u = (np.arange(_TYPES) + 0.5) / _TYPES
    if icc == 0 or rate in (0, 1):
        return np.full(_TYPES, rate)
    if icc == 1:
        return (u > 1 - rate).astype(float)
    a, b = rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1)
    # On the logit scale the density has no poles; the grid covers both tails.
    logit = np.linspace(-60 / a - 20, 60 / b + 20, 400_001)
    log_density = -a * np.logaddexp(0, -logit) - b * np.logaddexp(0, logit)
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    return 1 / (1 + np.exp(-np.clip(np.interp(u, cumulative / cumulative[-1], logit), -700, 700)))


def paired_differences(
    rate_a: float, rate_b: float, trials: int, icc: float, shared: float
) -> tuple[Floats, float]:
    """``[2 trials + 1]`` probabilities of A's successes minus B's in a task, and the rates' true difference.

    In a share ``shared`` of the tasks the ranks of difficulty are the same for both sides; in the others the
    difficulties are independent.
    """
    tasks_a, tasks_b = beta_tasks(rate_a, icc), beta_tasks(rate_b, icc)
    a, b = _binomial(trials, tasks_a), _binomial(trials, tasks_b)
    joint = shared * (a.T @ b) / _TYPES + (1 - shared) * np.outer(a.mean(axis=0), b.mean(axis=0))
    chances = np.array([np.trace(joint, offset=-d) for d in range(-trials, trials + 1)])
    return chances / chances.sum(), float(tasks_a.mean() - tasks_b.mean())


def _binomial(trials: int, rates: Floats) -> Floats:
    """``[types, trials + 1]`` probabilities of each number of successes."""
    counts = np.arange(trials + 1)
    ways = np.array([comb(trials, int(c)) for c in counts], dtype=float)
    return ways * rates[:, None] ** counts * (1 - rates[:, None]) ** (trials - counts)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
