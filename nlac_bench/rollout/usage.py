"""Bounds the usage that servers, environments and files report, so that sums of it stay finite."""

import warnings
from dataclasses import fields
from typing import Any

from nlac_bench.types import Usage

MOST = 10**12
"""The largest plausible number of calls, tokens, US dollars or seconds. No run reaches it, and sums of
such numbers can be written as JSON."""

_NAMES = tuple(f.name for f in fields(Usage))


def amount(value: object, name: str, source: str) -> Any:
    """Return ``value`` if it is a number from 0 to ``MOST``, else 0 with a warning.

    Args:
        value: anything; a bool is not a number.
        name: what it counts, such as ``cost``.
        source: who reports it; the subject of the warning.
    """
    fault = _fault(value)
    if fault is None:
        return value
    # The text does not contain the value, so that the same fault in many replies is shown once.
    warnings.warn(
        f"{source} reports a {name} that is {fault}; it is counted as 0 (expected: a number from 0 to 10^12)",
        stacklevel=2,
    )
    return 0


def bounded(usage: Usage, source: str) -> Usage:
    """Return ``usage`` with each unusable number replaced by 0; see ``amount``."""
    if all(_fault(getattr(usage, name)) is None for name in _NAMES):
        return usage
    return Usage(**{name: amount(getattr(usage, name), name, source) for name in _NAMES})


def _fault(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"a {type(value).__name__}"
    if value < 0:
        return "negative"
    return None if value <= MOST else "larger than 10^12 or NaN"
