"""CPU time as a multiple of something done beside it, so that a slow or busy machine changes nothing."""

import time
from collections.abc import Callable


def cpu_seconds(call: Callable[[], object], tries: int = 3) -> float:
    """The least CPU time that this thread needed for ``call``."""
    best = float("inf")
    for _ in range(tries):
        began = time.thread_time()
        call()
        best = min(best, time.thread_time() - began)
    return best


def scans(call: Callable[[], object], text: str, tries: int = 3) -> float:
    """How many times longer ``call`` takes than looking at each character of ``text`` once, in Python."""
    return cpu_seconds(call, tries) / cpu_seconds(lambda: [ord(character) + 1 for character in text])
