"""Reads how long a server asks to wait: from headers, from fields of the body, or from its prose."""

import json
import math
import re
import time
from collections.abc import Mapping
from datetime import datetime

from nlac_bench.rollout.engines.backoff import parse_retry_after

_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])"
_NUMBER = r"\d{1,9}(?:\.\d{1,12})?"
_PART = re.compile(rf"({_NUMBER})\s*({_UNIT})", re.I)
_SAID = re.compile(
    r"(?:try|retry|retrying|request|again|wait|resets?|available|cool\w*)\b[^.\d]{0,30}?"
    rf"((?:{_NUMBER}\s*{_UNIT}[\s,]*(?:and\s+)?){{1,4}})",
    re.I,
)
_FIELD = re.compile(
    r"retry[_-]?(?:after|delay|in)|reset[_-]?delay|wait[_-]?(?:time|seconds)|ratelimit-reset|estimated_time",
    re.I,
)
_NONE_LEFT = re.compile(r"\b(?:r=0\s*;\s*t|remaining=0\s*,\s*reset)=(\d{1,9})\b")
_CHINESE = re.compile(rf"(?<![每\d.])({_NUMBER})\s*(秒|分钟)后")
_EPOCH_S = 1_000_000_000
"""Larger numbers are a point in time, in seconds or milliseconds since 1970."""


def header_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait that the headers of an error ask for, or None.

    ``retry-after-ms`` and ``retry-after`` (RFC 9110) count first, also with a prefix (``x-``). Otherwise
    it is the latest reset of a limit of which nothing remains (``x-ratelimit-reset-requests: 6m0s``,
    ``anthropic-ratelimit-tokens-reset`` with a date, ``x-ratelimit-reset`` with milliseconds since 1970,
    ``RateLimit: "default";r=0;t=30`` of draft-ietf-httpapi-ratelimit-headers, or of its older versions
    ``limit=100, remaining=0, reset=50``).
    """
    lower = {name.lower(): value for name, value in headers.items()}

    def ending(end: str) -> str:
        return next((value for name, value in sorted(lower.items()) if name.endswith(end)), "")

    if (milliseconds := _seconds(ending("retry-after-ms"))) is not None:
        return milliseconds / 1000
    if (asked := parse_retry_after(after := ending("retry-after"))) is not None:
        return asked
    if (asked := duration(after)) is not None:
        return asked
    waits = [float(seconds) for seconds in _NONE_LEFT.findall(lower.get("ratelimit", ""))]
    for name, value in lower.items():
        if "ratelimit" in name.replace("-", "").replace("_", "") and "reset" in name:
            left = lower.get(name.replace("reset", "remaining"), "0")
            if _none_left(left) and (wait := _moment(value)) is not None:
                waits.append(wait)
    return max(waits, default=None)


def _none_left(remaining: str) -> bool:
    """Return whether a header says that nothing remains of a limit: 0, 0.0, -1 or nothing at all."""
    number = re.match(r"-?[\d,]+(?:\.\d+)?", remaining.strip())
    return not remaining.strip() or (number is not None and float(number[0].replace(",", "")) <= 0)


def asked_wait(body: object, message: str) -> float | None:
    """Return the seconds to wait that the body of an error asks for, or None."""
    named = _field(body, 200)
    if named is not None:
        return named
    if match := _SAID.search(message[:2000]):
        return duration(match[1])
    match = _CHINESE.search(message[:2000])
    return None if match is None else float(match[1]) * (60 if match[2] == "分钟" else 1)


def duration(text: str) -> float | None:
    """Return the seconds of ``1m30.5s``, ``250ms``, ``2 minutes`` or ``17`` (seconds); None for other
    text."""
    parts = _PART.findall(text)
    if parts:
        return sum(float(number) * _UNITS["ms" if unit.lower().startswith(("ms", "mil")) else unit[0].lower()]
                   for number, unit in parts)  # fmt: skip
    return _seconds(text)


def _moment(text: str) -> float | None:
    """Return the seconds until a point in time, or of a duration."""
    number = _seconds(text)
    if number is not None and number > _EPOCH_S:
        return max(0.0, (number / 1000 if number > 1000 * _EPOCH_S else number) - time.time())
    if number is None and re.match(r"\d{4}-\d\d-\d\dT", text.strip()):
        try:
            moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
            return max(0.0, moment.timestamp() - time.time())
        except (ValueError, OverflowError, OSError):
            return None
    return duration(text)


def _field(value: object, left: int) -> float | None:
    """Return the wait in the first field of ``value`` whose name says that it is one."""
    layer = [value]
    while layer and left > 0:
        below: list[object] = []
        for item in layer:
            left -= 1
            for name, inner in item.items() if isinstance(item, dict) else ():
                wait = _moment(str(inner)[:60]) if _FIELD.search(str(name)) else None
                if wait is not None:
                    return wait / 1000 if str(name).lower().endswith("ms") else wait
                below.append(json_or_text(inner))
            below += item[:50] if isinstance(item, list) else ()
        layer = [each for each in below if isinstance(each, dict | list)]
    return None


def json_or_text(text: object) -> object:
    """Return the JSON array or object that ``text`` is, or ``text``."""
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _seconds(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number > 0 else None
