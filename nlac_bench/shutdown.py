"""Functions for a process that exits after a signal."""

import signal
import sys
import warnings


def ignore_signals() -> None:
    """Ignore SIGINT and SIGTERM from here on: the process is about to exit."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)


def silence_finalizers() -> None:
    """Do not print exceptions and warnings of finalizers from here on.

    A signal handler raises between any two instructions, and so inside constructors of the standard library
    too. The finalizer of such an object (an event loop without its attributes, a coroutine that was never
    awaited) then raises or warns; nothing of this is an error of the run.
    """
    sys.unraisablehook = lambda unraisable: None
    warnings.simplefilter("ignore")
