"""Decides what an equation states about a value: `u + v = 9` gives a quantity, `2x = 14` is to be solved."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from nlac_bench.simulators.math_grader.compare.compare import equal_values, expand_signs, is_rounding
from nlac_bench.simulators.math_grader.compare.labels import is_name, split_unit
from nlac_bench.simulators.math_grader.compare.matrices import as_matrix
from nlac_bench.simulators.math_grader.evaluate.exact import Undefined
from nlac_bench.simulators.math_grader.evaluate.values import Evaluator
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, key, names, symbols, walk
from nlac_bench.simulators.math_grader.read.normalize import words
from nlac_bench.simulators.math_grader.read.wording import UNCERTAIN

# 1 + 3 + … + (2n - 1) and 3 \star 4 are values that are asked for, not equations.
_NOT_TO_SOLVE = names(
    "dots ldots cdots dotsc dotsb star circ oplus ominus otimes odot bullet diamond diamondsuit heartsuit "
    "clubsuit spadesuit dagger"
)
_POINTS = (-3.3, -1.1, 0.7, 2.9)  # points of both signs, so that |x| is not linear


def is_quantity(side: Node, value: Node) -> bool:
    """Return whether `side = value` says that an expression, which a question may ask for, has that value.

    An equation that is linear in its only letter does not: it may be a step on the way to the letter's value.
    """
    if side.op == "tuple":
        return all(is_name(part) or is_quantity(part, value) for part in side.args)
    text_words = {word for one in walk(side) if one.op == "text" for word in words(one.value).split()}
    unknown = _unknowns(side)
    if not unknown or text_words & UNCERTAIN:
        return False
    if unknown & _NOT_TO_SOLVE:
        return True
    if unknown & symbols(value):  # |a-b| + a + b = 2b for a < b is a value, x + y = 6x an equation
        return bool(unknown - symbols(value)) and any(one.op == "fn" for one in walk(side))
    return not (len(unknown) == 1 and unknown == symbols(side) and _is_linear(side, *unknown))


def is_substitution(side: Node, value: Node) -> bool:
    """Return whether a value is a side with numbers for its letters, `\\frac{20}{10}` for `\\frac{N}{10}`."""
    numbers: dict[str, str] = {}

    def fits(one: Node, other: Node) -> bool:
        if one.op == "sym":
            return not symbols(other) and numbers.setdefault(str(one.value), key(other)) == key(other)
        if not one.args:
            return key(one) == key(other)
        return (
            (one.op, one.value, len(one.args)) == (other.op, other.value, len(other.args))
            and all(map(fits, one.args, other.args))
        )  # fmt: skip

    return side.op != "sym" and fits(side, value)


def _unknowns(node: Node) -> set[str]:
    """Return the letters of an expression, and its calls and marked letters as one unknown each."""
    if node.op == "sym":
        return {str(node.value)}
    if node.op == "opaque":
        return {key(node)}
    unknowns: set[str] = set()
    calls = (node.value or ()) if node.op == "mul" else ()
    for index, arg in enumerate(node.args):
        if index in calls:
            unknowns.add(key(Node("opaque", node.args[index : index + 2])))
        elif index - 1 not in calls:
            unknowns |= _unknowns(arg)
    return unknowns


def _is_linear(side: Node, letter: str) -> bool:
    values = []
    try:
        for point in _POINTS:
            evaluate = Evaluator(256, 0)
            evaluate.bound[letter] = evaluate.mp.mpf(point)
            values.append(evaluate(side))
    except (Undefined, TooComplex):
        return False
    slopes = [
        (values[index + 1] - values[index]) / (_POINTS[index + 1] - _POINTS[index])
        for index in range(len(_POINTS) - 1)
    ]
    return bool(slopes[0]) and all(abs(slope - slopes[0]) <= abs(slopes[0]) * 2.0**-40 for slope in slopes)


def one_value(sides: Sequence[Node], same_answer: Callable[[Node, Node], bool]) -> bool:
    """Return whether the constant sides of a chain of `=` have one value, exactly or by rounding."""
    return all(_agree(left, right, same_answer) for left, right in pairwise(sides))


def _agree(left: Node, right: Node, same_answer: Callable[[Node, Node], bool]) -> bool:
    if all(
        same_answer(one, other) or same_answer(other, one) or equal_values(one, other)
        for one in expand_signs(left)  # (\pm 12)^2 = 144
        for other in expand_signs(right)
    ):
        return True
    if _is_scalar_of_matrices(left) or _is_scalar_of_matrices(right):
        return True
    parts = split_unit(left), split_unit(right)
    if parts[0] is None or parts[1] is None:
        return False
    if _is_price(left) and not parts[1].unit:  # 2 \$ = 9/5
        return True
    values = parts[0].value, parts[1].value
    return parts[0].unit == parts[1].unit and (is_rounding(*values) or is_rounding(*values[::-1]))


def _is_scalar_of_matrices(node: Node) -> bool:
    """Return whether a side is a norm or a scalar product, which is not computed."""
    return any(one.op == "matrix" for one in walk(node)) and as_matrix(node) is None


def _is_price(node: Node) -> bool:
    """Return whether a side is an amount with a dollar sign after it, which may be priced in another unit."""
    return node.op == "mul" and node.args[-1] == Node("text", value="dollar")
