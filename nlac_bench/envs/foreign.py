"""Runs code of other packages (plug-ins, environments): however it ends, the caller gets one exception.

A package that is installed runs with the rights of its user; nothing here confines it. The promise is that a
mistake in one package (an exception, ``sys.exit``, an import that never ends) does not end or block a command
that lists or checks it. ``os._exit`` and a crash of the interpreter end the process.
"""

import contextlib
import importlib
import importlib.metadata
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from nlac_bench.errors import SIGNALS, NlacBenchError, UnknownIdError

LOAD_S = 120.0
"""Seconds that the import of a plug-in may take."""

_PACKAGE = Path(__file__).parents[1]

T = TypeVar("T")


class ForeignCodeError(NlacBenchError):
    """Code of another package raised an exception, called ``sys.exit``, or did not finish in time."""


def bounded(call: Callable[[], T], seconds: float) -> T:
    """Call ``call`` in another thread and return its result, with a time limit.

    A call that does not finish in time continues in its thread, which does not keep the process alive.

    Raises:
        ForeignCodeError: ``call`` raised an exception or ``SystemExit``, or did not finish within
            ``seconds``.
    """
    results: list[T] = []
    faults: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if faults:
        raise ForeignCodeError(described(faults[0])) from faults[0]
    if not results:
        raise ForeignCodeError(f"the code did not finish within {seconds:g} s")
    return results[0]


def described(error: BaseException) -> str:
    """Return the type and message of ``error`` on one line of at most 500 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


@contextlib.contextmanager
def named(what: str) -> Iterator[None]:
    """Raise what the block raises as a ``ForeignCodeError`` that begins with ``what`` and names the line.

    Signals and errors of this package, whose messages are complete, are raised as they are.
    """
    try:
        yield
    except (NlacBenchError, *SIGNALS):
        raise
    except BaseException as error:  # the code of another package may raise any exception
        raise ForeignCodeError(f"{what} failed: {described(error)}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Return the file and line of the other package in which ``error`` was raised; empty without one."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if _PACKAGE not in Path(f.filename).parents
    ]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def load(point: importlib.metadata.EntryPoint) -> Any:
    """Import the object that an entry point names.

    Raises:
        ForeignCodeError: the object cannot be imported, or the import does not end within ``LOAD_S`` seconds.
    """
    return _once((point.group, point.name, point.value), point.load)


def load_factory(point: importlib.metadata.EntryPoint, kind: str) -> Any:
    """Import the callable that an entry point names.

    Args:
        kind: what it makes, such as "environment"; for the message.

    Raises:
        UnknownIdError: the plug-in cannot be imported or is not callable; the message says why.
    """
    what = f"{kind} plug-in {point.name!r} ({point.value})"
    try:
        factory = load(point)
    except ForeignCodeError as error:
        raise UnknownIdError(f"{what} cannot be loaded: {error}") from error
    if not callable(factory):
        raise UnknownIdError(f"{what} is not callable")
    return factory


def load_object(where: str) -> Any:
    """Import ``package.module:name`` of another package.

    Raises:
        ForeignCodeError: as for ``load``.
    """
    module, _, name = where.partition(":")
    return _once((where,), lambda: getattr(importlib.import_module(module), name))


_unfinished: dict[tuple[str, ...], str] = {}
"""Imports that did not end. Another attempt would wait for the first one's lock."""


def _once(key: tuple[str, ...], call: Callable[[], T]) -> T:
    if key in _unfinished:
        raise ForeignCodeError(_unfinished[key])
    try:
        return bounded(call, LOAD_S)
    except ForeignCodeError as error:
        if error.__cause__ is None:
            _unfinished[key] = str(error)
        raise
