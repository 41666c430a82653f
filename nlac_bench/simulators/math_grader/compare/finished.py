r"""Determines whether an answer is a value, or an expression whose evaluation the question asks for.

An answer may hold an operation only if the gold answer holds one of its kind: `\sum_{k=1}^9 k` is refused for
45, and `\binom{10}{7}` is accepted for `\binom{10}{3}`. Fractions, coefficients, powers of primes and of
ten are ways to write a number, as are roots unless the gold answer is rational.
"""

from collections.abc import Iterator
from fractions import Fraction

from nlac_bench.simulators.math_grader.compare.labels import is_constant, is_name
from nlac_bench.simulators.math_grader.evaluate.exact import Undefined, rational
from nlac_bench.simulators.math_grader.evaluate.values import has_imaginary
from nlac_bench.simulators.math_grader.read.commands import BIG
from nlac_bench.simulators.math_grader.read.nodes import Node, literal, names, walk

_KINDS = {
    **dict.fromkeys(names("sin cos tan cot sec csc sinh cosh tanh coth"), "trigonometric function"),
    **dict.fromkeys(names("log ln lg"), "logarithm"),
    "exp": "power",
    "norm": "abs",
}
_ANY_ARGUMENT = names("floor ceil")
_VALUES = names("num const neg add mul div pow root fn fact pct deg")
_COLLECTIONS = ("list", "set", "cases")
_CHAIN = frozenset(("=", "~", "equiv", "=>"))
_MAX_PRIME = 100


def pending(gold: Node, pred: Node) -> str:
    """Return an operation that an answer leaves to be carried out and that the gold answer does not hold.

    Returns "" if there is none. In a chain such as `\\sum_{k=1}^9 k = 45` one side must be a value; in a
    list, every element.
    """
    allowed = set(_operations(gold))
    allowed.add("power" if "power of a prime" in allowed else "power of a prime")
    if _is_irrational(gold):
        allowed |= {"root", "square of roots"}
    if has_imaginary(gold):
        allowed.add("polar form")
    if any(one.op == "matrix" for one in walk(gold)):  # \binom{2}{3} is a column there
        allowed.add("binom")
    constant = not _has_letters(gold)
    if not constant or gold.op not in _VALUES:
        allowed.add("letters")
    return _pending(allowed, pred, constant)


def _pending(allowed: set[str], pred: Node, constant: bool) -> str:
    if pred.op == "rel":
        sides = [side for side in pred.args if not is_name(side)]
        values = [side for side in sides if not (constant and _has_letters(side))]
        left = [_pending(allowed, side, constant) for side in values or sides]
        return "" if set(pred.value) <= _CHAIN and "" in left else next(filter(None, left), "")
    if pred.op in _COLLECTIONS:
        left = [_pending(allowed, one, constant) for one in pred.args]
        return "" if pred.value == "or" and "" in left else next(filter(None, left), "")
    kinds = set(_operations(pred))
    if _has_letters(pred) and not any(one.op == "text" for one in walk(pred)):
        kinds.add("letters")
    return min(kinds - allowed, default="")


def _operations(tree: Node) -> Iterator[str]:
    """Yield the kinds of operations that a value is not written with."""
    for node in walk(tree):
        if node.op == "opaque":
            if node.value in BIG or (node.value == "mod" and not _is_residue(node)):
                yield str(node.value)
            elif node.value.startswith(("call ", "determinant ")):
                yield node.value.split()[0]
        elif node.op == "fn" and (is_constant(node) or node.value in _ANY_ARGUMENT):
            yield _KINDS.get(node.value.removeprefix("arc"), str(node.value))
        elif node.op == "fact" and is_constant(node):
            yield "binom"
        elif node.op == "root":
            yield "root"
        elif node.op == "pow":
            yield from _power(*node.args)
        elif node.op in ("add", "mul") and (node.op != "add" or len(node.args) > 1):
            yield from _combination(node)
        elif node.op == "div":
            yield from _quotient(node)


def _has_letters(node: Node) -> bool:
    """Return whether an expression has letters other than those that a sum, product or limit binds."""
    if node.op == "opaque" and node.value in BIG:
        return False
    return node.op == "sym" or any(map(_has_letters, node.args))


def _is_irrational(gold: Node) -> bool:
    """Return whether a root can be a part of an answer: the gold answer is written with more than numbers."""
    if gold.op == "rel":
        return any(_is_irrational(side) for side in gold.args if not is_name(side))
    is_number = gold.op not in ("root", "pow", "fn", "sym", "opaque", "fact")
    infinite = gold.op == "const" and gold.value == "oo"
    return not is_number or (gold.op == "const" and not infinite) or any(map(_is_irrational, gold.args))


def _is_residue(node: Node) -> bool:
    """Return whether `3 \\pmod 7` only states the modulus."""
    number, modulus = (literal(arg) for arg in node.args)
    return number is None or modulus is None or abs(number) < modulus


def _power(base: Node, exponent: Node) -> Iterator[str]:
    if base.op == "matrix":
        yield "power of a matrix"
    if not is_constant(base) or not is_constant(exponent) or base.op in ("matrix", "text"):
        return
    number, index = literal(base), _value(exponent)
    if has_imaginary(exponent):
        yield "polar form"
    elif has_imaginary(base):
        yield "complex power"
    elif index is not None and index.denominator > 1:
        yield "root"
    elif base.op == "add" and index == 2:
        yield "square of roots"
    else:
        yield "power of a prime" if index and number and (number == 10 or _is_prime(number)) else "power"


def _is_prime(number: Fraction) -> bool:
    whole = int(number)
    return (
        number == whole and 1 < whole < _MAX_PRIME and all(whole % d for d in range(2, int(whole**0.5) + 1))
    )


def _combination(node: Node) -> Iterator[str]:
    """Yield the operation of a sum or product that combines numbers, complex numbers, sums or matrices."""
    args = _terms(node) if node.op == "add" else list(node.args)
    if node.op == "mul" and any(arg.op == "text" for arg in args):  # 2 \text{ hours } 30 \text{ minutes}
        return
    numbers = [arg for arg in args if _value(arg) is not None]
    if node.op == "add":
        is_mixed = len(args) == 2 and args[0].op == "num" and args[1].op == "div"
        if len(numbers) > 1 and not is_mixed:
            yield "sum"
        if sum(any(one.op == "root" for one in walk(arg)) for arg in args) > 1:
            yield "sum of roots"
        if any(arg.op == "matrix" for arg in args):
            yield "sum of matrices"
        return
    if len(numbers) > 1 and not any(arg.op in ("pow", "fact", "fn") for arg in numbers):
        yield "product"
    if sum(arg.op == "matrix" for arg in args) > 1:
        yield "product of matrices"
    if sum(arg.op == "add" and has_imaginary(arg) for arg in args if is_constant(arg)) > 1:
        yield "complex product"


def _terms(node: Node) -> list[Node]:
    """Return the terms of a sum, also of sums in brackets in it."""
    if node.op == "add":
        return [term for arg in node.args for term in _terms(arg)]
    if node.op == "neg" and node.args[0].op == "add":
        return _terms(node.args[0])
    return [node]


def _quotient(node: Node) -> Iterator[str]:
    if node.value == "repeating":
        yield "repeating decimal"
    top, bottom = node.args
    if is_constant(node) and has_imaginary(bottom):
        yield "quotient"
    if _value(node) is not None and any(one.digits or one.op == "div" for one in (*walk(top), *walk(bottom))):
        yield "quotient"


def _value(node: Node) -> Fraction | None:
    """Return the value of a rational expression without letters."""
    try:
        return rational(node)
    except Undefined:
        return None
