"""Functions for a process that exits after a signal."""

import contextlib
import fcntl
import os
import signal
import sys
import warnings

_arrived = -1  # the descriptor that ``signal_number`` reads


def record_signals() -> None:
    """Record from here on whether SIGINT or SIGTERM arrives, for ``signal_number``.

    The exception of a signal handler may not arrive: pydantic, for example, turns whatever is raised while it
    builds a model class into an error of its own.
    """
    global _arrived
    pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    # Standard streams that are closed are opened later, so their numbers are left free.
    _arrived, wakeup = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 3) for each in pipe)
    for each in pipe:
        os.close(each)
    signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # a child must not write to the pipe


def signal_number() -> int | None:
    """Return SIGINT or SIGTERM if it arrived since ``record_signals`` or the last call, else None."""
    if _arrived >= 0:
        with contextlib.suppress(BlockingIOError):
            numbers = os.read(_arrived, 4096)
            return next((each for each in numbers if each in (signal.SIGINT, signal.SIGTERM)), None)
    return None


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
