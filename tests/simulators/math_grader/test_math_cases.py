"""Answers of every common form beside equal ones and near misses, in `math_cases_second.jsonl`."""

import json
from pathlib import Path

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "math_cases_second.jsonl").read_text(encoding="utf-8").splitlines()
]
# Bare letters behind a number stay variables, so the unit of the prediction is not seen.
KNOWN_MISSES = {(r"100\text{ meters squared}", "100 m^2")}


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in CASES}))
def test_answers_and_near_misses(kind: str) -> None:
    cases = [case for case in CASES if case["kind"] == kind]
    assert cases
    wrong = {
        (case["gold"], case["pred"])
        for case in cases
        if check(case["gold"], case["pred"])[0] is not case["expected"]
    }
    assert wrong == KNOWN_MISSES & {(case["gold"], case["pred"]) for case in cases}


def test_both_verdicts_are_well_represented() -> None:
    right = sum(case["expected"] for case in CASES)
    assert len(CASES) >= 600 and 0.4 < right / len(CASES) < 0.65
