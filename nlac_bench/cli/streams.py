"""Standard output and standard error of a command; one exit code if they cannot be written to.

A reader may leave (``| head``), and a disk may be full. The first failure to write raises
``OutputClosedError``. Whatever becomes of that, ``main`` exits with 141. Descriptors that are closed from the
start (``>&-``) are opened on the null device.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import NoReturn, TextIO, cast

from nlac_bench.errors import OutputClosedError
from nlac_bench.redaction import redact
from nlac_bench.visible import without_formats

CLOSED = 141
"""The exit code of a shell's command that SIGPIPE ended."""


class OutputStream:
    """A text stream that ends the command when it cannot be written to.

    Invisible characters that could deceive a reader of the terminal are escaped, and those that its encoding
    lacks are replaced.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.failed = False

    def write(self, text: str) -> int:
        """Write ``text``.

        Raises:
            OutputClosedError: the stream is closed, or its disk is full.
        """
        try:
            self._stream.write(without_formats(text))
        except (OSError, ValueError) as error:  # ValueError: the file object is closed
            if isinstance(error, UnicodeError):
                raise
            self._fail(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write ``lines``."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Write what is buffered; raises ``OutputClosedError`` as ``write``."""
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._fail(error)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def _fail(self, error: Exception) -> NoReturn:
        self.failed = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        # The interpreter flushes the buffers at exit, which would fail again.
        with contextlib.suppress(OSError, ValueError):  # in tests the streams have no file descriptor
            os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        raise OutputClosedError(CLOSED) from error


class RedactedStream(OutputStream):
    """A text stream that also replaces secrets in written text; used for standard error.

    Tracebacks, warnings and messages of other packages may quote anything.
    """

    def write(self, text: str) -> int:
        """Write ``text`` without secrets."""
        super().write(redact(text))
        return len(text)


class ReservedStdout(RedactedStream):
    """Replaces standard output under ``--json``: text that is written to it goes to standard error.

    Environments and plug-ins may print. Only ``print_json`` writes to ``result``, the standard output itself.
    """

    def __init__(self, stream: TextIO, result: TextIO) -> None:
        super().__init__(stream)
        self.result = result


def result_stream() -> TextIO:
    """Return the standard output, also while it is reserved."""
    return sys.stdout.result if isinstance(sys.stdout, ReservedStdout) else sys.stdout


@contextlib.contextmanager
def guarded_output(*, reserve: bool) -> Iterator[None]:
    """Replace standard output and standard error for the rest of the process.

    Args:
        reserve: reserve standard output for ``print_json``.

    Raises:
        OutputClosedError: at the end of the block, if one of them could not be written to.
    """
    _open_closed()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # others, in tests, encode nothing
            stream.reconfigure(errors="replace")  # the terminal may not have τ, in cp1252 for example
    error = RedactedStream(sys.stderr)
    sys.stderr = cast(TextIO, error)
    output = OutputStream(_reserved() if reserve else sys.stdout)
    sys.stdout = cast(TextIO, ReservedStdout(sys.stderr, cast(TextIO, output)) if reserve else output)
    try:
        yield
    finally:
        for each in (output, error):
            with contextlib.suppress(OutputClosedError):
                each.flush()
        if output.failed or error.failed:
            raise OutputClosedError(CLOSED)


def _open_closed() -> None:
    """Open descriptors that are closed from the start on the null device, so that no file gets their numbers.

    Python then has None as the stream.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _reserved() -> TextIO:
    """Return a stream to the standard output, whose descriptor becomes that of standard error.

    Native code and child processes write to it directly.
    """
    result = sys.stdout
    with contextlib.suppress(OSError, ValueError, AttributeError):  # not a file (in tests)
        if result.fileno() == 1:
            result.flush()
            result = os.fdopen(os.dup(1), "w", encoding=result.encoding, errors=result.errors)
            os.dup2(2, 1)
    return result
