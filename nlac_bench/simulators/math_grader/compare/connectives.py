"""Decides what the connectives of a list mean: all elements hold, one holds, or there are several values."""

from nlac_bench.simulators.math_grader.read.nodes import Node, key, symbols, walk


def _joined(node: Node) -> str:
    """Return "and" if all elements of a list hold, "or" if one of them does, "" if they are several values.

    All solutions for one name are several values, whatever word joins them: `x = 1 \\text{ and } x = 2`.
    """
    if node.op in ("tuple", "cases", "rel"):
        return "and"
    if node.op != "list":
        return ""
    if any(arg.op == "rel" for arg in node.args):
        named = [key(arg.args[0]) for arg in node.args if arg.op == "rel" and arg.value == ("=",)]
        if len(set(named)) < len(named):
            return ""
        return node.value or ("and" if len(symbols(node)) > 1 else "")
    return node.value or ("" if _are_values(node) else "and")


def _are_values(node: Node) -> bool:
    """Return whether a list with commas has several values, and not names or choices."""
    named = all(arg.op == "sym" and str(arg.value).isupper() for arg in node.args)
    return not named and all(one.op not in ("text", "rel") for one in walk(node))


def contradict(gold: Node, pred: Node) -> bool:
    """Return whether one answer says "and" and the other "or".

    Where the gold answer lists values with "or", an answer may list them with "and".
    """
    if _joined(gold) == "or" and _are_values(gold):
        return False
    return {_joined(gold), _joined(pred)} == {"and", "or"}
