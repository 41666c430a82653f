"""Replaces secrets in text, before it is written to a file or printed.

The known secrets are those in environment variables. A server's error message may quote the key that it
refused, and a model's reply or an environment's observation may contain it, plain or encoded: escaped as in
JSON or Python (also several times, as in JSON within JSON), URL-encoded, as HTML, or in base64.
"""

import base64
import functools
import json
import os
import re
import sys
from collections.abc import Mapping

from nlac_bench.secret_forms import find_secrets, is_placeholder

_VARIABLE = re.compile(
    r"((KEY|TOKEN)S?|CREDENTIALS?|AUTHORIZATION|AUTH|BEARER|JWT|PASS|_PWD|_PAT)(_?\d+)?$"
    r"|API_?KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE",
    re.IGNORECASE,
)
_LITERAL = re.compile(r'"(?:[^"\\]++|\\.)*+"')
_ESCAPED_ASCII = re.compile(
    r"\\(?:u00|x)([3-7][0-9A-Fa-f])|%(?:25)*([3-7][0-9A-Fa-f])|&(?:amp;)*#[xX]0{0,5}([3-7][0-9A-Fa-f]);"
    r"|&(?:amp;)*#0{0,5}(?P<decimal>\d{2,3});"
)
"""Escaped letters and digits; common encoders do not escape them."""
_MARK = re.compile(r"%(?:25|[3-7])|\\(?:u00|x)[3-7]|&(?:#|amp;)")
"""The beginning of such an escape."""
_OTHERWISE = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", " ": "+"}
"""Short escapes of JSON, and the space in an HTML form."""
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_REPEATED = "++" if sys.version_info >= (3, 11, 5) else "+"
"""Possessive, except where a possessive group that contains repeated groups may not match."""
_SHORTEST_LINE = 16
_SHORTEST_BASE64 = 9


