"""Compares the values of two expressions: exactly, and for all values of their variables.

A numerical difference proves inequality. Agreement to hundreds of digits at independent points is accepted as
equality; if terms are too small for the current precision, the precision is raised.
"""

import math
from fractions import Fraction

from nlac_bench.simulators.math_grader.evaluate.exact import Undefined, rational
from nlac_bench.simulators.math_grader.evaluate.values import WIDE, Evaluator, has_imaginary, is_piecewise
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, key, literal, symbols, walk

_LEVELS = (256, 800, 12_000)  # bits; the second confirms, the third is for terms of very different size
_POINTS = 12
_WIDE_POINTS = 24
MIN_DIGITS = 10
"""Minimal number of significant digits for which a decimal is accepted for a non-terminating value."""


def equal_values(gold: Node, pred: Node) -> bool:
    """Return whether two expressions are equal.

    Raises:
        TooComplex: numbers in the expressions exceed the limits.
    """
    if key(gold) == key(pred):
        return True
    try:
        exact_gold, exact_pred = rational(gold), rational(pred)
        if exact_gold is not None and exact_pred is not None:
            return exact_gold == exact_pred or _rounded(gold, pred)
        names = symbols(gold) | symbols(pred)
        if not names:
            return _agree(gold, pred, 0, True) or _rounded(gold, pred)
    except Undefined:
        return False
    return _agree_everywhere(gold, pred)


def _agree_everywhere(gold: Node, pred: Node) -> bool:
    """Compare at three points (more for piecewise expressions), real ones if the expressions are real.

    Points at which a number is not real (a root of a negative variable) are skipped, since they do not test a
    real identity; expressions that are never real are compared as complex ones.
    """
    real = not (has_imaginary(gold) or has_imaginary(pred))
    agreed = 0
    for demand in (True, False) if real else (False,):
        for point in range(_POINTS):
            try:
                same = _agree(gold, pred, point, not agreed, real=demand)
            except Undefined:
                continue
            if same is False:
                return False
            agreed += bool(same)
            if agreed == 3:
                return _agree_widely(gold, pred, demand)
        if agreed:
            return agreed > 1
    return False


def _agree_widely(gold: Node, pred: Node, real: bool) -> bool:
    """Compare expressions that agree near 1 also far from it and with all combinations of signs."""
    if not (is_piecewise(gold) or is_piecewise(pred)):
        return True  # analytic: expressions that agree at generic points agree everywhere
    for point in range(WIDE, WIDE + _WIDE_POINTS):
        try:
            if _agree(gold, pred, point, False, real=real) is False:
                return False
        except (Undefined, TooComplex):
            continue
    return True


def _agree(gold: Node, pred: Node, point: int, confirm: bool, *, real: bool = False) -> bool | None:
    """Compare at one point; return None if `real` is set and a number is not real.

    Raises:
        Undefined: an expression has no value at the point.
        TooComplex: the highest precision does not decide.
    """
    previous = None
    for bits in _LEVELS:
        mp, values, errors, dropped, all_real, scale = None, [], [], False, True, -math.inf
        for node in (gold, pred):
            evaluate = Evaluator(bits, point)
            mp = evaluate.mp
            value = evaluate(node)
            size = float(mp.mag(value)) if mp.isnormal(value) else -math.inf
            values.append(value)
            # Cancellation adds error; the error of a value that should be 0 is that of its largest operand.
            error = (
                max(size + evaluate.lost, evaluate.scale if evaluate.lost >= bits / 2 else -math.inf) - bits
            )
            errors.append(error + 32 if error > -math.inf else -math.inf)
            dropped |= evaluate.dropped
            scale = max(scale, evaluate.scale)
            all_real &= evaluate.real
        assert mp is not None
        a, b = values
        if mp.isinf(a) or mp.isinf(b):
            return bool(a == b)
        if real and not all_real:
            return None
        difference = a - b
        gap = float(mp.mag(difference)) if difference != 0 else -math.inf
        if gap > max(errors) or (previous is not None and math.isfinite(gap) and abs(gap - previous) < 2):
            return False  # the second condition excludes rounding noise, which shrinks with more bits
        previous = gap
        largest = max((float(mp.mag(v)) for v in values if v != 0), default=-math.inf)
        # The error bounds grow with every operation, so the values are also accepted as equal if they agree
        # in half of all bits, or if both are negligible compared with their operands.
        settled = max(errors) < largest - 96 or gap < largest - bits / 2 or largest < scale - bits / 2
        if settled and not dropped and (bits > _LEVELS[0] or not confirm):
            return True
    raise TooComplex(f"not settled with {_LEVELS[-1]} bits")


