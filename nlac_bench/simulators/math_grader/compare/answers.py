"""Compares two parsed answers: lists, tuples, sets, intervals, matrices, labelled values.

`same(gold, pred)` is not symmetric. The gold answer determines what was asked for: a prediction can leave out
its units, its per cent sign or its `x =`, but cannot be a list if the gold answer is a single value.
"""

from collections.abc import Sequence

from nlac_bench.simulators.math_grader.compare import intervals, relations
from nlac_bench.simulators.math_grader.compare.compare import equal_ratios, equal_values, expand_signs
from nlac_bench.simulators.math_grader.compare.connectives import contradict
from nlac_bench.simulators.math_grader.compare.labels import (
    compound_readings,
    has,
    plain,
    scaled,
    split_unit,
    unnamed,
    without,
    without_degrees,
)
from nlac_bench.simulators.math_grader.compare.matrices import as_matrix, has_matrix
from nlac_bench.simulators.math_grader.evaluate.exact import Undefined, rational
from nlac_bench.simulators.math_grader.read.nodes import Node, TooComplex, key, literal, walk
from nlac_bench.simulators.math_grader.read.normalize import words
from nlac_bench.simulators.math_grader.read.units import factor, says_what
from nlac_bench.simulators.math_grader.read.wording import after_link, before_link, without_class

MAX_UNMATCHED = 60
"""Maximal number of elements of two lists that are compared pairwise, after elements with equal keys have
been matched."""

_PI = Node("const", value="pi")
_UNORDERED = ("list", "set", "cases")


def same(gold: Node, pred: Node) -> bool:
    """Return whether `pred` is the same answer as `gold`.

    Raises:
        TooComplex: the comparison exceeds the fixed limits.
    """
    gold, pred = plain(gold), plain(pred)
    if key(gold) == key(pred):
        return True
    if gold.op != "mul" or gold.args[0].op != "text":
        pred = unnamed(pred)
    is_one = gold.op not in _UNORDERED and pred.op == "list" and pred.value == "or"
    if is_one and all(arg.op != "rel" and same(gold, arg) for arg in pred.args):  # \frac12 or 0.5
        return True
    if gold.op not in _UNORDERED and pred.op not in _UNORDERED:
        gold_signs, pred_signs = expand_signs(gold), expand_signs(pred)
        if len(gold_signs) > 1 or len(pred_signs) > 1:
            if pred.op == "rel" and "!=" in pred.value:  # x \ne \pm 2
                return same(gold, Node("list", tuple(pred_signs), "and"))
            if pred.op == "rel" and len(gold_signs) == 1:  # (\pm 12)^2 = 144
                return all(same(gold, one) for one in pred_signs)
            return _same_elements(gold_signs, pred_signs)
    if intervals.is_condition(gold) and intervals.is_condition(pred):
        return _same_conditions(gold, pred)
    if "rel" in (gold.op, pred.op):
        return relations.same(gold, pred, same)
    if gold.op in _UNORDERED or pred.op in _UNORDERED:
        return _same_collections(gold, pred)
    if gold.op == "tuple" and pred.op == "tuple":
        return _brackets(gold) == _brackets(pred) and _same_in_order(gold.args, pred.args)
    if _is_union(gold) or _is_union(pred) or {gold.op, pred.op} == {"sym", "tuple"}:
        return _same_unions(gold, pred)
    if "matrix" in (gold.op, pred.op) or (has_matrix(gold) and has_matrix(pred)):
        return _same_matrices(gold, pred)
    if gold.op == "time" or pred.op == "time":
        return _same_times(gold, pred)
    if gold.op == "numeral" or pred.op == "numeral":
        return _same_numerals(gold, pred)
    if gold.op == "ratio" and pred.op == "ratio":
        return equal_ratios(gold.args, pred.args)
    if gold.op == "text" or pred.op == "text":
        return _same_texts(gold, pred)
    if "tuple" in (gold.op, pred.op):
        return False
    return _same_values(gold, pred)


def _brackets(node: Node) -> str:
    return str(node.value).replace("{", "(").replace("}", ")")


def _same_in_order(gold: Sequence[Node], pred: Sequence[Node]) -> bool:
    return len(gold) == len(pred) and all(same(g, p) for g, p in zip(gold, pred, strict=True))


def _elements(node: Node) -> list[Node]:
    elements = []
    for arg in node.args if node.op in _UNORDERED else (node,):
        elements.extend(_elements(arg) if arg.op == "list" else expand_signs(arg))
    return elements


