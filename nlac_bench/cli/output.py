"""Printing: formatted text for a terminal (rich), or one JSON object for programs (``--json``)."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

import typer
from rich.table import Table

from nlac_bench.api.console import console, errors, escape, escape_lines
from nlac_bench.cli.streams import result_stream
from nlac_bench.redaction import redact, redactor
from nlac_bench.visible import without_formats

JsonFlag = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on standard output.")]


_MAX_MESSAGE = 4_000  # a message may quote input of any length


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
    out.write(f"{redactor().json(without_formats(text))}\n")
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
        console.print(escape_lines(result.to_text()), soft_wrap=True)


def table(title: str, columns: list[str], rows: Sequence[Sequence[object]]) -> Table:
    """Return a table of plain text, in which columns of numbers are aligned right."""
    result = Table(title=escape(title), title_justify="left", title_style="bold", header_style="bold")
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
