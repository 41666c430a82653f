"""The action grammar of the τ environments: parses an agent's raw text. No other code parses it.

1. *Private reasoning.* Everything up to the last ``</think>`` is dropped, so no thought reaches the user;
   text that opens ``<think>`` and never closes it is ``Invalid``. A text that begins with ``{`` has none.
2. *A call* is a JSON object ``{"name": <string>, "arguments": <object>}``; other keys are ignored. It counts

   - at the start of the text; whatever follows it is ignored;
   - after ``Action:``, ReAct's marker, at the start of a line or in it;
   - at the start of a fenced code block, or between ``<tool_call>`` and ``</tool_call>``.

   Of several calls, in one place or as a JSON array, only the first is executed, as in the original.
3. *A message to the user* is everything else, and the call ``{"name": "respond", "arguments": {"content":
   <string>}}``. Text in ReAct's form (``Thought: …`` then ``Action: …``) says only what follows ``Action:``.

JSON is meant strictly: no NaN, no Infinity, numbers within the range of a double, at most 64 levels deep,
strings of valid Unicode; of a repeated key the last value counts. Text that sets out to be a call and breaks
these rules is ``Invalid``, with a message that says what to write instead; it is never said to the user.
Fences, ``<tool_call>`` and ``Action:`` introduce a call only where ``{`` follows; a fence in the midst of a
message must moreover go on with ``"name"`` or ``"arguments"``, so that a message may quote other JSON.

Every text of n characters takes O(n) time; nothing raises.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

RESPOND = "respond"
"""Name of the pseudo-tool whose ``content`` is said to the user."""
MAX_DEPTH = 64
"""Tools take at most three levels; what recurses over arguments (comparison, hash) must never run out."""
MAX_INT_DIGITS = 308
"""An integer within the range of a double cannot overflow a tool's arithmetic or Python's digit limit."""

EXAMPLE = '{"name": "get_user_details", "arguments": {"user_id": "…"}}'


@dataclass(frozen=True, slots=True)
class Message:
    """Something said to the user."""

    content: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool called by name."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Invalid:
    """Not playable: why, and what to write instead."""

    problem: str


ParsedAction: TypeAlias = Message | Call | Invalid

_ACTION = re.compile(r"(?:^|(?<=\s))\*{0,2}Action:\*{0,2}[ \t\r\n]*")
_FENCE = re.compile(r"```[A-Za-z_]*[ \t\r\n]*")
_TOOL_CALL = re.compile(r"<tool_call>\s*")
_OPENS_CALL = re.compile(r'(?:\[\s*)?\{\s*["\'](?:name|arguments)["\']')
_OPENS_OBJECT = re.compile(r"(?:\[\s*)?\{")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REACT = re.compile(r"\*{0,2}(?:Thought|Action):")


def parse_action(text: str) -> ParsedAction:
    """What ``text`` means: a message to the user, a tool call, or neither with the reason."""
    text = text.strip()
    if not _OPENS_OBJECT.match(text):  # a call may quote the tag in an argument
        if text.startswith("<think>") and "</think>" not in text:
            return _invalid("the reasoning opened by <think> is never closed by </think>.")
        text = drop_reasoning(text)
    start = _call_start(text)
    if start is not None:
        return _parse_call(text, start)
    if _REACT.match(text):
        markers = list(_ACTION.finditer(text))
        if markers:
            text = text[markers[-1].end() :]
    return Message(text.strip())


def render_call(name: str, arguments: Mapping[str, Any]) -> str:
    """The action text of a call; ``parse_action`` gives it back."""
    return json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)


def render_message(content: str) -> str:
    """The action text of a message: itself, or a ``respond`` call where it would be read otherwise."""
    if parse_action(content) == Message(content):
        return content
    return render_call(RESPOND, {"content": content})


def drop_reasoning(text: str) -> str:
    """``text`` without a reasoning model's private thoughts and without surrounding white space.

    Chat templates may open ``<think>`` in the prompt, so a closing tag alone is enough.
    """
    return text[text.rfind("</think>") + len("</think>") :].strip() if "</think>" in text else text.strip()


def _call_start(text: str) -> int | None:
    """Where the JSON of the first call in the stripped ``text`` begins, or None."""
    if _OPENS_OBJECT.match(text):
        return 0
    starts = []
    for marker, opens in ((_ACTION, _OPENS_OBJECT), (_TOOL_CALL, _OPENS_OBJECT), (_FENCE, _OPENS_CALL)):
        for match in marker.finditer(text):
            start = match.end()
            if marker is not _FENCE:  # "Action:" and then a fence
                inner = _FENCE.match(text, start) or _TOOL_CALL.match(text, start)
                start = inner.end() if inner else start
            # A text that is nothing but a fence is meant as a call whatever its keys are.
            if (_OPENS_OBJECT if match.start() == 0 else opens).match(text, start):
                starts.append(start)
                break
    return min(starts, default=None)


def _parse_call(text: str, start: int) -> ParsedAction:
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return _invalid(
            f"this looks like a tool call but is not valid JSON ({error.msg} at character {error.pos})."
        )
    except RecursionError:
        return _invalid(f"the JSON is nested deeper than {MAX_DEPTH} levels.")
    except ValueError as error:
        return _invalid(f"{error}.")
    if isinstance(value, list):
        value = value[0]
    if not isinstance(value, dict):
        return _invalid(f"a tool call is a JSON object, not {_json_type(value)}.")
    problem = _unfit(value)
    if problem:
        return _invalid(problem)
    if "name" not in value:
        return _invalid(f'the tool call lacks "name"; it has {_quoted(value)}.')
    name = value["name"]
    if not isinstance(name, str):
        return _invalid(f'"name" must be a string, not {_json_type(name)}.')
    if "arguments" not in value:
        return _invalid(f'the tool call lacks "arguments" (write {{}} for none); it has {_quoted(value)}.')
    arguments = value["arguments"]
    if not isinstance(arguments, dict):
        return _invalid(f'"arguments" must be a JSON object, not {_json_type(arguments)}.')
    if name != RESPOND:
        return Call(name, arguments)
    content = arguments.get("content")
    if not isinstance(content, str):
        return _invalid('"respond" takes one argument, "content", a string: what to say to the user.')
    return Message(content)


def _invalid(problem: str) -> Invalid:
    return Invalid(
        f"Invalid action: {problem} Call a tool with one JSON object such as {EXAMPLE}, "
        "or write plain text to speak to the user."
    )


def _unfit(value: Any) -> str | None:
    """Why parsed JSON may not go on to the tools, or None; iterative, for it may be deep."""
    layer, depth = [value], 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            return f"the JSON is nested deeper than {MAX_DEPTH} levels."
        below: list[Any] = []
        for item in layer:
            if isinstance(item, str):
                if not item.isascii() and _SURROGATE.search(item):
                    return "a string holds a lone surrogate (\\ud800 to \\udfff): not valid Unicode."
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
            elif isinstance(item, list):
                below += item
        layer = below
    return None


def _json_type(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _quoted(keys: Mapping[str, Any]) -> str:
    shown = ", ".join(json.dumps(key[:40]) for key in list(keys)[:8])
    return shown or "no keys"


def _integer(digits: str) -> int:
    if len(digits) > MAX_INT_DIGITS:
        raise ValueError(f"an integer of {len(digits):,} digits is too large (at most {MAX_INT_DIGITS})")
    return int(digits)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is outside the range of a double")
    return number


def _constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_constant)
