"""Compares with math-verify what must be computed symbolically (integrals, limits, set algebra).

Only its LaTeX extraction is used: its expression extraction passes text to sympy's `parse_expr`, which
evaluates Python. Its time-outs use signals, which work only in the main thread, so they are off; the worker
process that runs this module limits its time.
"""

import logging
from functools import cache
from typing import Any

MAX_LENGTH = 1_000
MAX_NESTING = 20  # the time of its grammar grows more than exponentially with nested parentheses
_DIGITS = 60


class Unsettled(Exception):
    """Raised if computer algebra cannot be used or fails; the message says why."""


def equal(gold: str, pred: str) -> bool:
    """Return whether math-verify considers two normalised answers equal and no number contradicts it.

    Raises:
        Unsettled: an answer exceeds the limits, the gold answer cannot be read, or sympy fails.
    """
    if max(len(gold), len(pred)) > MAX_LENGTH:
        raise Unsettled(f"over {MAX_LENGTH} characters are too many for math-verify")
    if max(nesting(gold), nesting(pred)) > MAX_NESTING:
        raise Unsettled(f"over {MAX_NESTING} levels of brackets are too many for math-verify")
    try:
        gold_parsed, pred_parsed = _parse(gold), _parse(pred)
        if gold_parsed is None:
            raise Unsettled("math-verify does not read the gold answer")
        if pred_parsed is None:
            return False
        agreed = _math_verify().verify(
            gold_parsed, pred_parsed, float_rounding=10, numeric_precision=_DIGITS, timeout_seconds=None,
            raise_on_error=True,
        )  # fmt: skip
        return bool(agreed) and not _refuted(gold_parsed, pred_parsed)
    except (MemoryError, RecursionError, Unsettled):
        raise
    except Exception as error:  # sympy raises various exceptions for expressions that it cannot handle
        raise Unsettled(f"math-verify failed with {type(error).__name__}: {error}"[:300]) from error


def nesting(text: str) -> int:
    """Return the number of brackets that are open at the same time in ``text``, closed or not."""
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest


def _parse(text: str) -> object:
    library = _math_verify()
    parsed = library.parse(
        f"${text}$", [library.LatexExtractionConfig()], fallback_mode="no_fallback", parsing_timeout=None
    )
    return parsed[0] if parsed else None


def _refuted(gold: object, pred: object) -> bool:
    """Return whether two numbers differ relatively: math-verify treats 1/2004! and 1/2006! as equal."""
    import sympy

    if (
        not (isinstance(gold, sympy.Expr) and isinstance(pred, sympy.Expr))
        or gold.free_symbols | pred.free_symbols
    ):
        return False
    a, b = sympy.N(gold.doit(), _DIGITS), sympy.N(pred.doit(), _DIGITS)
    if not (a.is_number and b.is_number):
        return False
    return bool(abs(a - b) > abs(a) * sympy.Float(10) ** (20 - _DIGITS))


@cache
def _math_verify() -> Any:
    import math_verify

    # On the first call it warns that its own time-outs are off, which is intended.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    return math_verify
