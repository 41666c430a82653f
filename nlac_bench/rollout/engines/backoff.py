"""Trying again: exponential backoff with jitter for faults that pass, a typed error when they do not."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from nlac_bench.rollout.engines.engine import EngineError

T = TypeVar("T")


class TransientFault(Exception):
    """A fault that may pass. ``retry_after`` is what the server asked for, in seconds."""

    def __init__(self, message: str, kind: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently.

    Waits are drawn uniformly between half of and the whole of ``first · 2^k`` seconds, at most
    ``longest``: jitter, so that a thousand episodes do not come back at the same moment. A server's own
    ``Retry-After`` is the least that is waited, up to ``longest_asked``.
    """

    attempts: int = 6
    first: float = 0.5
    longest: float = 30.0
    longest_asked: float = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, got {self.attempts!r}")

    def wait(self, failures: int, retry_after: float | None) -> float:
        """Seconds before the next attempt, after ``failures`` of them."""
        planned = min(self.longest, self.first * 2.0 ** min(failures - 1, 60))
        jittered = planned * random.uniform(0.5, 1.0)
        asked = min(max(retry_after or 0.0, 0.0), self.longest_asked)
        return asked + jittered if asked else jittered

    async def run(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """The result of the first ``attempt()`` that raises no ``TransientFault``.

        Raises:
            EngineError: when all attempts failed; it tells how the last one did.
        """
        failures = 0
        while True:
            try:
                return await attempt()
            except TransientFault as fault:
                failures += 1
                if failures >= self.attempts:
                    raise EngineError(
                        f"{what} failed {failures} times, the last time: {fault}", fault.kind, failures
                    ) from None
                await asyncio.sleep(self.wait(failures, fault.retry_after))