def secret_values(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Map each secret in ``environment`` to the name of its variable, longest secret first.

    A secret is the value of a variable that is named like one, or a part of a value that its own name or a
    URL shows to be one (the password in ``HTTPS_PROXY``). Values that are placeholders are left out (see
    ``is_placeholder``).
    """
    names: dict[str, str] = {}
    for name, value in environment.items():
        parts = [value.strip()] if _VARIABLE.search(name) else []
        parts += [each.secret for each in find_secrets(value, name)]
        for part in parts:
            if not is_placeholder(part):
                names.setdefault(part, name)
    return dict(sorted(names.items(), key=lambda item: -len(item[0])))


class Redactor:
    """Replaces given secrets by ``[redacted: $NAME]``.

    Args:
        secrets: maps each secret to the name of the variable that holds it. Each is searched for, whatever
            its length; ``secret_values`` leaves out those that ordinary text may contain.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._forms = [
            form
            for value, name in secrets.items()
            for form in (*(_Form(line, name) for line in _lines(value)), *_base64(value, name))
        ]

    def text(self, text: str) -> str:
        """Return ``text`` without the secrets."""
        if not self._forms:
            return text
        readable = _readable(text)
        for form in self._forms:
            if form.may_be_in(readable):
                text = form.replaced(text)
        return text

    def name_in(self, text: str) -> str | None:
        """Return the name of a secret that ``text`` contains, or None."""
        readable = _readable(text)
        names = (f.name for f in self._forms if f.may_be_in(readable) and f.replaced(text) != text)
        return next(names, None)

    def json(self, json_text: str) -> str:
        """Return the JSON ``json_text`` with the secrets replaced in its strings, so that it stays valid."""
        if not self._forms:
            return json_text
        readable = _readable(json_text)
        if not any(form.may_be_in(readable) for form in self._forms):
            return json_text
        return _LITERAL.sub(self._literal, json_text)

    def _literal(self, match: re.Match[str]) -> str:
        text = json.loads(match[0], strict=False)
        clean = self.text(text)
        return match[0] if clean == text else json.dumps(clean)


class _Form:
    """A secret or its base64 form, which is searched for in all encodings."""

    def __init__(self, value: str, name: str, alphabet: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._value, self._alphabet = value, alphabet or {}
        # A text is searched only if it contains these, which a quick test finds out.
        self._runs = sorted(re.findall(r"[A-Za-z0-9]{3,}", value), key=len, reverse=True)[:4]

    def may_be_in(self, readable: str) -> bool:
        """Return whether a text with this ``_readable`` form can contain the value."""
        return all(run in readable for run in self._runs)

    def replaced(self, text: str) -> str:
        """Return ``text`` with the marker instead of the value."""
        return self._pattern.sub(lambda _: f"[redacted: ${self.name}]", text)

    @functools.cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Matches the value in any mixture of spellings."""
        collapsed = re.sub(r"\\+", r"\\", self._value)  # their number depends on the escaping
        return re.compile(r"(?<!\\)" + "".join(_spelled(c, self._alphabet.get(c, "")) for c in collapsed))


def redactor() -> Redactor:
    """Return the redactor of the secrets that are now in the environment variables."""
    return _redactor(frozenset(os.environ.items()))


@functools.lru_cache(maxsize=2)
def _redactor(environment: frozenset[tuple[str, str]]) -> Redactor:
    return Redactor(secret_values(dict(sorted(environment))))


def redact(text: str) -> str:
    """Return ``text`` without the secrets that are in environment variables; nothing else is changed."""
    return redactor().text(text)


def _readable(text: str) -> str:
    """Return ``text``; if letters or digits in it are escaped, the text without these escapes is appended."""
    # A substring test is much faster than the regular expression.
    possible = "%" in text or "&" in text or "\\u00" in text or "\\x" in text
    if not possible or not _MARK.search(text):
        return text
    plain = _ESCAPED_ASCII.sub(_character, re.sub(r"\\\\+", r"\\", text))
    return f"{text}\n{plain}"


def _character(match: re.Match[str]) -> str:
    return chr(int(match[match.lastindex or 0], 10 if match["decimal"] else 16))


def _lines(value: str) -> list[str]:
    """Return ``value``, and its lines if it has several, because logs may indent or prefix each."""
    lines = [line.strip() for line in value.splitlines()] if "\n" in value else []
    return [value, *(line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))]


def _base64(value: str, name: str) -> list[_Form]:
    """Return the base64 forms of ``value`` at each of the three byte offsets, as in ``user:password``.

    The characters at both ends, which also encode bits of the neighbours, are left out.
    """
    data = value.encode("utf-8", "surrogatepass")
    forms = []
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode()
        inner = encoded[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6]
        if len(inner) >= _SHORTEST_BASE64:
            forms.append(_Form(inner, name, {"+": "-", "/": "_"}))
    return forms


def _spelled(character: str, other: str) -> str:
    """Return a regular expression for ``character``, or ``other``, in any encoding.

    The number of backslashes before an escape depends on how often the text was escaped, so any number is
    accepted, and possessively, so that the search is linear.
    """
    code, data = ord(character), character.encode("utf-8", "surrogatepass")
    encoded = "".join(f"%(?:25)*{byte:02x}" for byte in data)
    encoded += f"|&(?:amp;)*(?:#0*{code}|#x0*{code:x}|{_ENTITIES.get(character, '#')});"
    if character == "\\":
        return rf"(?i:\\++(?:u005c|x5c)?|{encoded}){_REPEATED}"
    units = character.encode("utf-16-be", "surrogatepass")
    escapes = [r"\\*+".join(f"u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)), f"u{code:08x}"]
    escapes += [r"\\*+".join(f"x{byte:02x}" for byte in data), *([f"x{code:02x}"] if code < 256 else [])]
    plain = [re.escape(each) for each in (character, other, _OTHERWISE.get(character, "")) if each]
    return rf"(?:\\*+(?:{'|'.join(plain)}|(?i:{'|'.join(escapes)}))|(?i:{encoded}))"
