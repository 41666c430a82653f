"""The grader's figures on public data: other projects' cases, and every answer of MATH rewritten."""

import gzip
import json
import os
import random
from pathlib import Path

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check
from nlac_bench.simulators.math_grader.grade_file import grade_file
from tests.simulators.math_grader.math_variants import different, same

DATA = os.environ.get("NLAC_BENCH_DATA")
pytestmark = [
    pytest.mark.official,
    pytest.mark.skipif(not DATA, reason="NLAC_BENCH_DATA names no folder of public data"),
]
MATH = Path(DATA or ".") / "math"


def test_cases_of_other_projects(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (MATH / "grader_cases_public.jsonl").read_text().splitlines()]
    undisputed = [row for row in rows if not row["dispute"]]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(json.dumps(row) for row in undisputed))
    summary = grade_file(cases, tmp_path / "graded.jsonl")
    assert summary["n"] == len(undisputed) >= 200
    assert summary["accuracy"] >= 0.985
    assert summary["false_positives"] == 0


def _answers(name: str) -> list[str]:
    data = (MATH / name).read_bytes()
    lines = (gzip.decompress(data) if name.endswith(".gz") else data).splitlines()
    return [answer for line in lines if (answer := json.loads(line)["answer"])]


def _judge(answers: list[str]) -> tuple[int, list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Number of cases, what was refused wrongly, what was accepted wrongly."""
    cases, refused, accepted = 0, list[tuple[str, ...]](), list[tuple[str, ...]]()
    for answer in answers:
        for name, text in same(answer):
            cases += 1
            if check(answer, text)[0] is not True:
                refused.append((name, answer, text))
        for name, text in different(answer):
            cases += 1
            if check(answer, text)[0] is True:
                accepted.append((name, answer, text))
    return cases, refused, accepted


@pytest.mark.slow  # grades more than 8,000 rewritten answers
def test_every_answer_of_math500_rewritten() -> None:
    cases, refused, accepted = _judge(_answers("math500.jsonl"))
    assert cases > 8_000
    assert accepted == []
    assert len(refused) <= 0.001 * cases, refused


@pytest.mark.slow  # grades more than 20,000 rewritten answers
def test_answers_of_the_training_problems_rewritten() -> None:
    answers = [answer for answer in _answers("math_train.jsonl.gz") if not answer.isdecimal()]
    cases, refused, accepted = _judge(random.Random(0).sample(answers, 1_500))
    assert cases > 20_000
    assert accepted == []
    assert len(refused) <= 0.001 * cases, refused


def test_every_gold_answer_is_right_in_a_box() -> None:
    for answer in _answers("math500.jsonl") + _answers("math_train.jsonl.gz"):
        assert check(answer, rf"Thus $\boxed{{{answer}}}$.")[0] is True, answer
