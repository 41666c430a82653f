"""A line on standard error at least every ten seconds, also while a single step takes minutes."""

import sys
import threading
import time
from collections.abc import Callable

from nlac_bench.cli.output import errors, escape

EVERY_S = 10.0


class Heartbeat:
    """Calls ``line`` in a thread whenever nothing was printed for ``every`` seconds, and prints it.

    In a terminal the line is renewed every second and replaces the one before it. A context manager.

    Args:
        line: what is being done; called in another thread.
        every: seconds.
        show: in a terminal, renews a display of the caller's own instead.
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
        """Print ``text`` on standard error now; the next heartbeat comes ``every`` seconds later."""
        self._said = time.monotonic()
        errors.print(escape(text), soft_wrap=True)

    def due(self) -> bool:
        """Whether nothing was printed for ``every`` seconds."""
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
    """Tokens a second since the last call; the engine's own count, so unfinished replies are included."""

    def __init__(self, tokens: Callable[[], int]) -> None:
        self._tokens = tokens
        self._before, self._at = tokens(), time.monotonic()

    def __call__(self) -> float:
        """Tokens a second."""
        now, tokens = time.monotonic(), self._tokens()
        speed = (tokens - self._before) / max(1e-9, now - self._at)
        self._before, self._at = tokens, now
        return speed
