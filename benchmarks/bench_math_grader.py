"""Measures the milliseconds per case of the running MATH grader, from equal texts to computer algebra.

python benchmarks/bench_math_grader.py    prints a table; with NLAC_BENCH_DATA, MATH's answers too
pytest benchmarks/bench_math_grader.py    measures the same kinds of case with pytest-benchmark
"""

import json
import math
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.simulators.math_grader import default_grader

CASES = {
    "identical": (r"\frac{3}{4}", r"so it is \boxed{\frac{3}{4}}."),
    "number": ("1234", r"\boxed{1,234}"),
    "fraction": (r"\frac{3}{4}", "0.75"),
    "radicals": (r"96-10\sqrt{21}", r"\frac{6\sqrt{1789-240\sqrt{21}}+8\sqrt{1236-240\sqrt{21}}}{5}"),
    "polynomial": ("x^3-6x^2+11x-6", "(x-1)(x-2)(x-3)"),
    "trigonometry": (r"\cos 2x", r"2\cos^2 x-1"),
    "matrix": (r"\begin{pmatrix}1&1/2\\0&3\end{pmatrix}", r"\begin{pmatrix}1&0.5\\0&3\end{pmatrix}"),
    "union": (r"(-\infty,2]\cup[3,\infty)", r"x\le 2 \text{ or } x\ge 3"),
    "wrong": (r"\sqrt{51}", r"\boxed{\sqrt{52}}"),
    "prose": ("42", "Step 1: add.\nStep 2: double.\nThe answer is 42."),
    "integral": (r"\frac13", r"\int_0^1 x^2 \, dx"),
}
REFUSED = ("wrong", "radicals", "integral")
"""The last two are equal to the gold answer, but not evaluated."""


@pytest.mark.parametrize("name", CASES)
def test_grade(benchmark: Callable[..., Any], name: str) -> None:
    default_grader().grade("x+1", "1+x")  # starts the worker
    grade = benchmark(default_grader().grade, *CASES[name])
    assert grade.correct is (name not in REFUSED)


def _quantiles(ms: list[float]) -> str:
    ms = sorted(ms)
    at_99 = ms[max(0, math.ceil(0.99 * len(ms)) - 1)]
    return f"median {statistics.median(ms):8.3f} ms   p99 {at_99:8.3f} ms   max {ms[-1]:8.1f} ms"


def main() -> None:
    begun = time.perf_counter()
    default_grader().grade("x+1", "1+x")
    print(f"{'first case, worker started':28} {1e3 * (time.perf_counter() - begun):.0f} ms")
    for name, (gold, pred) in CASES.items():
        print(f"{name:28} {_quantiles([default_grader().grade(gold, pred).ms for _ in range(50)])}")
    folder = os.environ.get("NLAC_BENCH_DATA")
    if not folder:
        return
    math_folder = Path(folder) / "math"
    rows = (math_folder / "grader_cases_public.jsonl").read_text().splitlines()
    pairs = [(case["gold"], case["pred"]) for case in map(json.loads, rows)]
    print(f"{'other projects, ' + str(len(pairs)):28} {_quantiles(_times(pairs))}")
    answers = [json.loads(row)["answer"] for row in (math_folder / "math500.jsonl").read_text().splitlines()]
    pairs = [(answer, f"{answer}+0") for answer in answers]
    print(f"{'MATH-500, answer + 0':28} {_quantiles(_times(pairs))}")


def _times(pairs: list[tuple[str, str]]) -> list[float]:
    return [default_grader().grade(gold, pred).ms for gold, pred in pairs]


if __name__ == "__main__":
    main()
