"""Parses an agent's raw text into a message or a tool call: the action grammar of the τ environments.

1. *Private reasoning.* Everything up to the last ``</think>`` is dropped and never reaches the user
   (``nlac_bench.thoughts``); text that opens ``<think>`` and does not close it is ``Invalid``. Text that
   begins with ``{`` is not searched.
2. *A call* is a JSON object ``{"name": <string>, "arguments": <object>}``; other keys are ignored. It is read

   - at the start of the text, which may be bold or quoted; whatever follows it is ignored;
   - after ``Action:``, ReAct's marker (``nlac_bench.envs.react``);
   - at the start of a fenced code block, or between ``<tool_call>`` and ``</tool_call>``.

   If there are several calls, in sequence or in a JSON array, only the first is executed, as in the original.
3. *A message to the user* is everything else, and the call ``{"name": "respond", "arguments": {"content":
   <string>}}``. Of text in ReAct's form (``Thought: …``, then ``Action: …``) only the first action is
   read; a thought without an action or a call is ``Invalid``.

JSON is parsed strictly: no NaN, no Infinity, numbers within the range of a double, at most 64 levels deep,
strings of valid Unicode; if a key is repeated, the last value is used. Text that begins like a call and
breaks these rules is ``Invalid``, with a message that says what to write instead; it is not sent to the user.
Fences, ``<tool_call>`` and ``Action:`` introduce a call only if ``{`` follows. In a fence in the middle of a
message, ``"name"`` or ``"arguments"`` must follow the ``{``, so that a message can quote other JSON.

Parsing n characters takes O(n) time and never raises.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from nlac_bench.envs.react import ACTION, FENCE, action_text, first_action, in_form
from nlac_bench.thoughts import drop_reasoning

RESPOND = "respond"
"""Name of the pseudo-tool whose ``content`` is sent to the user."""
MAX_DEPTH = 64
"""Maximal depth of arguments. Tools need three levels; recursion over arguments (comparison, hash) must
not exceed the stack."""
MAX_INT_DIGITS = 308
"""Maximal digits of an integer: within the range of a double, a tool's arithmetic and Python's conversion of
integers to text cannot overflow."""

EXAMPLE = '{"name": "get_user_details", "arguments": {"user_id": "…"}}'


@dataclass(frozen=True, slots=True)
class Message:
    """A message to the user; ``labelled`` if it followed ``Action:``."""

    content: str
    labelled: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class CallAction:
    """A tool called by name."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Invalid:
    """Text that is not a valid action, with the reason and what to write instead."""

    problem: str


ParsedAction: TypeAlias = Message | CallAction | Invalid

_FENCE = re.compile(rf"{FENCE.pattern}[ \t\r\n]*")
_TOOL_CALL = re.compile(r"<tool_call>\s*")
_OPENS_CALL = re.compile(
    r"""(?:\[\s*)?\{\s*["'](?:arguments["']|name["'](?!\s*:\s*"[^"\n]{0,200}"\s*,\s*"(?!arguments")))"""
)
"""A product can have a name too, but no arguments."""
_OPENS_OBJECT = re.compile(r"(?:\[\s*)?\{")
_QUOTES = re.compile(r"[*_`\"' ]{0,6}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_action(text: str) -> ParsedAction:
    """Parse ``text`` as a message to the user or a tool call, else return ``Invalid`` with the reason."""
    text = text.strip()
    if not _OPENS_OBJECT.match(text):  # a call may quote the tag in an argument
        written, text = text, drop_reasoning(text)
        if written and not text:
            return _invalid("the text has no action; after </think>, an action must follow.")
    form = in_form(text)
    acts = form and first_action(text) is not None
    if acts:
        text = action_text(text)
    start = _call_start(text)
    if start is not None:
        return _parse_call(text, start)
    if form and not acts:
        return _invalid("the text has a thought but no action; write Action: and the action after it.")
    return Message(text, labelled=acts)


def render_call(name: str, arguments: Mapping[str, object]) -> str:
    """Return the action text of a call; the inverse of ``parse_action``."""
    return json.dumps({"name": name, "arguments": dict(arguments)}, ensure_ascii=False)


def render_message(content: str) -> str:
    """Return the action text of a message: ``content``, or a ``respond`` call if that would be misparsed."""
    if parse_action(content) == Message(content):
        return content
    return render_call(RESPOND, {"content": content})


def _call_start(text: str) -> int | None:
    """Return the index at which the JSON of the first call in the stripped ``text`` begins, or None."""
    if _OPENS_OBJECT.match(text):
        return 0
    if _OPENS_CALL.match(text, quoted := _quotes_end(text, 0)):
        return quoted
    starts = []
    for marker, opens in ((ACTION, _OPENS_OBJECT), (_TOOL_CALL, _OPENS_OBJECT), (_FENCE, _OPENS_CALL)):
        for match in marker.finditer(text):
            start = match.end()
            if marker is not _FENCE:  # "Action:" followed by a fence
                inner = _FENCE.match(text, start) or _TOOL_CALL.match(text, start)
                start = inner.end() if inner else _quotes_end(text, start)
            # A text that consists of one fence is parsed as a call whatever its keys are.
            if (_OPENS_OBJECT if match.start() == 0 else opens).match(text, start):
                starts.append(start)
                break
    return min(starts, default=None)


def _quotes_end(text: str, start: int) -> int:
    """Return where marks of bold text and quotes that begin at ``start`` end."""
    marks = _QUOTES.match(text, start)
    return marks.end() if marks else start


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
        return CallAction(name, arguments)
    content = arguments.get("content")
    if not isinstance(content, str):
        return _invalid('"respond" takes one argument, "content", a string: what to say to the user.')
    return Message(content)


def _invalid(problem: str) -> Invalid:
    return Invalid(
        f"Invalid action: {problem} Call a tool with one JSON object such as {EXAMPLE}, "
        "or write plain text to speak to the user."
    )


def _unfit(value: object) -> str | None:
    """Return why parsed JSON cannot be passed to the tools, or None. Iterative: the JSON may be deep."""
    layer, depth = [value], 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            return f"the JSON is nested deeper than {MAX_DEPTH} levels."
        below: list[object] = []
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


def _json_type(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _quoted(keys: Iterable[str]) -> str:
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
