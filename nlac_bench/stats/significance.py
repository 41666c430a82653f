"""Tests a difference between two runs on the same tasks, and adjusts several p-values by Holm's method."""

import math
from collections.abc import Sequence

import numpy as np

from nlac_bench.stats.intervals import Floats

FLIPS = 100_000
"""Number of random sign flips if the differences have no common denominator (p-value ± .0014)."""
_EXACT_STEPS = 200_000


def sign_flip_p(differences: Floats, seed: int = 0) -> float:
    """Return the two-sided p-value of the sign-flip test, whose null hypothesis is that neither side is
    better.

    Under the null hypothesis both signs of each task's difference are equally probable. The test is exact if
    the differences are multiples of a common fraction, as differences of success rates are; with single
    trials it is McNemar's exact test. Otherwise ``FLIPS`` seeded random flips are drawn.

    Args:
        differences: ``[tasks]``, first side minus second.
        seed: random seed of the flips.
    """
    sizes = np.abs(differences[np.abs(differences) > 1e-12])
    if len(sizes) == 0:
        return 1.0
    whole = _as_integers(sizes)
    if whole is not None:
        steps = np.rint(np.abs(differences.sum()) * whole[0] / sizes[0])
        return _exact(whole, int(steps))
    observed = abs(float(differences.sum()))
    rng = np.random.default_rng(seed)
    extreme, block = 0, max(1, 4_000_000 // len(sizes))
    for start in range(0, FLIPS, block):
        signs = rng.integers(0, 2, (min(block, FLIPS - start), len(sizes)), dtype=np.int8) * 2 - 1
        extreme += int(np.count_nonzero(np.abs(signs @ sizes) >= observed - 1e-9 * sizes.sum()))
    return (extreme + 1) / (FLIPS + 1)


def _as_integers(sizes: Floats) -> list[int] | None:
    """Return ``sizes`` as multiples of a fraction 1/n with n ≤ 840; None without one or if the sum is too
    large."""
    for denominator in range(1, 841):
        scaled = sizes * denominator
        rounded = np.rint(scaled)
        if np.all(np.abs(scaled - rounded) < 1e-9 * denominator):
            if rounded.sum() > _EXACT_STEPS:
                return None
            return [int(x) for x in rounded]
    return None


def _exact(sizes: Sequence[int], observed: int) -> float:
    """Return P(|Σ ± size| ≥ observed) with equally probable signs, by convolution over the sizes."""
    total = sum(sizes)
    # chances[i] is the probability that the sum of the sizes so far is i − (their total).
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + 2 * size)
        wider[: len(chances)] += chances
        wider[2 * size :] += chances
        chances = wider / 2
    sums = np.arange(-total, total + 1)
    return min(1.0, float(chances[np.abs(sums) >= observed].sum()))


def fisher_p(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two proportions of independent trials.

    It is the probability, given the total of successes, of all tables that are not more probable than the
    observed one.
    """
    total = successes_a + successes_b
    possible = range(max(0, total - n_b), min(total, n_a) + 1)
    ways = {k: math.comb(n_a, k) * math.comb(n_b, total - k) for k in possible}
    observed = ways[successes_a]
    return sum(way for way in ways.values() if way <= observed) / math.comb(n_a + n_b, total)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's step-down adjusted p-values (1979) in the given order; NaN stays NaN and is not
    counted."""
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
