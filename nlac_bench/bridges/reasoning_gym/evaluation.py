"""Replaces ``eval`` where reasoning-gym and sympy's parser call it, some of them on the model's answer."""

import ast
import sys
from typing import Any

_FUNCTIONS = """
    exp log ln sqrt sin cos tan cot sec csc asin acos atan acot sinh cosh tanh coth asinh acosh atanh
    Abs sign erf erfi Ei Si Ci li pi E I factorial
"""
_OF_SYMPY = {*_FUNCTIONS.split(), "Integer", "Float", "Rational", "Symbol"}
"""The names that an expression may use: elementary functions, and what sympy's parser puts around words."""
_NODES = (
    ast.Expression, ast.Constant, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.List, ast.Tuple,
    ast.Set, ast.Dict, ast.Load,
)  # fmt: skip


def guarded_eval(source: Any, names: dict[str, Any] | None = None, local: Any = None) -> Any:
    """Evaluate an expression of literals, arithmetic, and calls of elementary functions.

    Attributes, subscripts, comprehensions, lambdas and all other names and calls are refused. The time that
    the arithmetic takes is not bounded here.

    Args:
        source: text. sympy's parser passes one that it made of the answer.
        names, local: the names that may be called, apart from which only those of ``local`` are known.

    Raises:
        ValueError: the expression contains something else.
        SyntaxError: it is not an expression.
    """
    tree = ast.parse(source.strip() if isinstance(source, str) else "", mode="eval")
    allowed = (_OF_SYMPY & set(names or ())) | set(local or ())
    for node in ast.walk(tree):
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords
        if not (isinstance(node, _NODES) or call or (isinstance(node, ast.Name) and node.id in allowed)):
            raise ValueError(f"{type(node).__name__} is not evaluated")
    return eval(compile(tree, "<answer>", "eval"), dict(names or {"__builtins__": {}}), local)


def guard() -> None:
    """Have all loaded modules of reasoning_gym, and sympy's parser, call ``guarded_eval`` for ``eval``."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "reasoning_gym" or name == "sympy.parsing.sympy_parser":
            vars(module)["eval"] = guarded_eval
