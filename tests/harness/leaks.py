"""Finds a secret in files and output by decoding them; shares no code with the redaction that it checks."""

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus


def encodings(secret: str) -> list[str]:
    """The secret as servers, libraries and models may quote it."""
    nested = secret
    found = [secret]
    for _ in range(4):
        nested = json.dumps({"message": f"key {nested} refused"})
        found.append(nested)
    unicode = json.dumps([json.dumps([secret], ensure_ascii=False)], ensure_ascii=False)
    slashes = json.dumps(secret).replace("/", "\\/")
    found += [
        unicode,
        slashes,
        repr(secret),
        repr(secret.encode()),
        repr([repr(secret)]),
        html.escape(secret),
    ]
    found += [quote(secret, safe=""), quote_plus(secret), quote(quote(secret, safe=""), safe="")]
    found.append("".join(f"%{byte:02x}" for byte in secret.encode()))
    units = secret.encode("utf-16-be")
    found.append("".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)))
    for user in ("", ":", "me:", "you:"):
        basic = base64.b64encode((user + secret).encode()).decode()
        found += [f"Basic {basic}", json.dumps(basic).replace("/", "\\/")]
        found.append(base64.urlsafe_b64encode((user + secret).encode()).decode())
    return found


def leaks(secret: str, text: str) -> bool:
    """Whether ``text`` shows ``secret`` after any of the usual decodings, repeated up to six times."""
    level = {text, *text.splitlines()}
    seen = set(level)
    for _ in range(7):
        if any(secret in each for each in level):
            return True
        level = {decoded for each in level for decoded in _decoded(each)} - seen
        seen |= level
    return False


def leaking_files(secret: str, folder: Path) -> list[str]:
    """The files in ``folder`` that show ``secret``, in their content or their name."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            if leaks(secret, content.decode("utf-8", "replace")) or secret in str(path):
                found.append(path.name)
    return found


def _decoded(text: str) -> Iterator[str]:
    """What ``text`` may encode."""
    yield from _strings(text)
    yield from (unquote_plus(text), html.unescape(text), _unescaped(text))
    for run in re.findall(
        r"[A-Za-z0-9_-]{10,}", text.replace("\\/", "/").replace("+", "-").replace("/", "_")
    ):
        if len(run) % 4 != 1:
            yield base64.urlsafe_b64decode(run + "==").decode("utf-8", "replace")


def _strings(text: str) -> list[str]:
    """The strings in a text of JSON."""
    try:
        todo: list[Any] = [json.loads(text)]
    except ValueError:
        return []
    found = []
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += [*item, *item.values()]
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, str):
            found.append(item)
    return found


def _unescaped(text: str) -> str:
    """``text`` with one level of backslash escapes decoded."""
    one = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "f"}
    decoded = re.sub(
        r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))",
        lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else one.get(m[3], m[3]),
        text,
        flags=re.DOTALL,
    )
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