def _same_collections(gold: Node, pred: Node) -> bool:
    """Compare answers of which at least one is unordered: `1, 2`, `\\{1, 2\\}` or a system of equations."""
    if contradict(gold, pred):
        return False
    for one, other in ((gold, pred), (pred, gold)):
        if other.op == "tuple" and one.op in ("list", "cases"):
            if intervals.is_condition(one):  # x > 1 and x < 2 for (1, 2)
                return _same_unions(gold, pred)
            if any(
                arg.op != "rel" for arg in one.args
            ):  # the list 3, 5 is neither the point nor the interval (3, 5)
                return False
            return other.value in ("()", "row") and one.value != "or" and _same_in_order(gold.args, pred.args)
    if "tuple" in (gold.op, pred.op) and len(_elements(gold)) != len(_elements(pred)):
        return False
    if _is_union(gold) or _is_union(pred):
        return _same_unions(gold, pred)
    gold_elements, pred_elements = _elements(gold), _elements(pred)
    if _same_elements(gold_elements, pred_elements) or _same_elements(_solutions(gold), _solutions(pred)):
        return True
    different = {key(element): element for element in pred_elements}
    if (
        gold.op in _UNORDERED
        and len(different) < len(pred_elements)
        and len({key(element) for element in gold_elements}) == len(gold_elements)
    ):
        return _same_elements(gold_elements, list(different.values()))  # a solution that is stated twice
    if all(one.op == "rel" for one in (*gold_elements, *pred_elements)):
        return relations.same_conditions(gold_elements, pred_elements)
    return False


def _same_conditions(gold: Node, pred: Node) -> bool:
    if relations.one_name(gold, pred):
        sets = [intervals.pieces(node) for node in (gold, pred)]
        if sets[0] is not None and sets[1] is not None:
            return _same_in_order(sets[0], sets[1])
    if contradict(gold, pred):
        return False
    links = [list(node.args) if node.op == "list" else [node] for node in (gold, pred)]
    if relations.same_conditions(*links):
        return True
    if gold.op == pred.op == "rel":
        return relations.same(gold, pred, same)
    return gold.op == pred.op and _same_elements(*links)


