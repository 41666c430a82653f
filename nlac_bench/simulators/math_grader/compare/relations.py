"""Compares equations, inequalities and chains of them; inequalities in one variable also as intervals."""

from collections.abc import Callable, Sequence

from nlac_bench.simulators.math_grader.compare.compare import difference, proportional
from nlac_bench.simulators.math_grader.compare.intervals import FLIPPED, ORDER, interval, pieces
from nlac_bench.simulators.math_grader.compare.labels import is_constant, is_name
from nlac_bench.simulators.math_grader.compare.quantities import is_quantity, is_substitution, one_value
from nlac_bench.simulators.math_grader.evaluate.exact import Undefined, rational
from nlac_bench.simulators.math_grader.evaluate.values import Evaluator
from nlac_bench.simulators.math_grader.read.nodes import Node, key, literal, symbols, walk
from nlac_bench.simulators.math_grader.read.units import factor

_ROUNDED, _WRONG = 0.01, 0.1
"""Relative difference of the sides of ≈ up to which either can be the answer, and above which none is."""

Same = Callable[[Node, Node], bool]


def same(gold: Node, pred: Node, same_answer: Same) -> bool:
    """Compare two answers of which at least one is a relation; `same_answer` compares the sides."""
    gold_readings, pred_readings = _readings(gold), _readings(pred)
    if not pred_readings:
        return False
    if len(gold_readings) > 1 and len(pred_readings) > 1:
        return all(same_answer(g, p) for g, p in zip(gold_readings, pred_readings, strict=True))
    if len(gold_readings) > 1 or len(pred_readings) > 1:
        return any(same_answer(g, p) for g in gold_readings for p in pred_readings)
    gold, pred = gold_readings[0], pred_readings[0]
    if "rel" not in (gold.op, pred.op):
        return same_answer(gold, pred)
    if gold.op == "rel" and pred.op == "rel":
        return _same_relations(gold, pred, same_answer)
    if gold.op == "rel":
        return _value_of(gold, pred, same_answer)
    return _value_of(pred, gold, same_answer, gold_is_value=True)


def _readings(node: Node) -> list[Node]:
    """Return the readings of a relation: either side of `x \\approx 0.67`; the last step of a derivation.

    There is none if the sides of ≈ disagree: `53 \\approx 28`.
    """
    if node.op != "rel":
        return [node]
    if "=>" in node.value:
        last = len(node.value) - 1 - node.value[::-1].index("=>")
        return _readings(_part(node, last + 1, len(node.args)))
    if "~" in node.value:
        first = node.value.index("~")
        sides = [_part(node, 0, first + 1), _part(node, first + 1, len(node.args))]
        names = [is_name(side) for side in sides]
        if names[0] and not names[1]:
            return [sides[1]]
        if _far(*sides, tolerance=_WRONG):
            return []
        return sides[:1] if _far(*sides, tolerance=_ROUNDED) else sides
    return [node]


def _part(node: Node, start: int, stop: int) -> Node:
    args = node.args[start:stop]
    return args[0] if len(args) == 1 else Node("rel", args, node.value[start : stop - 1])


def _far(left: Node, right: Node, *, tolerance: float) -> bool:
    """Return whether the sides of ≈ differ by more than a share of the left one, or cannot be compared."""
    if left.op == "rel":
        left = left.args[-1]
    if "text" in (left.op, right.op) or right.op == "rel" or not (is_constant(left) and is_constant(right)):
        return tolerance == _ROUNDED
    try:
        evaluate = Evaluator(256, 0)
        a, b = evaluate(left), evaluate(right)
    except Undefined:
        return False  # units on both sides, as in \$2/3 ≈ \$0.67
    return bool(abs(a - b) > abs(a) * tolerance)


def _value_of(relation: Node, value: Node, same_answer: Same, *, gold_is_value: bool = False) -> bool:
    """Compare a relation with a value: `x = 5` and 5, `x \\in S` and S, `x > 3` and (3, ∞)."""

    def agrees(node: Node) -> bool:
        return same_answer(value, node) if gold_is_value else same_answer(node, value)

    if relation.value == ("in",):
        return agrees(relation.args[1])
    if set(relation.value) <= ORDER | {"!="}:
        span = interval(relation)
        if span is None and gold_is_value:
            span = interval(_of_a_range(relation))
        if value.op not in ("tuple", "union"):
            return False
        return _same_pieces(relation, value, same_answer) if span is None else agrees(span)
    if "equiv" in relation.value or (relation.args[-1].op == "opaque" and relation.args[-1].value == "mod"):
        number = relation.args[0] if literal(relation.args[0]) is not None else relation.args[-1]
        return gold_is_value and (agrees(relation.args[-1]) or agrees(number)) and _is_congruence(relation)
    if set(relation.value) != {"="}:
        return False
    constants = _constants(relation)
    if not one_value(constants, same_answer):
        return False
    first, last = _ends(relation).args
    if is_constant(value) and not constants and any(one.op == "mul" and one.value for one in walk(last)):
        return False  # P(5) = 15 + P(0)
    if (len(constants) == len(relation.args) or is_name(first)) and any(map(agrees, constants or [last])):
        return True
    if not gold_is_value:  # a side of an equation is not the equation
        return False
    sides = [side for side in relation.args if not any(side is constant for constant in constants)]
    stated = [(sides[0], one) for one in constants] if sides else []
    if not constants:
        stated = [(sides[0], sides[-1]), (sides[-1], sides[0])]
    if stated and len(constants) > 1 and is_substitution(sides[0], constants[0]) and agrees(constants[-1]):
        return True
    return any(agrees(one) and (is_quantity(side, one) or agrees(side)) for side, one in stated)


