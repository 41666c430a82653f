"""Lets Python's garbage collector look for cycles less often, for processes that import large packages."""

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
