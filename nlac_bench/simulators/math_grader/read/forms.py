"""Builds nodes from parsed parts: mixed numbers, marked letters, sets defined by a condition."""

from nlac_bench.simulators.math_grader.read.nodes import Node, key

REALS = "mathbb sym:R()"
_ARROWS = {"vec": "vec", "overrightarrow": "vec", "overleftarrow": "overleftarrow"}


def marked(mark: str, body: Node) -> Node:
    """Return the node of `\\overline{AB}`; in a vector, `\\overrightarrow{AB}`, letters keep their order."""
    if mark in _ARROWS and body.op == "mul":
        return Node("opaque", (), " ".join([_ARROWS[mark], *(key(letter) for letter in body.args)]))
    return Node("opaque", (body,), _ARROWS.get(mark, mark))


def without_name(first: Node) -> Node | None:
    """Return the condition of `\\{x \\mid x > 2\\}` or `\\{x : x > 2\\}`, x real; None for other elements."""
    if first.op != "rel":
        return None
    args, operators = list(first.args), list(first.value)
    if operators[0] == "in":
        name, (domain, *args), operators = args[0], args[1:], operators[1:]
        reals = domain.args[0] if domain.op == "ratio" else domain
        if reals != Node("sym", value=REALS):
            return None
        if domain.op == "ratio" and len(domain.args) == 2:
            args.insert(0, domain.args[1])
        elif operators and operators[0] == "mid":
            operators = operators[1:]
        else:
            return None
    elif operators[0] == "mid":
        name, *args = args
        operators = operators[1:]
    elif args[0].op == "ratio" and len(args[0].args) == 2:
        name, args[0] = args[0].args
    else:
        return None
    return Node("rel", tuple(args), tuple(operators)) if name.op == "sym" and operators else None


def mixed_number(whole: Node, fraction: Node) -> Node | None:
    """Return an integer and a fraction below 1, `1\\frac12` or `22\\frac12^\\circ`, as a sum, or None."""
    if fraction.op in ("pct", "deg"):
        inner = mixed_number(whole, fraction.args[0])
        return None if inner is None else Node(fraction.op, (inner,))
    if fraction.op != "div":
        return None
    top, bottom = fraction.args
    if not all(n.op == "num" and not n.digits and n.value.denominator == 1 for n in (whole, top, bottom)):
        return None
    return Node("add", (whole, fraction)) if 0 < top.value < bottom.value else None
