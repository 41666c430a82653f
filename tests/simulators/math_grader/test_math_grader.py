"""What the MATH grader takes for the same answer and what it does not."""

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check
from nlac_bench.simulators.math_grader.evaluate import symbolic
from nlac_bench.simulators.math_grader.extract.boxes import boxed
from nlac_bench.simulators.math_grader.extract.extract import extract

SAME = [
    # one spelling for another
    ("2=x", "x=2"), ("1234", r"1\,234"), ("1000", "1 000"), ("12345678", "12 345 678"), ("1234", "1,234"),
    (r"1,\!234", "1234"), ("1234", "1{,}234"), (r"11,\! 111,\! 100", "11, 111, 100"), ("1.5", "1 1/2"),
    (r"3\frac12", "7/2"), (r"-3\frac{1}{2}", "-3.5"), (r"\frac 59", r"\dfrac{5}{9}"), ("2½", "2.5"),
    (".5", "0.50"),
    (r"\frac{1}{2}", "\x08oxed{\x0crac12}"), (r"\frac{1}{2}", r"\\boxed{\\frac{1}{2}}"), ("−5", "-5"),
    ("3", "３"),
    ("90^\\circ", "90°"), ("90", "90 degrees"), (r"x^2+1", "x²+1"), (r"\sqrt{2}", "√2"), ("42", "４２"),
    (r"\mathbf{2340}", "2340"), (r"\left( 3, \frac{\pi}{2} \right)", "(3, π/2)"), ("1.5e3", "1500"),
    (r"1.5 \times 10^{-3}", "0.0015"), ("2**(1/4)", r"\sqrt{\sqrt{2}}"), ("sqrt(2)/2", r"\frac{1}{\sqrt2}"),
    # labels: units, money, per cent, names
    ("5", "5 apples"), (r"40\text{ feet}", "40"), (r"40\text{ feet}", "40 ft"),
    (r"15\mbox{ cm}^2", "15 square cm"),
    (r"5 \text{ m}", r"500 \text{ cm}"), (r"2 \text{ hours}", "120 minutes"), (r"\$0.50", "50 cents"),
    ("10", "$10"),
    (r"60 \text{ mph}", "60 miles per hour"), ("10 m/s", "10"), (r"50\%", "0.5"), (r"50\%", "50"),
    ("0.335", "33.5 pct"),
    (r"2 \text{ million}", "2,000,000"), ("x=5", "5"), ("5", "x = 5"), ("f(x)=2x+3", "2x+3"),
    ("12", "twelve"),
    (r"\frac{NO}{BO}=\frac{1}{\sqrt6}", r"\frac{1}{\sqrt6}"), (r"\$\dfrac23 \approx \$0.67", "0.67"),
    # times and ratios
    ("20:34", r"08:34 \text{P.M.}"), (r"8\!:\!34 \text{ p.m.}", "8:34"), ("3:4", "6:8"), (r"\frac34", "3:4"),
    ("S:T=7:32", "7:32"),
    # choices and words
    (r"\text{A,D}", "D, A"), ("A", "(A)"), (r"\text{(C)}", r"\textbf{(C)}\ 12"), ("C", "C. 12"),
    (r"\text{Monday}", "monday."), (r"\text{two lines}", "two lines"), (r"\text{ellipse}", "an ellipse"),
    # collections
    (r"\{1,2,3\}", "{3,2,1}"), ("1,2", "2 and 1"), (r"\pm 3", "-3, 3"),
    (r"1\pm\sqrt5", r"1-\sqrt5, 1+\sqrt5"),
    (r"\{1\pm\sqrt{5},-2\}", r"-2, 1+\sqrt5, 1-\sqrt5"), ("p=5,q=2;p=7,q=2", "(5,2),(7,2)"),
    ("x=1, y=2", "(1,2)"),
    ("(1,2),(3,4)", "(3,4),(1,2)"), (r"\langle 1,2\rangle", "(1,2)"), ("101,202", "202, 101"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", "(1,2)"),
    (r"\begin{pmatrix}1&1/2\end{pmatrix}", r"\begin{bmatrix} 1 & 0.5 \end{bmatrix}"),
    # sets of numbers
    (r"(-\infty,2]\cup[3,\infty)", r"x\le 2 \text{ or } x\ge 3"), ("(0,2)", r"(0,1]\cup[1,2)"),
    ("x>1", r"(1,\infty)"),
    (r"x \in [-2,7]", "[-2,7]"), ("2<x<3", "3>x>2"), ("-x >= -1", "x <= 1"),
    (r"\mathbb{R}", r"(-\infty,\infty)"),
    (r"\mathbb{R}\setminus\{0\}", r"(-\infty,0)\cup(0,\infty)"), ("(1,2)", r"(0,2)\cap(1,3)"),
    # equations
    ("y=2x+3", "y-2x=3"), ("5x-7y+11z+4=0", "-5x+7y=11z+4"), ("x != 3", r"x \neq 3"),
    # values
    ("1+2i", "i(2-i)"), (r"\cos x", r"\sin(90^\circ-x)"), (r"\frac{\pi}{2}", r"90^\circ"),
    (r"e^{i\pi}", "-1"),
    (r"\sec x", r"\frac1{\cos x}"), (r"\tan^2 y+1", r"\sec^2(y)"), (r"\log_2 8", "3"),
    (r"\binom{10}{3}", "120"),
    (r"{10 \choose 3}", "120"), ("(r+5)(r+5)", "(r+5)^2"), (r"\frac{1}{2006!}", "1/2006!"),
    (r"\sqrt[3]{-8}", "-2"),
    ("n!", "n(n-1)!"),
    (r"\sqrt{x^2}", "|x|"), (r"0.1\overline{6}", r"\frac16"), (r"\frac{1}{12}", "0.0833333333333"),
    (r"\sum_{k=1}^{10} k^2", "385"),
    ("10^{10^{10^{10}}}", "10^{10^{10^{10}}}"), (r"\binom{2026}{1013}", r"\boxed{\binom{2026}{1013}}"),
    # bases
    ("1011_2", "1011"), (r"4210_{5}", r"4210_\text{5}"), ("2A_{16}", "2a_{16}"), ("1010_2", "(1010)_2"),
    (r"\cos 58^\circ", r"\cos 58"),
    (r"\sqrt{x}\sqrt{y}", r"\sqrt{xy}"),
]  # fmt: skip

DIFFERENT = [
    ("1/2006!", "1/2004!"), ("100000000001000000000", "100000000000000000000"), ("3^{2025}", "2^{2025}"),
    (r"\frac13", "0.333"), ("0.333", r"\frac13"), (r"\frac13", "0.333333333334"), (r"\pi", "3.14"),
    ("1", "1.0000000001"),
    ("42", r"\max(" + ",".join(f"x+{n}" for n in range(800)) + ")"),
    ("42", "+".join(f"|x-{n}|" for n in range(500))),
    ("1", "1+10^{-900}"), ("1", "(x-x)+(y-y)+2"), ("0", "(x-x)+(y-y)+10^{-50}"),
    (r"\pi", r"\pi+10^{-900}"), ("0.5", "0.5%"), ("12", "12!"), ("0", "10^{-5000}"),
    ("|x|", "x"), (r"\sqrt{x^2}", "x"), ("x+1", "y+1"), ("(-1)^n", "(-1)^{n+1}"), ("2-3i", "2+3i"),
    ("-6", "6"),
    ("1,234", "(1,234)"), ("12", "[1,2]"), ("12", "{1,2,3}"), ("2", "(0,)"), ("12", "1 2"), ("200", "10 20"),
    ("(1,2)", "(2,1)"), ("(0,9)", "[0,9)"), ("[1, 2)", "[x, y)"), (r"\{1,2\}", "1,2,3"), (r"\pm3", "3"),
    (r"(0,1)\cup(1,2)", "(0,2)"), (r"(0,9)\cup(9,36)", r"(0,9)\cap(9,36)"), ("75, 75", "75"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}"),
    ("x>5", "x<5"), (r"x\ge5", "x>5"), ("x=5", "y=5"), ("2x+z=1", "1"), ("a^2+b=0", "0"),
    ("x^2+y^2=4", "x^2+y^2=2"),
    (r"\sin(x)=\frac{42}{59}", r"\cos(x)=\frac{42}{59}"), (r"5 \text{ m}", r"5 \text{ cm}"),
    (r"12 \text{ cm}", r"12 \text{ kg}"), (r"864 \mbox{ inches}^2", r"864 \mbox{ inches}^3"),
    ("20:34", "8:34"),
    (r"8:34 \text{ p.m.}", "8:34 am"), ("3:4", "4:3"), ("11", "1011_2"), ("1011_2", "11"), ("1_6", "1_7"),
    ("E", r"\mathrm{E}*2"), ("A", "B"), (r"\text{A,D}", "A"), ("SAS", "ASA"), (r"\text{June 20}", "20"),
    (r"20^\circ", r"20\text{ miles}"), (r"(9, 3)", r"(\text{E})"), (r"(\text{E})", r"(\tfrac83, 3]"),
    ("9am", "9a"), (r"40\text{ min}", r"40\text{ min}+1"), ("5", "(1,5)"),
    # one answer counts, whatever else is in the text
    ("3", "1, 2, 3, 4"), ("3", r"\boxed{1,2,3}"), ("7", "7 or 8"), ("2", r"\boxed{2}, no: \boxed{3}"),
    ("3", "3, 3"),
    ("42", "The perimeter is 7"), ("4", "The answer is !!!invalid!!!"), ("5", ""), ("5", r"\boxed{}"),
    ("5", "   "),
    ("42", "__import__('os').system('echo 42')"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "pred"), SAME)
def test_same_answer(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is True, reason


@pytest.mark.parametrize(("gold", "pred"), DIFFERENT)
def test_different_answer(gold: str, pred: str) -> None:
    correct, reason = check(gold, pred)
    assert correct is False, reason


@pytest.mark.parametrize(("gold", "pred"), SAME)
def test_an_answer_is_itself_in_any_wrapping(gold: str, pred: str) -> None:
    for answer in (gold, pred):
        if "boxed" in answer or "oxed" in answer:
            continue
        for text in (
            answer,
            rf"$\boxed{{{answer}}}$",
            rf"First \boxed{{77}}. But \[\boxed{{{answer}}}\] holds.",
        ):
            assert check(answer, text)[0] is True, text


@pytest.mark.parametrize(
    ("gold", "pred", "reason"),
    [
        ("x", r"\int_0^1 " + "(" * 30 + "x" + ")" * 30 + " dx", "levels of brackets"),
        (r"\int_0^1 x dx", r"\int_0^1 " + "x+" * 800 + "x dx", "characters"),
        (r"\foo{3}", "3", "does not read the gold answer"),
    ],
)
def test_what_computer_algebra_cannot_settle_is_ungraded(gold: str, pred: str, reason: str) -> None:
    correct, why = check(gold, pred)
    assert correct is None and why.startswith("ungraded: ") and reason in why


def test_an_error_of_computer_algebra_is_ungraded(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise ZeroDivisionError(f"no {text}")

    monkeypatch.setattr(symbolic, "_parse", broken)
    correct, why = check("1", r"\int_0^1 2x dx")
    assert correct is None and "ZeroDivisionError" in why


def test_nothing_is_right_without_a_gold_answer() -> None:
    for gold in ("", "  ", "$$", r"\boxed{}"):
        for pred in ("", "5", gold):
            correct, reason = check(gold, pred)
            assert correct is not True
        assert check(gold, "5") == (None, reason) and "gold" in reason


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{\frac{1}{\sqrt{2}}}.", r"\frac{1}{\sqrt{2}}"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{x=\boxed{5}}", "5"),
        (r"\boxed 5", "5"),
        (r"\fbox{7}", "7"),
        (r"\boxed{\{1,2\}}", r"\{1,2\}"),
        (r"\boxed{3} is what \boxed{} holds", "3"),
        (r"\boxed{3", "3"),
        (r"<think>\boxed{1}</think> It is \boxed{2}.<|im_end|>\boxed{3}", "2"),
        ("The answer is 42 because 6 times 7 is 42, not 43.", "42"),
        ("Step 1: 3 apples\nFinal answer: 42", "42"),
        ("#### 42", "42"),
        ("**Final Answer**\n\n**42**", "42"),
        (r"We find that $x \neq 3$.", r"x \neq 3"),
        ("The roots are $2$, $3$ and $5$.", "2 , 3 , 5"),
        ("Antwort: 42 Euro", "42 Euro"),
        ("42 because geometry proves it", "42"),
        ("The correct option is (D).", "(D)"),
        ("The fastest is Evelyn.", "Evelyn"),
        (r"\frac{1}{2}", r"\frac{1}{2}"),
    ],
)
def test_extraction(text: str, answer: str) -> None:
    assert extract(text) == answer


def test_a_box_is_found_only_where_there_is_one() -> None:
    assert boxed("the box holds 5") is None
    assert boxed(r"\boxedarea{5}") is None
    assert boxed(r"\boxed{}") is None


def test_a_long_text_costs_its_end_only() -> None:
    assert check("5", "x" * 3_000_000 + r" \boxed{5}")[0] is True
    assert check("5", r"\boxed{5}" + " x" * 3_000_000)[0] is not True
