"""Converts values of any kind to those that JSON has, for what environments and agents return."""

import math
from collections.abc import Mapping
from typing import Any

from nlac_bench.errors import EpisodeFormatError
from nlac_bench.untrusted import MAX_DEPTH


def json_value(value: Any, where: str, depth: int = 0) -> Any:
    """Return ``value`` with dicts, lists, texts, numbers, booleans and None only.

    Numbers that JSON does not have become the strings "NaN", "Infinity" and "-Infinity"; numpy scalars and
    arrays become numbers and lists, keys become texts.

    Args:
        value: what is converted.
        where: its name in the error, such as ``info``.
        depth: how deep it is nested in the value of the first call.

    Raises:
        EpisodeFormatError: JSON has no type for a value; the message says where it is.
    """
    if depth > MAX_DEPTH:
        raise EpisodeFormatError(f"{where.lstrip('.')[:80]} is nested more than {MAX_DEPTH} deep")
    if isinstance(value, int):
        return _written(value, where)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _non_finite(value)
    if isinstance(value, Mapping):
        return {str(k): json_value(v, f"{where}.{k}", depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return json_value(value.tolist(), where, depth + 1)
    raise EpisodeFormatError(
        f"{where.lstrip('.')} is a {type(value).__name__}, which JSON cannot store; use only numbers, "
        "strings, lists and dicts in info"
    )


def _written(value: int, where: str) -> int:
    try:
        str(value)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        raise EpisodeFormatError(
            f"{where.lstrip('.')} is an integer of {value.bit_length():,} bits, which is too long to be "
            "written; store it as a float or a string"
        ) from None
    return value


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
