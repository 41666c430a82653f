"""Computes sets of real numbers: intervals, inequalities, and their unions, intersections and differences."""

from dataclasses import dataclass
from typing import Any

from nlac_bench.simulators.math_grader.compare.compare import expand_signs
from nlac_bench.simulators.math_grader.compare.labels import is_constant, is_name
from nlac_bench.simulators.math_grader.evaluate.exact import Undefined
from nlac_bench.simulators.math_grader.evaluate.values import Evaluator
from nlac_bench.simulators.math_grader.read.forms import REALS
from nlac_bench.simulators.math_grader.read.nodes import Node, symbols

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
ORDER = frozenset(FLIPPED)
MAX_PIECES = 200
_INFINITY = Node("const", value="oo")
_MINUS_INFINITY = Node("neg", (_INFINITY,))


def interval(node: Node) -> Node | None:
    """Return `3 < x \\le 5` as `(3, 5]`, `\\{2\\}` as `[2, 2]`, the reals as an interval; else None."""
    if node.op == "tuple" and len(node.args) == 2 and node.value in ("()", "[]", "(]", "[)"):
        return node
    if node.op == "set" and len(node.args) == 1:
        return Node("tuple", (node.args[0], node.args[0]), "[]")
    if node.op == "sym" and node.value == REALS:
        return Node("tuple", (_MINUS_INFINITY, _INFINITY), "()")
    if node.op != "rel" or not set(node.value) <= ORDER or len(node.value) > 2:
        return None
    args, operators = list(node.args), list(node.value)
    if operators[0][0] == ">":
        args, operators = args[::-1], [FLIPPED[o] for o in operators[::-1]]
    if any(o[0] != "<" for o in operators):
        return None
    if len(args) == 2 and args[0].op == "fn" and args[0].value == "abs" and is_constant(args[1]):
        low, middle, high = Node("neg", (args[1],)), args[0].args[0], args[1]  # |x| < 3
        operators.append(operators[0])
        if not is_positive(high):
            return None
    elif len(args) == 3:
        low, middle, high = args
    elif is_constant(args[0]):
        (low, middle), high = args, _INFINITY
        operators.append("<")
    else:
        (middle, high), low = args, _MINUS_INFINITY
        operators.insert(0, "<")
    if (
        middle.op not in ("sym", "opaque", "mul")
        or not is_name(middle)
        or not all(is_constant(end) or (len(args) == 3 and _is_apart(end, middle)) for end in (low, high))
    ):
        return None
    brackets = ("[" if operators[0] == "<=" else "(") + ("]" if operators[1] == "<=" else ")")
    return Node("tuple", (low, high), brackets)


def _is_apart(end: Node, middle: Node) -> bool:
    """Return whether an end of a function's range, `a \\le f(x) \\le b`, has letters of its own."""
    return middle.op == "opaque" and not symbols(end) & symbols(middle)


def is_positive(node: Node) -> bool:
    try:
        return bool(Evaluator(256, 0)(node) > 0)
    except (Undefined, TypeError):  # complex numbers are not ordered
        return False


def is_condition(node: Node) -> bool:
    """Return whether the node is one or several inequalities: `x > 1`, `x \\ne 1 \\text{ and } x < 2`."""
    if node.op == "list":  # x \in \mathbb{R}, x \ne 3
        known = [is_condition(arg) for arg in node.args]
        return any(known) and all(
            one or _is_membership(arg) for one, arg in zip(known, node.args, strict=True)
        )
    return node.op == "rel" and set(node.value) <= ORDER | {"!="}


def _is_membership(node: Node) -> bool:
    """Return whether the node says that a letter is real or in an interval."""
    if node.op != "rel" or node.value != ("in",) or node.args[0].op != "sym":
        return False
    collection = node.args[1]
    return collection.op in ("tuple", "union") or collection == Node("sym", value=REALS)


@dataclass(frozen=True, slots=True)
class _End:
    """An end of a piece: its value, its expression, and the side of the value on which it lies.

    `side` is 0 if the point itself is in the piece, 1 if the piece starts after it, -1 if it ends before it.
    """

    value: Any
    node: Node
    side: int

    @property
    def order(self) -> tuple[Any, int]:
        return self.value, self.side


_Piece = tuple[_End, _End]


def pieces(node: Node) -> list[Node] | None:
    """Return a set of real numbers as disjoint intervals in order; None for anything else."""
    evaluate = Evaluator(256, 0)
    try:
        parts = _pieces(node, evaluate)
    except Undefined:
        return None
    if parts is None:
        return None
    return [
        Node("tuple", (low.node, high.node), ("(" if low.side else "[") + (")" if high.side else "]"))
        for low, high in _merged(parts)
    ]


