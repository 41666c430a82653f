"""Makes invisible characters of hostile text visible: in pages, in a terminal, and in JSON for programs.

Bidirectional controls reorder what a reader sees, control characters move a terminal's cursor, and a line
break in a file's name begins a line that looks like one of this program.
"""

import re

# Unicode's property Default_Ignorable_Code_Point (DerivedCoreProperties.txt), which has the bidirectional
# controls and all characters without width; then line and paragraph separators, annotation marks, the blank
# Braille pattern, and surrogates, which UTF-8 cannot encode.
_FORMATS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x80-\x9f\u2028\u2029\ufff9-\ufffb\u2800\ud800-\udfff"
)
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f"
_INVISIBLE = re.compile(f"[{_FORMATS}{_CONTROLS}]")
_ONE_LINE = re.compile(f"[{_FORMATS}{_CONTROLS}\n\t]")
_WRITTEN = re.compile(f"[{_FORMATS}]")


def visible(text: str) -> str:
    """Return ``text`` with invisible characters replaced by their code points: ``⟨U+202E⟩``.

    These are the bidirectional controls, the characters without width, and the control characters except
    newline and tab.
    """
    return _INVISIBLE.sub(lambda match: f"⟨U+{ord(match.group()):04X}⟩", text)


def escaped(text: str) -> str:
    r"""Return ``text`` with the same characters as Python writes them: ``\x1b``, ``\u202e``."""
    return _INVISIBLE.sub(_escape, text)


def one_line(text: str) -> str:
    r"""Return ``text`` as ``escaped``, with line breaks and tabs escaped too: ``\n``."""
    return _ONE_LINE.sub(_escape, text)


def without_formats(text: str) -> str:
    r"""Return ``text`` with invisible characters escaped, except those below U+0080, which move a cursor.

    This is for streams, to which progress displays write such sequences. In JSON the escapes mean the same.
    """
    return text if text.isascii() else _WRITTEN.sub(_escape, text)


def encodable(text: str) -> str:
    r"""Return ``text`` with lone surrogates, which UTF-8 does not have, escaped: ``\ud800``."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code in (9, 10, 13):
        return {9: r"\t", 10: r"\n", 13: r"\r"}[code]
    if code > 0xFFFF:  # a pair of surrogates, as in JSON
        return "".join(f"\\u{part:04x}" for part in (0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF)))
    return f"\\u{code:04x}" if code > 0x7F else f"\\x{code:02x}"
