"""Lists the expressions of a problem's statement, and recognises an answer that only repeats one of them."""

import re
from collections.abc import Iterator
from itertools import pairwise

from nlac_bench.simulators.math_grader.evaluate.symbolic import MAX_NESTING, nesting
from nlac_bench.simulators.math_grader.extract.extract import extract
from nlac_bench.simulators.math_grader.read.nodes import TooComplex, Unreadable, symbols
from nlac_bench.simulators.math_grader.read.normalize import DEGREES, normalize, to_ascii
from nlac_bench.simulators.math_grader.read.parser import parse
from nlac_bench.simulators.math_grader.read.presentation import undressed

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
_DEGREE = re.compile(rf"\^\s*\{{?\s*\\circ\s*\}}?|{DEGREES.pattern}")
_TEXT = re.compile(r"\\(?:text\w*|mathrm|mbox)\s*\{([^{}]*)\}(?:\s*\^\s*\{?\d\}?)?")
_WORD = re.compile(r"[^\W\d_]+")
_SPACE = re.compile(r"(?<!\\)\\[,;:! ]|~")
_MARKUP = frozenset(("{", "}", "$", r"\$", r"\mathbf", r"\boldsymbol", r"\therefore", r"\Rightarrow"))
_EQUAL = frozenset(("=", ":", r"\equiv", r"\in"))
_BRACKETS = ("{", "(", "[", r"\{")


def parts(statement: str) -> list[str]:
    """Return the expressions in the formulas of ``statement``: formulas, their sides, terms and groups."""
    found: dict[str, None] = {}
    for formula in _FORMULA.finditer(statement):
        for expression in _expressions(_items("".join(filter(None, formula.groups())))):
            found.setdefault("".join(expression).strip())
    found.pop("", None)
    return list(found)[:MAX_COPIES]


def is_copy(pred: str, statement: str, gold: str) -> bool:
    """Return whether the answer in ``pred`` is an expression of ``statement`` that holds an operator.

    An expression that is spelled as ``gold`` is none, and words and brackets around it do not count. Every
    side of an equation must be one or hold a letter that the gold value lacks: ``V = …``. Degrees
    hold an operator if ``gold`` is in radians, and the other way round. More than ``MAX_NESTING`` levels of
    brackets, which would take long to remove, could hide an expression and make the answer one.
    """
    answer = extract(pred)
    plain = to_ascii(answer)
    if nesting(plain) > MAX_NESTING:
        return True
    gold_sides = _sides(gold)
    converted = r"\pi" in plain + gold and bool(_DEGREE.search(plain)) != bool(_DEGREE.search(gold))
    repeated = {_spelling(each) for each in parts(statement)} - {_spelling(each) for each in gold_sides}
    letters = _symbols(gold_sides[-1]) if gold_sides else set()

    def repeats(expression: str) -> bool:
        return _spelling(expression) in repeated and (converted or holds_operator(expression))

    sides = _sides(answer)
    is_equation_of_copies = any(map(repeats, sides)) and all(
        repeats(side) or _symbols(side) - letters for side in sides
    )
    return is_equation_of_copies or repeats(_content(answer))


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


def _plain(expression: str) -> str:
    return _SPACE.sub(" ", _DEGREE.sub("", undressed(to_ascii(expression))))


def _spelling(expression: str) -> str:
    """Return an expression without what does not show, degree signs and words."""
    plain = _TEXT.sub(lambda text: _WORD.sub("", text[1]), _plain(expression))
    tokens = _TOKEN.findall(_FRACTIONS.sub(r"\\frac", plain).strip(" .,"))
    return "".join(token for token in tokens if token not in _INVISIBLE | _MARKUP and not token.isspace())


def _content(expression: str) -> str:
    """Return an expression without the words and brackets around it, and without degree signs."""
    items = [item for item in _items(_plain(expression)) if item == " " or _spelling(item)]
    content = "".join(items).strip()
    groups = list(_groups(content)) if content in items and content.startswith(_BRACKETS) else []
    is_bracket = len(groups) == 1 and content[-1] in "})]"
    return _content(groups[0]) if is_bracket else content


def _sides(expression: str) -> list[str]:
    """Return the sides of an equation, or the expression if it is none."""
    sides = _split(_items(_content(expression)), _EQUAL)
    return [side for side in (_content("".join(items)) for items in sides) if side]


def _symbols(expression: str) -> set[str]:
    """Return the variables and other names in an expression, or the words that it consists of."""
    try:
        tree = parse(normalize(expression))
    except (Unreadable, TooComplex):
        return set()
    return {str(tree.value)} if tree.op == "text" else symbols(tree)


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