def _solutions(node: Node) -> list[Node]:
    """Return `p=5, q=2; p=7, q=2` as the pairs (5, 2), (7, 2), and other lists unchanged."""
    elements = _elements(node)
    if not elements or not all(
        one.op == "rel" and one.value == ("=",) and one.args[0].op == "sym" for one in elements
    ):
        return elements
    names = [one.args[0].value for one in elements]
    width = names.index(names[0], 1) if names[0] in names[1:] else 0
    if width < 2 or len(names) % width or names != names[:width] * (len(names) // width):
        return elements
    values = [one.args[1] for one in elements]
    return [Node("tuple", tuple(values[at : at + width]), "()") for at in range(0, len(values), width)]


def _same_elements(gold: list[Node], pred: list[Node]) -> bool:
    """Return whether both have the same elements with the same multiplicities, in any order.

    Raises:
        TooComplex: more than MAX_UNMATCHED elements must be compared pairwise.
    """
    if len(gold) != len(pred):
        return False
    keys: dict[str, int] = {}
    for element in pred:
        keys[key(element)] = keys.get(key(element), 0) + 1
    open_gold = []
    for element in gold:
        if keys.get(key(element), 0):
            keys[key(element)] -= 1
        else:
            open_gold.append(element)
    open_pred = []
    for element in pred:
        if keys[key(element)]:
            keys[key(element)] -= 1
            open_pred.append(element)
    if len(open_gold) > MAX_UNMATCHED:
        raise TooComplex(f"{len(open_gold)} elements to match")
    for element in open_gold:
        match = next((index for index, other in enumerate(open_pred) if same(element, other)), None)
        if match is None:
            return False
        del open_pred[match]
    return True


def _is_union(node: Node) -> bool:
    return node.op == "union" or (node.op == "opaque" and node.value in ("cap", "setminus"))


def _same_unions(gold: Node, pred: Node) -> bool:
    gold_pieces, pred_pieces = intervals.pieces(gold), intervals.pieces(pred)
    if gold_pieces is not None and pred_pieces is not None:
        return _same_in_order(gold_pieces, pred_pieces)
    if gold.op != "union" or pred.op not in ("union", "list"):
        return False
    parts = [list(node.args) if node.op in ("union", "list") else [node] for node in (gold, pred)]
    return _same_elements(*parts)


def _same_matrices(gold: Node, pred: Node) -> bool:
    if gold.op == "matrix" and pred.op == "fn" and pred.value == "binom":  # a column vector
        pred = Node("matrix", pred.args, (2, 1))
    if gold.op == "matrix" and pred.op == "matrix":
        return gold.value == pred.value and _same_in_order(gold.args, pred.args)
    matrix, other = (gold, pred) if gold.op == "matrix" else (pred, gold)
    if (
        matrix.op == "matrix" and other.op == "tuple" and other.value in ("()", "[]") and 1 in matrix.value
    ):  # a vector
        return _same_in_order(gold.args, pred.args)
    matrices = [as_matrix(gold), as_matrix(pred)]  # evaluates sums, products and multiples
    if matrices[0] is None or matrices[1] is None or matrices == [gold, pred]:
        return False
    return same(matrices[0], matrices[1])


def _same_times(gold: Node, pred: Node) -> bool:
    if gold.op == "time" and pred.op == "time":
        (gold_seconds, gold_half), (pred_seconds, pred_half) = gold.value, pred.value
        half_day = 12 * 3600
        if (gold_half and pred_half) or not (gold_half or pred_half):
            return bool(gold_seconds == pred_seconds)
        # One has a.m. or p.m.; the other may use 24 hours or have no label.
        bare = pred_seconds if gold_half else gold_seconds
        full = gold_seconds if gold_half else pred_seconds
        return bool(full in (bare, (bare + half_day) % (2 * half_day) if bare < 13 * 3600 else bare))
    time, other = (gold, pred) if gold.op == "time" else (pred, gold)
    seconds, half = time.value
    hours = literal(other)  # 9 for 9 a.m.
    return bool(half and hours is not None and seconds in (hours * 3600, (hours + 12) * 3600))


def _same_numerals(gold: Node, pred: Node) -> bool:
    if gold.op == "numeral" and pred.op == "numeral":
        return gold.value[1] == pred.value[1] and _digits(gold.value[0]) == _digits(pred.value[0])
    numeral, other = (gold, pred) if gold.op == "numeral" else (pred, gold)
    value = literal(other)
    if value is None:
        return False
    if numeral.value[1] == 10:
        return rational(numeral) == value
    # The question states the base, so the digits alone are accepted; a numeral for a plain number is not.
    return gold.op == "numeral" and value.denominator == 1 and _digits(gold.value[0]) == str(value)


def _digits(digits: str) -> str:
    sign = "-" if digits.startswith("-") else ""
    return sign + (digits.lstrip("-").upper().lstrip("0") or "0")


def _same_texts(gold: Node, pred: Node) -> bool:
    texts = []
    for node in (gold, pred):
        if node.op in ("text", "sym"):
            texts.append(words(str(node.value)))
        elif node.op == "mul" and all(arg.op in ("text", "sym", "const") for arg in node.args):
            space = " " if any(arg.op == "text" for arg in node.args) else ""
            texts.append(words(space.join(str(arg.value) for arg in node.args)))
        else:
            return False
    if not texts[0] or (gold.op == "sym" and pred.op == "sym"):
        return False
    stated = after_link(texts[1])
    if str(gold.value)[:1].isupper() and texts[0] == before_link(texts[1]):  # Evelyn has the greatest speed
        return True
    return texts[0] in (texts[1], stated, without_class(stated))


def _same_values(gold: Node, pred: Node) -> bool:
    """Compare two values; the words beside them must be equal, units, or words without meaning."""
    left, right = split_unit(gold), split_unit(pred)
    if left is not None and not left.unit and (compounds := compound_readings(pred)):
        return any(same(left.value, one.value) for one in compounds)  # 1 hour 30 minutes for 1.5
    if left is None or right is None:
        return False
    if left.before != right.before or left.strict != right.strict:
        return False
    for one, other in ((left, right), (right, left)):
        for mark in ("deg", "pct"):  # 20° is not 20 miles
            if has(one.value, mark) and not has(other.value, mark) and says_what(other.unit):
                return False
    scale = factor(left.unit, right.unit)
    if scale is None:
        return False
    if left.value != gold or right.value != pred:
        return same(left.value, scaled(right.value, scale))
    if gold.op == pred.op == "opaque" and gold.value == pred.value == "mod":
        return same(gold.args[1], pred.args[1]) and equal_values(gold, pred)
    if equal_values(gold, pred):
        return True
    for mark in ("deg", "pct"):
        if has(gold, mark) != has(pred, mark):
            if mark == "deg" and any(one == _PI for one in walk(gold)):  # a gold answer in radians
                continue
            bare_gold, bare_pred = without(gold, mark), without(pred, mark)
            # 45 is accepted for 45 %, as the question may ask for a percentage; 0.5 for 0.5 % is not.
            if mark == "pct" and not _at_least_one(bare_gold):
                continue
            if equal_values(bare_gold, bare_pred):
                return True
    # \cos 58 is accepted for \cos 58^\circ: only the degree sign is missing, although the values differ.
    return key(without_degrees(gold)) == key(pred)


def _at_least_one(node: Node) -> bool:
    try:
        value = rational(node)
    except Undefined:
        return False
    return value is not None and abs(value) >= 1
