"""Language policy iteration with exact texts against value iteration."""

import asyncio
from typing import Any

import pytest

from nlac_bench.agents.nlac.theory import (
    MOVES,
    Grid,
    Tables,
    TabularPolicyIteration,
    check,
    random_walks,
    value_of,
)


@pytest.mark.slow  # 40 iterations over thousands of transitions
def test_the_optimal_policy_and_the_order_of_q_star() -> None:
    """With seed 1; ``nlac-bench theory``, which test_commands.py runs, checks seed 0."""
    report = check(seed=1, iterations=40)
    assert report.history[0] < 0.7, "the first policy must be bad, or nothing is shown"
    assert report.holds, report
    assert report.largest_error < 1e-9


@pytest.mark.slow  # 20 iterations of 1,500 transitions
@pytest.mark.parametrize("broken", ["shuffle_critiques", "critic_coef"])
def test_without_its_parts_it_does_not_get_there(broken: str) -> None:
    """With critiques of other states, or a successor that never learns, the same data teach much less."""
    grid = Grid()
    best = grid.optimal_values()
    tables = Tables(grid, seed=0)
    off: dict[str, Any] = {broken: broken == "shuffle_critiques" or 0.0}
    learner = TabularPolicyIteration(tables, seed=0, drawn=1_500, **off)
    learner.remember(random_walks(grid, 400, seed=0))
    for _ in range(20):
        asyncio.run(learner.update())
    right = [
        best[c, tables.policy[str(c)]] >= max(best[c, m] for m in MOVES) - 1e-9
        for c in grid.cells
    ]  # fmt: skip
    assert sum(right) / len(right) < 0.8


def test_values_by_hand() -> None:
    grid = Grid(("..G",))
    q = grid.optimal_values()
    assert q[(0, 1), "right"] == 1.0
    assert q[(0, 0), "right"] == pytest.approx(0.9)
    assert q[(0, 0), "left"] == pytest.approx(0.81)
    assert value_of("next: (0, 1), then (0, 2); end: success after 2 steps") == pytest.approx(0.9)
    assert value_of("then: nothing is known; end: failure after 0 steps") == 0.0