def _of_a_range(relation: Node) -> Node:
    """Return `1 < x + y \\le 3` with one letter for an expression in several, whose range was asked for."""
    args = [Node("sym", value="range") if len(symbols(arg)) > 1 else arg for arg in relation.args]
    return Node("rel", tuple(args), relation.value)


def _is_congruence(relation: Node) -> bool:
    """Return whether `7^{100} \\equiv 1 \\pmod{4}` is true of integers, or names an expression's residue."""
    left, right = relation.args[0], relation.args[-1]
    if not is_constant(left):
        return is_name(left) or is_quantity(left, right)
    value = rational(Node("opaque", (left, right.args[1]), "mod")) if right.op == "opaque" else None
    return value is None or value.denominator != 1 or value == rational(right)


def _constants(equation: Node) -> list[Node]:
    return [side for side in equation.args if is_constant(side) and not is_name(side)]


def _same_pieces(relation: Node, value: Node, same_answer: Same) -> bool:
    sets = [pieces(node) for node in (relation, value)]
    if sets[0] is None or sets[1] is None or len(sets[0]) != len(sets[1]):
        return False
    return all(same_answer(r, v) for r, v in zip(sets[0], sets[1], strict=True))


def _same_relations(gold: Node, pred: Node, same_answer: Same) -> bool:
    if set(gold.value) == {"="} and set(pred.value) == {"="}:
        return one_value(_constants(pred), same_answer) and _same_equations(
            _ends(gold), _ends(pred), same_answer
        )
    if gold.value == pred.value and len(gold.value) == 1 and gold.value[0] not in (*ORDER, "!="):
        return all(same_answer(g, p) for g, p in zip(gold.args, pred.args, strict=True))
    if same_conditions([gold], [pred]):
        return True
    if ("in",) in (gold.value, pred.value):
        named, other = (gold, pred) if gold.value == ("in",) else (pred, gold)
        if other.value == ("=",) and key(other.args[0]) == key(named.args[0]):  # x = 5 for x \in \{5\}
            return same_answer(*(side.args[1] for side in (gold, pred)))
        return is_name(named.args[0]) and _same_pieces(other, named.args[1], same_answer)
    gold_span, pred_span = interval(gold), interval(pred)
    if gold_span is None or pred_span is None or symbols(gold) != symbols(pred):
        return False
    return same_answer(gold_span, pred_span)


def _ends(equation: Node) -> Node:
    """Return the first and last side of a chain `x = 2 + 3 = 5`; a side that is a name is put on the left."""
    first, last = equation.args[0], equation.args[-1]
    if is_name(last) and not is_name(first):
        first, last = last, first
    return Node("rel", (first, last), ("=",))


def _same_equations(gold: Node, pred: Node, same_answer: Same) -> bool:
    (gold_left, gold_right), (pred_left, pred_right) = gold.args, pred.args
    if is_name(gold_left) and is_name(pred_left):
        if key(gold_left) == key(pred_left):
            return same_answer(gold_right, pred_right)
        if gold_left.op == pred_left.op == "text" and factor(gold_left.value, pred_left.value) is None:
            return False
        names_value = {gold_left.op, pred_left.op}
        if "text" in names_value or (names_value == {"sym", "opaque"} and _are_of_one_letter(gold, pred)):
            return same_answer(gold_right, pred_right)
    if same_answer(gold_left, pred_left) and same_answer(gold_right, pred_right):
        return True
    if any(side.op in ("tuple", "set", "matrix", "union") for side in (gold_right, pred_right)):
        return False
    return proportional(difference(gold_left, gold_right), difference(pred_left, pred_right), positive=False)


def _are_of_one_letter(gold: Node, pred: Node) -> bool:
    """Return whether one equation names a function's value, `f(x) = 2x`, the other its graph, `y = 2x`."""
    call, other = (gold, pred) if gold.args[0].op == "opaque" else (pred, gold)
    letters = [symbols(arg) for arg in call.args[0].args]
    named = other.args[0].value
    return letters == [symbols(other.args[1])] and len(letters[0]) == 1 and named not in letters[0]


def one_name(gold: Node, pred: Node) -> bool:
    """Return whether both contain the same single variable."""
    return len(symbols(gold)) == 1 and symbols(gold) == symbols(pred)


def same_conditions(gold: Sequence[Node], pred: Sequence[Node]) -> bool:
    """Return whether two conjunctions have the same inequalities, up to order, direction and scale."""
    gold_links, pred_links = _links(gold), _links(pred)
    if gold_links is None or pred_links is None or len(gold_links) != len(pred_links):
        return False
    for expression, operator in gold_links:
        match = next(
            (
                index
                for index, (other, other_operator) in enumerate(pred_links)
                if operator == other_operator
                and proportional(expression, other, positive=operator not in ("!=", "="))
            ),
            None,
        )
        if match is None:
            return False
        del pred_links[match]
    return True


def _links(relations: Sequence[Node]) -> list[tuple[Node, str]] | None:
    """Return each link as an expression that is > 0, >= 0, = 0 or != 0."""
    links = []
    for relation in relations:
        for index, operator in enumerate(relation.value):
            left, right = relation.args[index], relation.args[index + 1]
            if operator in (">", ">=", "!=", "="):
                links.append((difference(left, right), operator))
            elif operator in ("<", "<="):
                links.append((difference(right, left), FLIPPED[operator]))
            else:
                return None
    return links
