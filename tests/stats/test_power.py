"""The printed detectable differences are found with the printed power; the expected values are enumerated."""

import itertools

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulations.detectable import Population, found_at_printed
from nlac_bench.stats.distributions import binomial_upper
from nlac_bench.stats.exact_power import attainable, power
from nlac_bench.stats.intervals import Floats, paired_interval
from nlac_bench.stats.power import (
    detectable_difference,
    difference_variance,
    minimum_detectable_difference,
    tasks_needed,
)
from nlac_bench.stats.significance import sign_flip_p


def outcome(tasks: int, a_only: int, b_only: int) -> Floats:
    return np.repeat([1.0, -1.0, 0.0], [a_only, b_only, tasks - a_only - b_only])


def enumerated(tasks: int, discordance: float, difference: float, level: float) -> float:
    """The power by all outcomes, with the public test and interval and scipy's multinomial distribution."""
    chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    total = 0.0
    for won in range(tasks + 1):
        for lost in range(tasks + 1 - won):
            differences = outcome(tasks, won, lost)
            interval = paired_interval(differences, single=True)
            assert interval is not None
            if interval.low > 0 and sign_flip_p(differences) < level:
                total += stats.multinomial.pmf([won, lost, tasks - won - lost], tasks, chances)
    return total


@pytest.mark.parametrize("level", [0.05, 0.005])
@pytest.mark.parametrize(
    ("tasks", "discordance", "difference"), [(6, 1.0, 0.9), (20, 0.3, 0.3), (20, 0.5, 0.4), (24, 0.9, 0.3)]
)
def test_power_is_that_of_all_outcomes(
    tasks: int, discordance: float, difference: float, level: float
) -> None:
    expected = enumerated(tasks, discordance, difference, level)
    assert power(tasks, discordance, difference, level) == pytest.approx(expected, abs=1e-9)


def test_the_approximation_for_many_discordant_tasks_continues_the_exact_power() -> None:
    exact, approximate = power(1700, 0.5, 0.05, 0.05), power(1720, 0.5, 0.05, 0.05)
    assert exact == pytest.approx(approximate, abs=0.015)


@pytest.mark.parametrize(("successes", "n"), [(0, 20), (2, 20), (19, 20), (3, 500)])
def test_the_upper_limit_is_that_of_clopper_and_pearson(successes: int, n: int) -> None:
    expected = stats.beta.ppf(0.9, successes + 1, n - successes)
    assert binomial_upper(successes, n, 0.1) == pytest.approx(expected)
    assert binomial_upper(n, n, 0.1) == 1.0


@pytest.mark.parametrize(
    ("tasks", "discordance"),
    [
        pytest.param(
            tasks, discordance,
            marks=[pytest.mark.slow(reason="enumerates large tables")] if tasks * discordance > 60 else [],
        )
        for tasks in (20, 50, 120, 500)
        for discordance in (0.0, 0.02, 0.1, 0.3, 0.5)
    ],
)  # fmt: skip
def test_the_printed_difference_is_found(tasks: int, discordance: float) -> None:
    """Exactly, over all samples of two equal runs; with the fewest and the most tasks that can be discordant
    once the runs differ."""
    for population in Population:
        result = found_at_printed(tasks, discordance, population)
        assert result.power >= 0.78
        assert result.smallest >= 6 / tasks, "less than six discordant tasks cannot reject"


def test_the_cases_that_were_wrong() -> None:
    """20 tasks with 2 discordant, and two equal runs; 0.249 and 0.180 would be found with 38 and 14 %."""
    assert power(20, 0.249, 0.249, 0.05) == pytest.approx(0.379, abs=0.001)
    assert power(20, 0.18, 0.18, 0.05) == pytest.approx(0.136, abs=0.001)
    for differences in (outcome(20, 1, 1), outcome(20, 0, 0)):
        detectable = detectable_difference(differences, single=True)
        assert detectable is not None and detectable > 0.36
        assert power(20, detectable, detectable, 0.05) > 0.8


def test_no_difference_is_printed_where_none_is_found() -> None:
    assert all(detectable_difference(outcome(n, 0, 0), single=True) is None for n in range(1, 6))
    assert detectable_difference(outcome(6, 0, 0), single=True) is not None
    assert detectable_difference(outcome(6, 0, 0), single=True, level=0.01) is None
    assert detectable_difference(outcome(6, 3, 3), single=True) == 1.0  # six of six, or nothing is called


@pytest.mark.parametrize("tasks", [6, 7, 8, 11, 20, 50])
@pytest.mark.parametrize("level", [0.05, 0.05 / 10])
def test_no_difference_is_printed_that_cannot_be_observed_and_called(tasks: int, level: float) -> None:
    """``attainable`` is the least that the exact test and the interval call, by trying all outcomes."""
    called = []
    for wins in range(1, tasks + 1):
        differences = outcome(tasks, wins, 0)
        interval = paired_interval(differences, single=True)
        if interval is not None and interval.low > 0 and sign_flip_p(differences) < level:
            called.append(wins / tasks)
    least = min(called, default=None)
    assert attainable(tasks, level) == (None if least is None else pytest.approx(least))
    for shown in (detectable_difference(outcome(tasks, n, 0), single=True, level=level) for n in (0, 1, 3)):
        assert shown is None or (least is not None and shown >= least)


def test_several_trials_scale_with_the_size_of_the_differences() -> None:
    differences = np.tile([0.25, -0.25, 0.0, 0.0], 30)
    single = detectable_difference(np.sign(differences), single=True)
    several = detectable_difference(differences, single=False)
    assert single is not None and several is not None
    assert 0.25 * single < several < 0.3 * single
    equal = [detectable_difference(np.zeros(120), single=single) for single in (True, False)]
    assert equal[1] == pytest.approx(equal[0] * stats.t.ppf(0.975, 119) / stats.norm.ppf(0.975))


def test_the_needed_tasks_find_the_observed_difference() -> None:
    differences = outcome(60, 8, 5)
    needed = tasks_needed(differences, single=True)
    assert needed is not None and needed > 60
    limit = binomial_upper(13, 60, 0.1)
    assert power(needed, limit, 0.05, 0.05) >= 0.8 > power(needed - 1, limit, 0.05, 0.05)
    assert tasks_needed(outcome(60, 5, 5), single=True) is None
    stricter = tasks_needed(differences, single=True, level=0.005)
    assert stricter is not None and stricter > needed


def test_many_tasks_with_few_discordant_ones_need_little_memory() -> None:
    """The number of discordant tasks is then a Poisson variable, here of mean 20 in one direction."""
    expected = stats.poisson.sf(5, 20)
    assert power(10**8, 2e-7, 2e-7, 0.05) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("tasks", [6, 20, 120])
def test_planning_never_promises_less_than_the_exact_test_can_find(tasks: int) -> None:
    for rate, icc, correlation in itertools.product((0.0, 0.1, 0.5), (0.0, 1.0), (0.0, 1.0)):
        planned = minimum_detectable_difference(tasks, rate=rate, icc=icc, correlation=correlation)
        if planned is None:
            continue
        variance = difference_variance(rate, rate + planned, 1, icc, correlation)
        discordance = min(1.0, max(planned, variance + planned**2))
        assert power(tasks, planned, planned, 0.05) >= 0.8 - 1e-6
        assert power(tasks, discordance, planned, 0.05) >= 0.7
