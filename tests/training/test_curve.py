"""Rows of ``metrics.jsonl`` after a crash: those of lost iterations count no more."""

from typing import Any

from nlac_bench.training.curve import TESTED, chosen_of, latest

Row = dict[str, Any]


def logged(*iterations: int, life: str, validated: tuple[int, ...] = ()) -> list[Row]:
    """The rows of a process: each iteration, and then its validation, which is the best so far."""
    return [
        {"kind": kind, "iteration": i, "life": life, "best": True}
        for i in iterations
        for kind in ("iteration", "validation")
        if (i if kind == "iteration" else i in validated)
    ]


def places(rows: list[Row]) -> list[tuple[int, str]]:
    return [(row["iteration"], row["life"]) for row in rows]


def test_without_a_crash_all_rows_count() -> None:
    rows = [*logged(0, 1, 2, 3, life="a", validated=(0, 2, 3)), {"kind": TESTED, "weights_sha256": "0"}]
    assert places(latest(rows, "iteration")) == [(1, "a"), (2, "a"), (3, "a")]
    assert places(latest(rows, "validation")) == [(0, "a"), (2, "a"), (3, "a")]


def test_a_repetition_that_ends_or_validates_earlier_leaves_no_lost_row() -> None:
    lost = logged(*range(13), life="a", validated=(0, 10, 12))  # the last checkpoint is of iteration 10
    for again, validated in ((logged(11, life="b", validated=(11,)), 11), (logged(11, 12, life="b"), 10)):
        rows = [*lost, *again]
        iterations, validations = latest(rows, "iteration"), latest(rows, "validation")
        assert places(iterations)[:10] == [(i, "a") for i in range(1, 11)]
        assert places(iterations)[10:] == places([row for row in again if row["kind"] == "iteration"])
        chosen = chosen_of(validations)
        assert chosen is not None and chosen["iteration"] == validated
        assert [place for place in places(validations) if place[0] <= 10] == [(0, "a"), (10, "a")]


def test_a_training_that_begins_again_without_a_checkpoint_leaves_no_lost_row() -> None:
    rows = [*logged(0, 1, 2, life="a", validated=(0, 2)), *logged(0, 1, life="b", validated=(0,))]
    assert places(latest(rows, "iteration")) == [(1, "b")]
    assert places(latest(rows, "validation")) == [(0, "b")]
    assert places(latest(rows[:4], "iteration")) == [(1, "a"), (2, "a")], "until it has logged something"
