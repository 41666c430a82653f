"""Lists the expressions of a statement, which the floor agent ``copy`` puts into boxes without solving it."""

import re
from collections.abc import Iterator
from itertools import pairwise

MAX_COPIES = 300
"""Maximal number of expressions that are listed of a statement; the first formulas come first."""

_FORMULA = re.compile(r"\$\$?(.+?)\$\$?|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
_TOKEN = re.compile(
    r"\s+|\\(?:begin|end)\{\w+\*?\}|\\[dt]?frac(?=\d\d)|\\[a-zA-Z]+|\\.|\d[\d,]*(?:\.\d+)?|.", re.DOTALL
)
_CLOSERS = {"{": "}", "(": ")", "[": "]", r"\{": r"\}", r"\lfloor": r"\rfloor", r"\lceil": r"\rceil"}
_INVISIBLE = frozenset(("\\left", "\\right", "\\,", "\\;", "\\:", "\\!", "\\ ", "\\displaystyle", "&"))
_RELATIONS = "le leq ge geq ne neq equiv approx to in quad qquad ldots"
_SIDES = frozenset((*"=<>,;:.?", "\\\\", *(f"\\{name}" for name in _RELATIONS.split())))
_SIGNS = frozenset("+-")
_ARGUMENTS = {
    r"\frac": 2,
    r"\dfrac": 2,
    r"\tfrac": 2,
    r"\binom": 2,
    r"\sqrt": 1,
    r"\overline": 1,
    r"\text": 1,
}
_OPERATORS = frozenset("+-*/^!")
_FRACTIONS = re.compile(r"\\[dt]frac(?![a-z])")
_MARKS = re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\%|\\pmod\s*\{?\d+\}?|\\text\w*\s*\{[^{}]*\}")
_SYMBOLS = (
    "pi infty theta alpha beta gamma omega phi ell circ triangle angle text mathrm mathbf textbf { } langle"
    " rangle $ begin{pmatrix} end{pmatrix}"
)
_NAMES = frozenset(f"\\{name}" for name in _SYMBOLS.split())


def copies(statement: str) -> list[str]:
    """Return the expressions in the formulas of ``statement``: formulas, their sides, terms and groups."""
    found: dict[str, None] = {}
    for formula in _FORMULA.finditer(statement):
        for expression in _expressions(_items("".join(filter(None, formula.groups())))):
            found.setdefault("".join(expression).strip())
    found.pop("", None)
    return list(found)[:MAX_COPIES]


def is_copy(answer: str, statement: str) -> bool:
    """Return whether ``answer`` is an expression of ``statement`` that holds an operator."""
    spelled = _spelling(answer)
    return holds_operator(answer) and any(_spelling(each) == spelled for each in copies(statement))


def holds_operator(expression: str) -> bool:
    """Return whether an expression is more than a number, a letter or a tuple of them with their marks.

    Signs of numbers, degree and per cent signs, moduli and names of options are marks.
    """
    before = ""
    for token in _TOKEN.findall(_MARKS.sub(" ", expression)):
        if token in _INVISIBLE or token.isspace():
            continue
        is_sign = token in _SIGNS and not (before[-1:].isalnum() or before in (")", "}", "]"))
        is_command = token.startswith("\\") and token not in _NAMES and token not in _SIDES
        if is_command or (token in _OPERATORS and not is_sign):
            return True
        before = token
    return False


def _spelling(expression: str) -> str:
    tokens = _TOKEN.findall(_FRACTIONS.sub(r"\\frac", expression).strip(" .,"))
    return "".join(token for token in tokens if token not in _INVISIBLE and not token.isspace())


def _closer(token: str) -> str | None:
    """Return the token that closes the group which ``token`` opens; None if it opens none."""
    return token.replace("begin", "end") if token.startswith(r"\begin") else _CLOSERS.get(token)


def _items(formula: str) -> list[str]:
    """Return the tokens of a formula; a pair of brackets with what is in it is one item."""
    items: list[str] = []
    opened: list[tuple[int, str]] = []
    for token in _TOKEN.findall(formula):
        if token in _INVISIBLE:
            continue
        items.append(" " if token.isspace() else token)
        if opened and token == opened[-1][1]:
            start = opened.pop()[0]
            items[start:] = ["".join(items[start:])]
        elif closer := _closer(token):
            opened.append((len(items) - 1, closer))
    return _joined(items)


def _joined(items: list[str]) -> list[str]:
    r"""Join commands with their arguments, and numbers and brackets with exponents and indices."""
    joined: list[str] = []
    position = 0
    while position < len(items):
        item = items[position]
        position += 1
        wanted = _ARGUMENTS.get(item, 1 if item in ("^", "_") else 0)
        if item in ("^", "_", "!", r"\overline") and joined and joined[-1].strip():
            item = joined.pop() + item
        while wanted and position < len(items):
            following = items[position]
            wanted -= bool(following.strip()) and not (following.startswith("[") and r"\sqrt" in item)
            item += following
            position += 1
        joined.append(item)
    return joined


def _expressions(items: list[str]) -> Iterator[list[str]]:
    """Yield a formula, its sides, the runs of terms and factors of each side, and the same of each group."""
    yield items
    for side in _split(items, _SIDES):
        terms = [0, *(i for i, item in enumerate(side) if i and item in _SIGNS), len(side)]
        yield from (side[i:j] for i in terms for j in terms if i < j)
        for start, end in pairwise(terms):
            yield from (side[i:j] for i in range(start, end) for j in range(i + 1, end + 1))
    for item in items:
        for group in _groups(item):
            yield from _expressions(_items(group))


def _split(items: list[str], marks: frozenset[str]) -> Iterator[list[str]]:
    side: list[str] = []
    for item in [*items, "="]:
        if item in marks:
            yield side
            side = []
        else:
            side.append(item)


def _groups(item: str) -> Iterator[str]:
    """Yield the contents of the outermost brackets in an item."""
    opened: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(item):
        token = match.group()
        if opened and token == opened[-1][1]:
            start = opened.pop()[0]
            if not opened and item[start : match.start()].strip():
                yield item[start : match.start()]
        elif closer := _closer(token):
            opened.append((match.end(), closer))
