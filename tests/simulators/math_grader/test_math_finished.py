"""Answers that leave to be carried out what was asked; ordinals, rows of equations, sides of ≈."""

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check

UNFINISHED = [
    ("160", r"\sum_{k=1}^{20} \lfloor 4k/5 \rfloor"), ("120", r"\prod_{k=1}^5 k"), ("120", "5!"),
    ("1/3", r"\int_0^1 x^2 \, dx"), ("1", r"\lim_{x\to 0} \frac{\sin x}{x}"), ("3", r"\gcd(12, 9)"),
    ("12", r"(78^{127} + 30^{53}) \bmod 100"), ("3", r"\left\lfloor \frac{7}{2} \right\rfloor"),
    ("120", r"\binom{10}{3}"), (r"\frac{1}{12}", r"\frac{10}{\binom{10}{3}}"), ("8", "3+5"),
    ("60", r"12 \times 5"),
    (r"\frac{5}{6}", r"\frac12 + \frac13"), (r"\frac16", r"\frac12 \cdot \frac13"), ("144", "12^2"),
    (r"\frac{1}{6}", r"\frac{1/2}{3}"), (r"\frac{211}{990}", r"0.2\overline{13}"), ("4", r"\sqrt{16}"),
    ("3", r"\log_2 8"), (r"\frac{\sqrt3}{2}", r"\sin 60^\circ"), ("-1", r"e^{i\pi}"),
    (r"\frac{3}{4}", r"\tan(\arctan\frac34)"), (r"\frac{\pi}{4}", r"\arctan 1"),
    ("16777216", r"(-2-2\sqrt3 i)^{12}"),
    ("1+2i", r"\frac{-3+4i}{1+2i}"), ("-20-5i", "(-1+2i)(2+9i)"), ("1", "(2-8i)+(-1+8i)"),
    ("8\\sqrt2", r"\sqrt{50}+\sqrt{18}"),
    (r"\begin{pmatrix}6&8\end{pmatrix}", r"\begin{pmatrix}1&2\end{pmatrix}+\begin{pmatrix}5&6\end{pmatrix}"),
    (r"96-10\sqrt{21}", r"\frac{6\sqrt{1789-240\sqrt{21}}+8\sqrt{1236-240\sqrt{21}}}{5}"),
    ("1", "x-x+1"), ("0", r"\sin^2 x+\cos^2 x-1"), ("45", r"S = \sum_{k=1}^9 k"), ("(1, 2)", "(1, 1+1)"),
    ("2, 3", r"2, \sqrt{9}"), ("5", r"|-5|"), ("12", r"\frac{\sqrt{2.5^2-0.7^2}}{2.7-2.5}"),
]  # fmt: skip
FINISHED = [
    ("1024", "2^{10}"), ("27648", r"2^{10} \cdot 3^3"), ("1000", "10^3"), ("150000", r"1.5 \times 10^5"),
    (r"\binom{10}{3}", r"\binom{10}{7}"), (r"\binom{10}{3}", "120"), (r"\binom{10}{3}", r"\frac{10!}{3! 7!}"),
    ("5!", "120"), (r"\sum_{k=1}^{10} k^2", "385"), (r"\int_0^1 x^2 \, dx", "1/3"), ("e^2", r"\exp(2)"),
    (r"\lim_{x\to 0} \frac{\sin x}{x}", "1"), (r"\sin 20^\circ", r"\cos 70^\circ"),
    (r"\log_2 3", r"\frac{\ln 3}{\ln 2}"),
    ("x+1", "x+1+y-y"), (r"\frac34", r"\frac68"), ("12", r"\frac{24}{2}"), ("3.5", r"3\frac12"),
    (r"\frac13", r"0.\overline{3}"),
    (r"70\sqrt2", r"\sqrt{9800}"), (r"\frac{\sqrt2}{2}", r"\frac{1}{\sqrt2}"),
    (r"12-8\sqrt2", r"4(\sqrt2-1)^2"),
    (r"x^2-4", "(x-2)(x+2)"), (r"2\pi + 3", r"3 + 2\pi"), ("45", r"\sum_{k=1}^9 k = 45"),
    ("45", r"S = \sum_{k=1}^9 k = 45"),
    ("9", r"129^{34}+96^{38} \equiv 9 \pmod{11}"), ("3", r"3 \pmod 7"), ("5", r"5 \text{ or } 2+3"),
    (r"(-8, 8)", "|x| < 8"), (r"\frac12+\frac{\sqrt3}{2}i", r"e^{i\pi/3}"),
    (r"0.\overline{36}", r"0.\overline{3636}"),
    ("1.5", r"1 \text{ hour } 30 \text{ minutes}"), (r"2^{10}", "4^5"), (r"3+2\sqrt2", r"(1+\sqrt2)^2"),
]  # fmt: skip
ORDINALS = [
    r"14^{\text{th}}", "14th", r"14^{\mathrm{th}}", r"14\text{th}", r"14^\text{th}", "14^{th}",
    r"14\text{-th}",
    r"\text{14th}", r"\text{the 14th}", r"14^{\text{th}} \text{ term}", r"\text{14th term}",
    r"{14}^{\rm th}", r"\text{fourteenth}",
]  # fmt: skip
SAME = [
    ("1777", r"1{,}777 \text{ times}"), ("3", r"3 \text{ times as many}"),
    ("22", r"22 \text{ more euros than pounds}"),
    ("2", r"\begin{aligned} x &= 2 \end{aligned}"), ("x=2", r"\begin{align*} x &= 2 \end{align*}"),
    ("x=1, y=2", r"\begin{aligned} x &= 1 \\ y &= 2 \end{aligned}"),
    (r"\begin{aligned} x &= 2 \end{aligned}", "2"),
    ("7", r"\begin{aligned} x &= 3+4 \\ &= 7 \end{aligned}"), ("2", r"\begin{array}{rl} x &= 2 \end{array}"),
    (r"\binom{1}{2}", r"\begin{aligned} v &= \binom{1}{2} \end{aligned}"),
    ("(1, 2)", r"\begin{aligned} v &= \begin{pmatrix}1\\2\end{pmatrix} \end{aligned}"),
    (r"100\pi", r"100\pi \approx 300"), ("10", r"9.99 \approx 10"),
]  # fmt: skip
DIFFERENT = [
    ("6", r"2\text{ times }3"), ("6", r"2\text{ times three}"), ("22", r"22 \text{ or more}"),
    ("22", r"22 \text{ more than half}"), ("22", r"22 \text{ more than } 5"), ("53", r"53 \approx 28"),
    ("28", r"53 \approx 28"),
    (r"22 \text{ more euros than pounds}", r"22 \text{ fewer euros than pounds}"),
    ("53", r"x = 53 \approx 28"),
    ("2", r"\begin{aligned} x &= 3 \end{aligned}"), ("8", r"\begin{aligned} x &= 3+4 \\ &= 7 \end{aligned}"),
    ("28", r"\begin{aligned} S &= \sum_{k=1}^{7} k \end{aligned}"), ("3", r"\text{a third}"),
    (r"\sqrt2", r"\sqrt2 \approx 1.73"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "pred"), UNFINISHED)
