"""Shows results in a notebook: as HTML that hostile text (names, messages, file names) cannot change."""

from collections.abc import Sequence

from nlac_bench.redaction import redact
from nlac_bench.visible import visible


def html_text(text: str) -> str:
    """Return ``text`` as HTML that shows it with its lines, without secrets and invisible characters."""
    return f"<pre>{_escaped(text)}</pre>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML; texts are shown as ``html_text`` shows them."""
    lines = [("th", header), *(("td", row) for row in rows)]
    cells = ("".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in row) for tag, row in lines)
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"


def _escaped(text: str) -> str:
    from markupsafe import escape  # as in ``render``: importing the package stays light

    return str(escape(visible(redact(text))))
