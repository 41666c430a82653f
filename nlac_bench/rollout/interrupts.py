"""Handles SIGINT and SIGTERM inside a running event loop, and stops a driver on them."""

import asyncio
import contextlib
import signal
import socket
import sys
import threading
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
def on_interrupt(handler: Callable[[], None], answer: Callable[[int], str | None]) -> Iterator[None]:
    """Call ``handler`` in the running event loop on SIGINT and SIGTERM; restore the earlier handlers on exit.

    A thread prints the answer at once, also while the main thread computes gradients for minutes: Python
    calls signal handlers in the main thread only, but writes the number of each signal to the wakeup
    descriptor when it arrives.

    Args:
        answer: returns the line to print for the n-th signal, or None; called in that thread.

    In another thread than the main one, whose handlers belong to the program, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    arrived, wakeup = socket.socketpair()
    wakeup.setblocking(False)

    def watch() -> None:
        count = 0
        while number := arrived.recv(1):
            if number[0] not in _SIGNALS:
                continue
            count += 1
            if text := answer(count):
                tell(text)
            with contextlib.suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(handler)

    thread = threading.Thread(target=watch, name="nlac-bench-signals", daemon=True)
    thread.start()
    earlier = signal.set_wakeup_fd(wakeup.fileno(), warn_on_full_buffer=False)
    for each in _SIGNALS:
        signal.signal(each, lambda number, frame: None)  # only signals with a handler wake the thread
    try:
        yield
    finally:
        for each, previous in before.items():
            signal.signal(each, previous)
        signal.set_wakeup_fd(earlier)
        wakeup.close()  # ends the thread, which reads what arrived before
        thread.join(1.0)  # it may wait for a terminal
        arrived.close()


@contextlib.contextmanager
def graceful_interrupt(driver: "Driver", grace: float = 30.0) -> Iterator[None]:
    """Within the block, stop ``driver`` on SIGINT and SIGTERM without losing results.

    After the first signal no further episode starts, and the running ones have ``grace`` seconds to end; a
    line on standard error says so. The second signal, or the end of that time, drops them. Episodes that were
    dropped or never started are in ``driver.owed``. Must be entered inside a running event loop.
    """
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if driver.stopped is None:
            driver.stop()
            loop.call_later(grace, driver.abort)
        else:
            driver.abort()

    def answer(count: int) -> str:
        if count > 1:
            driver.aborting = True
            return "stopping now"
        running = (
            "1 running episode has" if driver.running == 1 else f"{driver.running} running episodes have"
        )
        return f"interrupted: {running} {grace:g} s to end; press Ctrl-C again to stop now"

    with on_interrupt(on_signal, answer):
        yield
