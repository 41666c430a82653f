"""Removes labels that do not change a value: units, per cent and degree signs, names before `=`."""

import re
from fractions import Fraction

from nlac_bench.envs.math500_hard.grading.nodes import Node, literal, names, num, symbols
from nlac_bench.envs.math500_hard.grading.normalize import NUMBER_WORDS, words
from nlac_bench.envs.math500_hard.grading.units import factor, is_measure

# Texts that change the meaning and are therefore never dropped as a label.
_MEANINGFUL = names(
    "not no or and more less than least most mod base if when except never between unless only up "
    "down undefined infinite infinitely none minus plus times over divided squared cubed january february "
    "march april may june july august september october november december"
)
_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
_SCALED_NUMBER = re.compile(rf"(\d{{1,9}}) ({'|'.join(_SCALES)})", re.ASCII)
_POWER_OF_UNIT = re.compile(r"(?<=[a-z]) (?:squared|cubed)\b")  # \text{ meters squared}
_NOTHING = frozenset(
    ("no solution", "no solutions", "no real solutions", "none", "empty set", "the empty set")
)
_REALS = frozenset(("all real numbers", "all reals", "all real x", "real numbers"))


def plain(node: Node) -> Node:
    """Return what a text or a label denotes: `four` is 4, `no solution` the empty set, `M(-2, 1)` a point."""
    if node.op == "text":
        said = words(node.value)
        if said in NUMBER_WORDS:
            return num(NUMBER_WORDS[said])
        if scaled_number := _SCALED_NUMBER.fullmatch(said):
            return num(Fraction(scaled_number[1]) * _SCALES[scaled_number[2]])
        if said in _NOTHING:
            return Node("set")
        if said in ("infinity", "positive infinity"):
            return Node("const", value="oo")
        if said == "negative infinity":
            return Node("neg", (Node("const", value="oo"),))
        if said in _REALS:
            return Node("sym", value="mathbb sym:R()")
    if node.op == "rel" and node.value == ("equiv",) and is_name(node.args[0]):  # x \equiv 3 \pmod 7
        return node.args[1]
    if node.op == "mul" and [arg.op for arg in node.args] == ["sym", "tuple"]:  # the point M(-2, 1)
        return node.args[1]
    return node


def split_unit(node: Node) -> tuple[Node, str] | None:
    """Return a value and its text, such as `40` and `feet`; None if a text is more than a unit."""
    parts = _compound(node) or _split(node)
    if parts is None:
        return None
    value, labels = parts
    if value is None:
        return None
    text = " ".join(labels)
    said = set(words(_POWER_OF_UNIT.sub(" ", text)).split())
    if said & _MEANINGFUL:
        return None
    for word in said & _SCALES.keys():
        value = Node("mul", (value, num(_SCALES[word])))
    return value, text


def _compound(node: Node) -> tuple[Node | None, list[str]] | None:
    """Return `2 \\text{ hours } 30 \\text{ minutes}` in the last of its units; None for anything else."""
    numbers, units = node.args[::2], node.args[1::2]
    if node.op != "mul" or len(units) < 2 or len(numbers) != len(units):
        return None
    if any(n.op != "num" for n in numbers) or any(u.op != "text" or not is_measure(u.value) for u in units):
        return None
    last = units[-1].value
    sizes = [factor(last, unit.value) for unit in units]
    if None in sizes:
        return None
    terms = [Node("mul", (n, num(size))) for n, size in zip(numbers, sizes, strict=True) if size is not None]
    return Node("add", tuple(terms)), [last]


def _split(node: Node) -> tuple[Node | None, list[str]] | None:
    if node.op == "text":
        return None, [node.value]
    if node.op == "pow" and node.args[0].op == "text":
        exponent = literal(node.args[1])
        return None, [f"{node.args[0].value}^{exponent}" if exponent is not None else node.args[0].value]
    if node.op in ("neg", "pct", "deg", "pm"):
        inner = _split(node.args[0])
        if inner is None or inner[0] is None:
            return inner
        return Node(node.op, (inner[0],), node.value), inner[1]
    if (
        node.op == "div" and node.args[0].op == "text" and node.args[1].op == "sym"
    ):  # \frac{\text{km}}{\text{h}}
        return None, [node.args[0].value, "per", node.args[1].value]
    if node.op in ("mul", "div", "add"):
        values: list[Node] = []
        labels: list[str] = []
        for index, arg in enumerate(node.args):
            part = _split(arg)
            if part is None:
                return None
            value, found = part
            if node.op == "add" and found and index != len(node.args) - 1:
                return None  # 5 feet + 6 inches
            if value is None and node.op == "add":
                return None
            if node.op == "div" and index and found:
                labels.append("per")
            labels.extend(found)
            if value is not None:
                values.append(value)
        if not values:
            return None, labels
        if node.op == "div" and _split(node.args[0])[0] is None:  # type: ignore[index]
            return None  # the unit over a number
        return values[0] if len(values) == 1 else Node(node.op, tuple(values), node.value), labels
    return node, []


def without(node: Node, mark: str) -> Node:
    """Return the value without its `pct` or `deg`, except inside functions, where it is part of the value."""
    if node.op == mark:
        return without(node.args[0], mark)
    if node.op in ("add", "mul", "div", "neg", "pm"):
        return Node(node.op, tuple(without(arg, mark) for arg in node.args), node.value, node.digits)
    return node


def without_degrees(node: Node) -> Node:
    """Return the expression without any degree sign, also inside functions."""
    if node.op == "deg":
        return without_degrees(node.args[0])
    args = tuple(without_degrees(arg) for arg in node.args)
    return Node(node.op, args, node.value, node.digits)


def has(node: Node, mark: str) -> bool:
    """Return whether the value has a `pct` or `deg` outside functions."""
    return node.op == mark or (
        node.op in ("add", "mul", "div", "neg", "pm") and any(has(arg, mark) for arg in node.args)
    )


def is_name(node: Node) -> bool:
    """Return whether a side of `=` only names the other: `x`, `f(x)`, `\\angle ABC`, `(x, y)`, `A:B`."""
    if node.op in ("sym", "text") or (node.op == "const" and node.value in ("e", "i")):
        return True
    if node.op == "opaque":
        return node.value.startswith(("call ", "angle ", "triangle ")) or (
            bool(node.args) and all(is_name(arg) for arg in node.args)
        )
    if node.op == "pow":  # the inverse f^{-1}(x)
        return node.args[0].op == "sym" and node.args[0].value in ("f", "g", "h")
    if node.op in ("mul", "div", "ratio", "tuple", "fn", "deg"):
        return all(is_name(arg) for arg in node.args)
    return False


def is_constant(node: Node) -> bool:
    return not symbols(node)


def scaled(node: Node, size: Fraction) -> Node:
    return node if size == 1 else Node("mul", (node, num(size)))
