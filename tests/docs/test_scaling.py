"""The table of docs/scaling.md is the one that ``docs/scaling_model.py`` prints."""

from pathlib import Path

import pytest

from docs import scaling_model
from docs.scaling_model import Setup

PAGE = (Path(scaling_model.__file__).with_name("scaling.md")).read_text(encoding="utf-8")


def test_the_table_is_up_to_date() -> None:
    assert scaling_model.costs() in PAGE, (
        "run `python -m docs.scaling_model` and copy its table into docs/scaling.md"
    )


def test_seconds_of_a_stage() -> None:
    one, twice = Setup("", 7e9, 4, 4), Setup("", 14e9, 8, 8)
    assert one.sampling() == pytest.approx(2 * 7e9 * 888_561 * 12 / (0.1 * 989e12 * 4))
    assert one.learning() == pytest.approx(8 * 7e9 * 1_508_322 * 12 / (0.35 * 989e12 * 4))
    assert (one.sampling(), one.learning()) == pytest.approx((twice.sampling(), twice.learning()))
    assert twice.pushing() == pytest.approx(2 * one.pushing())
