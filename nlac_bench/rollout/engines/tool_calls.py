"""Parses native tool calls in a model's text, in the formats of the common chat templates.

| family | format |
| --- | --- |
| Hermes, Qwen 2.5 and 3 | ``<tool_call>{"name": …, "arguments": {…}}</tool_call>`` |
| Qwen 3 Coder, 3.5 | ``<tool_call><function=NAME><parameter=KEY>TEXT</parameter></function></tool_call>`` |
| GLM 4.5 | ``<tool_call>NAME<arg_key>KEY</arg_key><arg_value>TEXT</arg_value></tool_call>`` |
| Llama 3 | ``{"name": …, "parameters": {…}}`` as the whole text, or after ``<|python_tag|>`` |
| Mistral | ``[TOOL_CALLS][{"name": …, "arguments": {…}}]``, or ``[TOOL_CALLS]NAME[ARGS]{…}`` |
| DeepSeek | ``<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜>`` |
| DeepSeek V3.2 | ``<｜DSML｜invoke name="NAME"><｜DSML｜parameter name="KEY" string="true">TEXT…`` |
| Kimi K2 | ``<|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`` |
| MiniMax | ``<invoke name="NAME"><parameter name="KEY">TEXT</parameter></invoke>`` |
| gpt-oss | ``<|channel|>commentary to=functions.NAME<|message|>{…}<|call|>`` |
| Gemma 4 | ``<|tool_call>call:NAME{KEY:VALUE}<tool_call|>``, with texts between ``<|"|>`` |
| Granite, Phi, Jamba, Cohere | a marker, then one JSON object or a list of them |

Only engines that render chats in this process need these parsers; servers parse tool calls themselves. A call
that cannot be read stays in the text, where the environment finds its marker. A call in private reasoning is
none.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from nlac_bench.envs.call_markers import call_marker
from nlac_bench.rollout.engines.engine import ToolCall
from nlac_bench.rollout.engines.marked_thoughts import OPENS_OBJECT, split_thoughts, thought, with_think_tags
from nlac_bench.rollout.engines.tokenizer import Tokenizer, special_ids
from nlac_bench.thoughts import THOUGHTS, without_end_tokens
from nlac_bench.types import ToolSchema

Call: TypeAlias = tuple[str, Any] | tuple[str, Any, str]
"""The name and the arguments of a call, and its id if the format has one."""
Kinds: TypeAlias = frozenset[str]
Types: TypeAlias = Mapping[str, Mapping[str, Kinds]]
"""The JSON types that each parameter of each tool may have."""
Reader: TypeAlias = Callable[[re.Match[str], Types], list[Call]]
"""Returns the calls in a match; raises ValueError, KeyError or TypeError if it cannot read them."""


def parse_tool_calls(text: str, tools: Sequence[ToolSchema] = ()) -> tuple[str, tuple[ToolCall, ...]]:
    """Return ``text`` without its tool calls, and the calls. Calls that cannot be parsed stay in the text.

    Only what follows private reasoning is parsed, which is returned between ``<think>`` tags.

    Args:
        tools: the tools that the model was offered. Formats that write arguments as plain text need the types
            of their parameters.
    """
    text = with_think_tags(text)
    types = _types(tools)
    thoughts, answer = split_thoughts(text)
    answer = without_end_tokens(answer)
    for pattern, reader in _FORMATS:
        if pattern.search(answer):
            rest, calls = _taken(answer, pattern, reader, types)
            if calls:
                return (thoughts + _WRAPPERS.sub("", rest)).strip(), tuple(calls)
    return text, ()


def read_sample(
    tokenizer: Tokenizer,
    prompt: Sequence[int],
    ids: Sequence[int],
    text: str,
    marked: Callable[[], str],
    tools: Sequence[ToolSchema] = (),
) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text and the calls of a sample of a model whose tokens are decoded in this process.

    Args:
        prompt: the tokens of the prompt, whose end may open private reasoning.
        ids: the sampled tokens.
        text: their text without special tokens, up to the first stop string.
        marked: returns the same with special tokens, but without the end token.
        tools: the tools that the model was offered; without any, a call stays in the text.
    """
    special = not special_ids(tokenizer).isdisjoint(ids)  # some families' markers are special tokens
    written = marked() if special else text
    asked = str(tokenizer.decode(prompt[-OPENING:])).rstrip() if prompt else ""
    for begin, end in THOUGHTS:
        if asked.endswith(begin) and end not in written:
            return (thought(text, "") if text.strip() else ""), ()
        if asked.endswith(begin) and begin != "<think>":
            written = begin + written
    return sampled_calls(text, written, tools)