def _rounded(gold: Node, pred: Node) -> bool:
    """Return whether `pred` is a long decimal of a non-terminating `gold`, correctly rounded or cut off."""
    if not literal(pred) or _digits(pred) < MIN_DIGITS:
        return False
    exact = rational(gold)
    return not (exact is not None and _terminates(exact)) and is_rounding(gold, pred)


def is_rounding(exact: Node, decimal: Node) -> bool:
    """Return whether `decimal` has a decimal point and is `exact`, correctly rounded or cut off."""
    value, digits = literal(decimal), _digits(decimal)
    if not value or not digits:
        return False
    size = math.floor(math.log10(abs(value.numerator)) - math.log10(value.denominator))
    unit = Fraction(10) ** (size + 1 - digits)
    try:
        evaluate = Evaluator(max(_LEVELS[0], 8 * digits), 0)
        mp = evaluate.mp
        error = evaluate(exact) - mp.mpf(value.numerator) / value.denominator
    except Undefined:
        return False
    if mp.im(error) != 0:
        return False
    if value < 0:
        error = -error
    last = mp.mpf(unit.numerator) / unit.denominator
    return bool(-last / 2 <= error < last)  # the decimal is rounded, or cut off towards zero


def _digits(node: Node) -> int:
    return _digits(node.args[0]) if node.op == "neg" else node.digits


def _terminates(value: Fraction) -> bool:
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def proportional(first: Node, second: Node, *, positive: bool) -> bool:
    """Return whether one expression is a constant (and positive, if required) multiple of the other.

    Raises:
        TooComplex: numbers in the expressions exceed the limits.
    """
    if symbols(first) != symbols(second) or not symbols(first):
        return False
    ratio = None
    seen = 0
    for point in _spread(first, second):
        try:
            evaluate = Evaluator(_LEVELS[1], point)
            a, b = evaluate(first), evaluate(second)
        except Undefined:
            continue
        mp = evaluate.mp
        if a == b == 0 or evaluate.lost > _LEVELS[1] / 2:
            continue
        if a == 0 or b == 0:
            return False
        here = a / b
        if ratio is None:
            ratio = here
        elif abs(here - ratio) > abs(ratio) * mp.mpf(2) ** -200:
            return False
        if mp.im(here) != 0 or (positive and mp.re(here) < 0):
            return False
        seen += 1
    return seen >= 3


def _spread(first: Node, second: Node) -> range:
    return range(WIDE, WIDE + _WIDE_POINTS) if is_piecewise(first) or is_piecewise(second) else range(_POINTS)


def expand_signs(node: Node) -> list[Node]:
    """Return the two expressions that a ± denotes; all ± and ∓ in the expression change sign together."""
    if not any(one.op == "pm" for one in walk(node)):
        return [node]
    return [_with_sign(node, upper) for upper in (True, False)]


def _with_sign(node: Node, upper: bool) -> Node:
    args = tuple(_with_sign(arg, upper) for arg in node.args)
    if node.op == "pm":
        return args[0] if (node.value == "pm") == upper else Node("neg", args)
    return Node(node.op, args, node.value, node.digits) if args else node


def difference(left: Node, right: Node) -> Node:
    return Node("add", (left, Node("neg", (right,))))


def equal_ratios(gold: tuple[Node, ...], pred: tuple[Node, ...]) -> bool:
    """Return whether `a:b:c` and `d:e:f` are the same ratio."""
    if len(gold) != len(pred):
        return False
    return all(
        equal_values(Node("mul", (gold[0], pred[i])), Node("mul", (gold[i], pred[0])))
        for i in range(1, len(gold))
    )
