"""Tests of a difference between two runs on the same tasks, and Holm's correction over several."""

import math
from collections.abc import Sequence

import numpy as np

from nlac_bench.eval.statistics.intervals import Floats

FLIPS = 100_000
"""Random sign flips where the differences have no common denominator; the p-value is then good to ± .0014."""
_EXACT_STEPS = 200_000


def sign_flip_p(differences: Floats, seed: int = 0) -> float:
    """Two-sided p-value of "neither side is better": the sign of each task's difference is a fair coin.

    Exact wherever the differences are multiples of a common fraction, as differences between success rates
    are; with single trials it is the exact test of McNemar. Otherwise ``FLIPS`` seeded random flips are
    drawn.

    Args:
        differences: ``[tasks]``, first side minus second.
        seed: of the random flips.
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
    """``sizes`` in units of their greatest common fraction, or None where they have no small one."""
    for denominator in range(1, 841):
        scaled = sizes * denominator
        rounded = np.rint(scaled)
        if np.all(np.abs(scaled - rounded) < 1e-9 * denominator):
            if rounded.sum() > _EXACT_STEPS:
                return None
            return [int(x) for x in rounded]
    return None


def _exact(sizes: Sequence[int], observed: int) -> float:
    """P(|Σ ± size| ≥ observed) with fair signs, by adding one size after the other."""
    total = sum(sizes)
    # chances[i] is that of a sum of i − reach; each size widens the reach.
    chances = np.ones(1)
    for size in sizes:
        wider = np.zeros(len(chances) + 2 * size)
        wider[: len(chances)] += chances
        wider[2 * size :] += chances
        chances = wider / 2
    sums = np.arange(-total, total + 1)
    return min(1.0, float(chances[np.abs(sums) >= observed].sum()))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values (1979), in the order given; NaN stays NaN and counts for nothing."""
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    adjusted = [math.nan] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted
