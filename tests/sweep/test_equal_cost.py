"""A sweep compares methods at shares of what the cheapest run spent."""

from dataclasses import replace

import pytest

from nlac_bench.sweep.equal_cost import equal_cost
from nlac_bench.training.costs import CostComparison, RunCost

TASKS = 64


def run(env_steps: int, tokens: int, *validations: tuple[int, int, float]) -> RunCost:
    """A run of 40 gradient steps with validations after environment steps and tokens, and their success."""
    rows = [
        {
            "gradient_steps_total": 10 * i,
            "env_steps": steps,
            "tokens": spent,
            "success": success,
            "tasks": TASKS,
        }
        for i, (steps, spent, success) in enumerate(validations)
    ]
    return RunCost(env_steps, 40, 60.0, {"policy": tokens}, validations=rows)


NLAC = [
    run(1200, 8000, (0, 0, 0.25), (300, 2000, 0.5), (1200, 8000, 0.75)),
    run(1000, 9000, (0, 0, 0.25), (250, 2250, 0.75), (1000, 9000, 1.0)),
]
PPO = [
    run(1200, 1000, (0, 0, 0.25), (600, 500, 0.75), (1200, 1000, 0.5)),
    run(1600, 1200, (0, 0, 0.25), (700, 600, 0.25), (1600, 1200, 0.5)),
]


def test_the_last_validations_within_each_share_are_compared() -> None:
    steps, tokens = equal_cost({"ppo": CostComparison(NLAC, PPO, ("nlac", "ppo"))}, "nlac")
    assert (steps.kind, steps.smallest, tokens.kind, tokens.smallest) == ("env_steps", 1000, "tokens", 1000)
    assert [(each.at, each.a, each.b) for each in steps.by_method["ppo"]] == [
        (250, 0.5, 0.25),  # of seed 0 only the start is within 250 steps
        (500, 0.625, 0.25),
        (1000, 0.75, 0.5),
    ]
    assert [(each.a, each.b) for each in tokens.by_method["ppo"]] == [
        (0.25, 0.25),
        (0.25, 0.5),
        (0.25, 0.375),
    ]
    assert "not corrected for their number" in tokens.to_text() and "verdict" not in str(tokens.to_json())
    assert "validated within … generated tokens" in tokens.to_text()
    assert "0.375" in tokens.to_text() and "0.500 (in part untrained)" in steps.to_text()
    unmeasured = [line.split()[0] for line in tokens.to_text().splitlines() if "not measured" in line]
    assert unmeasured == ["ppo"], "nlac is at its start"
    assert "over seeds and validation episodes" in tokens.to_text()
    assert tokens.to_json()["smallest"] == 1000


@pytest.mark.parametrize(
    "other", [None, CostComparison(NLAC, [run(1500, 1000, (300, 500, 0.5))], ("nlac", "x"))]
)
def test_a_method_without_a_validation_in_time_is_said_to_be_absent(other: CostComparison | None) -> None:
    steps, _ = equal_cost({"ppo": CostComparison(NLAC, PPO), "x": other}, "nlac")
    assert list(steps.by_method) == ["ppo"] and steps.absent == ("x",) and steps.to_json()["absent"] == ("x",)
    row = next(line.split() for line in steps.to_text().splitlines() if line.startswith("x "))
    assert row == ["x", *["–"] * 6]
    assert equal_cost({"x": other}, "nlac") == []


def test_one_seed_has_an_interval_over_episodes_only() -> None:
    (steps, *_) = equal_cost({"ppo": CostComparison(NLAC[:1], PPO[:1])}, "nlac")
    assert "over validation episodes of one seed" in steps.to_text()


def test_kinds_of_which_all_spent_the_same_are_left_out() -> None:
    kinds = [each.kind for each in equal_cost({"nlac": CostComparison(NLAC, NLAC)}, "nlac")]
    assert kinds == ["env_steps", "tokens"]


def test_the_success_of_against_is_left_out_where_the_rows_compare_different_seeds() -> None:
    pairs = {
        "ppo": CostComparison(NLAC, PPO, ("nlac", "ppo")),
        "rft": CostComparison(NLAC[:1], PPO[:1], ("nlac", "rft")),
    }
    steps, tokens = equal_cost(pairs, "nlac")
    own, ppo, rft = steps.to_text().splitlines()[2:5]
    assert own.split() == ["nlac", "–", "–", "–"], "the two rows compare 0.625 and 0.5 with half of the steps"
    assert ppo.startswith("ppo (2 seeds)") and "  0.625 − 0.250 (untrained): not measured" in ppo
    assert rft.startswith("rft (1 seed)") and "  0.500 − 0.250 (untrained): not measured" in rft
    assert "0.500 − 0.750: -0.250 [" in rft, "all of the steps, both validated after the start"
    assert "seeds that both methods have finished" in steps.to_text()
    assert "with one over episodes only" in steps.to_text() and "approximate" in steps.to_text()
    assert steps.to_json()["seeds"] == {"ppo": 2, "rft": 1}
    row = next(line.split() for line in tokens.to_text().splitlines() if line.startswith("nlac "))
    assert row == ["nlac", *["0.250", "(untrained)"] * 3] and "both methods" not in tokens.to_text()


def test_a_run_that_ended_early_keeps_its_last_success_and_does_not_shorten_the_comparison() -> None:
    ended = replace(run(100, 90, (0, 0, 0.25), (100, 90, 0.125)), ended_early=True)
    pairs = {
        "ppo": CostComparison(NLAC, PPO, ("nlac", "ppo")),
        "drlc": CostComparison(NLAC, [ended], ("nlac", "drlc")),
    }
    steps, tokens = equal_cost(pairs, "nlac")
    assert (steps.smallest, tokens.smallest) == (1000, 1000)
    assert [each.b for each in steps.by_method["drlc"]] == [0.125] * 3
    assert equal_cost({"drlc": CostComparison([ended], [ended], ("nlac", "drlc"))}, "nlac") == []
    steps, tokens = equal_cost({"drlc": CostComparison(NLAC[:1], [ended], ("nlac", "drlc"))}, "nlac")
    assert (steps.smallest, tokens.smallest) == (1200, 8000), "the only whole run sets the costs"
