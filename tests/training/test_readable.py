"""A run whose critic cannot be read stops after the first iteration, and says why nothing is learned."""

from typing import Any

import pytest

from nlac_bench.errors import NlacBenchError
from nlac_bench.learner.config import Budget, TrainConfig
from nlac_bench.training.progress import MAX_IDLE, Progress
from nlac_bench.training.readable import UnreadableError, check_readable, unreadable


@pytest.mark.parametrize(
    ("metrics", "named"),
    [
        ({"unparseable_evaluator": 1.0, "unparseable_successor": 0.5}, "100% of the answers as evaluator"),
        (
            {"unparseable_refiner": 0.75, "unparseable_backup": 0.6},
            "60% of the answers as backup, 75% of the answers as refiner",
        ),
        ({"unparseable_evaluator": 0.5, "unparseable_policy": 1.0, "l1": 0.9}, ""),
        ({}, ""),
    ],
)
def test_more_than_half_of_a_role_must_be_readable(metrics: dict[str, Any], named: str) -> None:
    assert unreadable(metrics) == named
    if named:
        with pytest.raises(UnreadableError, match=f"first iteration {named} could not be read") as raised:
            check_readable(metrics, TrainConfig())
        assert "--keep-going" in str(raised.value) and "forms=filled" not in str(raised.value)
        with pytest.raises(UnreadableError, match="--train forms=filled"):
            check_readable(metrics, TrainConfig(forms="free"))
    else:
        check_readable(metrics, TrainConfig())


def test_a_training_without_a_gradient_step_names_the_cause_that_was_counted() -> None:
    idle, budget = Progress(idle=MAX_IDLE), Budget.parse("steps=9")
    with pytest.raises(NlacBenchError, match="no episode succeeded"):
        idle.check_idle(budget, {"unparseable_evaluator": 0.2})
    with pytest.raises(
        NlacBenchError, match="90% of the answers as evaluator could not be read; use a model"
    ):
        idle.check_idle(budget, {"unparseable_evaluator": 0.9})
