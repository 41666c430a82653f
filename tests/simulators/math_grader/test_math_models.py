"""Answers as language models write them, and answers of another meaning, in `math_models_*.jsonl`.

All files were written for this project, from problems of MATH-500 and of MATH's training set: right answers
in several forms for each problem, and wrong ones that look alike. The first and the second are by people who
had not seen the grader, `attack` is by a reviewer who searched for its faults, and the others
were written before their first measurement. docs/grading.md has the figures of these measurements.
"""

import json
from pathlib import Path

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check

FOLDER = Path(__file__).parent
LEAST = {
    "first": (300, 200),
    "second": (300, 200),
    "third": (150, 100),
    "fourth": (150, 100),
    "fifth": (60, 40),
    "sixth": (100, 70),
    "seventh": (100, 70),
    "eighth": (80, 70),
    "ninth": (50, 30),
    "eleventh": (150, 75),
    "twelfth": (160, 80),
    "tenth": (50, 30),
    "attack": (200, 200),
}
"""The least number of right and of wrong answers in each file."""
# A wrong answer that is accepted by a policy in docs/grading.md. A unit that the gold answer does not have is
# not looked at (the question asked for seconds).
POLICY = {
    ("36", r"Both gears point north again after $\boxed{36 \text{ minutes}}$."),
}
# Right answers that are refused; docs/grading.md lists their kinds among the limits.
MISSES = {
    (r"\frac{14}{13}", r"So the product equals $\boxed{\dfrac{1}{1 - \frac{1}{14}}}$."),
    ("4", "### Answer\nThere are **4** possible values of $x$ (namely 2, 3, 6 and 9)."),
    ("11", "The expression is an integer for **11 values** of $x$."),
    (
        r"\$18.90",
        "So the cost is $9(0.90) + 27(0.40)$, which is\n\n$$\\boxed{\\$8.10 + \\$10.80 = \\$18.90}$$",
    ),
    (
        "10",
        "2.5 hours is 9000 seconds, so the length is\n\n"
        "$$\\boxed{\\frac{1000\\text{ m}}{9000\\text{ s}} \\times 90\\text{ s} = 10\\text{ m}}$$",
    ),
    (r"12\text{ and }13", r"\boxed{\text{between } 12 \text{ and } 13}"),
    (r"118 \text{ dollars}", r"\boxed{118 \text{ dollars more}}"),
    ("4", r"\boxed{4 \text{: } (\pm 24, \pm 23)}"),
    ("98752", r"\boxed{98{,}752 \text{ (digits } 9, 8, 7, 5, 2)}"),
    ("7", r"\boxed{b = 7 \text{ (base } 7)}"),
    (r"(-\sqrt{3}, \sqrt{3})", r"\boxed{x^2 < 3}"),
    ("1+2i", r"\boxed{1 + 2i \text{ (instead of } \frac{11}{5} - \frac{2}{5}i)}"),
    ("10", r"\boxed{10 \text{ (from } 2 \text{ to } 20)}"),
    ("(2, -1)", r"\boxed{\text{The center is at } (2,-1) \text{ and the radius is } 3}"),
    ("13", r"\boxed{x = 13 \text{ or } x = -2, \text{ and since } x > 0, x = 13}"),
    (
        r"\begin{pmatrix} 1 & 0 \\ 0 & -1 \end{pmatrix}",
        r"\boxed{\begin{pmatrix} 1 & 0 \\ 0 & -1 \end{pmatrix} \text{ (reflection over the } x\text{-axis)}}",
    ),
}


@pytest.mark.parametrize("name", LEAST)
def test_answers_of_models(name: str) -> None:
    text = (FOLDER / f"math_models_{name}.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines()]
    right = sum(case["expected"] for case in cases)
    assert right >= LEAST[name][0] and len(cases) - right >= LEAST[name][1]
    wrong = {
        (case["gold"], case["pred"])
        for case in cases
        if (check(case["gold"], case["pred"])[0] is True) is not case["expected"]
    }
    assert wrong == (POLICY | MISSES) & {(case["gold"], case["pred"]) for case in cases}
