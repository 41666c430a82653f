"""Measures the peak memory of this process and of the processes that it has started."""

import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path


def peak_memory_bytes() -> int:
    """Return the sum of the peaks of the resident memory of this process and its living descendants.

    Without Linux's ``/proc``, those of descendants are not counted.
    """
    peaks = [_peak(pid) for pid in _tree(os.getpid())]
    if any(peaks):
        return sum(peaks)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _tree(pid: int) -> Iterator[int]:
    """Yield ``pid`` and its descendants."""
    yield pid
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = file.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield from _tree(int(child))


def _peak(pid: int) -> int:
    """Return the largest resident memory that a process has had, in bytes; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
