"""Computes the exact value of a rational expression.

The size of a number is checked before it is computed, so that `9^{9^{9^9}}` is rejected at no cost.
"""

import math
from fractions import Fraction

from nlac_bench.simulators.math_grader.read.nodes import Node

MAX_BITS = 64_000  # maximal size of an exact number


class Undefined(Exception):
    """Raised if the expression has no value: a division by zero, a text, an unknown construct."""


def rational(node: Node) -> Fraction | None:
    """Return the exact value, or None if it is not rational or exceeds MAX_BITS.

    Raises:
        Undefined: division by zero.
    """
    op, args = node.op, node.args
    if op == "num":
        return node.value
    if op == "numeral":
        return numeral(*node.value)
    if op == "opaque" and node.value == "mod":
        return _residue(node)
    if op not in _EXACT:
        return None
    values = []
    for arg in args:
        value = rational(arg)
        if value is None:
            return None
        values.append(value)
    return _EXACT[op](node, values)


def _residue(node: Node) -> Fraction | None:
    values = [rational(arg) for arg in node.args]
    if values[0] is None or not values[1]:
        return None
    return values[0] % values[1]


def numeral(digits: str, base: int) -> Fraction | None:
    """Return the value of digits in a base, `12A_{11}` or `0.011_2`; None if a digit is not valid in it."""
    whole, _, part = digits.strip("-").upper().partition(".")
    if not 2 <= base <= 36 or not (whole + part).isalnum() or len(whole + part) > 1_000:  # int() takes "1_0"
        return None
    try:
        value = Fraction(int(whole + part, base), base ** len(part))
    except ValueError:
        return None
    return -value if digits.startswith("-") else value


def _bounded(value: Fraction) -> Fraction | None:
    return value if value.numerator.bit_length() + value.denominator.bit_length() <= MAX_BITS else None


def _sum(_: Node, values: list[Fraction]) -> Fraction | None:
    return _bounded(sum(values, Fraction(0)))


def _product(_: Node, values: list[Fraction]) -> Fraction | None:
    result = Fraction(1)
    for value in values:
        bounded = _bounded(result * value)
        if bounded is None:
            return None
        result = bounded
    return result


def _quotient(_: Node, values: list[Fraction]) -> Fraction | None:
    if values[1] == 0:
        raise Undefined("a division by zero")
    return _bounded(values[0] / values[1])


def _power(_: Node, values: list[Fraction]) -> Fraction | None:
    base, exponent = values
    if exponent.denominator != 1:
        root = _root(_, [base, Fraction(exponent.denominator)])
        return None if root is None or base < 0 else _power(_, [root, Fraction(exponent.numerator)])
    if base == 0 and exponent < 0:
        raise Undefined("a division by zero")
    bits = base.numerator.bit_length() + base.denominator.bit_length()
    if base not in (0, 1, -1) and bits * abs(exponent.numerator) > MAX_BITS:
        return None
    if base in (1, -1):  # (-1)^{10^{100}}
        return base if exponent.numerator % 2 else Fraction(1)
    return Fraction(base**exponent.numerator) if base else Fraction(exponent == 0)


def _root(_: Node, values: list[Fraction]) -> Fraction | None:
    radicand, index = values
    if index.denominator != 1 or not 1 <= index <= 64 or (radicand < 0 and index % 2 == 0):
        return None
    parts = []
    for whole in (abs(radicand.numerator), radicand.denominator):
        part = _integer_root(whole, int(index))
        if part ** int(index) != whole:
            return None
        parts.append(part)
    return Fraction(parts[0] if radicand >= 0 else -parts[0], parts[1])


def _integer_root(value: int, index: int) -> int:
    if index == 2:
        return math.isqrt(value)
    low, high = 0, 1 << (value.bit_length() // index + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**index <= value else (low, middle - 1)
    return low


def _factorial(_: Node, values: list[Fraction]) -> Fraction | None:
    n = values[0]
    if n.denominator != 1 or n < 0 or n > 5_000:
        return None
    return Fraction(math.factorial(int(n)))


def _function(node: Node, values: list[Fraction]) -> Fraction | None:
    if node.value in ("abs", "norm"):
        return abs(values[0])
    if node.value in ("floor", "ceil"):
        return Fraction(math.floor(values[0]) if node.value == "floor" else math.ceil(values[0]))
    if node.value in ("max", "min") and values:
        return max(values) if node.value == "max" else min(values)
    if node.value in ("gcd", "lcm") and all(v.denominator == 1 for v in values):
        return Fraction((math.gcd if node.value == "gcd" else math.lcm)(*(int(v) for v in values)))
    if node.value == "binom" and all(v.denominator == 1 and 0 <= v <= 20_000 for v in values):
        return Fraction(math.comb(int(values[0]), int(values[1])))
    return None


_EXACT = {
    "add": _sum,
    "mul": _product,
    "div": _quotient,
    "ratio": lambda node, values: _quotient(node, values) if len(values) == 2 else None,
    "neg": lambda _, values: -values[0],
    "pct": lambda _, values: values[0] / 100,
    "pow": _power,
    "root": _root,
    "fact": _factorial,
    "fn": _function,
}
