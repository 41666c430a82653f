"""Checks of transferred weights on log-probabilities alone."""

import numpy as np
import pytest

from nlac_bench.rollout.engines.engine import SyncError
from nlac_bench.rollout.engines.weights import check_moved

NOISE = 2e-6


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [1e-1, 1e-2, 1e-3, 1e-4])
def test_weights_that_did_not_arrive_have_slope_0_however_little_they_changed(size: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source_before = rng.normal(-3, 2, 63)
    source = source_before + size * rng.normal(size=63)
    before, after = source_before + NOISE * rng.normal(size=63), source + NOISE * rng.normal(size=63)
    check_moved(list(before), list(after), list(source), 10 * NOISE, 1)
    again = before + NOISE * rng.normal(size=63)
    with pytest.raises(SyncError, match=r"probe: in the sync to version 7 .* times as far as the learner"):
        check_moved(list(before), list(again), list(source), 10 * NOISE, 7)


def test_changes_within_rounding_errors_have_no_slope() -> None:
    rng = np.random.default_rng(0)
    before = rng.normal(-3, 2, 63)
    check_moved(list(before), list(before), list(before + NOISE * rng.normal(size=63)), 10 * NOISE, 1)


def test_a_change_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(SyncError, match="probe"):
        check_moved([0.0, 0.0], [float("nan"), 0.0], [1.0, 1.0], NOISE, 1)
