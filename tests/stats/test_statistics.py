"""Statistics against scipy, statsmodels and figures worked by hand."""

import math
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from nlac_bench.errors import NlacBenchError
from nlac_bench.stats.distributions import normal_quantile, t_cdf, t_quantile
from nlac_bench.stats.intervals import mean_interval, paired_interval, rate_interval
from nlac_bench.stats.passk import pass_hat_k
from nlac_bench.stats.power import difference_variance, minimum_detectable_difference
from nlac_bench.stats.significance import holm, sign_flip_p

NAN = float("nan")


@pytest.mark.parametrize("df", [1, 2, 3.7, 10, 49, 133, 10_000])
def test_quantiles_are_scipys(df: float) -> None:
    for p in (0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999):
        assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9, abs=1e-9)
        assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-9, abs=1e-9)
    for x in (-30.0, -1.0, 0.0, 0.5, 2.0, 8.0):
        assert t_cdf(x, df) == pytest.approx(stats.t.cdf(x, df), rel=1e-9, abs=1e-14)


def test_wilson_is_statsmodels() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(1, 600))
        success = (rng.random(n) < rng.random()).astype(float)
        interval = rate_interval(success, trials=1)
        low, high = proportion_confint(int(success.sum()), n, method="wilson")
        assert interval is not None
        assert interval.method == "wilson"
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


def test_wilson_by_hand() -> None:
    """2 of 10: centre (.2 + 1.9207/10) / 1.38415 = .28326, half width 1.96 sqrt(.016 + .009604) / 1.38415."""
    interval = rate_interval(np.array([1.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]), trials=1)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.0567, 0.5098), abs=1e-4)


def test_clustered_interval_is_wilson_on_the_effective_number_of_trials() -> None:
    """Far from 0 and 1 the prior hardly counts: statsmodels with n = tasks mean (1 − mean) / variance."""
    rng = np.random.default_rng(1)
    for trials in (2, 4, 8):
        means = rng.binomial(trials, rng.beta(1, 1, 400)) / trials
        interval = rate_interval(means, trials)
        assert interval is not None
        rate = means.mean()
        effective = 400 * rate * (1 - rate) / means.var()
        alpha = 2 * (1 - stats.norm.cdf(stats.t.ppf(0.975, 399)))
        low, high = proportion_confint(rate * effective, effective, alpha=alpha, method="wilson")
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)
        assert 400 < effective < 400 * trials


def test_clustering_is_between_tasks_and_trials() -> None:
    """Trials that repeat their task add nothing; independent ones add all they can; none is worth more."""
    same = np.repeat([0.0, 1.0], 50)
    single = rate_interval(same, 1)
    repeated = rate_interval(same, 8)
    rng = np.random.default_rng(2)
    independent = rate_interval(rng.binomial(8, 0.5, 100) / 8, 8)
    alternating = rate_interval(np.full(100, 0.5), 8)  # negative correlation is taken for luck
    assert single is not None and repeated is not None and independent is not None and alternating is not None
    assert repeated.high - repeated.low == pytest.approx(single.high - single.low, rel=0.02)
    floor = 2 * t_quantile(0.975, 99) * math.sqrt(0.25 / 800)
    assert independent.high - independent.low == pytest.approx(floor, rel=0.15)
    assert alternating.high - alternating.low == pytest.approx(floor, rel=0.02)


def test_no_success_is_no_certainty() -> None:
    for trials in (1, 4):
        interval = rate_interval(np.zeros(50), trials)
        assert interval is not None
        assert interval.low == 0.0
        assert 0.07 < interval.high < 0.08
        mirrored = rate_interval(np.ones(50), trials)
        assert mirrored is not None
        assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1.0))
    assert rate_interval(np.array([]), 1) is None
    assert mean_interval(np.array([0.5])) is None
    lonely = rate_interval(np.array([0.5]), 4)
    assert lonely is not None
    assert lonely.high - lonely.low > 0.8


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60))
def test_rate_intervals_hold_their_mean_and_mirror(counts: list[int]) -> None:
    means = np.array(counts) / 4
    interval, mirrored = rate_interval(means, 4), rate_interval(1 - means, 4)
    assert interval is not None and mirrored is not None
    assert 0 <= interval.low <= means.mean() <= interval.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - interval.high, 1 - interval.low))


