"""Hostile text: nothing is removed, nothing stays invisible, nothing is taken for a formula or for markup."""

import base64
import csv
import io
import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nlac_bench.reports.pages.render import csv_address, link, long_text
from nlac_bench.reports.pages.text import LONGEST_LINE, csv_text, folded, markdown
from nlac_bench.visible import visible

FORMATS = [
    chr(i) for i in range(sys.maxunicode + 1) if unicodedata.category(chr(i)) in ("Cc", "Cs", "Zl", "Zp")
]
BIDI = [chr(i) for i in range(sys.maxunicode + 1) if unicodedata.bidirectional(chr(i)) in (
    "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")]  # fmt: skip
ZERO_WIDTH = list(
    "\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2064\ufeff\u00ad\u034f\u061c\u180e\u3164\ufe0f\U000e0020"
)


def test_every_invisible_character_is_shown_by_its_code_point() -> None:
    assert len(BIDI) == 9
    for character in {*FORMATS, *BIDI, *ZERO_WIDTH} - {"\n", "\t"}:
        assert visible(f"a{character}b") == f"a⟨U+{ord(character):04X}⟩b"
    assert visible("plain text\n\twith שלום, ελληνικά and 😀") == "plain text\n\twith שלום, ελληνικά and 😀"


@given(st.text())
def test_visible_text_can_be_written_and_is_not_changed_again(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert visible(shown) == shown and "".join(folded(shown)) == shown


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\n", "\r", " =", "＝", "＠", "\t=", "\u00a0="])
def test_no_cell_begins_like_a_formula(start: str) -> None:
    written = csv_text(["name"], [[f"{start}1+1"]])
    cell = next(csv.reader(io.StringIO(written.split("\n", 1)[1])))[0]
    assert cell[0] in "'⟨" and cell.endswith("1+1")


@pytest.mark.parametrize("separator", [";", "\t", "\n", "; ", ";\t", ';"', ";'"])
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝"])
def test_no_part_of_a_cell_begins_like_a_formula(separator: str, start: str) -> None:
    """A program may take semicolons or tabs for the ends of cells."""
    written = csv_text(["name"], [[f"a{separator}{start}cmd|' /C calc'!A0"]]).split("\n", 1)[1]
    for part in re.split(r"[;\t\n]", written):
        assert part.lstrip(" \"'")[:1] != start or "'" in part[: part.index(start)], written


def test_parts_of_a_cell_that_are_no_formulas_are_kept() -> None:
    for text in ("a;b", "a - b; c = d", "[-0.5, 1]", "a; 1", "x\ty"):
        assert csv_text(["name"], [[text]]).split("\n", 1)[1].strip('"\n') == text


def test_numbers_and_texts_of_a_table_are_read_back() -> None:
    rows = [["a,b", -0.5, None], ['quoted "text"', 3, ""], ["two\nlines", 1e-9, True]]
    assert list(csv.reader(io.StringIO(csv_text(["x", "y", "z"], rows)))) == [
        ["x", "y", "z"], ["a,b", "-0.5", ""], ['quoted "text"', "3", ""], ["two\nlines", "1e-09", "True"],
    ]  # fmt: skip


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_markdown_shows_a_cell_literally(text: str) -> None:
    """A Markdown parser finds one cell with one text, whatever the text is."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(f"| a | b |\n| --- | --- |\n| x{markdown(text)}x | end |\n")
    cells = [t for t in tokens if t.type == "inline"]
    assert len(cells) == 4 and cells[3].content == "end"
    parts = list(cells[2].children or [])
    assert {each.type for each in parts} <= {"text", "text_special", "html_inline"}
    tags = {"<br>": "\n", "<span>": "", "</span>": ""}  # the latter keep an address from becoming a link
    shown = "".join(tags[each.content] if each.type == "html_inline" else each.content for each in parts)
    expected = f"x{visible(text).replace(chr(9), ' ')}x"
    assert shown.replace("\xa0", " ") == expected.replace("\xa0", " "), "a line's first space does not break"


@given(st.text("#-+=*_>~`123456789.)( \ta|<&", min_size=1))
def test_markdown_shows_a_paragraph_as_one_paragraph(text: str) -> None:
    """No text begins a heading, a list, a quotation, a rule, code or a table."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(f"{markdown(text)}\n")
    assert [each.type for each in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    parts = tokens[1].children or []
    assert "".join(each.content for each in parts).strip("\xa0 ") == text.replace("\t", " ").strip(" ")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("https://example.org", r"https\://example.org"),
        ("javascript:alert(1)", r"javascript\:alert(1)"),
        ("www.example.org WWW.example.org", r"www\.example.org WWW\.example.org"),
        (":tada: $x$", r"\:tada\: \$x\$"),
        ("a.b@c-d.org @me x@{1}", "a.b<span>@</span>c-d.org @me x@{1}"),
    ],
)
def test_markdown_has_no_automatic_links_and_no_mathematics(text: str, written: str) -> None:
    """GitHub finds them in text that no rule of CommonMark changes; a backslash stops that."""
    assert markdown(text) == written


def test_a_long_line_is_folded_and_kept() -> None:
    line = "".join(chr(97 + i % 26) for i in range(3 * LONGEST_LINE + 7))
    html = long_text(f"short\n{line}\nend <b>")
    assert html.count("<details>") == 1 and "20,007 more characters" in html
    assert line[:LONGEST_LINE] in html and line[LONGEST_LINE:] in html and "&lt;b&gt;" in html
    assert [len(piece) for piece in folded(line)] == [LONGEST_LINE] * 3 + [7]
    assert markdown(line).replace("<br>", "") == line
    assert max(map(len, markdown(line).split("<br>"))) == LONGEST_LINE
    assert "<details>" not in long_text("a" * LONGEST_LINE)


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)",
     "data:text/html,x", "vbscript:x", "//example.org", "/etc/passwd", "file:///etc/passwd", "https://",
     "https://[", "",
     "https://a\u202eb.org", "https://a b.org"],
)  # fmt: skip
def test_only_web_addresses_become_links(url: str) -> None:
    assert "<a" not in link(url) and "<a" not in link(url, "<name>")
    assert "&lt;name&gt;" in link(url, "<name>")


def test_a_web_address_becomes_a_link() -> None:
    assert link('https://example.org/?a=1&b="', "paper") == (
        '<a href="https://example.org/?a=1&amp;b=&#34;" rel="noopener noreferrer">paper</a>'
    )


def test_a_file_in_an_address_has_the_whole_text_but_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's own redaction does not see through base64."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    address = str(csv_address('name,"a\nb"\n<script>,שלום sk-very-secret-0123456789\n'))
    kind, _, content = address.partition(";base64,")
    assert kind == "data:text/csv;charset=utf-8" and re.fullmatch(r"[\w+/]+=*", content)
    text = base64.b64decode(content).decode()
    assert text == 'name,"a\nb"\n<script>,שלום [redacted: $OPENAI_API_KEY]\n'
