"""Recognises secrets by the name of what holds them, or by their own form.

A secret is an API key, a token, a password or the like. Names are compared without separators, case, numbers
and qualifiers, so that ``api_key``, ``api-key``, ``apiKey``, ``API_KEY_2`` and ``api_key_prod`` are the same
name. ``texts`` says how names that are ordinary words (``key``, ``auth``) are treated.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
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
"""What may follow the name of a secret: ``api_secret_v2``, ``tokenValue``, ``access_key_id``."""
_WEAK_NAME = re.compile(
    r"(?:.*[\W_]|.*[a-z](?=[A-Z]))?(?i:key|api|auth|pat|cookies?|sig|signature)$", re.DOTALL
)
"""Names that are ordinary words as well: they hold a secret if the value looks random."""
_URL_NAME = re.compile(
    r"(k|.*key|auth|pass|pw|pwd|(.*[\W_])?(sig|signature|ticket|code)|authcode|sid|session)$"
)
"""Further names of secrets in the query or fragment of a URL; elsewhere they are ordinary words."""
_ORDINARY = re.compile(
    r"\w+=\d{1,4}|(sort|group|primary|partition|order)\w*key=[a-z_.,-]+"
    r"|(country|lang|language|locale|zip|postal|region|area|currency|error|status)[\W_]?code=[\w-]+"
)
_PATH_NAME = re.compile(r"(keys?|auth|sig|signature|ticket|code|tokens)$", re.IGNORECASE)

_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{8,}|sk-[A-Za-z0-9_-]{20,}|sk-\d{4,}"  # OpenAI, Anthropic, LiteLLM …
    r"|[sr]k_(?:live|test)_\w{8,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|hf_[A-Za-z0-9]{16,}|gsk_\w{16,}|r8_\w{16,}|nvapi-[\w-]{16,}|xai-\w{16,}|pplx-\w{16,}"
    r"|AIza[\w-]{30,}|ya29\.[\w-]{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}|xox[abeoprs]-[\w-]{10,}"
    r"|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"  # JSON Web Token
    r")"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S])*+")
_SCHEME = re.compile(r"(?i:\b(?:bearer|basic)\s{1,8})(?P<secret>[A-Za-z0-9._~+/=-]{8,})")
_LABELLED = r"(?:[\w.-]+|\[[\da-fA-F:]+\])(?::\d{1,5})?@(?:policy|target)(?=[\s,\"'\\]|$)"
"""A server of ``--servers``, such as ``10.0.0.5:8000@policy``."""
_USER = re.compile(rf"//(?!{_LABELLED})(?P<secret>[^\s/?#<>]+)@")
_USER_WITHOUT_SCHEME = re.compile(r"(?P<secret>[^\s/?#<>@:]+:[^\s/?#<>]+)@[A-Za-z0-9]")
_URL = re.compile(r"://[^\s\"'<>]+")
_PARAMETER = re.compile(r"[?&;#/](?P<name>[^\s=&;#/?\"'<>]{1,64})=(?P<secret>[^\s&;#\"'<>]+)")
_SEGMENT = re.compile(r"/(?P<name>[^\s=&;#/?\"'<>]{1,64})(?=/(?P<secret>[^\s=&;#/?\"'<>]+))")
_BARE = re.compile(r"[?&](?P<secret>[^\s=&;#/?\"'<>]{8,})(?=[&;#\s\"'<>]|$)")
"""A parameter of a URL that has no value."""
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]{16,}")
_LETTERS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ASSIGNED = re.compile(
    r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z][\w.-]{0,63})[\\\"'\s]{0,16}[:=][\\\"'\s]{0,16}"
)  # without the value, which may begin another assignment
_VALUE = re.compile(r"[^\s\"'\\,;&<>{}()\[\]]{1,4096}")
"""An assigned value; its length is bounded, so that many assignments in one word take linear time."""
_ONE_ASSIGNMENT = re.compile(r"\s*-{0,2}(?P<name>[A-Za-z][\w.-]{0,63})\s*[:=]\s*(?P<secret>\S+)\s*")
_ENV_ARGUMENTS = re.compile(r"[^@{\[\"]*@(?=\s*[{\[])")
_WORDS = re.compile(r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)(?:[-_. ](?:[a-z]+|[A-Z]+|[A-Z][a-z]+))*|[\d\W_]+")

_IN_URL = "is a URL with a secret in its path, query or fragment"

Span = tuple[int, int, str]
"""Start and end of a secret in a text, and what the text is, as the predicate of a sentence."""


@dataclass(frozen=True)
class Found:
    """A secret: where it is, what is there (a predicate such as "contains an API key"), and the secret."""

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
    if _TOKEN.fullmatch(value):
        return False
    if len(value) < _SHORTEST or (len(value) < _LONGEST_WORDS and _WORDS.fullmatch(value)):
        return True
    return value.startswith("/") and "\0" not in value and os.path.lexists(value)


def looks_random(value: str) -> bool:
    """Return whether ``value`` mixes letters and digits as keys do, and words and versions do not."""
    if len(value) < _SHORTEST or re.search(r"\s", value):
        return False
    if re.search(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]", value):
        return True
    return any(re.search(r"[A-Za-z]", run) and re.search(r"\d", run) for run in _ALPHANUMERIC.findall(value))


def _mixed(run: str) -> bool:
    """Return whether ``run`` has digits and letters of both cases, and no words but short runs."""
    words = _LETTERS.findall(run)
    cases = all(re.search(kind, run) for kind in (r"[a-z]", r"[A-Z]", r"\d"))
    return cases and sum(map(len, words)) < 3 * len(words)


def spans(text: str) -> Iterator[Span]:
    """Yield the secrets that a text of any origin shows by their form; they may overlap.

    They are keys with a known prefix, private keys, HTTP credentials, passwords and secret parameters of
    URLs, and ``name = value`` where the name is that of a secret and the value, which contains a digit, is no
    placeholder.
    """
    for pattern in (_TOKEN, _PRIVATE_KEY):
        for match in pattern.finditer(text):
            yield (*match.span(), "contains an API key or token")
    for match in _SCHEME.finditer(text):
        if not is_placeholder(match["secret"]):
            yield (*match.span("secret"), "contains HTTP credentials")
    for match in _USER.finditer(text):
        yield (*match.span("secret"), "is a URL with a password")
    for url in _URL.finditer(text):
        yield from _parameters(text, url.start(), url.end())
    for value in _assigned(text):
        if re.search(r"\d", value[0]) and not is_placeholder(value[0]):
            yield (*value.span(), "contains a secret")


def _assigned(text: str) -> Iterator[re.Match[str]]:
    """Yield the values in ``text`` that are assigned to the name of a secret."""
    for match in _ASSIGNED.finditer(text):
        if is_secret_name(match["name"]) and (value := _VALUE.match(text, match.end())):
            yield value


def _parameters(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _PARAMETER.finditer(text, start, end):
        name = unquote(match["name"])
        ordinary = bool(_ORDINARY.fullmatch(f"{name}={match['secret']}".lower()))
        if is_secret_name(name) or (_URL_NAME.match(name.lower()) and not ordinary):
            yield (*match.span("secret"), _IN_URL)
    for match in _SEGMENT.finditer(text, start, end):
        name, secret = unquote(match["name"]), unquote(match["secret"])
        ordinary = is_placeholder(secret) or bool(_WORDS.fullmatch(secret))
        if (is_secret_name(name) or _PATH_NAME.match(name)) and not ordinary:
            yield (*match.span("secret"), _IN_URL)
    for match in _BARE.finditer(text, start, end):
        if is_secret_name(re.split(r"[\W_]", match["secret"])[0]) or looks_random(match["secret"]):
            yield (*match.span("secret"), _IN_URL)
    for match in _ALPHANUMERIC.finditer(text, start, end):
        if _mixed(match[0]):
            yield (*match.span(), _IN_URL)


def find_secrets(value: Any, where: str = "") -> Iterator[Found]:
    """Yield the secrets in a value of a configuration: by names of fields, and in texts.

    Mappings, lists and JSON within texts (such as ``Name@{json}``) are searched at every depth.
    """
    for place, text, named in texts(value, where):
        if named:
            yield Found(place, "looks like a secret", text)
        for variant in _unquoted(text):
            for start, end, what in [*spans(variant), *_given(variant, place)]:
                secret = variant[start:end]
                for part in {secret, secret.partition(":")[2] if "password" in what else ""}:
                    if part:
                        yield Found(place, what, part)


def _given(text: str, place: str) -> Iterator[Span]:
    """Yield secrets in a text that somebody wrote as a setting, where also weak values are recognised."""
    match = _ONE_ASSIGNMENT.fullmatch(text)
    if match and is_secret_name(match["name"]):
        yield (*match.span("secret"), "looks like a secret")
    if text.lstrip().startswith(("{", "[")) or _ENV_ARGUMENTS.match(text):  # JSON, perhaps malformed
        for value in _assigned(text):
            yield (*value.span(), "contains a secret")
    if re.search(r"url$", place, re.IGNORECASE):
        yield from _parameters(text, 0, len(text))
        if match := _USER_WITHOUT_SCHEME.match(text):
            yield (*match.span("secret"), "is a URL with a password")


def texts(value: Any, where: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield every text in ``value``: its place, the text, and whether a secret's name leads to it.

    A name that is an ordinary word (``key``, ``auth``) is a secret's name only for a text that looks random.

    A text that is JSON is searched instead of being yielded. A place is ``where``, followed by the names and
    indices that lead to the text; ``where`` may be a name, or end with a space. There is no recursion,
    because environment strings may be nested to any depth.
    """
    todo: list[tuple[str, Any, bool, bool]] = [(where, value, False, False)]
    while todo:
        place, item, named, weakly = todo.pop()
        if isinstance(item, Mapping):
            for name, inner in item.items():
                yield from ((f"{place} (a name in it)".lstrip(), text, False) for text in _names(str(name)))
                dot = "." if place[-1:].strip() else ""
                secret, weak = is_secret_name(str(name)), bool(_WEAK_NAME.match(str(name)))
                todo.append((f"{place}{dot}{name}", inner, named or secret, weakly or weak))
        elif isinstance(item, (list, tuple)):
            todo += [
                (f"{place}[{i}]", each, named or _named_by(item, i), weakly) for i, each in enumerate(item)
            ]
        elif isinstance(item, str):
            inner = _json_in(item)
            if inner is not None:
                todo.append((place, inner, named, weakly))
            elif item.strip():
                yield place, item, named or (weakly and looks_random(item))
        elif type(item) is int and named and abs(item) >= 10 ** (_SHORTEST - 1):
            yield place, str(item), named


