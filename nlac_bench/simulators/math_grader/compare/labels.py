"""Removes labels that do not change a value: units, per cent and degree signs, names before `=`."""

import re
from dataclasses import dataclass, field
from fractions import Fraction

from nlac_bench.simulators.math_grader.read.nodes import Node, literal, num, symbols
from nlac_bench.simulators.math_grader.read.normalize import NUMBER_WORDS, ORDINAL_WORDS, words
from nlac_bench.simulators.math_grader.read.units import factor, is_currency, is_measure
from nlac_bench.simulators.math_grader.read.wording import (
    UNCERTAIN,
    is_filler,
    is_noun,
    states_otherwise,
    without_fillers,
)

_SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
}
_OF = re.compile(r"\w\W+(?:of|for|in|with|on|over|from)\W*\Z")
_SCALED_NUMBER = re.compile(rf"(\d{{1,9}}) ({'|'.join(_SCALES)})", re.ASCII)
_POWER_OF_UNIT = re.compile(r"(?<=[a-z]) (?:squared|cubed)\b")  # \text{ meters squared}
_NOTHING = frozenset(
    ("no solution", "no solutions", "no real solutions", "none", "empty set", "the empty set")
)
_REALS = frozenset(("all real numbers", "all reals", "all real x", "real numbers"))


