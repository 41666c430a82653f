"""Answers as language models write them, and answers of another meaning, in `math_models_*.jsonl`.

Both files were written for this project, from problems of MATH-500 and of MATH's training set, by people
who had not seen the grader: right answers in several forms for each problem, and wrong ones that look alike.
docs/grading.md has the figures of their first measurement.
"""

import json
from pathlib import Path

import pytest

from nlac_bench.envs.math500_hard.grading.judge import check

FOLDER = Path(__file__).parent
FILES = ("math_models_first.jsonl", "math_models_second.jsonl")
# An answer before a wrong approximation counts; docs/grading.md lists it among the policies.
POLICY = {(r"\sqrt{2}", r"So $\boxed{|x| + |y| = \sqrt{2} \approx 1.73}$.")}


@pytest.mark.parametrize("name", FILES)
def test_answers_of_models(name: str) -> None:
    cases = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    right = sum(case["expected"] for case in cases)
    assert right >= 300 and len(cases) - right >= 200
    wrong = {
        (case["gold"], case["pred"])
        for case in cases
        if (check(case["gold"], case["pred"])[0] is True) is not case["expected"]
    }
    assert wrong == POLICY & {(case["gold"], case["pred"]) for case in cases}