def test_t_interval_is_scipys() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 3, 20, 134):
        rewards = rng.normal(-8, 5, n)
        interval = mean_interval(rewards)
        expected = stats.t.interval(0.95, n - 1, rewards.mean(), stats.sem(rewards))
        assert interval is not None
        assert (interval.low, interval.high) == pytest.approx(expected)


def test_mcnemar_is_statsmodels_and_scipys() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        n = int(rng.integers(1, 300))
        a, b = (rng.random((2, n)) < rng.random((2, 1))).astype(float)
        only_a, only_b = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
        p = sign_flip_p(a - b)
        table = [[0, only_a], [only_b, 0]]
        assert p == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-9)
        if only_a + only_b:
            assert p == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue, rel=1e-9)


def test_sign_flips_by_hand() -> None:
    """± ½ ± ½ ± 1 has the eight sums 2, 0, 1, −1, 1, −1, 0, −2."""
    assert sign_flip_p(np.array([0.5, 0.5, 1.0])) == pytest.approx(2 / 8)
    assert sign_flip_p(np.array([0.5, -0.5, 1.0])) == pytest.approx(6 / 8)
    assert sign_flip_p(np.array([1.0] * 6)) == pytest.approx(2 / 64)
    assert sign_flip_p(np.zeros(5)) == 1.0
    assert sign_flip_p(np.array([])) == 1.0


def test_sign_flips_are_scipys_permutation_test() -> None:
    rng = np.random.default_rng(5)
    for trials in (2, 3, 4):
        d = (rng.binomial(trials, 0.6, 12) - rng.binomial(trials, 0.4, 12)) / trials
        exact = stats.permutation_test(
            (d,), np.sum, permutation_type="samples", n_resamples=2**13, alternative="two-sided"
        )
        assert sign_flip_p(d) == pytest.approx(exact.pvalue, rel=1e-9)


def test_random_flips_agree_with_exact_ones_and_repeat() -> None:
    rng = np.random.default_rng(6)
    d = rng.integers(-4, 6, 40) / 4
    exact = sign_flip_p(d)
    noisy = d + rng.normal(0, 1e-7, 40)  # no common denominator any more
    assert 0.0 < exact < 0.9
    assert sign_flip_p(noisy) == pytest.approx(exact, abs=0.03)
    assert sign_flip_p(noisy) == sign_flip_p(noisy)
    assert sign_flip_p(rng.normal(3, 1, 500)) == pytest.approx(1e-5, rel=0.01), "never 0"


def test_extreme_p_values_are_not_rounded_away() -> None:
    assert sign_flip_p(np.ones(500)) == pytest.approx(2.0**-499, rel=1e-6)


def test_holm_is_statsmodels() -> None:
    rng = np.random.default_rng(7)
    for n in (1, 2, 5, 30):
        p = rng.random(n) ** 3
        assert holm(list(p)) == pytest.approx(list(multipletests(p, method="holm")[1]))
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01, NAN, 0.04])[::2] == pytest.approx([0.02, 0.04])
    assert holm([]) == []


def test_bonett_price_by_hand() -> None:
    """A alone solves 8 of 50, B alone 2: (9 − 3)/52 ± 1.96 sqrt((12/52 − (6/52)²)/52)."""
    d = np.concatenate([np.ones(8), -np.ones(2), np.zeros(40)])
    interval = paired_interval(d, single=True)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((-0.01138, 0.24214), abs=1e-4)


