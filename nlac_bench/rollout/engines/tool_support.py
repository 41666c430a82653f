"""Finds out whether a model's chat template can be used for native tool calls, before the first episode.

A template that ignores ``tools`` is common, and so is one whose calls nothing here can read. With either, an
agent that calls tools natively would be scored 0 without a word.
"""

import json

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.common_beginning import common_length
from nlac_bench.rollout.engines.engine import Engine, tokenizer_of
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.types import Message

INSTEAD = "use --agent react or act, which describe the tools in the prompt"

# Each text is a word that no template contains.
_SYSTEM, _FIRST, _RESULT = "Zebrawood.", "Quillfeather?", "Umbrastone 41."
_REPLY, _SECOND = "Thornapple.", "Velvetmoss?"
_CHAT: tuple[Message, ...] = (
    {"role": "system", "content": _SYSTEM}, {"role": "user", "content": _FIRST},
    {"role": "assistant", "content": _REPLY}, {"role": "user", "content": _SECOND},
)  # fmt: skip
_TOOL = {
    "type": "function",
    "function": {
        "name": "find_kettlewren", "description": "Finds the kettlewren of a harbour.",
        "parameters": {
            "type": "object",
            "properties": {
                "harbour": {"type": "string", "description": "Name of the harbour."},
                "depth": {"type": "integer", "description": "Depth in metres."},
                "colours": {"type": "array", "items": {"type": "string"}, "description": "Its colours."},
            },
            "required": ["harbour", "depth"],
        },
    },
}  # fmt: skip
_REASONED = "<think>\nKnotweed.\n</think>\n\nYarrowstalk."
_ARGUMENTS = {"harbour": "Oystergate", "depth": 7, "colours": ["ochre"]}
_CALL_IDS = ("call00000", "functions.find_kettlewren:0")
"""Ids that the parser gives to calls; Kimi's are part of the format."""


def refuse_without_chat(engine: Engine, model: str) -> None:
    """Raise an error if conversations do not reach the prompts of the engine's model; see ``chat_problem``.

    Raises:
        NlacBenchError: says why.
    """
    tokenizer = tokenizer_of(engine)
    problem = None if tokenizer is None else chat_problem(ChatFormat(tokenizer))
    if problem is not None:
        raise NlacBenchError(
            f"--model {model} cannot play, because of its chat template: {problem}; correct the template, or "
            "use another model"
        )


def refuse_without_tools(engine: Engine, model: str) -> None:
    """Raise an error if the chat template of the engine's model cannot be used for native tool calls.

    Raises:
        NlacBenchError: says why, and what to use instead.
    """
    tokenizer = tokenizer_of(engine)
    problem = None if tokenizer is None else tool_problem(tokenizer)
    if problem is not None:
        raise NlacBenchError(
            f"--agent tool_calling cannot play --model {model}, because of its chat template: {problem}; "
            f"{INSTEAD}"
        )


def chat_problem(chat: ChatFormat) -> str | None:
    """Return why a conversation without tools cannot be rendered, or None.

    System text, question, reply and second question must reach the prompt.
    """
    try:
        text = chat.render(_CHAT, [])
    except NlacBenchError as error:
        return f"it fails on a conversation of two turns: {error}"
    for what, word in (("the system text", _SYSTEM), ("the user's text", _FIRST), ("a reply", _REPLY),
                       ("the second question", _SECOND)):  # fmt: skip
        if word not in text:
            return f"{what} does not reach the prompt"
    return None


def has_system_role(chat: ChatFormat) -> bool:
    """Return whether the template marks a system text as one; else it is put before the user's text."""
    system, first = _CHAT[:2]
    merged: Message = {"role": "user", "content": f"{_SYSTEM}\n\n{_FIRST}"}
    return chat.render([system, first], []) != chat.render([merged], [])


def after_a_reply(chat: ChatFormat) -> str:
    """Return what the template writes after the last reply, and between a reply and the next question."""
    last = chat.render(_CHAT[:-1], [], add_generation_prompt=False).partition(_REPLY)[2]
    return last + chat.render(_CHAT, []).partition(_REPLY)[2].partition(_SECOND)[0]


def tool_problem(tokenizer: Tokenizer) -> str | None:
    """Return why the chat template of ``tokenizer`` cannot be used for native tool calls, or None.

    The template is rendered with a system text, a tool, a call, its result and a second question. Each must
    reach the prompt, and the call must be read back from the text in which the template writes it.

    Raises:
        NlacBenchError: as ``ChatFormat``.
    """
    chat = ChatFormat(tokenizer)
    problems = [_problem(chat, call_id) for call_id in _CALL_IDS]
    return None if None in problems else problems[0]


def _problem(chat: ChatFormat, call_id: str) -> str | None:
    system: Message = {"role": "system", "content": _SYSTEM}
    first: Message = {"role": "user", "content": _FIRST}
    function = {"name": "find_kettlewren", "arguments": json.dumps(_ARGUMENTS)}
    call: Message = {
        "role": "assistant", "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }  # fmt: skip
    result: Message = {"role": "tool", "tool_call_id": call_id, "content": _RESULT}
    reply: Message = {"role": "assistant", "content": _REPLY}
    second: Message = {"role": "user", "content": _SECOND}
    try:
        asked = chat.render([system, first], [_TOOL])
    except NlacBenchError as error:
        return f"it fails with tools: {error}"
    for what, word in (("the system text", _SYSTEM), ("the name of the tool", "find_kettlewren"),
                       ("the parameters of the tool", "harbour"), ("the user's text", _FIRST)):  # fmt: skip
        if word not in asked:
            return f"{what} does not reach the prompt"
    try:
        called = chat.render([system, first, call], [_TOOL], add_generation_prompt=False)
        before = chat.render([system, first], [_TOOL], add_generation_prompt=False)
        whole = chat.render([system, first, call, result, reply, second], [_TOOL])
        # A run keeps the tokens of the call, with the text before it, and adds what follows.
        played = [system, first, {**call, "content": _REASONED}, result]
        answer = chat.later(played, [_TOOL]) or chat.render(played, [_TOOL])
    except NlacBenchError as error:
        return f"it fails on a call and its result: {error}"
    # The prompt for an answer can end with the beginning of the marker of a call.
    written, longer = (called[common_length(each, called) :] for each in (asked, before))
    for what, word, text in (
        ("a call", "find_kettlewren", longer),
        ("the arguments of a call", "Oystergate", longer),
        ("the result of a call", _RESULT, whole),
        ("the result of a call", _RESULT, answer),
        ("the text after a result", _SECOND, whole),
    ):
        if word not in text:
            return f"{what} does not reach the prompt"
    if not any(_is_the_call(text) for text in (written, longer)):
        return f"the call that it writes cannot be read back from {written.strip()[:200]!r}"
    return None


def _is_the_call(text: str) -> bool:
    _, calls = parse_tool_calls(text.strip(), [_TOOL])  # a line may end after the end token
    try:
        return [(each.name, json.loads(each.arguments)) for each in calls] == [
            ("find_kettlewren", _ARGUMENTS)
        ]
    except ValueError:
        return False
