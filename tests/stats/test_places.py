"""Intervals of places hold together, and the errors behind them are what they say."""

import itertools

import numpy as np
import pytest
from scipy import stats

from benchmarks.simulations.board_places import (
    Held,
    simulate_algorithms,
    simulate_models,
    true_places,
)
from nlac_bench.stats.places import Place, places
from nlac_bench.stats.pooled import PairError, pooled_errors


def holds_in_95_percent(found: Held) -> None:
    """Fails with a probability below one in a million if all intervals hold in 95 % of boards."""
    lost = found.boards - found.held
    assert stats.binom.sf(lost - 1, found.boards, 0.05) > 1e-6, f"{lost} of {found.boards} boards do not hold"


@pytest.mark.parametrize(("entries", "boards"), [(3, 200), (8, 60), (15, 15)])
@pytest.mark.parametrize("ties", ["all equal", "two groups"])
def test_all_places_of_models_hold_at_once(entries: int, boards: int, ties: str) -> None:
    rng = np.random.default_rng(entries)
    holds_in_95_percent(simulate_models(rng, boards, entries, 1, ties))


@pytest.mark.parametrize(("entries", "boards"), [(3, 150), (8, 30), (15, 8)])
def test_all_places_of_algorithms_hold_at_once(entries: int, boards: int) -> None:
    rng = np.random.default_rng(entries)
    holds_in_95_percent(simulate_algorithms(rng, boards, entries, 2, (0.6,), "all equal"))


def test_true_places_under_ties_are_intervals() -> None:
    assert true_places(np.array([2.0, 1.0, 1.0, 0.0])) == [Place(1, 1), Place(2, 3), Place(2, 3), Place(4, 4)]


def test_intervals_contain_the_truth_exactly_if_no_pair_is_wrongly_told_apart() -> None:
    abilities = np.array([1.0, 1.0, 0.0])
    truth, pairs = true_places(abilities), list(itertools.permutations(range(3), 2))
    for chosen in itertools.product([False, True], repeat=len(pairs)):
        won = [pair for pair, told in zip(pairs, chosen, strict=True) if told]
        if any(pair[::-1] in won for pair in won):
            continue
        wrong = any(not abilities[a] > abilities[b] for a, b in won)
        held = all(
            f.best <= t.best and t.worst <= f.worst for f, t in zip(places(3, won), truth, strict=True)
        )
        if not wrong:
            assert held
        elif len(won) == 1:
            assert not held


def test_the_pooled_spread_is_that_of_an_analysis_of_variance() -> None:
    """With seeds that are constant over tasks, the p-value is Student's with the pooled variance."""
    rng = np.random.default_rng(0)
    means = [np.repeat(rng.uniform(0.2, 0.8, (2, 1)), 40, axis=1) for _ in range(4)]
    by_seed = [m[:, 0] for m in means]
    pooled = sum(float(v.var(ddof=1)) for v in by_seed) / 4
    for (a, b), error in zip(itertools.combinations(by_seed, 2), pooled_errors(means), strict=True):
        t = abs(a.mean() - b.mean()) / np.sqrt(pooled)  # pooled · (1/2 + 1/2)
        assert error.p_value == pytest.approx(2 * stats.t.sf(t, 4))
        assert error.over_tasks == pytest.approx(0, abs=1e-12)
        assert error.tasks_needed(0.05) is None or abs(error.difference) > 3 * error.error


def test_needed_tasks_grow_with_the_square_of_the_error() -> None:
    error = PairError(np.array([0.2, 0.0] * 25), 0.0, 0.01, 49.0)
    factor = stats.t.ppf(0.975, 49) + stats.t.ppf(0.8, 49)
    assert error.tasks_needed(0.05) == pytest.approx(factor**2 * 0.01 * 50 / 0.1**2, abs=1)
    assert PairError(np.array([0.2, 0.0] * 25), 0.01, 0.01, 49.0).tasks_needed(0.05) is None
    assert error.detectable(0.05) == pytest.approx(factor * 0.1)
    assert PairError(np.zeros(50), 1.0, 0.0, 2.0).detectable(0.05) is None, "the seeds differ too much"


def test_no_smaller_difference_is_promised_than_the_tasks_allow() -> None:
    """Without any spread between seeds and tasks, six tasks have to differ."""
    detectable = PairError(np.zeros(50), 0.0, 0.0, 2.0).detectable(0.05)
    assert detectable is not None and detectable > 6 / 50


def test_without_any_spread_nothing_is_told_apart() -> None:
    same = [np.zeros((2, 10)), np.zeros((2, 10))]
    (error,) = pooled_errors(same)
    assert error.p_value == 1.0 and error.tasks_needed(0.05) is None
