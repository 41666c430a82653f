"""Reads an action: one call of a listed function with literal arguments, and nothing else.

BrowserGym makes Python source of an action and runs it. Here the text of a model is only parsed: the function
is looked up by its name and called with the values of the literals.
"""

import ast
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nlac_bench.envs.react import action_text
from nlac_bench.thoughts import drop_reasoning

MAX_CHARS = 2_000
MAX_NUMBER = 5_000
"""Largest coordinate (pixels) and longest pause (milliseconds) of an action."""


class UncallableActionError(ValueError):
    """The text is not one call of a listed function with literal arguments; the message is for the agent."""


@dataclass(frozen=True, slots=True)
class ActionCall:
    """A function's name and the values of its arguments."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def parse_action(text: str, functions: Mapping[str, Callable[..., Any]]) -> ActionCall:
    """Return the call that ``text`` consists of, without thoughts, ``Action:`` and a fence around it.

    Args:
        functions: the functions that may be called, by name. They are not called here.

    Raises:
        UncallableActionError: the text is anything else, too long, or its arguments do not fit the function.
    """
    text = action_text(drop_reasoning(text))
    if not text:
        raise UncallableActionError("the action is empty; write one call, such as noop()")
    if len(text) > MAX_CHARS:
        raise UncallableActionError(f"it has {len(text):,} characters; at most {MAX_CHARS:,} are read")
    try:
        body = ast.parse(text, mode="exec").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UncallableActionError("it is not one function call, such as click('12')") from None
    if len(body) != 1:
        raise UncallableActionError(f"it has {len(body)} statements; write one call")
    call = body[0].value if isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise UncallableActionError("it is not one function call, such as click('12')")
    name = call.func.id
    if name not in functions:
        raise UncallableActionError(f"there is no function {name[:80]!r}; use {', '.join(functions)}")
    if any(keyword.arg is None for keyword in call.keywords):
        raise UncallableActionError("** is not allowed; write each argument")
    args = tuple(map(_value, call.args))
    kwargs = {str(keyword.arg): _value(keyword.value) for keyword in call.keywords}
    try:
        inspect.signature(functions[name]).bind(*args, **kwargs)
    except TypeError as error:
        raise UncallableActionError(f"{name}: {error}") from None
    return ActionCall(name, args, kwargs)


def _value(node: ast.expr) -> Any:
    """Return the value of a literal: a text, a number, True, False, None, or a list of texts."""
    if isinstance(node, ast.List):
        values = [_value(element) for element in node.elts]
        if not all(isinstance(value, str) for value in values):
            raise UncallableActionError("a list may hold only texts")
        return values
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else ...
    if sign == 1 and (value is None or isinstance(value, (str, bool))):
        if isinstance(value, str) and not value.isascii() and _has_surrogates(value):
            raise UncallableActionError("a text holds lone surrogates, which are not valid Unicode")
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not math.isfinite(value) or abs(value) > MAX_NUMBER:
            raise UncallableActionError(f"numbers must be between -{MAX_NUMBER:,} and {MAX_NUMBER:,}")
        return sign * value
    raise UncallableActionError(
        "arguments must be literals: texts, numbers, True, False, None, lists of texts"
    )


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
