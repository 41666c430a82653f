"""What runs cost, and training runs compared at equal cost."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel
from statsmodels.stats.proportion import confint_proportions_2indep

from nlac_bench.learner.config import BudgetUnit
from nlac_bench.training.costs import BudgetUse, CostComparison, RunCost
from nlac_bench.training.progress import has_signal


def validation(tokens: int, success: float, tasks: int = 40) -> dict[str, Any]:
    """A validation; the one that cost nothing is that of the untrained model."""
    costs = {"gradient_steps_total": tokens, "env_steps": tokens // 40, "tokens": tokens}
    return {**costs, "success": success, "tasks": tasks}


def trained(
    tokens: int, *validations: dict[str, Any], signal: bool = True, kind: BudgetUnit = "tokens"
) -> RunCost:
    spent = {"tokens": tokens, "env_steps": tokens // 40}[kind]
    use = BudgetUse(kind, spent - 5, spent)
    return RunCost(
        tokens // 40, 12, 60.0, {"evaluator": tokens / 2, "policy": tokens / 2}, use, signal, validations
    )


def test_equal_costs_are_shown_without_a_warning() -> None:
    both = CostComparison([trained(12_000, validation(0, 0.1))], [trained(12_400, validation(0, 0.1))])
    assert not both.unequal and both.matched() is None and both.notes() == []
    text = both.to_text()
    assert "generated tokens" in text and "by evaluator" in text and "12,400" in text
    assert both.to_json()["costs"]["a"]["budget"] == {  # type: ignore[index]
        "kind": "tokens", "planned": 11_995, "spent": 12_000, "overshoot": 5,
    }  # fmt: skip


def test_at_unequal_cost_the_last_validation_that_both_could_afford_decides() -> None:
    cheap = trained(12_000, validation(0, 0.1), validation(6_000, 0.3), validation(12_000, 0.6))
    dear = trained(34_858, validation(0, 0.1), validation(11_900, 0.2), validation(34_858, 0.9))
    both = CostComparison([cheap], [dear])
    matched = both.matched()
    assert both.unequal and matched is not None
    assert (matched.at, matched.a, matched.b, matched.verdict) == (12_000, 0.6, 0.2, "A better")
    expected = confint_proportions_2indep(24, 40, 8, 40, method="newcomb", compare="diff")
    assert (matched.low, matched.high) == pytest.approx(expected)
    warning, equal = both.notes()
    assert warning == "warning: B spent 190% more generated tokens than A"
    assert equal.startswith("at 12,000 generated tokens (validation): A 0.600, B 0.200, A − B = +0.400")
    assert CostComparison([dear], [cheap]).matched().verdict == "B better"  # type: ignore[union-attr]


def test_a_small_difference_at_equal_cost_is_not_called() -> None:
    both = CostComparison(
        [trained(12_000, validation(9_000, 0.50))], [trained(20_000, validation(9_000, 0.45))]
    )
    matched = both.matched()
    assert matched is not None and matched.verdict == "not distinguishable"


def test_seeds_are_averaged_and_their_validations_pooled() -> None:
    first = [trained(12_000, validation(0, 0.1), validation(12_000, s)) for s in (0.5, 0.7)]
    second = [trained(20_000, validation(40, 0.1)), trained(20_200, validation(40, 0.3))]
    matched = CostComparison(first, second).matched()
    assert matched is not None and matched.at == 12_000
    assert (matched.a, matched.b) == pytest.approx((0.6, 0.2))
    welch = ttest_ind([0.5, 0.7], [0.1, 0.3], equal_var=False).confidence_interval()
    assert (matched.low, matched.high) == pytest.approx((welch.low, min(1.0, welch.high)))


def test_worlds_are_compared_with_each_other() -> None:
    """A constant gain in worlds of different difficulty has the interval of the episodes only."""
    starts = (0.3, 0.1, 0.5)
    first = [trained(12_000, validation(12_000, s + 0.2)) for s in starts]
    second = [trained(20_000, validation(40, s)) for s in starts]
    paired, unpaired = (CostComparison(first, second, paired=each).matched() for each in (True, False))
    assert paired is not None and unpaired is not None
    episodes = confint_proportions_2indep(60, 120, 36, 120, method="newcomb", compare="diff")
    assert (paired.low, paired.high) == pytest.approx(episodes) and paired.verdict == "A better"
    assert unpaired.verdict == "not distinguishable"
    uneven = [trained(12_000, validation(12_000, s)) for s in (0.9, 0.1, 0.8)]
    matched = CostComparison(uneven, second, paired=True).matched()
    student = ttest_rel([0.9, 0.1, 0.8], starts).confidence_interval()
    assert matched is not None
    assert (matched.low, matched.high) == pytest.approx((student.low, min(1.0, student.high)))


def test_what_was_not_validated_in_time_is_said_to_be_untrained() -> None:
    early, late = validation(40, 0.3), validation(19_000, 0.9)
    measured = trained(12_000, validation(0, 0.1), early)
    both = CostComparison([measured, measured], [trained(20_000, validation(0, 0.2), late)] * 2)
    matched = both.matched()
    assert matched is not None and matched.untrained == (0, 1)
    assert (matched.a, matched.b, matched.low, matched.verdict) == (0.3, 0.2, None, "not distinguishable")
    assert matched.texts() == ("0.300", "0.200 (untrained)")
    assert both.notes()[-1].endswith("A 0.300, B 0.200 (untrained), A − B = +0.100: not distinguishable")
    some = [trained(20_000, validation(0, 0.2), late), trained(20_000, validation(0, 0.2), early)]
    matched = CostComparison([measured, measured], some).matched()
    assert matched is not None and matched.low is None and matched.untrained == (0, 0.5)
    assert matched.texts()[1] == "0.250 (in part untrained)"


def test_the_success_of_a_run_that_ended_early_is_not_compared_at_its_small_cost() -> None:
    ended = replace(trained(12_000, validation(0, 0.1), validation(12_000, 0.0)), ended_early=True)
    both = CostComparison([trained(20_000, validation(0, 0.1), validation(11_000, 0.6))], [ended])
    assert both.matched() is None
    assert both.notes() == [
        "warning: A spent 67% more generated tokens than B",
        "B ended early, so its success holds at any higher cost",
    ]


def test_verdicts_can_be_left_out() -> None:
    both = CostComparison(
        [trained(12_000, validation(11_000, 0.9))], [trained(20_000, validation(9_000, 0.1))]
    )
    assert both.notes()[-1].endswith("]: A better")
    assert both.notes(verdict=False)[-1] == both.notes()[-1].removesuffix(": A better")


def test_seeds_that_hardly_differ_do_not_make_an_interval_narrower_than_that_of_the_episodes() -> None:
    first = [trained(12_000, validation(0, 0.1), validation(12_000, s)) for s in (0.6, 0.6)]
    second = [trained(20_000, validation(40, 0.2)), trained(20_200, validation(40, 0.2))]
    matched = CostComparison(first, second).matched()
    assert matched is not None
    episodes = confint_proportions_2indep(48, 80, 16, 80, method="newcomb", compare="diff")
    assert (matched.low, matched.high) == pytest.approx(episodes)


def test_equal_algorithms_whose_seeds_differ_are_seldom_told_apart() -> None:
    """Pooled episodes of three seeds would tell them apart in about two of five comparisons."""
    rng = np.random.default_rng(0)
    decided = 0
    for _ in range(400):
        rates = 1 / (1 + np.exp(-rng.normal(0, 0.6, size=6)))
        seen = rng.binomial(64, rates) / 64
        first, second = (
            [trained(cost, validation(5, s, tasks=64)) for s in part]
            for cost, part in ((10, seen[:3]), (20, seen[3:]))
        )
        matched = CostComparison(first, second).matched()
        decided += matched is not None and matched.verdict != "not distinguishable"
    assert decided <= 40


def test_budgets_in_different_units_and_runs_without_training_have_no_equal_cost() -> None:
    units = CostComparison([trained(12_000)], [trained(90_000, kind="env_steps")])
    assert units.spent is None and units.matched() is None
    assert units.notes() == ["the budgets have different units, so the costs are not equal by design"]
    played = RunCost(10, 0, 1.0, {"policy": 100})
    assert CostComparison([played], [trained(12_000)]).notes() == []
    assert "gradient steps" not in CostComparison([played], [played]).to_text()


def test_a_side_without_gradients_is_said_to_have_learned_nothing() -> None:
    silent = trained(12_000, signal=False)
    assert CostComparison([silent], [trained(12_000)]).notes() == [
        "A learned nothing: all gradients were 0, so its result is that of the untrained model"
    ]
    assert CostComparison([silent, trained(12_000)], [trained(12_000)]).notes() == []


@pytest.mark.parametrize(
    ("row", "signal"),
    [
        ({"gradient_steps": 2.0, "grad_norm": 0.3}, True),
        ({"gradient_steps": 2.0, "grad_norm": 0.0}, False),
        ({"gradient_steps": 0.0}, False),
        ({"gradient_steps": 1.0}, True),
        ({}, False),
    ],
)
def test_a_gradient_that_is_not_zero_is_a_signal(row: dict[str, float], signal: bool) -> None:
    assert has_signal(row) is signal
