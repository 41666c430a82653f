"""Conditions beside an answer: they are no part of it if they agree with it, and refute it if they do not."""

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check

RIGHT = [
    ("5", "x=5, x > 0"),
    ("36", r"c = 36 \text{ (since } c \neq 0)"),
    ("36", r"36\ (c \neq 0)"),
    ("5", r"x = 5 \text{ (reject } x = -3)"),
    ("51", r"m+n = 51 \text{ where } m=48,\ n=3"),
    ("1016", r"r \equiv 26 \pmod{55},\ r = 1016"),
    ("x+1", r"x+1,\ x \neq 2"),
    ("2,3", r"x=2, x=3, x \ne 0"),
    ("6", r"x = 6 \text{ (} x = -1 \text{ is extraneous)}"),
    ("5", r"x=5, x \in [0, 9]"),
    ("5", r"x = 5 \text{ for all real } x"),
    ("-1", r"a = -1 \text{ (the other roots are not real)}"),
    ("8", r"\boxed{8}, not $\boxed{7}$"),
    ("5", r"5\ \checkmark"),
]
WRONG = [
    ("5", r"\boxed{5 \text{ for } x=2, 7 \text{ for } x=3}"),
    ("6", r"\boxed{6 \text{ if } n \text{ is even}}"),
    ("6", r"\boxed{6 \text{ for } n > 3}"),
    ("5", r"\boxed{5 \text{ (or } 6)}"),
    ("5", r"\boxed{5 \text{ since it could be 6 or 7}}"),
    ("5", r"\boxed{x=5 \ (x=6)}"),
    ("5", r"\boxed{x = 5 \text{ where } x = 6}"),
    ("5", r"\boxed{x \ne 3, 5}"),
    ("5", r"\boxed{5, x \ne 5}"),
    ("5", r"\boxed{x > 3, 5}"),
    ("5", r"\boxed{x = 5, x < 3}"),
    ("[1,4]", r"\boxed{1 \text{ to } 4}"),
    ("-3", r"\boxed{1 \text{ to } 4}"),
    ("5", r"\boxed{5 \text{ with probability } 0.5}"),
    (r"\$5 \text{ profit}", r"\boxed{\$5 \text{ of the loss}}"),
    (r"3\text{ boys in the first row}", r"\boxed{3\text{ boys in the second row}}"),
    (r"3\text{ in the first row}", r"\boxed{3\text{ in the second row}}"),
    ("2x+3", r"\boxed{x+y = 2x+3}"),
    ("5", r"\boxed{5 \text{ excluding } x = 5}"),
    ("5", r"\boxed{x \in \{3,4\}, x = 5}"),
    ("5", r"\boxed{x = 5 \text{ (not valid)}}"),
    ("5", r"\boxed{x = 5 \text{ (extraneous)}}"),
    ("5", r"\boxed{5 \text{ (false)}}"),
    ("5", r"\boxed{5 \text{ (at least)}}"),
    ("5", r"\boxed{5 \text{ (lower bound only, not the answer)}}"),
    ("5", r"So $x \neq \boxed{5}$."),
    ("5", r"\boxed{5 \text{ (mod 3)}, 6}"),
    ("2", r"\boxed{5 \equiv 2 \pmod 4}"),
    ("14", r"\boxed{2x = 14}"),
    ("14", r"\boxed{2x = 20 - 6 = 14}"),
    ("7", r"\boxed{2x = 2 \cdot 7 = 14}"),
    ("6", r"\boxed{6 \text{ when } x = 1, 5 \text{ when } x = 2}"),
    ("6", r"\boxed{6 \text{ as } x \to \infty, \text{ or } 5}"),
    (r"\text{even}", r"\boxed{\text{an odd function}}"),
    (r"\text{even}", r"\boxed{\text{an even or odd function}}"),
    ("5", r"\boxed{\text{non } 5}"),
    ("5", r"\boxed{5 \text{ and } x = 6 \text{ (since } x>5)}"),
    (r"25\%", r"\boxed{25\text{ percent less}}"),
    ("5", r"\boxed{5 \text{ percent off}}"),
    ("5", r"\boxed{5\text{ in base }6}"),
    ("13", r"\boxed{13 \text{ base four}}"),
    ("5", r"\boxed{x = 5 \text{ for } x < 0}"),
    ("(2,5)", r"\boxed{(2,5), x \ne 3}"),
    ("x>2", r"\boxed{x > 2, x \neq 3}"),
    (r"\text{Monday}", r"\boxed{\text{the day before Monday}}"),
    (r"\text{Monday}", r"\boxed{\text{Monday of next month or Tuesday}}"),
    (r"\text{May}", r"\boxed{\text{month of June}}"),
    ("2", r"\boxed{\text{Not } 2, \text{ since } 2 < 3}"),
    ("5", r"\boxed{5 \text{ is the second largest}}"),
    ("5", r"\boxed{5 \text{ is the largest number excluded}}"),
    ("51", r"m+n = 51 \text{ where } m=48,\ n=4"),
    ("1016", r"r \equiv 27 \pmod{55},\ r = 1016"),
    ("5", r"x=5, x \in [6, 9]"),
    ("7", r"The answer is not $\boxed{7}$"),
]


@pytest.mark.parametrize(("gold", "pred"), RIGHT)
def test_conditions_that_agree(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is True, reason


@pytest.mark.parametrize(("gold", "pred"), WRONG)
def test_conditions_that_change_the_answer(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is not True, reason
