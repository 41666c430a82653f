"""Answers that name what was asked for, and answers whose words, connectives or signs change the meaning."""

import pytest

from nlac_bench.envs.math500_hard.grading.judge import check

RIGHT = [
    # the asked expression, named
    ("9", "u+v = 9"), ("4", "p(3) = 4"), ("6", "|r|+|s| = 6"), ("50", "k^2 = 50"), ("9", "9 = u+v"),
    ("2", r"\tfrac1{1+w}+\dots = 2"), ("17", "x^2+y^2 = (x+y)^2-2xy = 25-8 = 17"), ("5", "Q(2) = 5"),
    (r"\frac12", r"P(A \cap B) = \frac{1}{2}"), ("12", "[ABC] = 12"), ("3", r"\lfloor x \rfloor = 3"),
    ("5", r"\log_2 x = 5"), ("120", "n! = 120"), (r"\frac34", r"\mathbb{E}[X] = \frac34"), ("7", "AB = 7"),
    ("10", "AB + BC = 10"), ("8", r"\text{Area of } ABC = 8"), ("5", r"\|\mathbf{v}\| = 5"), ("55", "S_{10} = 55"),
    ("7", r"a_1+a_2+\dots+a_{10} = 7"), (r"\frac{\pi}{3}", r"\angle ABC = \frac{\pi}{3}"), ("30", r"\binom{n}{2} = 30"),
    ("2", r"\frac{x}{y} = 2"), ("-3", "f(2) + f(3) = -3"), ("4", r"f^{-1}(3) = 4"), ("3", r"g'(1) = 3"),
    ("6", r"xyz = 6"), ("1", r"\sin^2 t = 1"), (r"x^2+1", "q(x) = x^2+1"), ("n^2", r"1+3+\dots+(2n-1) = n^2"),
    ("(1,2)", "(p, q) = (1, 2)"), (r"\{1,2\}", r"A \cap B = \{1,2\}"), ("5", r"x = 2+3 = 5"), ("5", "z = 5"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"A^{-1} = \begin{pmatrix}1&2\\3&4\end{pmatrix}"),
    ("10", r"\text{Perimeter} = 10\text{ cm}"), ("25", r"m^2+n^2=25"), ("3", r"\deg(p) = 3"), ("7", r"\max(a,b) = 7"),
    ("4", r"2^k = 4"), ("1.5", r"a+b = \frac32 = 1.5"), (r"\frac{1}{3}", r"P = \frac{2}{6} = \frac13"),
    ("-1", "x + y = 2 - 3 = -1"), ("4", r"\#\text{ of ways} = 4"), ("13", r"a + b + c = 13"), ("3", r"\left|z\right| = 3"),
    # words around
    ("4", r"\boxed{So the answer is $4$.}"), ("4", r"\boxed{**Answer:** 4}"), ("4", r"\boxed{\text{The answer is } 4}"),
    ("4", r"\boxed{The final answer is 4}"), ("4", r"\boxed{\text{Answer: } 4}"), ("4", r"\boxed{$4$}"),
    ("4", r"\boxed{\textbf{4}}"), ("4", r"\boxed{**4**}"), ("12", r"\boxed{12 \text{ ways}}"),
    ("12", r"\boxed{\text{The area is } 12 \text{ square units}}"), ("4", r"\boxed{\text{approximately } 4}"),
    ("5", r"\boxed{\text{exactly } 5 \text{ solutions}}"), ("4", r"\boxed{x = 4 \text{ is the answer}}"),
    ("65", r"\boxed{65\text{ tickets}}"), (r"5\text{ people}", r"5\text{ persons}"), (r"3\text{ solutions}", r"3\text{ real solutions}"),
    (r"5\text{ apples}", "5 apples"), ("10", r"\boxed{\text{Total: } 10}"), (r"20\text{ increase}", "20"),
    (r"12\text{ cm}", r"\text{about } 12 \text{ centimeters}"), ("2", r"\boxed{\text{There are } 2 \text{ solutions}}"),
    (r"n \text{ is even}", r"n \text{ is even}"), (r"\text{even}", r"\boxed{\text{The function is even}}"),
    # several boxes of one list
    (r"\{1,2\}", r"\boxed{1}, \boxed{2}"), ("1,2", r"$\boxed{1}$ and $\boxed{2}$"), ("1,2", r"\boxed{2} \text{ or } \boxed{1}"),
    ("1,2,3", r"$\boxed{1}$, $\boxed{2}$, and $\boxed{3}$."), (r"\{1,2\}", r"\(\boxed{1}\); \(\boxed{2}\)"),
    ("3", r"First \boxed{2}. Therefore \boxed{3}"), ("1,2", r"x=1 or x=2"), ("1,2", "The solutions are 1 and 2."),
    ("(1,2),(3,4)", r"\boxed{(1,2)} and \boxed{(3,4)}"),
    # money and mixed numbers
    (r"\$5", "5 dollars"), (r"\$5", "USD 5"), ("5", "€5"), (r"5\text{ euros}", "€5"), ("€5", r"5\text{ euro}"), ("£5", "5 pounds"),
    (r"22.5^\circ", r"22\frac12^\circ"), ("22.5", r"22\tfrac{1}{2}^{\circ}"), (r"67.5^\circ", "67 1/2°"), (r"22\frac12", "22.5°"),
    (r"22\frac{1}{2}\text{ degrees}", "22.5"), (r"33\frac13\%", "33 1/3 %"), (r"-22\frac12^\circ", "-22.5"),
    # connectives
    ("2<x<3", r"x>2 \text{ and } x<3"), (r"x<2 \text{ or } x>3", r"x>3 \text{ or } x<2"), (r"2<x<3", r"x<3 \land x>2"),
    (r"(-\infty,2)\cup(3,\infty)", r"x<2 \lor x>3"), ("x<2, x>3", r"x<2 \text{ or } x>3"), (r"x=\pm4", r"x=4\text{ and }x=-4"),
    (r"\text{A and C}", "(A), (C)"), (r"\text{A,B}", "A and B"), ("C", "(C) 12"), ("D", r"\text{D. None of these}"),
    # chains
    (r"\sqrt2", r"\sqrt{2} = 1.414"), ("0.5", r"\frac12 = 0.5"), (r"\frac12", r"\frac12 = 0.5"), ("5", "5 = 5.0"),
    (r"50\%", r"0.5 = 50\%"), (r"\frac13", r"\frac13 \approx 0.333"), ("2.5", "5/2 = 2.5"), ("100 cm", r"1\text{ m} = 100\text{ cm}"),
    ("f(x)=2x+3", "2x+3"), ("x=5", "5"), (r"\angle A = 30^\circ", "30"), ("AB = 5", "5"), (r"\text{Area} = 6", "6"),
    ("1,000", "1000"), ("101,202", "101, 202"),
]  # fmt: skip

