"""Reads what a server says instead of a reply: prose, codes and names of parameters, wherever they stand.

Servers agree on HTTP statuses and on little else. OpenAI sends ``{"error": {"message", "type", "param",
"code"}}``, FastAPI ``{"detail": [{"loc", "msg"}]}``, Mistral the same as JSON in a text, Google a list of
objects, xAI ``{"code": TEXT, "error": TEXT}``, MiniMax ``{"base_resp": {"status_code", "status_msg"}}``, and
gateways put one of them into another. So the whole body is searched, up to limits.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from nlac_bench.rollout.engines.openai.waits import asked_wait, json_or_text

_PROSE = {
    "message", "msg", "detail", "details", "error", "errors", "title", "reason", "description", "raw",
    "cause", "innererror", "inner_error", "status_msg", "error_msg", "error_message", "errormessage",
    "errmsg", "err", "statusmessage",
}  # fmt: skip
_CODES = {"code", "type", "status", "error_code", "errorcode", "error_type", "status_code", "err_code"}
_PARAMS = {"param", "parameter", "field", "property", "argument", "parameter_name"}
_ERROR = _PROSE | {"base_resp", "code", "error_code", "errorcode", "err_code"}
_ANSWER = ("message", "delta")
# A validator repeats the value that it refuses, which may be the conversation.
_REPEATED = {"input", "ctx", "url", "request", "user_id", "request_id", "headers"}
# pydantic repeats it in its text; vLLM prints pydantic's errors, in which the value comes last.
_QUOTED = re.compile(r"input_value=.*?, input_type=\w+|(?<=, )'input': .*", re.S)
_EXCEPTION = re.compile(r"\b(?:[A-Z][a-z]+){2,}(?:Error|Exception)\b")  # LiteLLM names them in its text
_MOST_TEXT, _MOST_NODES, _DEEPEST = 4000, 400, 12


@dataclass(frozen=True)
class Complaint:
    """An error of a server.

    Args:
        status: of HTTP; 0 if the error came with status 200 and names no status itself.
        message: all prose of the body.
        codes: machine-readable names of the error, in lower case with spaces for punctuation.
        params: the names of request fields that the body names as such, as paths (``messages.2.name``).
        wait: seconds that the server asks to wait; None if it does not say.
        generated: what the model wrote, if the server could not read a call in it.
    """

    status: int
    message: str
    codes: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    wait: float | None = None
    generated: str = ""

    @property
    def text(self) -> str:
        """Codes and prose, for searches by meaning."""
        return f"{' '.join(self.codes)} {self.message}"


def read_complaint(status: int, body: object, wait: float | None = None) -> Complaint:
    """Return the error in ``body``, which is a parsed JSON value, or text.

    Args:
        status: of HTTP; 200 is replaced by the status that the body names, or 0.
        wait: seconds to wait according to the headers; they count more than the body.
    """
    value = json_or_text(body)
    found: dict[str, list[str]] = {"prose": [], "code": [], "param": [], "generated": []}
    for kind, text in _found(value, "message", [_MOST_NODES], 0):
        found[kind].append(text)
    prose, codes, params, generated = found.values()
    message = "; ".join(dict.fromkeys(part.strip() for part in prose if part.strip()))[:_MOST_TEXT]
    message = _QUOTED.sub("", message)
    if not message:
        message = (body if isinstance(body, str) else json.dumps(body, default=str))[:_MOST_TEXT].strip()
    if status == 200:
        named = (int(code) for code in codes if code.isdecimal() and len(code) == 3)
        status = next((code for code in named if 400 <= code <= 599), 0)
    codes += _EXCEPTION.findall(message)
    normal = (re.sub(r"[^a-z0-9]+", " ", _words(code).lower()).strip() for code in codes)
    wait = asked_wait(value, message) if wait is None else wait
    names = tuple(dict.fromkeys(filter(None, normal)))
    return Complaint(status, message, names, tuple(params), wait, "".join(generated))


def error_in(data: object) -> object:
    """Return the error in the JSON of a reply with status 200, as gateways send it; None if there is none.

    It may stand beside an answer that it broke off, or inside a choice. A reply without choices is an error
    if it has any prose or a code, unless the code is 0 (iFlytek: ``{"code": 0, "message": "Success"}``).
    """
    if isinstance(data, list) and len(data) == 1:
        return error_in(data[0])
    if not isinstance(data, dict):
        return None
    rest = {key: value for key, value in data.items() if key != "choices"}
    names = {str(key).lower() for key, value in rest.items() if _has_content(value)}
    if names & {"error", "errors"} or (
        not data.get("choices") and names & _ERROR and data.get("code") not in (0, "0")
    ):
        return rest
    choices = data.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        for place in (choice, *(choice.get(name) for name in _ANSWER)) if isinstance(choice, dict) else ():
            if isinstance(place, dict) and _has_content(place.get("error")):
                return place["error"]
    return None


def _has_content(value: object) -> bool:
    """Return whether anything in ``value`` is not empty: ``{"code": 0, "message": ""}`` is no error."""
    if isinstance(value, dict):
        return any(map(_has_content, value.values()))
    if isinstance(value, list):
        return any(map(_has_content, value))
    return bool(value) and str(value).strip().lower() not in ("", "null", "none")


def _found(value: object, key: str, left: list[int], depth: int) -> Iterator[tuple[str, str]]:
    """Yield the kind and the text of what ``value``, found under ``key``, contains."""
    left[0] -= 1
    if left[0] < 0 or depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            lower = str(name).lower()
            if lower == "loc" and isinstance(inner, list | tuple):
                yield "param", ".".join(str(part) for part in inner[:12] if part not in ("body", "query"))
            elif lower == "failed_generation" and isinstance(inner, str):
                yield "generated", inner[:_MOST_TEXT]
            elif lower not in _REPEATED:
                yield from _found(inner, lower, left, depth + 1)
    elif isinstance(value, list):
        for inner in value[:50]:
            yield from _found(inner, key, left, depth + 1)
    elif key in _CODES and isinstance(value, str | int) and not isinstance(value, bool):
        yield "code", str(value)[:100]
        if isinstance(value, str) and " " in value.strip():  # xAI's code is a sentence
            yield "prose", value[:_MOST_TEXT]
    elif isinstance(value, str):
        if key in _PARAMS:
            yield "param", value[:200]
        elif key in _PROSE:
            inner = json_or_text(value)
            if isinstance(inner, str):
                yield "prose", inner[:_MOST_TEXT]
            else:
                yield from _found(inner, key, left, depth + 1)


def _words(code: str) -> str:
    """Separate the words of ``CamelCase``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", code)
