"""Computes sums, products and multiples of matrices, entry by entry."""

from nlac_bench.simulators.math_grader.read.nodes import Node, literal, num

MAX_ENTRIES = 400  # maximal number of scalar products in a matrix product
MAX_POWER = 6  # the entries are expressions, which grow with each factor


def has_matrix(node: Node) -> bool:
    return node.op == "matrix" or (
        node.op in ("add", "mul", "neg", "div", "pow") and any(has_matrix(a) for a in node.args)
    )


def as_matrix(node: Node) -> Node | None:
    """Return the matrix that is the value of an expression, or None if it is not a matrix."""
    if node.op == "matrix":
        return node
    if not has_matrix(node):
        return None
    if node.op == "neg":
        return _multiple(num(-1), as_matrix(node.args[0]))
    if node.op == "div" and not has_matrix(node.args[1]):
        return _multiple(Node("div", (num(1), node.args[1])), as_matrix(node.args[0]))
    if node.op == "pow":
        base, exponent = as_matrix(node.args[0]), literal(node.args[1])
        if base is None or exponent is None or exponent not in range(1, MAX_POWER + 1):
            return None
        node = Node("mul", (base,) * int(exponent))
    if node.op not in ("add", "mul"):
        return None
    result: Node | None = None
    for arg in node.args:
        matrix = as_matrix(arg)
        if node.op == "mul" and matrix is None:
            continue
        if matrix is None:
            return None
        result = matrix if result is None else (_add if node.op == "add" else _product)(result, matrix)
        if result is None:
            return None
    for arg in node.args:
        if node.op == "mul" and not has_matrix(arg):
            result = _multiple(arg, result)
    return result


def _multiple(factor: Node, matrix: Node | None) -> Node | None:
    if matrix is None:
        return None
    return Node("matrix", tuple(Node("mul", (factor, entry)) for entry in matrix.args), matrix.value)


def _add(left: Node, right: Node) -> Node | None:
    if left.value != right.value:
        return None
    entries = tuple(Node("add", pair) for pair in zip(left.args, right.args, strict=True))
    return Node("matrix", entries, left.value)


def _product(left: Node, right: Node) -> Node | None:
    (rows, inner), (height, columns) = left.value, right.value
    if inner != height or rows * columns * inner > MAX_ENTRIES:
        return None
    entries = tuple(
        Node(
            "add",
            tuple(Node("mul", (left.args[r * inner + k], right.args[k * columns + c])) for k in range(inner)),
        )
        for r in range(rows)
        for c in range(columns)
    )
    return Node("matrix", entries, (rows, columns))