def _names(name: str) -> Iterator[str]:
    """Yield the texts in a name, which may be an environment string ``Name@{json}``."""
    inner = _json_in(name)
    if inner is None:
        yield name
    else:
        yield from (f"{key}={text}" if named else text for key, text, named in texts(inner))


def _named_by(items: "list[Any] | tuple[Any, ...]", i: int) -> bool:
    """Return whether ``items[i]`` follows a secret's name, as in ``["x-api-key", "…"]``."""
    name = items[i - 1] if i else None
    if not isinstance(name, str) or not is_secret_name(name):
        return False
    pair = len(items) == 2 and isinstance(items[i], str) and not is_placeholder(items[i])
    return name.startswith("--") or pair


def _json_in(text: str) -> Any:
    """Return what a text of JSON, or the arguments of ``Name@{json}``, describe; None for other texts."""
    start = match.end() if (match := _ENV_ARGUMENTS.match(text)) else 0
    if text[start:].lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        return json.loads(text[start:], object_pairs_hook=_all_values)
    except (ValueError, RecursionError):
        return None


def _all_values(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object in which a name that occurs several times has the list of its values."""
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _unquoted(text: str) -> Iterator[str]:
    """Yield ``text``, and as long as it is URL-encoded, what it encodes."""
    yield text
    for _ in range(3):
        decoded = unquote(text)
        if decoded == text:
            return
        yield (text := decoded)


def replaced(text: str, marker: Callable[[], str]) -> str:
    """Return ``text`` with each secret that ``spans`` finds in it replaced by ``marker()``."""
    done = 0
    parts = []
    for start, end, _ in sorted(spans(text)):
        if end <= done:
            continue
        parts += [text[done : max(start, done)], marker()]
        done = end
    return "".join([*parts, text[done:]])