def test_paired_interval_approaches_students() -> None:
    rng = np.random.default_rng(8)
    d = (rng.binomial(4, 0.6, 2000) - rng.binomial(4, 0.5, 2000)) / 4
    interval, plain = paired_interval(d, single=False), mean_interval(d)
    assert interval is not None and plain is not None
    assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high), abs=5e-4)
    flipped = paired_interval(-d, single=False)
    assert flipped is not None
    assert (flipped.low, flipped.high) == pytest.approx((-interval.high, -interval.low))
    nothing = paired_interval(np.zeros(50), single=True)
    assert nothing is not None
    assert nothing.low < 0 < nothing.high, "no difference seen is not no difference"


def test_pass_k_by_hand() -> None:
    """4, 2 and 0 successes in 4 trials: pass^2 = (1 + 1/6 + 0)/3, pass^3 = pass^4 = 1/3."""
    success = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]], dtype=float)
    found = pass_hat_k(success)
    assert [x.k for x in found] == [1, 2, 3, 4]
    assert [x.value for x in found] == pytest.approx([0.5, 7 / 18, 1 / 3, 1 / 3])
    assert all(x.interval is not None and x.interval.low < x.value < x.interval.high for x in found)  # type: ignore[operator]


def test_pass_k_is_unbiased() -> None:
    """Over all outcomes of 5 trials the mean of the estimate is p^k exactly."""
    for p, k in ((0.3, 2), (0.7, 3), (0.9, 5)):
        total = sum(
            stats.binom.pmf(c, 5, p) * pass_hat_k(np.array([[1.0] * c + [0.0] * (5 - c)]))[k - 1].value
            for c in range(6)
        )
        assert total == pytest.approx(p**k)
        assert comb(5, k) > 0


def test_pass_k_is_not_read_from_survivors() -> None:
    success = np.array([[1, NAN, 1], [1, 1, 1], [NAN, NAN, 1]])
    first, second, third = pass_hat_k(success)
    assert first.value == 1.0
    assert second.value is None
    assert second.why_not == "1 of 3 tasks have fewer than 2 scored trials"
    assert third.why_not == "2 of 3 tasks have fewer than 3 scored trials"
    assert third.to_json() == {"k": 3, "value": None, "ci": None, "why_not": third.why_not}
    assert pass_hat_k(np.full((2, 1), NAN))[0].value is None


def test_variance_of_differences_by_simulation() -> None:
    """Two-point tasks: with ICC 1 each is always or never solved, with correlation 0 or 1."""
    assert difference_variance(0.5, 0.5, 4, icc=0, correlation=0) == pytest.approx(2 * 0.25 / 4)
    assert difference_variance(0.5, 0.5, 4, icc=1, correlation=0) == pytest.approx(0.5)
    assert difference_variance(0.5, 0.5, 4, icc=1, correlation=1) == pytest.approx(0)
    rng = np.random.default_rng(9)
    hard = rng.beta(1, 1, 200_000)  # rate .5, ICC 1/3
    d = (rng.binomial(2, hard) - rng.binomial(2, hard)) / 2
    assert difference_variance(0.5, 0.5, 2, icc=1 / 3, correlation=1) == pytest.approx(d.var(), rel=0.02)


def test_detectable_differences() -> None:
    at = {n: minimum_detectable_difference(n, icc=0, correlation=0) for n in (50, 115, 134)}
    # The classic figure without correction: 2.80 sqrt(2 × .25 / 134) = .171, less for B's rate moving off .5.
    assert at[134] == pytest.approx(0.174, abs=0.002)
    assert at[50] > at[115] > at[134]  # type: ignore[operator]
    assert minimum_detectable_difference(50, 8, icc=0, correlation=0) < 0.12  # type: ignore[operator]
    assert minimum_detectable_difference(50, rate=0.97) is None
    with pytest.raises(NlacBenchError, match="at least 2 tasks"):
        minimum_detectable_difference(1)
    with pytest.raises(NlacBenchError, match=r"icc must be between 0 and 1, got 1\.5"):
        minimum_detectable_difference(50, icc=1.5)
