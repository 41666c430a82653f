"""Printing: formatted text for a terminal (rich), or one JSON object for programs (``--json``)."""

import json
import re
import sys
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on standard output.")]


_MAX_MESSAGE = 4_000  # a message may quote input of any length
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def escape(text: str) -> str:
    """Return ``text`` with rich markup and control characters escaped, so that it is safe to print."""
    return escape_markup(_CONTROL.sub(lambda match: f"\\x{ord(match.group()):02x}", text))


def print_json(value: dict[str, Any]) -> None:
    """Print ``value`` as one JSON object on one line."""
    json.dump(value, sys.stdout, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


class Shown(Protocol):
    """A result that can be printed as text and as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as one JSON object."""

    def to_text(self) -> str:
        """Return the result as lines of text."""


def show(result: Shown, as_json: bool) -> None:
    """Print ``result`` as JSON or as text."""
    if as_json:
        print_json(result.to_json())
    else:
        console.print(escape(result.to_text()), soft_wrap=True)


def table(title: str, columns: list[str], rows: list[list[Any]]) -> Table:
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
    text = str(error) or type(error).__name__
    if len(text) > _MAX_MESSAGE:
        text = f"{text[: _MAX_MESSAGE // 2]} … {text[-_MAX_MESSAGE // 2 :]}"
    errors.print(f"[bold red]error:[/bold red] {escape(text)}", soft_wrap=True)
