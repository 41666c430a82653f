"""Text that means harm: every case ends within its limit, is never taken for right, and runs nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nlac_bench.simulators.math_grader.grader import Grader
from nlac_bench.simulators.math_grader.read.normalize import MAX_ANSWER, normalize
from tests.timing import scans

LIMIT_S = 2.0

HOSTILE = {
    "tower": "9^9^9^9",
    "tower in braces": "9^{9^{9^{9}}}",
    "towers that cancel": r"\boxed{9^{9^{9^{9^{9}}}}-9^{9^{9^{9^{9}}}}+41}",
    "Python's tower": "9**9**9**9",
    "100,000 digits": "9" * 100_000,
    "100,000 digits in a box": r"\boxed{" + "9" * 100_000 + "}",
    "8,000 digits and a sign": "9" * 8_000 + "+1",
    "100,000 decimals": "0." + "3" * 100_000,
    "3,000 sums in parentheses": "(1+" * 3_000 + "1" + ")" * 3_000,
    "3,000 open parentheses": "(" * 3_000,
    "3,000 roots": r"\sqrt{" * 3_000 + "2" + "}" * 3_000,
    "120 fractions": r"\frac{1}{1+" * 120 + "2" + "}" * 120,
    "3,000 texts": r"\text{" * 3_000 + "x" + "}" * 3_000,
    "50,000 open boxes": r"\boxed{" * 50_000,
    "50,000 boxes": r"\boxed{1}" * 50_000,
    "NUL in a number": "4\x002",
    "right-to-left override": "\u202e24",
    "a struck digit": "4\u03362",
    "lone surrogates": "\ud800 41 \udfff",
    "a Cyrillic letter": "4х2",
    "code": "__import__('os').system('touch {marker}')",
    "code in a box": r"\boxed{__import__('os').system('touch {marker}')}",
    "code with the answer": "().__class__.__base__.__subclasses__() or 42",
    "eval": r"\boxed{eval('2**10**10')}",
    "TeX input": r"\boxed{\input{/etc/passwd}}",
    "TeX write": r"\boxed{\immediate\write18{touch {marker}}}",
    "TeX macro": r"\def\x{\x\x}\x",
    "a binomial": r"\binom{10^{100}}{10^{99}}",
    "a factorial": r"(10^{10^{10}})!",
    "factorials of factorials": "100!!!!",
    "3,000 factorial signs": "5" + "!" * 3_000,
    "a long sum": r"\sum_{k=1}^{10^{9}} k",
    "a longer sum": r"\sum_{k=1}^{10^{10^{10}}} \frac{1}{k^2}",
    "sums of sums": r"\sum_{a=1}^{1000}\sum_{b=1}^{1000}\sum_{c=1}^{1000} abc",
    "an integral": r"\int_0^{\infty} e^{-x^2}\sin(x^3)\ln(1+x^7) dx",
    "a limit": r"\lim_{n\to\infty} \left(1+\frac{1}{n!}\right)^{n^{n^n}}",
    "a matrix": r"\begin{pmatrix}" + "&".join(["1"] * 5_000) + r"\end{pmatrix}",
    "a square matrix": r"\begin{pmatrix}" + r"\\".join(["1" + "&1" * 49] * 50) + r"\end{pmatrix}",
    "a determinant": r"\begin{vmatrix}" + r"\\".join(["x" + "&x" * 8] * 9) + r"\end{vmatrix}",
    "a power of a sum": "(a+b+c+d+e+f)^{200}",
    "3,000 terms": "+".join(["1"] * 3_000),
    "3,000 elements": ",".join(map(str, range(3_000))),
    "2,000 ±": r"\pm1" * 2_000,
    "5,000 signs": "-" * 5_000 + "42",
    "3,000 primes": "f" + "'" * 3_000 + "(x)",
    "3,000 exponents": "x" + "^2" * 3_000,
    "a big argument": r"\sin(10^{10^{8}})",
    "a big exponent": "1e99999999999",
    "a division by zero": r"\frac{1}{0}",
    "20,000 dollars": "$" * 20_000,
    "20,000 backslashes": "\\" * 20_000,
    "8,000 displays": r"\[" * 8_000,
    "2,000 answers": "answer is " * 2_000,
    "10 MB": "x" * 10_000_000,
    "10 MB of answers": "the answer is 41 " * 600_000,
    "all integers": " ".join(map(str, range(2_000))),
    "symbols": "∑∏∫√∞≈≠≤≥" * 500,
    "6,000 digits in groups": "1" + ",111" * 2_000,
    "1,000 bars": "|" * 1_000 + "1" + "|" * 1_000,
    "exponentials": "e^{e^{e^{e^{e}}}}",
}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(timeout_s=LIMIT_S) as one:
        yield one


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "gold",
    ["42", pytest.param(r"\frac{\pi}{2}x+1", marks=pytest.mark.slow(reason="the same texts a second time"))],
)
def test_hostile_text(grader: Grader, tmp_path: Path, name: str, gold: str) -> None:
    marker = tmp_path / "marker"
    grade = grader.grade(gold, HOSTILE[name].replace("{marker}", str(marker)))
    assert grade.correct is not True
    assert grade.correct is False or grade.reason.startswith("ungraded: ")
    assert not marker.exists()


def test_what_only_looks_hostile_is_still_right(grader: Grader) -> None:
    for pred in (
        "(" * 50 + "42" + ")" * 50,
        "(" * 3_000 + "42" + ")" * 3_000,
        "0" * 90_000 + "42",
        "4\u200b2",
        "\x00" * 9 + "42",
    ):
        assert grader.grade("42", pred).correct is True
    digits = "9" * 100_000
    assert grader.grade(digits, digits).correct is True
    assert grader.grade(digits, digits[:-1] + "8").correct is False


@pytest.mark.parametrize(
    ("start", "unit", "end"),
    [
        (r"\begin{array}{c}", "&=", ""),
        (r"\begin{array}{c}", "&=", r"\end{x}"),
        ("", r"\begin{array}{c}&=", r"\end{x}"),
        ("", r"\begin{aligned}", r"\end{x}"),
    ],
)
def test_rows_without_an_end_take_linear_time(start: str, unit: str, end: str) -> None:
    text = start + unit * ((MAX_ANSWER - 100) // len(unit)) + end
    assert scans(lambda: normalize.__wrapped__(text), text) < 50  # 15; if quadratic, 80 to 600


def test_the_rows_of_an_array_are_equations() -> None:
    assert normalize(r"\begin{array}{rcl} x &=& 2 \end{array}") == "x = 2"
    assert normalize(r"\begin{array}{rl} x &= 2 \\ z &= 3 \end{array}") == "x = 2 , z = 3"
    assert normalize(r"\begin{array}{l}1\\2\end{array}") == r"\begin{array}{l}1\\2\end{array}"
