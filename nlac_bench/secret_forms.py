"""Recognises secrets in settings by the name of what holds them, and passwords in URLs.

A secret is an API key, a token, a password or the like. Separators, case, numbers and qualifiers of names are
ignored, so that ``api_key``, ``api-key``, ``apiKey``, ``API_KEY_2`` and ``api_key_prod`` are the same name.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

_SHORTEST = 8
_LONGEST_WORDS = 16

_NAME = re.compile(
    r"(apikeys?|(secret|access|private|signing|encryption|subscription|account|master|auth|session|client|service"
    r"|admin|license|ssh|hmac|openai|anthropic|azure)keys?|^x\w*key|^(db|user|admin)?(pass|pwd)|bearer"
    r"|token|secrets?|passw(or)?d|passphrase|passcode|authorization|credentials?|(set|session|auth)cookie|jwt)$"
)
_NOT_SECRET = re.compile(
    r"(eos|bos|pad|unk|sep|cls|mask|stop|image|audio|special|first|last|next|start|end)token$"
)
"""Tokens of a tokenizer, such as ``eos_token``."""
_QUALIFIER = re.compile(
    r"(?<=[A-Za-z0-9])(?:[\W_]+(?i:v?\d+|value|val|prod|production|dev|staging|live|test)"
    r"|(?<=[a-z])(?:V\d+|Value|Val|Prod|Production|Dev|Staging|Live|Test)|(?<=[Kk]ey)[\W_]*(?i:id))$"
)
"""Suffixes of names of secrets: ``api_secret_v2``, ``tokenValue``, ``access_key_id``."""
_URL_NAME = re.compile(
    r"(k|.*key|auth|pass|pw|pwd|(.*[\W_])?(sig|signature|ticket|code)|authcode|sid|session)$"
)
"""Further names of secrets in the query or fragment of a URL; elsewhere they are ordinary words."""
_ORDINARY = re.compile(
    r"\w+=\d{1,4}|(sort|group|primary|partition|order)\w*key=[a-z_.,-]+"
    r"|(country|lang|language|locale|zip|postal|region|area|currency|error|status)[\W_]?code=[\w-]+"
)
_LABELLED = r"(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d{1,5})?@(?:policy|target)(?=[\s,\"'\\]|$)"
"""A server of ``--servers``, such as ``10.0.0.5:8000@policy``."""
_USER = re.compile(rf"//(?!{_LABELLED})(?P<secret>[^\s/?#<>]+)@")
_USER_WITHOUT_SCHEME = re.compile(r"(?P<secret>[^\s/?#<>@:]+:[^\s/?#<>]+)@[A-Za-z0-9]")
_URL = re.compile(r"://[^\s\"'<>]+")
_ONE_URL = re.compile(r"\s*[\w+.-]*://\S+\s*")
_PARAMETER = re.compile(r"[?&;#/](?P<name>[^\s=&;#/?\"'<>]{1,64})=(?=(?P<secret>[^\s&;#\"'<>]+))")
"""A parameter of a URL; its value may be another URL with parameters."""
_ASSIGNED = re.compile(
    r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z][\w.-]{0,63})[\\\"'\s]{0,16}[:=][\\\"'\s]{0,16}"
)  # the value is not skipped, because it may begin another assignment
_VALUE = re.compile(r"[^\s\"'\\,;&<>{}()\[\]]{1,4096}")
"""An assigned value; its length is bounded, so that many assignments in one word take linear time."""
_ONE_ASSIGNMENT = re.compile(
    r"\s*-{0,2}(?P<name>[A-Za-z][\w.-]{0,63})\s*[:=]\s*(?:(?i:bearer|basic)\s+)?(?P<secret>\S+)\s*"
)
_ENV_ARGUMENTS = re.compile(r"[^@{\[\"]*@(?=\s*[{\[])")
_WORDS = re.compile(r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)(?:[-_. ](?:[a-z]+|[A-Z]+|[A-Z][a-z]+))*|[\d\W_]+")


@dataclass(frozen=True)
class FoundSecret:
    """A secret: its place, a predicate of the place (such as "contains a secret"), and the secret."""

    where: str
    what: str
    secret: str


def is_secret_name(name: str) -> bool:
    """Return whether a field, an option or a header called ``name`` holds a secret."""
    for _ in range(3):
        name = _QUALIFIER.sub("", name)
    plain = re.sub(r"[\W_]+", "", name).lower().rstrip("0123456789")
    return bool(_NAME.search(plain)) and not _NOT_SECRET.search(plain)


def is_placeholder(value: str) -> bool:
    """Return whether ``value`` is too ordinary to be searched for and replaced in texts.

    Servers that need no key are given one such as "EMPTY", "not-needed" or "12345678". If such a value were
    replaced wherever it occurs, task texts and answers would change. Therefore a value counts as a
    secret only if it has 8 or more characters, and, below 16, is not made of plain words or of digits and
    punctuation alone: hardly any ordinary text contains such a value by chance. The path of an existing file
    (``GOOGLE_APPLICATION_CREDENTIALS``) is not a secret either.
    """
    if re.fullmatch(r"sk-\d{4,}", value):  # LiteLLM's keys may be this short
        return False
    if len(value) < _SHORTEST or (len(value) < _LONGEST_WORDS and _WORDS.fullmatch(value)):
        return True
    return value.startswith("/") and "\0" not in value and os.path.lexists(value)


def find_secrets(value: object, where: str = "") -> Iterator[FoundSecret]:
    """Yield the secrets in a value of a configuration: by names of fields, and in texts.

    Mappings, lists and JSON within texts (such as ``Name@{json}``) are searched at every depth. A text
    contains a secret if it assigns one to the name of a secret (``api_key=…``), as JSON that is malformed may
    do as well, or is a URL with a password or with a parameter that is named like a secret.
    """
    for place, text, named in texts(value, where):
        if named:
            yield FoundSecret(place, "looks like a secret", text)
        for variant in _unquoted(text):
            is_url = bool(re.search(r"url$", place, re.IGNORECASE) or _ONE_URL.fullmatch(variant))
            for what, secrets in (
                ("is a URL with a password", _passwords(variant, is_url)),
                ("is a URL with a secret in its path, query or fragment", _parameters(variant, is_url)),
                ("contains a secret", _assigned(variant, is_url)),
            ):
                yield from (FoundSecret(place, what, secret) for secret in secrets)


def _passwords(text: str, is_url: bool) -> Iterator[str]:
    """Yield ``user:password`` and the password of each URL in ``text``; ``is_url``: ``text`` is a URL."""
    without_scheme = _USER_WITHOUT_SCHEME.match(text) if is_url else None
    for match in (*_USER.finditer(text), *([without_scheme] if without_scheme else [])):
        password = match["secret"].partition(":")[2]
        yield from (match["secret"], password) if password else (match["secret"],)


def _parameters(text: str, is_url: bool) -> Iterator[str]:
    """Yield the values of parameters that are named like secrets, in each URL in ``text``."""
    urls = [(0, len(text))] if is_url else [url.span() for url in _URL.finditer(text)]
    for start, end in urls:
        for match in _PARAMETER.finditer(text, start, end):
            name = unquote(match["name"])
            ordinary = bool(_ORDINARY.fullmatch(f"{name}={match['secret']}".lower()))
            if is_secret_name(name) or (_URL_NAME.match(name.lower()) and not ordinary):
                yield match["secret"]


def _assigned(text: str, is_url: bool) -> Iterator[str]:
    """Yield the values of secrets' names in ``text``, in assignments, JSON and URLs with JSON."""
    parts = [_ONE_ASSIGNMENT.fullmatch(part) for part in re.split(r"[,;\n]", text)]
    assignments = [part for part in parts if part]
    if len(assignments) == len(parts):
        yield from (each["secret"] for each in assignments if is_secret_name(each["name"]))
    # JSON may be malformed
    if is_url or text.lstrip().startswith(("{", "[")) or _ENV_ARGUMENTS.match(text):
        for match in _ASSIGNED.finditer(text):
            if is_secret_name(match["name"]) and (value := _VALUE.match(text, match.end())):
                yield value[0]


