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

RATE_LIMIT = "rate_limit"
"""Kind of the faults after which all requests to a server wait: its limit is reached, or it is overloaded."""


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


class Pause:
    """A pause that all requests to one server share, whatever event loops they run in.

    A server that refuses one request for its rate refuses the next ones too, so none is sent before the
    pause is over.
    """

    def __init__(self) -> None:
        self._until = self._since = 0.0

    async def over(self) -> None:
        """Wait until the pause is over; a pause that is extended meanwhile is waited for as well."""
        while (left := self._until - time.monotonic()) > 0:
            await asyncio.sleep(left + random.uniform(0, min(1.0, 0.1 * left)))

    def extend(self, seconds: float) -> None:
        """Let all requests wait for at least ``seconds`` from now."""
        self._until = max(self._until, time.monotonic() + seconds)

    def refused(self) -> float:
        """Record that a request was refused for its rate; return for how many seconds all of them were."""
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since

    def accepted(self) -> None:
        """Record that the server answered a request."""
        self._since = 0.0


@dataclass(frozen=True, slots=True)
class Retries:
    """The number of attempts of a request, and the waits between them.

    The wait after the k-th failure is drawn uniformly from the upper half of [0, w], where w is
    ``first · 2^(k - 1)`` seconds, at most ``longest``. This jitter keeps a thousand episodes from retrying at
    the same moment. A ``Retry-After`` of the server, up to ``longest_asked``, is added to the wait.

    Faults of kind ``RATE_LIMIT`` are no failed attempts while the server answers some request within
    ``max_wait``: all requests wait together (``Pause``) and are repeated.

    Args:
        attempts: largest number of attempts, including the first.
        timeouts: largest number of attempts that time out. A time-out takes far longer than any other fault,
            and a server that hangs twice seldom answers the third time.
        first, longest, longest_asked: in seconds.
        max_wait: how long, in seconds, a server may do nothing but refuse requests for their rate.

    Raises:
        ValueError: ``attempts`` or ``timeouts`` is below 1.
    """

    attempts: int = 6
    timeouts: int = 2
    first: float = 0.5
    longest: float = 30.0
    longest_asked: float = 120.0
    max_wait: float = 900.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")
        if self.timeouts < 1:
            raise ValueError(f"timeouts must be at least 1, got {self.timeouts!r}")

    def wait(self, failures: int, retry_after: float | None, longest_asked: float | None = None) -> float:
        """Return the seconds to wait after ``failures`` failed attempts."""
        planned = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        jittered = planned * random.uniform(0.5, 1.0)
        if retry_after is None or not retry_after > 0:  # also rejects NaN
            return jittered
        return min(jittered, 1.0) + min(retry_after, longest_asked or self.longest_asked)

    async def run(self, what: str, attempt: Callable[[], Awaitable[T]], pause: Pause | None = None) -> T:
        """Return the result of the first ``attempt()`` that raises no ``TransientFault``.

        Args:
            what: the subject of the error message, such as the engine's name.
            pause: that of all requests to the same server; by default this request has one of its own.

        Raises:
            EngineError: all attempts failed; the message gives the last fault.
        """
        pause = Pause() if pause is None else pause
        failures = timeouts = refusals = 0
        while True:
            await pause.over()
            try:
                result = await attempt()
            except TransientFault as fault:
                if fault.kind == RATE_LIMIT and pause.refused() + (fault.retry_after or 0.0) < self.max_wait:
                    refusals += 1
                    pause.extend(self.wait(refusals, fault.retry_after, self.max_wait))
                    continue
                failures += 1
                timeouts += fault.kind == "timeout"
                longer = fault.kind == RATE_LIMIT and (fault.retry_after or 0.0) > self.max_wait > 0
                if longer or failures >= self.attempts or timeouts >= self.timeouts:
                    times = "once" if failures == 1 else f"{failures} times, the last time"
                    asks = (
                        f"; it asks to wait {fault.retry_after:,.0f} s, longer than --max-wait"
                        if longer
                        else ""
                    )
                    raise EngineError(f"{what} failed {times}: {fault}{asks}", fault.kind, failures) from None
                await asyncio.sleep(self.wait(failures, fault.retry_after))
            else:
                pause.accepted()
                return result


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
