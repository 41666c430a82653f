"""The consoles of this package, and what makes text safe to print on them."""

from rich.console import Console
from rich.markup import escape as escape_markup

from nlac_bench.redaction import redact
from nlac_bench.visible import escaped, one_line

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def escape(text: str) -> str:
    """Return ``text`` as one line without secrets, rich markup and invisible characters, safe to print.

    Line breaks are escaped too: a name with a line break would otherwise begin a line of its own.
    """
    return escape_markup(one_line(redact(text)))


def escape_lines(text: str) -> str:
    """Return ``text`` as ``escape``, with its lines. Names within must have been escaped already."""
    return escape_markup(escaped(redact(text)))
