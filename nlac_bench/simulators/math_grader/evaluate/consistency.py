"""Computes whether a condition beside an answer holds for the answer: `x = 5` and `x > 0`."""

from collections.abc import Sequence
from itertools import pairwise

from nlac_bench.simulators.math_grader.evaluate.exact import Undefined
from nlac_bench.simulators.math_grader.evaluate.values import Evaluator, Number
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, symbols

_TOLERANCE = 1e-3  # a value that is only mentioned may be rounded
_COMPARE = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: abs(a - b) <= _TOLERANCE * max(1, abs(a)),
    "!=": lambda a, b: abs(a - b) > 0,
}


def letters(node: Node) -> set[str]:
    """Return the free letters of a relation, without the names of sets and of remainders."""
    return {name for name in symbols(node) if not name.startswith("mathbb") and name != "mod"}


def contradict(answer: Node, conditions: Sequence[Node]) -> bool:
    """Return whether an answer and its conditions cannot all hold, as far as they can be computed."""
    evaluate = _known(answer, conditions, conditions)
    return any(_holds(evaluate, one) is False for one in (answer, *conditions))


def excludes(answer: Node, rejected: Sequence[Node]) -> bool:
    """Return whether all values or relations that are rejected differ from the answer, `x = -3` from 5."""
    value = answer.args[-1] if answer.op == "rel" else answer
    relations = [one if one.op == "rel" else Node("rel", (value, one), ("=",)) for one in rejected]
    evaluate = _known(answer, (), relations)
    return all(_holds(evaluate, one) is False for one in relations)


def _known(answer: Node, equations: Sequence[Node], conditions: Sequence[Node]) -> Evaluator:
    """Return an evaluator that knows the equations' letters; a bare value is that of the other letter."""
    evaluate = Evaluator(128, 0)
    for one in (answer, *equations):
        if one.op != "rel" or one.value[-1] != "=":
            continue
        value = _computed(evaluate, one.args[-1])
        for side in one.args if set(one.value) == {"="} else one.args[:1]:  # x = y = 5
            if value is not None and side.op == "sym":
                evaluate.bound.setdefault(str(side.value), value)
    free = {name for one in conditions for name in letters(one)} - evaluate.bound.keys()
    value = _computed(evaluate, answer)
    if value is not None and len(free) == 1:
        evaluate.bound[free.pop()] = value
    return evaluate


def _holds(evaluate: Evaluator, relation: Node) -> bool | None:
    """Return whether a relation holds, or None if its letters are not all known or it is not computed."""
    if relation.op != "rel":
        return None
    if relation.value == ("in",):
        return _is_member(evaluate, *relation.args)
    right = relation.args[-1]
    if relation.value == ("equiv",) and right.op == "opaque" and right.value == "mod":
        left, residue, modulus = (_computed(evaluate, one) for one in (relation.args[0], *right.args))
        if left is None or residue is None or not modulus:
            return None
        return bool(evaluate.mp.isint((left - residue) / modulus))
    known = []
    for (first, second), operator in zip(pairwise(relation.args), relation.value, strict=True):
        a, b = _computed(evaluate, first), _computed(evaluate, second)
        if a is None or b is None or operator not in _COMPARE:
            continue
        try:
            known.append(bool(_COMPARE[operator](a, b)))
        except TypeError:  # complex numbers are not ordered
            continue
    return all(known) if known else None


def _is_member(evaluate: Evaluator, element: Node, collection: Node) -> bool | None:
    if collection.op == "set":
        equalities = [_holds(evaluate, Node("rel", (element, one), ("=",))) for one in collection.args]
        return True if True in equalities else None if None in equalities else False
    if collection.op == "tuple" and len(collection.args) == 2:
        low, high = collection.args
        operators = tuple("<=" if bracket in "[]" else "<" for bracket in str(collection.value))
        return _holds(evaluate, Node("rel", (low, element, high), operators))
    return None


def _computed(evaluate: Evaluator, node: Node) -> Number | None:
    """Return the value of an expression whose letters are all known, else None."""
    if not symbols(node) <= evaluate.bound.keys():
        return None
    try:
        return evaluate(node)
    except (Undefined, TooComplex):
        return None
