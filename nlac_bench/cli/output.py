"""Printing: formatted text for a terminal (rich), or one JSON object for programs (``--json``)."""

import contextlib
import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Protocol, TextIO, cast

import typer
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from nlac_bench.redaction import redact, redactor


class _Console(Console):
    """A console that raises ``BrokenPipeError`` where rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise the error again, for ``exit_codes``."""
        raise BrokenPipeError


console = _Console(highlight=False)
errors = _Console(stderr=True, highlight=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on standard output.")]


_MAX_MESSAGE = 4_000  # a message may quote input of any length
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape(text: str) -> str:
    """Return ``text`` with rich markup and control characters escaped and secrets redacted, safe to print."""
    text = redact(text)
    return escape_markup(_CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text))


def print_json(value: Mapping[str, object]) -> None:
    """Print ``value`` as one JSON object on one line, all of it or nothing.

    JSON has no NaN and no infinities; they are printed as null. Characters that standard output cannot encode
    (lone surrogates in a server's message, for example) are printed as escapes.
    """
    content: object = value
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    except ValueError:
        content = _finite(value)
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(result_stream().encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, allow_nan=False)
    out = result_stream()
    out.write(f"{redactor().json(text)}\n")
    out.flush()


def _finite(value: object) -> object:
    """Return ``value`` with None in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Shown(Protocol):
    """A result that can be printed as text and as JSON."""

    def to_json(self) -> dict[str, object]:
        """Return the result as one JSON object."""

    def to_text(self) -> str:
        """Return the result as lines of text."""


def show(result: Shown, as_json: bool) -> None:
    """Print ``result`` as JSON or as text."""
    if as_json:
        print_json(result.to_json())
    else:
        console.print(escape(result.to_text()), soft_wrap=True)


class RedactedStream:
    """A text stream that replaces secrets in written text; used for standard error.

    Tracebacks, warnings and messages of other packages may quote anything.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write ``text`` without secrets."""
        self._stream.write(redact(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write ``lines`` without secrets."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


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


def reserve_stdout() -> None:
    """Reserve standard output for ``print_json``, until the process ends.

    In a process of its own, the file descriptor becomes that of standard error too: native code and child
    processes write to it directly.
    """
    result = sys.stdout
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or not a file (in tests)
        if result.fileno() == 1:
            result.flush()
            result = os.fdopen(os.dup(1), "w", encoding=result.encoding, errors=result.errors)
            os.dup2(2, 1)
    sys.stdout = cast(TextIO, ReservedStdout(sys.stderr, result))


def table(title: str, columns: list[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table of plain text, in which columns of numbers are aligned right."""
    result = Table(title=title, title_justify="left", title_style="bold", header_style="bold")
    for i, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[i], (int, float)) or row[i] is None for row in rows)
        result.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        result.add_row(*("–" if cell is None else escape(str(cell)) for cell in row))
    return result


def fail(error: BaseException) -> None:
    """Print the message of ``error`` on standard error, without a traceback; a very long one is shortened."""
    text = redact(str(error)) or type(error).__name__
    if len(text) > _MAX_MESSAGE:
        text = f"{text[: _MAX_MESSAGE // 2]} … {text[-_MAX_MESSAGE // 2 :]}"
    errors.print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
