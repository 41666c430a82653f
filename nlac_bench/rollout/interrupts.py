"""Handles SIGINT and SIGTERM inside a running event loop."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator

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
