"""Prints a progress line on standard error at least every ten seconds, also during a step of minutes."""

import sys
import threading
import time
from collections.abc import Callable, Mapping

from nlac_bench.api.console import errors, escape

EVERY_S = 10.0


class Heartbeat:
    """A context manager that prints ``line()`` whenever nothing was printed for ``every`` seconds.

    In a terminal the line is updated every second and replaces the previous one.

    Args:
        line: returns the progress line; called in another thread.
        every: seconds.
        show: called in a terminal instead, to update the caller's own display.
    """

    def __init__(
        self, line: Callable[[], str], every: float = EVERY_S, show: Callable[[], None] | None = None
    ) -> None:
        self._line, self._every, self._show = line, every, show
        self._said = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nlac-bench-heartbeat", daemon=True)
        self._status = errors.status("") if sys.stderr.isatty() and show is None else None

    def __enter__(self) -> "Heartbeat":
        if self._status is not None:
            self._status.start()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        """Print ``text`` on standard error; the next progress line follows ``every`` seconds later."""
        self._said = time.monotonic()
        errors.print(escape(text), soft_wrap=True)

    def due(self) -> bool:
        """Return whether nothing was printed for ``every`` seconds."""
        return time.monotonic() - self._said >= self._every

    def _run(self) -> None:
        live = self._status is not None or self._show is not None
        while not self._ended.wait(1.0 if live else self._every / 10):
            if self._show is not None:
                self._show()
            elif self._status is not None:
                self._status.update(escape(self._line()))
            elif self.due():
                self.say(self._line())


class Speed:
    """The speeds of what is counted while it happens, since the last call.

    Args:
        counters: functions that return the counts so far, by their unit: ``tokens`` (generated ones, those of
            unfinished replies included), ``prompt tokens`` or ``learned tokens``.
    """

    def __init__(self, counters: Mapping[str, Callable[[], int]]) -> None:
        self.counters = dict(counters)
        self._before, self._at = self._counts(), time.monotonic()

    def _counts(self) -> dict[str, int]:
        return {unit: count() for unit, count in self.counters.items()}

    def __call__(self) -> dict[str, float]:
        """Return the counts per second since the last call, by unit, without units that did not change."""
        now, counts = time.monotonic(), self._counts()
        seconds = max(1e-9, now - self._at)
        changes = {unit: count - self._before.get(unit, 0) for unit, count in counts.items()}
        self._before, self._at = counts, now
        return {unit: change / seconds for unit, change in changes.items() if change > 0}


def speed_text(speeds: Mapping[str, float], waiting: str = "waiting for tokens") -> str:
    """Return speeds as text: ``350 prompt tokens/s, 40 tokens/s``; ``waiting`` without any."""
    return ", ".join(f"{speed:.0f} {unit}/s" for unit, speed in speeds.items()) or waiting
