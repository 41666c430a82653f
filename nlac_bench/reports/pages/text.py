"""Makes hostile text safe to show: nothing is removed, and what could deceive a reader becomes visible.

HTML is escaped by the templates (``render``). This module shows invisible characters, folds long lines, and
makes cells of CSV and Markdown safe.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence

from nlac_bench.visible import visible

LONGEST_LINE = 10_000
"""Lines with more characters than this are folded."""

_MARKDOWN = re.compile(r"[\\`*_\[\]|~$:]|(?<=[wW]{3})\.")
# At the beginning of a paragraph: a heading, a list, a rule, the line under a heading; spaces make it code.
_BLOCK = re.compile(r"^(\d{1,9}(?=[.)])|)([.)+-](?=\s|$)|[#=]|-(?=[\s-]*$))")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
# Programs also begin a cell after a semicolon or a tab, where their separator is another one than the comma.
_FORMULA = re.compile(r"""(^|[;\t\n])([\s"']*)(?=[=+\-@＝＋－＠])""")
_EMAIL = re.compile(r"(?<=[\w.+-])@(?=[\w-])")


def folded(line: str) -> list[str]:
    """Return ``line`` in pieces of at most ``LONGEST_LINE`` characters; an empty line is one empty piece."""
    return [line[i : i + LONGEST_LINE] for i in range(0, len(line), LONGEST_LINE)] or [""]


def markdown(text: str) -> str:
    r"""Return ``text`` so that a table cell or a paragraph of Markdown (GitHub's dialect) shows it.

    Pipes, emphasis, code, links, automatic links, mathematics and HTML are escaped; a newline becomes
    ``<br>``.
    """
    lines = []
    for line in visible(text).replace("\t", " ").split("\n"):
        for piece in folded(line):
            escaped = _BLOCK.sub(r"\1\\\2", _MARKDOWN.sub(r"\\\g<0>", piece))
            escaped = re.sub(r'[&<>"]', lambda match: _HTML[match.group()], escaped)
            escaped = _EMAIL.sub("<span>@</span>", escaped)  # GitHub links addresses also after a backslash
            lines.append(re.sub(r"^ ", "&nbsp;", escaped))
    return "<br>".join(lines)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table as CSV (RFC 4180, lines end with ``\n``) that a spreadsheet cannot take for formulas.

    An apostrophe is written before ``= + - @`` at the beginning of a string, and after a semicolon, a tab or
    a line break in it, and before a tab or a line break at its beginning, as OWASP's "CSV Injection"
    recommends. Numbers are written as they are; None gives an empty cell.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in (header, *rows):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    safe = _FORMULA.sub(lambda m: f"{m[1]}{m[2]}'" if m[1] else f"'{m[2]}", text)
    return f"'{safe}" if safe.startswith(("\t", "\n")) else safe
