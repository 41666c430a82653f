"""Defines the tree of a parsed answer, and the key that equal trees share."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


def names(text: str) -> frozenset[str]:
    """Return the words of `text` as a set."""
    return frozenset(text.split())


class Unreadable(Exception):
    """Raised if the parser does not recognise the text as mathematics; the message names the place."""


class UnknownCommand(Unreadable):
    """Raised for a LaTeX command that the parser does not know; math-verify may know it."""


class TooComplex(Exception):
    """Raised if the text exceeds a fixed limit (nesting, size of numbers); its value is then unknown."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree.

    `op` is one of num, sym, const, text, add, mul, div, pow, root, neg, deg, pct, fact, pm, fn, opaque,
    numeral, tuple, set, list, cases, matrix, union, ratio, time, rel. `value` depends on it: a Fraction
    (num), a name (sym, const, fn, opaque), words (text), the indices of letters before a bracket, as in
    p(3) (mul), the brackets (tuple), "and", "or" or "" (list), (rows, columns) (matrix), the operators
    between `args` (rel), the sign "+-" or "-+" (pm), (digits, base) (numeral), minutes (time).
    """

    op: str
    args: tuple["Node", ...] = ()
    value: Any = None
    digits: int = field(default=0, compare=False)
    """Significant digits of a literal with a decimal point, else 0."""


def num(value: int | Fraction, digits: int = 0) -> Node:
    return Node("num", value=Fraction(value), digits=digits)


def literal(node: Node) -> Fraction | None:
    """Return the value of a number with its sign, or None for anything else."""
    if node.op == "num":
        return node.value
    if node.op == "neg":
        inner = literal(node.args[0])
        return None if inner is None else -inner
    return None


def key(node: Node) -> str:
    """Return a string that does not depend on the order of terms, factors and elements of a set."""
    op = node.op
    if op == "num":
        # Hexadecimal: decimal conversion of long integers takes quadratic time and raises above 4,300 digits.
        return f"{node.value.numerator:x}/{node.value.denominator:x}"
    number = literal(node)
    if number is not None:
        return f"{number.numerator:x}/{number.denominator:x}"
    if op == "div":
        top, bottom = (literal(a) for a in node.args)
        if top is not None and bottom:
            return key(num(top / bottom))
    parts = [key(arg) for arg in (_flat(node, op) if op in ("add", "mul") else node.args)]
    # Factors around a text are not exchanged: `a \\text{ divides } b`.
    if op in ("add", "set", "union", "cases") or (op == "mul" and all(a.op != "text" for a in node.args)):
        parts.sort()
    return f"{op}:{node.value if op != 'mul' else ''}({','.join(parts)})"


def _flat(node: Node, op: str) -> list[Node]:
    flat: list[Node] = []
    for arg in node.args:
        flat.extend(_flat(arg, op) if arg.op == op else [arg])
    return flat


def walk(node: Node) -> list[Node]:
    """Return the node and all its descendants."""
    nodes = [node]
    for one in nodes:
        nodes.extend(one.args)
    return nodes


def symbols(node: Node) -> set[str]:
    """Return the names of the free symbols, including unknown functions and opaque parts."""
    return {str(one.value) for one in walk(node) if one.op in ("sym", "opaque")}