def plain(node: Node) -> Node:
    """Return what a text or a label denotes: `four` is 4, `no solution` the empty set, `M(-2, 1)` a point."""
    if node.op == "text":
        text = words(node.value)
        if (bare := without_fillers(text)) in NUMBER_WORDS:
            return num(NUMBER_WORDS[bare])
        if (spelled := node.value.strip().casefold().removeprefix("the ")) in ORDINAL_WORDS:
            return num(ORDINAL_WORDS[spelled])  # but `a third` may be a fraction
        if scaled_number := _SCALED_NUMBER.fullmatch(text):
            return num(Fraction(scaled_number[1]) * _SCALES[scaled_number[2]])
        if text.removeprefix("there is ").removeprefix("there are ") in _NOTHING:
            return Node("set")
        if text in ("infinity", "positive infinity"):
            return Node("const", value="oo")
        if text == "negative infinity":
            return Node("neg", (Node("const", value="oo"),))
        if text in _REALS:
            return Node("sym", value="mathbb sym:R()")
    if node.op == "rel" and node.value == ("equiv",) and is_name(node.args[0]):  # x \equiv 3 \pmod 7
        return node.args[1]
    if node.op == "list" and node.args[0].op == "rel" and node.args[0].value == ("!=",):  # x \ne -4, 6
        name, others = node.args[0].args[0], node.args[1:]
        if all(one.op != "rel" and is_constant(one) for one in others):
            return Node("list", (node.args[0], *(Node("rel", (name, one), ("!=",)) for one in others)), "and")
    if node.op == "mul" and [arg.op for arg in node.args] == ["sym", "tuple"]:  # the point M(-2, 1)
        return node.args[1]
    return node


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value and the words beside it."""

    value: Node
    unit: str = ""
    """Units and counted nouns: `feet`."""
    before: str = ""
    """Words before the value: `June`."""
    strict: str = ""
    """The words after the value, if one of them changes the meaning: `is even`, `or more`."""


def split_unit(node: Node) -> Labelled | None:
    """Return a value and its words, such as `40` and `feet`; None if there are words between two values."""
    compounds = compound_readings(node)
    if compounds:
        return compounds[-1]
    parts = _split(node)
    if parts is None or parts.value is None:
        return None
    value, before = parts.value, " ".join(text for text in parts.before if not is_filler(text))
    unit = " ".join(text for text in parts.after if not is_filler(text))
    if is_currency(before):
        unit, before = f"{before} {unit}", ""
    if states_otherwise(_POWER_OF_UNIT.sub(" ", unit)):
        return Labelled(value, before=words(before), strict=words(unit))
    for word in set(words(unit).split()) & _SCALES.keys():
        value = Node("mul", (value, num(_SCALES[word])))
    return Labelled(value, unit, words(before))


def unnamed(node: Node) -> Node:
    """Return the value of an answer with a name before it, `\\text{center } (3, 4)`, and others unchanged."""
    if node.op != "mul" or len(node.args) < 2 or node.args[0].op != "text":
        return node
    text, *rest = node.args
    if is_currency(text.value) or not is_noun(text.value):
        return node
    return rest[0] if len(rest) == 1 else Node("mul", tuple(rest))


def compound_readings(node: Node) -> list[Labelled]:
    """Return `2 \\text{ hours } 30 \\text{ minutes}` in each of its units; nothing for anything else."""
    numbers, units = node.args[::2], node.args[1::2]
    if node.op != "mul" or len(units) < 2 or len(numbers) != len(units):
        return []
    if any(n.op != "num" for n in numbers) or any(u.op != "text" or not is_measure(u.value) for u in units):
        return []
    readings = []
    for unit in units:
        sizes = [factor(unit.value, other.value) for other in units]
        terms = [Node("mul", (n, num(size))) for n, size in zip(numbers, sizes, strict=True) if size]
        if len(terms) < len(units):
            return []
        readings.append(Labelled(Node("add", tuple(terms)), unit.value))
    return readings


@dataclass(slots=True)
class _Parts:
    """A value, if there is one, and the texts before and after it."""

    value: Node | None
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def _split(node: Node) -> _Parts | None:
    """Return the value without its texts; None if there is a text between two values."""
    if node.op == "text":
        return _Parts(None, after=[node.value])
    if node.op == "pow" and node.args[0].op == "text":
        exponent = literal(node.args[1])
        text = node.args[0].value
        return _Parts(None, after=[text if exponent is None else f"{text}^{exponent}"])
    if node.op in ("neg", "pct", "deg", "pm"):
        inner = _split(node.args[0])
        if inner is not None and inner.value is not None:
            inner.value = Node(node.op, (inner.value,), node.value)
        return inner
    if (
        node.op == "div" and node.args[0].op == "text" and node.args[1].op == "sym"
    ):  # \frac{\text{km}}{\text{h}}
        return _Parts(None, after=[node.args[0].value, "per", node.args[1].value])
    if node.op not in ("mul", "div", "add"):
        return _Parts(node)
    if node.op == "div" and all(arg.op == "text" for arg in node.args):
        return _Parts(None, after=[node.args[0].value, "per", node.args[1].value])
    result = _Parts(None)
    values: list[Node] = []
    for index, arg in enumerate(node.args):
        part = _split(arg)
        if part is None or (part.value is None and (node.op == "add" or (node.op == "div" and not index))):
            return None
        if part.value is None and not values:
            result.before += part.after
            continue
        if node.op == "mul" and result.after and _is_complement(result.after[-1], arg):
            result.after.append(str(arg.value))
            continue
        if part.value is not None:
            if result.after or (values and part.before and node.op != "div"):
                return None
            values.append(part.value)
        if node.op == "div" and index and part.after:
            result.after.append("per")
        result.before += part.before
        result.after += part.after
    if not values:
        return _Parts(None, after=result.before)
    result.value = values[0] if len(values) == 1 else Node(node.op, tuple(values))
    return result


def _is_complement(text: str, node: Node) -> bool:
    """Return whether a node completes a text: 11 \\text{ values of } x, 4 \\text{ pairs } (a, b)."""
    if node.op == "tuple" and all(arg.op == "sym" for arg in node.args):
        return True
    return node.op in ("sym", "const", "tuple") and bool(_OF.search(text))


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
    """Return whether a side of `=` names the other: `x`, `f(x)`, `AB`, `\\angle ABC`, `(x, y)`, `A:B`."""
    if node.op == "text":
        return node.value.isupper() or not UNCERTAIN.intersection(words(node.value).split())  # the segment NO
    if node.op == "sym" or (node.op == "const" and node.value in ("e", "i")):
        return True
    if node.op == "opaque":
        return node.value.startswith(("call ", "angle ", "triangle ")) or (
            bool(node.args) and all(is_name(arg) for arg in node.args)
        )
    if node.op in ("add", "neg"):  # \text{mean} - \text{median}
        return all(arg.op in ("text", "neg") and is_name(arg) for arg in node.args)
    if node.op == "pow":  # the inverse f^{-1}(x)
        return node.args[0].op == "sym" and node.args[0].value in ("f", "g", "h")
    if node.op == "mul":
        called = node.value == (0,) and len(node.args) == 2 and node.args[0].op != "pow"  # p(3)
        return called or (all(is_name(arg) for arg in node.args) and not _is_product(node))
    if node.op == "div":  # the ratio of two segments, a derivative
        return all(is_name(arg) and not _is_variable(arg) for arg in node.args)
    return node.op in ("ratio", "tuple", "fn", "deg") and all(is_name(arg) for arg in node.args)


def _is_variable(node: Node) -> bool:
    return node.op == "sym" and str(node.value)[:1].islower()


def _is_product(node: Node) -> bool:
    """Return whether adjacent letters are a product, `xy`, and not a name: `AB`, `m\\angle A`, `dx`."""
    return (
        all(arg.op == "sym" for arg in node.args)
        and node.args[0].value != "d"
        and any(_is_variable(arg) for arg in node.args)
    )


def is_constant(node: Node) -> bool:
    return not symbols(node)


def scaled(node: Node, size: Fraction) -> Node:
    return node if size == 1 else Node("mul", (node, num(size)))