def test_an_operation_that_the_gold_answer_does_not_hold_is_not_accepted(gold: str, pred: str) -> None:
    assert check(gold, rf"\boxed{{{pred}}}")[0] is False
    assert check(gold, rf"\boxed{{V = {pred}}}")[0] is False
    assert check(pred, rf"\boxed{{{pred}}}")[0] is True


@pytest.mark.parametrize(("gold", "pred"), FINISHED)
def test_what_people_leave_standing_is_accepted(gold: str, pred: str) -> None:
    assert check(gold, rf"\boxed{{{pred}}}")[0] is True


@pytest.mark.parametrize("ordinal", ORDINALS)
def test_an_ordinal_is_its_number(ordinal: str) -> None:
    for gold, pred in (("14", ordinal), (ordinal, "14"), (ordinal, "14th"), ("14^{\\text{th}}", ordinal)):
        assert check(gold, rf"\boxed{{{pred}}}")[0] is True
    for gold, pred in (("15", ordinal), (ordinal, "15"), (ordinal, "15th")):
        assert check(gold, rf"\boxed{{{pred}}}")[0] is False


@pytest.mark.parametrize(("gold", "pred"), SAME)
def test_right_answers_in_other_forms(gold: str, pred: str) -> None:
    assert check(gold, rf"\boxed{{{pred}}}")[0] is True


@pytest.mark.parametrize(("gold", "pred"), DIFFERENT)
def test_wrong_answers_in_these_forms(gold: str, pred: str) -> None:
    assert check(gold, rf"\boxed{{{pred}}}")[0] is False
