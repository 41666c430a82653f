"""Handles SIGINT and SIGTERM inside a running event loop, and stops a driver on them."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nlac_bench.rollout.driver import Driver

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def tell(text: str) -> None:
    """Print ``text`` on standard error, which may be closed."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def on_interrupt(handler: Callable[[], None]) -> Iterator[None]:
    """Call ``handler`` in the running event loop on SIGINT and SIGTERM; restore the earlier handlers on exit.

    Must be entered in the main thread.
    """
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    for each in _SIGNALS:
        loop.add_signal_handler(each, handler)
    try:
        yield
    finally:
        for each, previous in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, previous)


@contextlib.contextmanager
def graceful_interrupt(driver: "Driver", grace: float = 30.0) -> Iterator[None]:
    """Within the block, stop ``driver`` on SIGINT and SIGTERM without losing results.

    After the first signal no further episode starts, and the running ones have ``grace`` seconds to end; a
    line on standard error says so. The second signal, or the end of that time, drops them. Episodes that were
    dropped or never started are in ``driver.owed``. Must be entered in the main thread, inside a running
    event loop.
    """
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if driver.stopped is None:
            driver.stop()
            running = (
                "1 running episode has" if driver.running == 1 else f"{driver.running} running episodes have"
            )
            tell(f"interrupted: {running} {grace:g} s to end; press Ctrl-C again to stop now")
            loop.call_later(grace, driver.abort)
        else:
            driver.abort()

    with on_interrupt(on_signal):
        yield