def _pieces(node: Node, evaluate: Evaluator) -> list[_Piece] | None:
    if node.op == "opaque" and node.value in ("cap", "setminus"):
        left, right = (_pieces(arg, evaluate) for arg in node.args)
        if left is None or right is None or len(left) * len(right) > MAX_PIECES:
            return None
        return _common(left, _outside(_merged(right)) if node.value == "setminus" else right)
    if node.op == "list" and is_condition(node):
        return _conditions(node, evaluate)
    if _is_membership(node):
        return _pieces(node.args[1], evaluate)
    if (
        node.op == "rel" and set(node.value) <= ORDER | {"!="} and (inside := _opposite(node)) is not None
    ):  # |x| > 1 is the complement of |x| <= 1
        within = _pieces(inside, evaluate)
        return None if within is None else _outside(_merged(within))
    if node.op in ("union", "list", "set"):
        parts: list[_Piece] = []
        for arg in node.args:
            part = _single(Node("set", (arg,)), evaluate) if node.op == "set" else _pieces(arg, evaluate)
            if part is None:
                return None
            parts.extend(part)
        return parts
    return _single(node, evaluate)


def _opposite(relation: Node) -> Node | None:
    if relation.value == ("!=",):
        sides = relation.args if relation.args[0].op == "sym" else relation.args[::-1]
        return (
            Node("set", tuple(expand_signs(sides[1])))
            if sides[0].op == "sym" and is_constant(sides[1])
            else None
        )
    if relation.value[0][0] == "<":
        relation = Node("rel", relation.args[::-1], tuple(FLIPPED[o] for o in relation.value[::-1]))
    left = relation.args[0]
    if len(relation.value) > 1 or left.op != "fn" or left.value != "abs":
        return None
    return Node("rel", relation.args, ("<=",) if relation.value == (">",) else ("<",))


def _conditions(node: Node, evaluate: Evaluator) -> list[_Piece] | None:
    """Return the union of conditions joined by "or" and the intersection of those joined by "and".

    Commas denote the union of disjoint conditions (`x < 1, x > 2`), else the intersection (`x > 1, x < 2`).
    """
    result: list[_Piece] = []
    common: list[_Piece] | None = None
    for arg in node.args:
        part = _pieces(arg, evaluate)
        if part is None or len(result) > MAX_PIECES:
            return None
        result.extend(part)
        common = part if common is None else _common(common, part)
    if node.value in ("and", "or"):
        return result if node.value == "or" else common
    apart = sum(bool(_common([one], [other])) for i, one in enumerate(result) for other in result[:i]) == 0
    return result if apart else common


def _single(node: Node, evaluate: Evaluator) -> list[_Piece] | None:
    span = interval(node)
    if span is None or not is_constant(span):
        return None
    low, high = span.args
    brackets = span.value
    return [
        (
            _End(evaluate(low), low, int(brackets[0] == "(")),
            _End(evaluate(high), high, -int(brackets[1] == ")")),
        )
    ]


def _common(left: list[_Piece], right: list[_Piece]) -> list[_Piece]:
    common = []
    for low, high in left:
        for other_low, other_high in right:
            start = max(low, other_low, key=lambda end: end.order)
            stop = min(high, other_high, key=lambda end: end.order)
            if start.order <= stop.order:
                common.append((start, stop))
    return common


def _outside(inside: list[_Piece]) -> list[_Piece]:
    """Return the complement of a sorted list of disjoint pieces."""
    infinity = Evaluator(256, 0)(_INFINITY)
    start = _End(-infinity, _MINUS_INFINITY, 1)
    gaps = []
    for low, high in inside:
        stop = _End(low.value, low.node, low.side - 1)  # up to the beginning of the piece
        if start.order <= stop.order:
            gaps.append((start, stop))
        start = _End(high.value, high.node, high.side + 1)
    gaps.append((start, _End(infinity, _INFINITY, -1)))
    return gaps


def _merged(unsorted: list[_Piece]) -> list[_Piece]:
    """Return the pieces in order; those that touch or overlap are merged, empty ones are left out."""
    result: list[_Piece] = []
    for low, high in sorted(unsorted, key=lambda piece: piece[0].order):
        if low.order > high.order:
            continue
        # (0, 1) and [1, 2) touch: the first ends just before 1, the second starts at 1.
        if result and (low.value, low.side - 1) <= result[-1][1].order:
            if high.order > result[-1][1].order:
                result[-1] = (result[-1][0], high)
        else:
            result.append((low, high))
    return result
