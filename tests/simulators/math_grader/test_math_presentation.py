"""Answers in LaTeX that only changes how they look, and after the words that introduce them."""

import pytest

from nlac_bench.simulators.math_grader.compare.judge import check, quick

ANSWERS = ("12", r"\frac{3}{2}", "(3,4]", r"1+2\sqrt{3}", "p - q")
FORMS = (
    r"\boxed{\Large %s}", r"\boxed{\LARGE{%s}}", r"\boxed{\ensuremath{%s}}", r"\boxed{\color{red}{%s}}",
    r"\boxed{\colorbox{yellow}{$%s$}}", r"\boxed{\rule{0pt}{3ex}%s}", r"\boxed{\vphantom{A}%s}",
    r"\boxed{\mathbf{%s}}", r"\boxed{\boldsymbol{%s}}", r"\boxed{\mathrm{%s}}", r"\boxed{\underline{%s}}",
    r"\boxed{\(%s\)}", r"\boxed{\[%s\]}", r"\boxed{\text{$%s$}}", r"\boxed{\text{The answer is $%s$.}}",
    r"\boxed{\begin{array}{c} %s \end{array}}", r"\boxed{\begin{aligned} %s \end{aligned}}",
    r"\boxed{\therefore %s}", r"\boxed{\Rightarrow %s}", r"\boxed{\to %s}",
    r"\boxed{\text{Final answer}: %s}",
    r"\boxed{\text{The value is equal to } %s}", r"\boxed{\text{The expression simplifies to } %s}",
    "<answer>%s</answer>", r"Perhaps $\boxed{77}$? No. <answer>$%s$</answer>",
    r"<think>Perhaps \boxed{77}.</think> \boxed{%s}",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_looks_do_not_matter(form: str) -> None:
    for answer in ANSWERS:
        assert check(answer, form.replace("%s", answer))[0] is True, answer
        other = answer.replace("3", "5").replace("2", "7").replace("-", "+")
        assert check(answer, form.replace("%s", other))[0] is not True, answer


@pytest.mark.parametrize(
    "text",
    [
        r"\text{greater than or equal to } 12", r"\text{The value is not equal to } 12",
        r"\text{The answer is at least } 12", r"12 \text{ etc.}", r"\text{Since } x > 20, x = 12", "-x = 12",
        r"\frac{x}{2} = 12", r"\text{all real numbers except } 12", r"12 \text{ is the second largest}",
        r"12 \text{ are not possible}", r"20 \text{ at } (12, 4)", r"\text{mod } 12", "20 < x < 12",
    ],
)  # fmt: skip
def test_introductions_that_say_something_else(text: str) -> None:
    assert check("12", rf"\boxed{{{text}}}")[0] is not True


@pytest.mark.parametrize(
    ("gold", "pred"),
    [
        (r"\text{(C)}", r"\text{(C) is wrong}"), (r"\text{(C)}", r"\text{(C) does not work}"),
        (r"\text{(C)}", r"\text{(C)} + 1"), (r"10\text{ inches}", "10'"), ("f(x) = 2x+3", "x = 2x+3"),
        (r"(2,\infty)", r"a + b \ge 2"), (r"(2,\infty)", "2x > 2"), ("1,-2", r"\text{mod } 1, -2"),
        (r"(-\infty,2)\cup(2,\infty)", r"x \in \mathbb{R}, x = 2"),
    ],
)  # fmt: skip
def test_other_answers(gold: str, pred: str) -> None:
    assert check(gold, rf"\boxed{{{pred}}}")[0] is not True


def test_the_quick_verdict_reads_the_final_part() -> None:
    assert quick("5", r"<think>\boxed{4}</think> The answer is 5.") is None
    assert quick("5", r"\boxed{4} <answer>5</answer>") == (True, "identical")
