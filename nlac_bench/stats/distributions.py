"""Quantiles of the normal and Student's t distributions, without a dependency on scipy."""

import math
from functools import lru_cache
from statistics import NormalDist

Z95 = NormalDist().inv_cdf(0.975)
"""Two-sided 95 % quantile of the standard normal distribution, 1.96."""


def normal_quantile(probability: float) -> float:
    """Return the standard normal's quantile; ``probability`` in (0, 1)."""
    return NormalDist().inv_cdf(probability)


def normal_cdf(x: float) -> float:
    """Return P(Z ≤ x) of the standard normal distribution."""
    return NormalDist().cdf(x)


def t_cdf(x: float, df: float) -> float:
    """Return P(T ≤ x) of Student's t with ``df`` > 0 degrees of freedom."""
    tail = 0.5 * _beta_regularised(df / 2, 0.5, df / (df + x * x))
    return 1 - tail if x > 0 else tail


@lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Return the quantile of Student's t, to about 12 digits, by bisection; ``df`` ≥ 1."""
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < probability:
        low, high = high, high * 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_cdf(middle, df) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def binomial_upper(successes: int, n: int, error: float) -> float:
    """Return the upper limit of Clopper and Pearson (1934) for a probability: it is larger with ``error``.

    Args:
        successes: observed successes of ``n`` independent trials.
        error: one-sided error probability.
    """
    if successes >= n:
        return 1.0
    low, high = successes / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        # P(Bin(n, p) ≤ successes) = I_{1 − p}(n − successes, successes + 1)
        below = _beta_regularised(n - successes, successes + 1, 1 - middle)
        low, high = (middle, high) if below > error else (low, middle)
    return high


def _beta_regularised(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast only for smaller x, so the symmetry is used
        return 1 - front * _beta_fraction(b, a, 1 - x) / b
    return front * _beta_fraction(a, b, x) / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22) by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or tiny)
    result = d
    for m in range(1, 500):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            result *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return result