def texts(value: object, where: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield every text in ``value``: its place, the text, and whether a secret's name leads to it.

    A text that is JSON is searched instead of being yielded. A place is ``where``, followed by the names and
    indices that lead to the text; ``where`` may be a name, or end with a space. There is no recursion,
    because environment strings may be nested to any depth.
    """
    todo: list[tuple[str, object, bool]] = [(where, value, False)]
    while todo:
        place, item, named = todo.pop()
        if isinstance(item, Mapping):
            for name, inner in item.items():
                yield from ((f"{place} (a name in it)".lstrip(), text, False) for text in _names(str(name)))
                dot = "." if place[-1:].strip() else ""
                todo.append((f"{place}{dot}{name}", inner, named or is_secret_name(str(name))))
        elif isinstance(item, (list, tuple)):
            todo += [(f"{place}[{i}]", each, named or _named_by(item, i)) for i, each in enumerate(item)]
        elif isinstance(item, str):
            inner = _json_in(item)
            if inner is not None:
                todo.append((place, inner, named))
            elif item.strip():
                yield place, item, named
        elif type(item) is int and named and abs(item) >= 10 ** (_SHORTEST - 1):
            yield place, str(item), named


def _names(name: str) -> Iterator[str]:
    """Yield the texts in a name, which may be an environment string ``Name@{json}``."""
    inner = _json_in(name)
    if inner is None:
        yield name
    else:
        yield from (f"{key}={text}" if named else text for key, text, named in texts(inner))


def _named_by(items: Sequence[object], i: int) -> bool:
    """Return whether ``items[i]`` follows a secret's name, as in ``["x-api-key", "…"]``."""
    name = items[i - 1] if i else None
    if not isinstance(name, str) or not is_secret_name(name):
        return False
    item = items[i]
    return name.startswith("--") or (len(items) == 2 and isinstance(item, str) and not is_placeholder(item))


def _json_in(text: str) -> object:
    """Return what a text of JSON, or the arguments of ``Name@{json}``, describe; None for other texts."""
    start = match.end() if (match := _ENV_ARGUMENTS.match(text)) else 0
    if text[start:].lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        parsed: object = json.loads(text[start:], object_pairs_hook=_all_values)
        return parsed
    except (ValueError, RecursionError):
        return None


def _all_values(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object in which a name that occurs several times has the list of its values."""
    by_name: dict[str, list[object]] = {}
    for name, value in pairs:
        by_name.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in by_name.items()}


def _unquoted(text: str) -> Iterator[str]:
    """Yield ``text``, and its decoded forms while it is URL-encoded."""
    yield text
    for _ in range(3):
        decoded = unquote(text)
        if decoded == text:
            return
        yield (text := decoded)
