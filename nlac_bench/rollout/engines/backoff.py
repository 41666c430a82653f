"""Retries failed requests with exponential backoff and jitter, and raises a typed error if all fail."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TypeVar

from nlac_bench.rollout.engines.engine import EngineError

T = TypeVar("T")


class TransientFault(Exception):
    """A fault that may not recur in a later attempt.

    Args:
        kind: as ``EngineError.kind``.
        retry_after: the wait in seconds that the server asked for.
    """

    def __init__(self, message: str, kind: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Retries:
    """The number of attempts of a request, and the waits between them.

    The wait after the k-th failure is drawn uniformly from the upper half of [0, w], where w is
    ``first · 2^(k - 1)`` seconds, at most ``longest``. This jitter keeps a thousand episodes from retrying at
    the same moment. A ``Retry-After`` of the server, up to ``longest_asked``, is added to the wait.

    Args:
        attempts: largest number of attempts, including the first.
        timeouts: largest number of attempts that time out. A time-out takes far longer than any other fault,
            and a server that hangs twice seldom answers the third time.
        first, longest, longest_asked: in seconds.

    Raises:
        ValueError: ``attempts`` or ``timeouts`` is below 1.
    """

    attempts: int = 6
    timeouts: int = 2
    first: float = 0.5
    longest: float = 30.0
    longest_asked: float = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")
        if self.timeouts < 1:
            raise ValueError(f"timeouts must be at least 1, got {self.timeouts!r}")

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Return the seconds to wait after ``failures`` failed attempts."""
        planned = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        jittered = planned * random.uniform(0.5, 1.0)
        if retry_after is None or not retry_after > 0:  # also rejects NaN
            return jittered
        return jittered + min(retry_after, self.longest_asked)

    async def run(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the first ``attempt()`` that raises no ``TransientFault``.

        Args:
            what: the subject of the error message, such as the engine's name.

        Raises:
            EngineError: all attempts failed; the message gives the last fault.
        """
        failures = timeouts = 0
        while True:
            try:
                return await attempt()
            except TransientFault as fault:
                failures += 1
                timeouts += fault.kind == "timeout"
                if failures >= self.attempts or timeouts >= self.timeouts:
                    times = "once" if failures == 1 else f"{failures} times, the last time"
                    raise EngineError(f"{what} failed {times}: {fault}", fault.kind, failures) from None
                await asyncio.sleep(self.wait(failures, fault.retry_after))


def parse_retry_after(header: str | None) -> float | None:
    """Return the wait in seconds that a ``Retry-After`` header asks for, or None.

    The header is a number of seconds or an HTTP date (RFC 9110, section 10.2.3). A date in the past and a
    number that is negative or not finite ask for no wait.
    """
    try:
        seconds = float(header or "")
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header or "").timestamp() - time.time()
        except (ValueError, TypeError, IndexError, OverflowError, OSError):
            return None
    return seconds if math.isfinite(seconds) and seconds > 0 else None
