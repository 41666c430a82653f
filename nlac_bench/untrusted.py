"""Reads files of unknown origin: regular files only, with a limit on size, nesting and number of values.

Every reader of configurations, run folders, entries, prompts and listings uses these functions. They raise
``OSError`` with a message in ``strerror`` for a file that must not be read, and ``ValueError`` for content
that must not be parsed, so that a caller handles both as it handles a missing file and a syntax error.
"""

import errno
import json
import math
import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

MAX_DEPTH = 100
"""Deepest nesting of objects and lists in a file of this package; ``info`` of an episode may have as much."""
MAX_VALUES = 8_000_000
"""Largest number of values in a JSON text. Python needs up to 120 bytes for a value of two characters."""
MAX_SETTINGS_BYTES = 2**20
"""Largest file of settings (TOML)."""
MAX_KEY_PARTS = 20
"""Largest number of parts of a dotted TOML key: tomllib needs memory and time that grow with its square."""

_NESTED = frozenset((dict, list))
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TOML_TOKEN = re.compile(
    r'"""(?:[^\\"]++|\\.|"(?!""))*+(?:""")?'
    r"|'''(?:[^']++|'(?!''))*+(?:''')?"
    r'|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|0[xob][0-9A-Fa-f_]{1000,}+"
    r"|[.=,\[\]{}\n]",
    re.DOTALL,
)


def open_untrusted(path: Path) -> BinaryIO:
    """Open a regular file for reading, without following a link in its last part and without waiting.

    Raises:
        FileNotFoundError: the file does not exist.
        OSError: ``path`` is a link, a folder, a pipe, a socket or a device, or cannot be opened.
    """
    _check_kind(path, os.lstat(path).st_mode)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_kind(path, os.fstat(fd).st_mode)  # another program may have replaced it
        return os.fdopen(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_untrusted(path: Path, most: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        FileNotFoundError: the file does not exist.
        OSError: as ``open_untrusted``, or the file has more than ``most`` bytes.
    """
    with open_untrusted(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data


def parse_json(data: bytes, *, values: int = MAX_VALUES, depth: int = MAX_DEPTH, finite: bool = False) -> Any:
    """Return the value of a JSON text in UTF-8.

    Args:
        values: largest number of values.
        depth: deepest nesting of objects and lists.
        finite: whether to refuse NaN, infinities and numbers that are too large for a float.

    Raises:
        ValueError: the text is not JSON, has too many values or a key twice in one object, or is nested too
            deep.
    """
    if _values_at_most(data) > values and _values_at_most(_STRING.sub(b"", data)) > values:
        raise ValueError(f"it has more than {values:,} values")
    try:
        result = (_FINITE if finite else _DECODER).decode(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError(f"it is nested more than {depth} deep") from None
    refuse_deeper(result, depth)
    return result


def read_json(path: Path, most: int, **limits: Any) -> Any:
    """Return the value in a JSON file of at most ``most`` bytes; raises the errors of both functions above.

    Args:
        limits: the arguments of ``parse_json``.
    """
    return parse_json(read_untrusted(path, most), **limits)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        OSError: as ``read_untrusted``; the limit is ``MAX_SETTINGS_BYTES``.
        ValueError: the file is not TOML in UTF-8, has a key of more than ``MAX_KEY_PARTS`` parts or an
            integer of more than a thousand hexadecimal digits, or is nested too deep.
    """
    text = read_untrusted(path, MAX_SETTINGS_BYTES).decode("utf-8-sig")
    parts = 1
    for token in _TOML_TOKEN.finditer(text):
        if token[0] == ".":
            parts += 1
            if parts > MAX_KEY_PARTS:
                raise ValueError(f"it has a key of more than {MAX_KEY_PARTS} parts")
        elif token[0].startswith(("0x", "0o", "0b")):  # Python cannot write integers of 4,300 digits
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(f"the integer {token[0]:.12}… is too long (at line {line})")
        elif token[0] in "=,[]{}\n":
            parts = 1
    try:
        result = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None
    refuse_deeper(result, MAX_DEPTH)
    return result


def refuse_deeper(value: object, depth: int) -> None:
    """Raise ``ValueError`` if ``value`` has objects and lists nested more than ``depth`` deep."""
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        level = [part for each in level for part in _containers(each)]
        if not level:
            return
    raise ValueError(f"it is nested more than {depth} deep")


def count_values(value: object) -> int:
    """Return the number of values in ``value``, objects and lists among them."""
    total = 1
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    while level:
        total += sum(map(len, level))
        level = [part for each in level for part in _containers(each)]
    return total


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, as ``object_pairs_hook`` of ``json.loads``.

    Raises:
        ValueError: a key occurs twice: another program could read the other one of its values.
    """
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r:.80} occurs twice")
    return result


def _check_kind(path: Path, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "it is a link, which is not followed: name or copy the file", str(path))
    if not stat.S_ISREG(mode):
        kind = "folder" if stat.S_ISDIR(mode) else "pipe or device"
        raise OSError(errno.EINVAL, f"it is a {kind}, not a file", str(path))


def _values_at_most(data: bytes) -> int:
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")


def _containers(value: Any) -> Iterable[Any]:
    """Return the objects and lists that are directly in ``value``; lists of 100,000 numbers are common."""
    parts = value.values() if isinstance(value, dict) else value
    if _NESTED.isdisjoint(map(type, parts)):
        return ()
    return [part for part in parts if type(part) in _NESTED]


def no_constant(text: str) -> float:
    """Refuse NaN and infinities, as ``parse_constant`` of ``json.loads``.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"the number {text:.40} is too large")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=each_once)
_FINITE = json.JSONDecoder(object_pairs_hook=each_once, parse_constant=no_constant, parse_float=_finite)
