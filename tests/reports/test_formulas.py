"""LaTeX of problems as MathML trees: what is rendered, what is left as it was, and what it may cost."""

import re
from typing import Any

import pytest

from nlac_bench.envs import registry
from nlac_bench.reports.view import formulas as module
from nlac_bench.reports.view.formulas import DEEPEST, LONGEST, formulas

_PARENTHESIS = {"stretchy": "true", "fence": "true", "form": "prefix"}


def tree(source: str) -> Any:
    """The tree of a text that is one formula, without the row around it if it has one element."""
    [[name, display, [row, attributes, *found], written]] = formulas(source)
    assert (name, row, attributes, written) == ("math", "mrow", {}, source)
    assert display == ("block" if source.startswith(("$$", r"\[")) else "inline")
    return found[0] if len(found) == 1 else found


def shape(part: Any) -> Any:
    """A tree as one text without attributes: ``mfrac(1 2)``; rows and leaves have no names."""
    if isinstance(part, str):
        return part
    inner = " ".join(shape(child) for child in part[2:])
    return inner if part[0] in ("mrow", "mi", "mo", "mn", "mtext") else f"{part[0]}({inner})"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"$\frac12$", ["mfrac", {}, ["mn", {}, "1"], ["mn", {}, "2"]]),
        (r"$12$", ["mn", {}, "12"]),
        (r"$\text{a <b> &lt; cm}$", ["mtext", {}, "a\xa0<b>\xa0&lt;\xa0cm"]),
        (r"$\left( x \right.$", ["mrow", {}, ["mo", _PARENTHESIS, "("], ["mi", {}, "x"],
                                 ["mo", _PARENTHESIS | {"form": "postfix"}]]),
    ],
)  # fmt: skip
def test_a_tree_has_names_attributes_and_children(source: str, expected: object) -> None:
    assert tree(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"$x^{-2}_i$", "msubsup(x i − 2)"),
        (r"$x^12$", "msup(x 1) 2"),
        (r"$\sqrt12$", "msqrt(1) 2"),
        (r"$\frac{a}23$", "mfrac(a 2) 3"),
        (r"$f''$", "msup(f ″)"),
        (r"$\{1, 2\}$", "{ 1 , 2 }"),
        (r"\(\sqrt[3]{x}\)", "mroot(x 3)"),
        (r"$$\sum_{k}^\infty$$", "munderover(∑ k ∞)"),
        (r"\[\lim_{x\to0} x\]", "munder(lim x → 0) x"),
        (r"\[\left( x \right]\]", "( x ]"),
        (r"$\sin \pi \in \mathbb{R}$", "sin π ∈ ℝ"),
        (r"$\binom{n}{k}^2$", "msup(( mfrac(n k) ) 2)"),
        (r"$\boxed{5\%}$", "mpadded(5 %)"),
        (r"$\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}^2$",
         "msup(| mtable(mtr(mtd(1) mtd(2)) mtr(mtd(3) mtd(4))) | 2)"),
        (r"$\begin{aligned} a &= b \end{aligned}$", "mtable(mtr(mtd(a) mtd( = b)))"),
    ],
)  # fmt: skip
def test_formulas_become_mathml(source: str, expected: str) -> None:
    assert shape(formulas(source)[0][2]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "no formula", "costs $5", "$5\nand $6", "$$", "$ $", "$}$", "$x_1_2$", "$x^$", r"$\unknown$",
        r"$\frac$", r"$\frac{1}$", r"$\frac{1$", r"$\left( x$", r"$x \right)$", r"$\text{a$",
        r"$\begin{evil}x\end{evil}$", r"$\begin{matrix}x\end{pmatrix}$", r"$\begin{matrix}x$",
        "$50% hidden$", "$#1$",
        # elements and attributes that run, load, hide or restyle something
        r"$\href{javascript:alert(1)}{x}$", r"$\style{position:fixed}{x}$", r"$\class{worse}{x}$",
        r"$\color{white}{x}$", r"$\phantom{x}$", r"$\rule{9em}{9em}$", r"$\hspace{-9em}x$",
        # characters that change how the text around them is read
        r"$\unicode{x202E}$", r"$\text{&#x202E;}$", r"$\text{&#xD800;}$",
        # macros and copies, whose work grows exponentially
        r"$\def\a{xx}\a$", r"$\newcommand{\a}{xx}\a$", r"$\DeclareMathOperator{\a}{x}\a$",
        r"$\newenvironment{a}{x}{y}\begin{a}\end{a}$", r"$\sideset{_1}{^2}x$",
        # too deep and too long
        "$" + "{" * 2 * DEEPEST + "x" + "}" * 2 * DEEPEST + "$", "$" + r"\sqrt" * 700 + "x$",
        "$" + r"\sqrt" * (DEEPEST + 1) + "x$", "$" + "x" * LONGEST + "$",
    ],
)  # fmt: skip
def test_what_cannot_be_rendered_is_left_as_it_was(text: str) -> None:
    assert formulas(text) == text


@pytest.mark.parametrize("source", ["{" * (DEEPEST - 2) + "x" + "}" * (DEEPEST - 2), "x" * (LONGEST - 1)])
def test_the_deepest_and_the_longest_formula_are_rendered(source: str) -> None:
    assert tree(f"${source}$")


@pytest.mark.parametrize("command", [r"\href", r"\style", r"\class", r"\textcolor"])
def test_attributes_are_checked_even_if_a_command_is_allowed(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_COMMANDS", module._COMMANDS | {command})
    monkeypatch.setattr(module, "_ATTRIBUTES", module._ATTRIBUTES | {"href", "style", "class", "mathcolor"})
    assert formulas(f"${command}{{red}}{{x}}$") != f"${command}{{red}}{{x}}$"
    monkeypatch.setattr(module, "_ATTRIBUTES", module._ATTRIBUTES - {"href", "style", "class", "mathcolor"})
    assert formulas(f"${command}{{red}}{{x}}$") == f"${command}{{red}}{{x}}$"


def test_texts_around_formulas_are_kept() -> None:
    first, formula, last = formulas(r"Let $x$ be <b>, and $\evil$.")
    assert (first, formula[3], last) == ("Let ", "$x$", r" be <b>, and $\evil$.")


def test_all_formulas_of_the_embedded_problems_are_rendered() -> None:
    env = registry.make_text_env("math500_hard")
    for task in env.task_ids:
        statement, _ = env.reset(options={"task_id": task})
        text = f"{statement}\n{env.oracle_action()}"
        parts = formulas(text)
        rest = [parts] if isinstance(parts, str) else [part for part in parts if isinstance(part, str)]
        assert not re.search(r"[$\\]", "".join(rest)), text


@pytest.mark.parametrize("piece", ["\\(", "\\[", "\\(\\", "$$a", "$", "$x^", "\\[{"])
def test_no_part_of_a_text_is_read_twice(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def counted(source: str, display: str) -> None:
        read.append(len(source))

    monkeypatch.setattr(module, "_rendered", counted)
    text = piece * 5_000 + "\\)\\]$"
    formulas(text)
    assert sum(read) <= len(text)