def sampled_calls(text: str, marked: str, tools: Sequence[ToolSchema]) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text and the calls of a sample.

    The text has special tokens only where these are the marker of a call that was not read, so that an
    environment can refuse it. Private reasoning is between ``<think>`` tags, whichever marks the family has.

    Args:
        text: what was sampled, without special tokens.
        marked: the same with special tokens, among which the markers of calls can be.
        tools: the tools that the model was offered; without any, a call stays in the text.
    """
    if tools:
        rest, calls = parse_tool_calls(marked, tools)
        if calls:
            return rest, calls
    plain = with_think_tags(marked)
    # In some vocabularies the tags are special tokens.
    if plain != marked or any(tag in marked and tag not in text for tag in THOUGHTS[0]):
        thoughts, answer = split_thoughts(plain)
        return thoughts + _ANSWER_TOKEN.sub("", answer), ()
    # JSON at the beginning is seen to be a call without its marker, and environments read it.
    unseen = call_marker(split_thoughts(marked)[1]) is not None and not OPENS_OBJECT.match(
        split_thoughts(text)[1]
    )
    return (marked if unseen else text), ()


def _taken(text: str, pattern: re.Pattern[str], reader: Reader, types: Types) -> tuple[str, list[ToolCall]]:
    calls: list[ToolCall] = []
    unread = False

    def take(match: re.Match[str]) -> str:
        nonlocal unread
        if unread:
            return match[0]
        try:
            parsed = reader(match, types)
            read = [
                # Mistral's templates accept ids of nine letters and digits only.
                ToolCall(
                    _name(name),
                    json.dumps(arguments, ensure_ascii=False),
                    *(more or [f"call{len(calls) + i:05}"]),
                )
                for i, (name, arguments, *more) in enumerate(parsed)
            ]
        except (ValueError, KeyError, TypeError, RecursionError):
            unread = True  # the first call counts: a later one is not made in its place
            return match[0]
        calls.extend(read)
        return ""

    return pattern.sub(take, text), calls


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise TypeError(name)
    return name.strip()


def _json_calls(text: str) -> list[Call]:
    """Return the calls in JSON text: one object, a list, or several, with or without semicolons between."""
    values, rest = [], text.strip()
    while rest:
        value, end = _DECODER.raw_decode(rest)
        values += value if isinstance(value, list) else [value]
        rest = rest[end:].lstrip()
        if rest and rest[0] not in ";{[":
            raise ValueError("text after the JSON of a call")
        rest = rest.removeprefix(";").lstrip()
    return [_json_call(value) for value in values]


def _json_call(value: Any) -> Call:
    if not isinstance(value, dict):
        raise TypeError(value)
    inner = value["function"] if isinstance(value.get("function"), dict) else value
    name = inner["name"] if "name" in inner else inner["tool_name"]
    for key in ("arguments", "parameters"):
        if key in inner or key in value:
            return name, inner.get(key, value.get(key))
    if {*inner, *value} - {"name", "tool_name", "id", "type", "function"}:
        raise ValueError("arguments under another name would be lost")
    return name, {}


def _body(match: re.Match[str], types: Types) -> list[Call]:
    """Read what stands between ``<tool_call>`` and its end, which three families write in three ways."""
    body = match["body"].strip()
    if body.startswith(("{", "[")):
        return _json_calls(body)
    if function := _FUNCTION.fullmatch(body):
        return _function(function, types)
    name, keys, rest = body.partition("<arg_key>")
    if not re.fullmatch(r"[\w.:-]+", name.strip()):
        raise ValueError(body)
    _closed(match)
    return [(name, _typed(name.strip(), _pairs(_PAIR, keys + rest), types))]


def _function(match: re.Match[str], types: Types) -> list[Call]:
    name, body = match["name"].strip(), match["inside"]
    if body.strip().startswith("{"):  # Llama 3.1 writes <function=NAME>{…}</function>
        return [(name, json.loads(body))]
    _closed(match)
    return [(name, _typed(name, _pairs(_PARAMETER, body), types))]


def _invoke(match: re.Match[str], types: Types) -> list[Call]:
    _closed(match)
    name, arguments = match["name"], {}
    for key, value, as_text in _pairs(_INVOKE_PARAMETER, match["inside"]):
        if as_text in ("true", "false"):  # DeepSeek says which values are text
            arguments[key] = value if as_text == "true" else json.loads(value)
        else:
            arguments |= _typed(name, [(key, value, "")], types)
    return [(name, arguments)]


def _closed(match: re.Match[str]) -> None:
    """Raise ValueError if the text ends within the match: half of a call is none."""
    if not match["end"]:
        raise ValueError("a call that is not complete")


def _pairs(pattern: re.Pattern[str], text: str) -> list[tuple[str, str, str]]:
    """Return key, value and kind of each parameter; ``text`` must contain nothing else."""
    pairs = []
    for match in pattern.finditer(text):
        _closed(match)
        pairs.append((match["key"].strip(), match["value"], match.groupdict().get("kind") or ""))
    if pattern.sub("", text).strip():
        raise ValueError(text)
    return pairs


def _named(match: re.Match[str], types: Types) -> list[Call]:
    """Read a name that is followed by one JSON object."""
    named = match["name"].strip()
    name = re.sub(r"^functions?[.:]|:\d+$", "", named)
    arguments = json.loads(match["body"].strip().removesuffix("```"))
    # Kimi's name is the id of the call, which its template writes again.
    return [(name, arguments) if name == named else (name, arguments, named)]


def _gemma(match: re.Match[str], types: Types) -> list[Call]:
    parts = match["body"].split('<|"|>')
    parts[::2] = [re.sub(r"([{,]\s?)([A-Za-z_][\w-]{0,200})\s?:", r'\1"\2":', part) for part in parts[::2]]
    parts[::2] = [_PYTHON.sub(lambda name: _IN_JSON[name[0]], part) for part in parts[::2]]
    parts[1::2] = map(json.dumps, parts[1::2])
    return [(match["name"], json.loads("".join(parts)))]


def _mistral(match: re.Match[str], types: Types) -> list[Call]:
    body = match["body"].strip()
    if body.startswith(("[", "{")):
        return _json_calls(body)
    calls: list[Call] = []
    for part in filter(str.strip, body.split("[TOOL_CALLS]")):
        name, brace, rest = part.partition("{")
        arguments = json.loads(brace + rest)
        calls.append((re.split(r"\[(?:CALL_ID|ARGS)\]", name)[0], arguments))
    return calls


def _whole(match: re.Match[str], types: Types) -> list[Call]:
    return _json_calls(match["body"])


def _typed(name: str, pairs: Sequence[tuple[str, str, str]], types: Types) -> dict[str, Any]:
    """Convert arguments that a format writes as text to the types that the tool declares."""
    declared = types.get(name, {})
    return {key: _value(text, declared.get(key, frozenset())) for key, text, _ in pairs}


def _value(text: str, kinds: Kinds) -> Any:
    text = text.removeprefix("\n").removesuffix("\n")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # Templates that write a value as Jinja does write None, True, and lists as Python does.
        value = _python_literal(text) if kinds - {"string"} else text
    return text if "string" in kinds and not (value is None and "null" in kinds) else value


def _python_literal(text: str) -> Any:
    """Return the value of a literal in Python that JSON can represent, or ``text`` if it is none."""
    plain = text.strip()
    if plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if len(plain) > MAX_LITERAL:
        return text
    try:
        return json.loads(json.dumps(ast.literal_eval(plain), allow_nan=False))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def _kinds(schema: object) -> Kinds:
    """Return the types that a parameter may have: one, several, or those of alternatives."""
    if not isinstance(schema, dict):
        return frozenset()
    declared = schema.get("type") or ()
    kinds = {declared} if isinstance(declared, str) else {kind for kind in declared if isinstance(kind, str)}
    for name in ("anyOf", "oneOf"):
        kinds = kinds.union(*map(_kinds, schema.get(name) or ()))
    return frozenset(kinds)


def _types(tools: Sequence[ToolSchema]) -> dict[str, dict[str, Kinds]]:
    types: dict[str, dict[str, Kinds]] = {}
    for tool in tools:
        function = tool.get("function", tool)
        properties = function.get("parameters", {}).get("properties", {})
        types[str(function.get("name"))] = {key: _kinds(value) for key, value in properties.items()}
    return types


_IN_JSON = {"None": "null", "True": "true", "False": "false"}
"""Python's constants in JSON."""
_PYTHON = re.compile(rf"\b(?:{'|'.join(_IN_JSON)})\b")
MAX_LITERAL = 20_000
"""Largest number of characters of an argument that is read as a literal in Python."""
_DECODER = json.JSONDecoder()
OPENING = 32
"""Number of tokens at the end of a prompt that can open private reasoning."""
_ANSWER_TOKEN = re.compile(r"<\|(?:START|END)_(?:RESPONSE|TEXT)\|>")
# Each closing tag may be missing at the end of the text: without it, a search would read the rest again and
# again.
_FUNCTION = re.compile(r"<function=(?P<name>[^>\s]{1,200})>(?P<inside>.*?)(?P<end></function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(?P<key>[^>]{1,200})>(?P<value>.*?)(?P<end></parameter>|\Z)", re.DOTALL)
_PAIR = re.compile(
    r"<arg_key>(?P<key>[^<]{1,200})</arg_key>\s*<arg_value>(?P<value>.*?)(?P<end></arg_value>|\Z)", re.DOTALL
)
_INVOKE_PARAMETER = re.compile(
    r'<(?:｜DSML｜)?parameter name="(?P<key>[^"]{1,200})"(?: string="(?P<kind>true|false)")?>(?P<value>.*?)'
    r"(?P<end></(?:｜DSML｜)?parameter>|\Z)",
    re.DOTALL,
)
_FORMATS: tuple[tuple[re.Pattern[str], Reader], ...] = tuple(
    (re.compile(pattern, re.DOTALL), reader)
    for pattern, reader in (
        (r"<tool_call>(?P<body>.*?)(?P<end></tool_call>|\Z)", _body),
        (_FUNCTION.pattern, _function),
        (
            r'<(?:｜DSML｜)?invoke name="(?P<name>[^"]{1,200})">(?P<inside>.*?)'
            r"(?P<end></(?:｜DSML｜)?invoke>|\Z)",
            _invoke,
        ),
        (
            r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?(?P<name>[^<\n{]{1,200})(?:<｜tool▁sep｜>)?\s*(?:```json)?"
            r"(?P<body>.*?)(?:<｜tool▁call▁end｜>|\Z)",
            _named,
        ),
        (
            r"<\|tool_call_begin\|>(?P<name>[^<]{1,200})<\|tool_call_argument_begin\|>"
            r"(?P<body>.*?)(?:<\|tool_call_end\|>|\Z)",
            _named,
        ),
        (
            r"(?:<\|start\|>assistant)?(?:<\|channel\|>(?:commentary|analysis))?\s?to=functions\.(?P<name>[\w-]+)"
            r"(?:<\|channel\|>commentary)?\s*(?:<\|constrain\|>)?(?:json)?\s*<\|message\|>(?P<body>.*?)(?:<\|call\|>|\Z)",
            _named,
        ),
        (r"<\|tool_call>call:(?P<name>[\w.-]{1,200})(?P<body>\{.*?)(?:<tool_call\|>|\Z)", _gemma),
        (r"\[TOOL_CALLS\](?P<body>.*?)\Z", _mistral),
        (r"(?:<\|python_tag\|>|<\|python_start\|>(?:<\|python_end\|>)?)(?P<body>.*?)\Z", _whole),
        (r"<\|START_ACTION\|>(?P<body>.*?)(?:<\|END_ACTION\|>|\Z)", _whole),
        (r"<\|action_start\|>\s*<\|plugin\|>(?P<body>.*?)(?:<\|action_end\|>|\Z)", _whole),
        (
            r"(?:<\|tool_call\|>|<tool_calls>)(?P<body>.*?)(?:<\|/tool_call\|>|</tool_calls>|\Z)",
            _whole,
        ),
        (r"\A\s*functools(?P<body>\[.*?)\Z", _whole),
        (r"\A\s*(?P<body>\{.*?\}[\s;]*)\Z", _whole),
    )
)
_WRAPPERS = re.compile(
    r"<｜tool▁calls▁(?:begin|end)｜>|<\|tool_calls_section_(?:begin|end)\|>|</?(?:minimax|seed):tool_call>"
    r"|</?(?:｜DSML｜)?(?:function_calls|tool_calls?)>|<｜end▁of▁sentence｜>"
)