WRONG = [
    # an equation in one letter is not its value
    ("14", "2x = 14"), ("7", "2x = 14"), ("7", "x+2 = 7"), ("5", "x+2 = 7"), ("5", "-x = 5"), ("3", r"\frac{x}{2} = 3"),
    ("14", "14 = 2x"), ("7", "(x+1)^2-x^2 = 7"), ("5", "k^2 = 25"), ("9", "u+v = 8"), ("4", "p(3) = 5"), ("3", "p(3) = 4"),
    ("4", "4 = 5"), ("x+1", "y-1 = x+1"), ("9", "u+v > 9"), ("9", r"u+v \ne 9"), ("4", r"\text{not } x = 4"), ("6", "x+y = 6 = 7"),
    ("10", r"2\pi r = 10"), ("3", "p(3) \\ne 3"), ("5", r"x \ne 5"), ("2x+3", "y-1 = 2x+3"), ("2", "x+y=4, x-y=2"),
    # connectives
    ("2<x<3", r"x>2 \text{ or } x<3"), (r"x<2 \text{ or } x>3", r"x<2 \text{ and } x>3"), (r"2<x<3", r"x>2 \lor x<3"),
    (r"(2,3)", r"x>2 \text{ or } x<3"), (r"(-\infty,2)\cup(3,\infty)", r"x<2 \text{ and } x>3"),
    (r"x=1 \text{ and } y=2", r"x=1 \text{ or } y=2"), (r"\text{red and blue}", r"\text{red or blue}"), (r"\text{A and B}", r"\text{A or B}"),
    (r"x \ge 2 \text{ and } y \ge 3", r"x \ge 2 \text{ or } y \ge 3"), (r"\mathbb{R}", r"x>2 \text{ and } x<3"), ("(1,2)", "x=1 or y=2"),
    # words
    (r"n \text{ is even}", r"n \text{ is odd}"), (r"3\text{ positive}", r"3\text{ negative}"), (r"20\text{ increase}", r"20\text{ decrease}"),
    (r"\$5\text{ profit}", r"\$5\text{ loss}"), (r"f \text{ is continuous}", r"f \text{ is discontinuous}"), (r"5\text{ wins}", r"5\text{ losses}"),
    (r"x\text{ is prime}", r"x\text{ is composite}"), (r"5\text{ km north}", r"5\text{ km south}"), (r"20\%\text{ gain}", r"20\%\text{ loss}"),
    (r"3\text{ real solutions}", r"3\text{ complex solutions}"), (r"10\text{ boys}", r"10\text{ girls}"), (r"n \text{ is even}", r"n \text{ is not even}"),
    (r"n \text{ is even}", "n"), (r"10\text{ left}", r"10\text{ right}"), (r"5^\circ\text{ above}", r"5^\circ\text{ below}"),
    (r"\text{increasing on }(0,1)", r"\text{decreasing on }(0,1)"), (r"x\text{ divides }y", r"y\text{ divides }x"), (r"5\text{ inside}", r"5\text{ outside}"),
    # negation, comparison, alternative
    ("5", "not 5"), ("5", r"\text{not }5"), ("5", r"\text{anything but }5"), ("5", "anything but 5"), ("5", r"\text{at least } 5"),
    ("5", r"5\text{ or more}"), ("5", r"\text{more than }5"), ("5", r"5\text{ or }6"), ("5", r"\text{either }5\text{ or }6"), ("5", r"\text{never }5"),
    ("5", r"\neg 5"), ("5", r"\text{other than }5"), ("5", r"\text{less than }5"), ("5", r"\text{all except }5"), ("5", "The answer is not 5."),
    ("5", "It isn't 5."), ("5", "x is not 5"), ("5", r"\text{It cannot be }5"), ("5", r"5\text{ is wrong}"), ("5", r"5\text{ is not the answer}"),
    ("A", "not A"), ("A", r"\text{not A}"), ("A", "anything but A"), (r"\text{even}", r"\text{not even}"), (r"\text{no}", r"\text{yes}"), ("5", "at most 5"),
    ("5", r"\text{no more than }5"), ("5", r"5\text{ minus }1"), ("5", r"\text{half of }5"), ("5", r"\text{twice }5"), ("5", r"\boxed{The answer is not $5$.}"),
    ("5", "neither 5 nor 6"), ("5", r"5\text{ does not work}"), ("5", r"> 5"), ("5", r"\le 5"), ("5", "maybe 5, maybe 6"),
    # chains of constants
    ("5", "5 = 6"), ("6", "5 = 6"), ("5", "x = 5 = 6"), ("6", "x = 5 = 6"), (r"\frac12", r"\frac12 = 0.6"), ("0.4", r"\frac13 = 0.4"), ("2", "1+1 = 2 = 3"),
    ("1.41", r"\sqrt2 = 1.42"), ("5", "5 = 5.4"), ("1", r"\frac13 = 1"), ("0.34", r"\frac13 = 0.34"),
    # letters
    ("A", "(A) and (B)"), ("A", "A. B. C. D."), ("D", "A. B. C. D."), ("A", "(A) or (B)"), ("A", "A, B"), ("A", "A or B"), ("B", "(A) and (B)"),
    ("A", r"\text{A or B}"), ("A", "Both A and B"), ("A", "(A), (B), (C), (D)"), ("C", "(A)(B)(C)"), ("A", "A) or B)"),
    # lists
    ("1,000", "1,000,0"), ("1000", "1,000,0"), ("2", r"\boxed{1}, \boxed{2}"), ("1", r"\boxed{1} or \boxed{2}"), ("2", r"$\boxed{1}$ and $\boxed{2}$"),
    ("7", "The answer is 5 or 7."), ("5", "The answer is 5 or 7."), ("7", "Either 5 or 7."), ("7", "So it is 5 or 7."), ("7", "The answer is $5$ or $7$."),
    ("1,000", "1, 0"), ("6", "Answer: 5\nAnswer: 6"), ("7", "It is $5$ or $7$"), ("7", "The possible values are 3, 5 and 7."), ("1,2", r"\boxed{1}, \boxed{3}"),
    # money
    (r"\$5", "€5"), ("€5", r"\$5"), (r"\$5", r"£5"), (r"\$5", "5 euros"), ("£5", "¥5"), (r"5\text{ dollars}", "€5"), (r"\$5", "EUR 5"), ("€5", "5 USD"),
    (r"\$5", "She pays €5."),
    # one side of an equation
    ("1=x^2+y^2", "1"), ("x^2+y^2=1", "1"), ("2x+3y=6", "6"), ("x^2+y^2=1", "x^2+y^2"), ("1=x^2+y^2", "x^2+y^2"), ("0=x+y", "0"), ("xy=6", "6"),
    ("x+y=3", "3"), (r"1 = \frac{x^2}{4}+\frac{y^2}{9}", "1"), ("2x=14", "14"),
    # mixed numbers
    (r"22.5^\circ", r"22\frac13^\circ"), ("11", r"22\frac12^\circ"), (r"22.5^\circ", "22 1/2%"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "pred"), RIGHT)
def test_right_answers_in_a_models_words(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is True, reason


@pytest.mark.parametrize(("gold", "pred"), WRONG)
def test_answers_of_another_meaning(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is not True, reason
