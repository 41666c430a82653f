"""LaTeX of problems as MathML trees: what is rendered, what is left as it was, and that reading is linear."""

import re
from typing import Any

import pytest

from nlac_bench.envs import registry
from nlac_bench.reports.view.formulas import DEEPEST, formulas


def tree(source: str) -> Any:
    """The tree of a text that is one formula."""
    [[name, display, result, written]] = formulas(source)
    assert name == "math" and written == source and display in ("inline", "block")
    return result


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"$\frac12$", ["mfrac", ["mn", "1"], ["mn", "2"]]),
        (r"$12$", ["mn", "12"]),
        (r"$x^{-2}_i$", ["msubsup", ["mi", "x"], ["mi", "i"], ["mrow", ["mo", "−"], ["mn", "2"]]]),
        (r"$f''$", ["msup", ["mi", "f"], ["mrow", ["mo", "′"], ["mo", "′"]]]),
        (r"\(\sqrt[3]{x}\)", ["mroot", ["mi", "x"], ["mn", "3"]]),
        (r"$$\sum_{k}^\infty$$", ["munderover", ["mo", "∑"], ["mi", "k"], ["mi", "∞"]]),
        (r"\[\left( x \right]\]", ["mrow", ["mo", "("], ["mi", "x"], ["mo", "]"]]),
        (r"$\left. x \right|$", ["mrow", ["mi", "x"], ["mo", "|"]]),
        (r"$\text{a cm}$", ["mtext", "a cm"]),
        (r"$\sin \pi$", ["mrow", ["mi", "sin"], ["mi", "π"]]),
        (
            r"$\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}$",
            ["mrow", ["mo", "("], ["mtable", *(
                ["mtr", ["mtd", ["mn", a]], ["mtd", ["mn", b]]] for a, b in ("12", "34"))], ["mo", ")"]],
        ),
    ],
)  # fmt: skip
def test_formulas_become_trees(source: str, expected: object) -> None:
    assert tree(source) == expected


@pytest.mark.parametrize(
    "text",
    [
        "no formula", "costs $5", "$5\nand $6", r"$\unknown$", r"$\frac$", r"$\frac{1$", "$x_1_2$", "$}$",
        "$$",
        r"$\left( x$", r"$\begin{evil}x\end{evil}$", r"$\begin{matrix}x\end{pmatrix}$", r"$\text{a$",
        "$" + "{" * 2 * DEEPEST + "x" + "}" * 2 * DEEPEST + "$", "$" + r"\sqrt" * 1_000 + "x$",
    ],
)  # fmt: skip
def test_what_cannot_be_rendered_is_left_as_it_was(text: str) -> None:
    assert formulas(text) == text


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
    from nlac_bench.reports.view import formulas as module

    read = []

    class Counted(module._Parser):
        def __init__(self, source: str) -> None:
            read.append(len(source))
            super().__init__(source)

    monkeypatch.setattr(module, "_Parser", Counted)
    text = piece * 5_000 + "\\)\\]$"
    formulas(text)
    assert sum(read) <= len(text)
