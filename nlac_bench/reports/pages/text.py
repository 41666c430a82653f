"""Makes hostile text safe to show: nothing is removed, and what could deceive a reader becomes visible.

HTML is escaped by the templates (``render``). This module has what escaping does not do.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence

LONGEST_LINE = 10_000
"""Lines with more characters than this are folded."""

# Unicode's property Default_Ignorable_Code_Point (DerivedCoreProperties.txt), which has the bidirectional
# controls and all characters without width; then control characters, line and paragraph separators,
# annotation marks, the blank Braille pattern, and surrogates, which UTF-8 cannot encode.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb\u2800\ud800-\udfff]"
)
_MARKDOWN = re.compile(r"[\\`*_\[\]|~$:]|(?<=[wW]{3})\.")
# At the beginning of a paragraph: a heading, a list, a rule, the line under a heading; spaces make it code.
_BLOCK = re.compile(r"^(\d{1,9}(?=[.)])|)([.)+-](?=\s|$)|[#=]|-(?=[\s-]*$))")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_FORMULA = tuple("=+-@＝＋－＠")


def visible(text: str) -> str:
    """Return ``text`` with invisible characters replaced by their code points: ``⟨U+202E⟩``.

    These are the bidirectional controls, the characters without width, and the control characters except
    newline and tab.
    """
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", text)


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
            lines.append(re.sub(r"^ ", "&nbsp;", escaped))
    return "<br>".join(lines)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a table as CSV (RFC 4180, lines end with ``\n``) that a spreadsheet cannot take for formulas.

    A string that begins with ``= + - @``, a tab or a line break gets a leading apostrophe, as OWASP's "CSV
    Injection" recommends. Numbers are written as they are; None gives an empty cell.
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
    return f"'{text}" if text.startswith(("\t", "\n")) or text.lstrip().startswith(_FORMULA) else text
