"""The group-sequential test keeps its level, by enumeration, and decides what it should."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from nlac_bench.stats.sequential import GROUP, Decision, decide, later_verdict, rejects

VALUES = (
    list(np.random.default_rng(0).normal(0.5, 0.1, 12)),
    [0.5, 0.5, 0.5, 0.55, 0.55, 0.6, 0.5, 0.55, 0.5, 0.6, 0.6, 0.5],  # with ties
    [0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1, 0.1],
)


def exchanged(values: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    """All ways to give the values of each group to the two sides; they are equally probable if neither is
    better."""
    groups = [values[start : start + 2 * GROUP] for start in range(0, len(values), 2 * GROUP)]
    ways = []
    for chosen in itertools.product(itertools.combinations(range(2 * GROUP), GROUP), repeat=len(groups)):
        a = [group[i] for group, mine in zip(groups, chosen, strict=True) for i in mine]
        b = [
            group[i]
            for group, mine in zip(groups, chosen, strict=True)
            for i in range(2 * GROUP)
            if i not in mine
        ]
        ways.append((a, b))
    return ways


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_equal_algorithms_are_told_apart_at_most_at_the_level(values: list[float], level: float) -> None:
    found = [rejects(a, b, 2, 2, level) for a, b in exchanged(values)]
    assert len(found) == 400 and sum(found) <= level * 400
    if len(set(values)) == len(values):
        assert sum(found) == level * 400, "without ties the whole level is spent"


@pytest.mark.parametrize("values", VALUES[:1])
def test_the_first_of_two_looks_spends_half(values: list[float]) -> None:
    found = [rejects(a[:3], b[:3], 1, 2, 0.2) for a, b in exchanged(values)]
    assert sum(found) == 0.1 * 400


def test_a_drawn_path_agrees_with_all_of_them() -> None:
    """Four groups have 160,000 exchanges, of which some are drawn: clear differences are found, none else."""
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, (2, 12))
    assert not rejects(a, b, 4, 4, 0.05)
    assert rejects(a + 3, b, 4, 4, 0.05) and rejects(a, b + 3, 4, 4, 0.05)
    assert rejects(a + 3, b, 4, 4, 0.05) == rejects(a + 3, b, 4, 4, 0.05)


def test_decisions_stop_at_the_verdict() -> None:
    a = [0.8, 0.82, 0.79, 0.81, 0.8, 0.83, 0.78, 0.8, 0.81, 0.8, 0.82, 0.8]
    worse = [x - 0.3 for x in a]
    alike = [0.8, 0.81, 0.82, 0.8, 0.79, 0.82, 0.8, 0.8, 0.8, 0.81, 0.81, 0.8]
    assert decide(a, {"worse": worse}, 4) == {"worse": Decision("A better", 6)}
    assert decide(worse, {"better": a}, 4) == {"better": Decision("B better", 6)}
    found = decide(a, {"worse": worse, "alike": alike}, 4)
    assert found["worse"].verdict == "A better"
    assert found["alike"] == Decision("not distinguishable", 6, out_of_reach=True)
    assert str(found["alike"]) == "not distinguishable after 6 seeds, another verdict is out of reach"


@pytest.mark.parametrize("seeds", [0, 2, 3, 5])
def test_without_two_groups_nothing_is_decided(seeds: int) -> None:
    a, b = [0.9] * seeds, [0.1 * i for i in range(seeds)]
    assert decide(a, {"b": b}, 4) == {"b": Decision(None, seeds // 3 * 3)}


def test_a_missing_group_of_one_method_holds_up_only_that_method() -> None:
    a = [0.8, 0.82, 0.79, 0.81, 0.8, 0.83]
    found = decide(a, {"short": [0.5, 0.6], "worse": [x - 0.3 for x in a]}, 2)
    assert found == {"short": Decision(None, 0), "worse": Decision("A better", 6)}


def test_the_last_look_decides() -> None:
    a, b = [0.5, 0.7, 0.6, 0.5, 0.6, 0.7], [0.6, 0.5, 0.6, 0.6, 0.5, 0.55]
    assert decide(a, {"b": b}, 2) == {"b": Decision("not distinguishable", 6)}


def test_more_comparisons_need_more_evidence() -> None:
    """Two of 400 exchanges are as extreme as a full separation in six seeds: enough for 5 % / 4, not / 8."""
    a, b = [1.0, 1.1, 1.2, 1.0, 1.1, 1.2], [0.1, 0.0, 0.2, 0.1, 0.0, 0.2]
    assert rejects(a, b, 2, 2, 0.05 / 8) and not rejects(a, b, 2, 4, 0.05 / 8)
    assert rejects(a, b, 2, 4, 0.05 / 4)


def test_a_later_verdict_is_probable_with_a_large_difference_and_not_with_none() -> None:
    a, b = [0.5, 0.6, 0.7] * 2, [0.4, 0.5, 0.6] * 2
    assert later_verdict(a, a[::-1], 2, 5, 0.05) < 0.1
    assert later_verdict(a, b, 2, 5, 0.05) > 0.3
    assert later_verdict([0.5] * 6, [0.5] * 6, 2, 5, 0.05) == 0.0
    assert later_verdict([0.5] * 6, [0.4] * 6, 2, 5, 0.05) == 1.0
