"""Gives freed memory back, and lets Python's garbage collector look for cycles less often."""

import ctypes
import gc
import sys


def collect_rarely() -> None:
    """Collect after every 100,000 new objects instead of 700.

    Importing torch and transformers makes millions of objects and hardly any garbage: it takes 3.5 s with
    this and 4.9 s without.
    """
    gc.set_threshold(100_000, 20, 100)


def exit_quickly() -> None:
    """Skip the search for cycles at the exit of a process, which takes 1.5 s with torch.

    Triton, which vLLM imports, reports thousands of leaks if this search is skipped, so it takes place there.
    """
    if "triton" in sys.modules:
        gc.unfreeze()
    else:
        gc.freeze()


_ARENA_MAX = -8
"""``M_ARENA_MAX`` of glibc's malloc.h."""


def use_few_arenas() -> None:
    """Let all threads allocate from two arenas (glibc); call it before threads start.

    By default each thread gets an arena of its own, and each keeps up to 64 MB that others cannot use.
    """
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
        set_option(_ARENA_MAX, 2)


def release_memory() -> None:
    """Give freed memory back to the operating system, where the C library keeps it otherwise (glibc).

    After a backward pass, glibc keeps the freed activations: gigabytes that the process does not use.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)
