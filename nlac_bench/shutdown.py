"""Functions for a process that exits after a signal."""

import signal
import sys
import warnings


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM from here on: the process is about to exit."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    # CPython ends a process by SIGINT if a KeyboardInterrupt left an exec of source text (dataclass calls it)
    # and was caught, unless a later exec succeeds.
    exec("")


def silence_finalizers() -> None:
    """Do not print exceptions and warnings of finalizers from here on.

    A signal handler can raise an exception at any instruction, also in a constructor of the standard library.
    The finalizer of an incomplete object (an event loop without its attributes, a coroutine that was never
    awaited) then raises an exception or warns, which is not an error of the run.
    """
    sys.unraisablehook = lambda unraisable: None
    warnings.simplefilter("ignore")
