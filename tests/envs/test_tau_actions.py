"""The action grammar: what is a call, what a message, what is neither, and that nothing is slow or raises."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.envs.tau.actions import (
    CallAction,
    Invalid,
    Message,
    parse_action,
    render_call,
    render_message,
)
from tests.timing import scans

CALL = '{"name": "get_user_details", "arguments": {"user_id": "mia_li_3668"}}'
PARSED = CallAction("get_user_details", {"user_id": "mia_li_3668"})


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"  \n{CALL}\n ",
        f"```json\n{CALL}\n```",
        f"```\r\n{CALL}\r\n```",
        f"```{CALL}```",
        f"Let me look you up.\n```json\n{CALL}\n```\nOne moment.",
        f"Action: {CALL}",
        f"Thought: I need the profile. Action: {CALL}",
        f"Thought:\nI need the profile.\nAction:\n{CALL}",
        f"**Thought:** I need it.\n**Action:** {CALL}",
        f"- Thought: I need it.\n- Action: {CALL}",
        f"1. Thought: I need it.\n2. Action: {CALL}",
        f"Thought 1: I need it.\nAction 1: {CALL}",
        f"Okay.\n\n**Thoughts:** I need it.\n**Action:** {CALL}",
        f"Action: **{CALL}**",
        f"Action: `{CALL}`",
        f"**{CALL}**",
        f'"{CALL}"',
        f"<think>I need it.</think><action>{CALL}</action>",
        f"Thought: an Action: is due\nAction:\n```json\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"Let me see.\n<tool_call>{CALL}</tool_call>",
        f"<think>Should I look {{them}} up? Action: no.</think>\n{CALL}",
        f"no opening tag, as chat templates have it</think>{CALL}",
        json.dumps(json.loads(CALL), indent=4),
        '{"id": 7, "arguments": {"user_id": "mia_li_3668"}, "type": "function", "name": "get_user_details"}',
    ],
)
def test_a_call_in_each_of_its_forms(text: str) -> None:
    assert parse_action(text) == PARSED


@pytest.mark.parametrize(
    "text",
    [
        f'{CALL}\n{{"name": "think", "arguments": {{"thought": "x"}}}}',
        f'[{CALL}, {{"name": "think", "arguments": {{"thought": "x"}}}}]',
        f"Action: {CALL}\nObservation: found\nAction: {{}}",
        f"<tool_call>{CALL}</tool_call><tool_call>{{}}</tool_call>",
        f"```json\n{CALL}\n```\n```json\n{{\n```",
        f"{CALL} and then some talk {{",
    ],
)
def test_of_several_calls_the_first_is_executed(text: str) -> None:
    assert parse_action(text) == PARSED


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Hello!", "Hello!"),
        ("", ""),
        (" \n ", ""),
        ("Action: Hello!", "Hello!"),
        ("Thought: greet them\nAction: Hello!", "Hello!"),
        ("Thought: greet. Action: first\nAction: Hello!", "Hello!"),
        ("Thoughts: greet them\nAction 1: Hello!", "Hello!"),
        ("1. **Thought**: greet\n2. **Action**: Hello!", "Hello!"),
        ("Sure!\n\nThought: greet\nAction: Hello!", "Hello!"),
        (
            "Thought: ask\nAction: Please confirm:\n1. User: mia\n2. Item: 7",
            "Please confirm:\n1. User: mia\n2. Item: 7",
        ),
        ("What I will do:\nAction: refund", "What I will do:\nAction: refund"),
        ("<thinking>They greet me.</thinking>\n<answer>Hello!</answer>", "Hello!"),
        ("Hello!<|im_end|>\n</s>", "Hello!"),
        ("<answer>Hello!</answer><|im_end|>", "Hello!"),
        ("<answer>Hello!", "Hello!"),
        ("<message>Hello!</message> Bye.", "<message>Hello!</message> Bye."),
        ("[THINK]They greet me.[/THINK]Hello!", "Hello!"),
        ("◁think▷They greet me.◁/think▷Hello!", "Hello!"),
        ('<reasoning effort="high">They greet.</reasoning>Hello!', "Hello!"),
        ("Thought：greet\nAction：Hello!", "Hello!"),
        ("Action 1: cancel\nAction 2: refund\nOK?", "Action 1: cancel\nAction 2: refund\nOK?"),
        ("Hello!\n<think>\nI wonder", "Hello!"),
        ("<reasoning>They greet me.</reasoning>\n\nHello!", "Hello!"),
        ("The form has <reason>late</reason> in it.", "The form has <reason>late</reason> in it."),
        ("Action: Is it:\n- Action: cancel\n**User:** Mia?", "Is it:\n- Action: cancel\n**User:** Mia?"),
        ('I have:\n```\n{"name": "Lamp", "id": "1"}\n```', 'I have:\n```\n{"name": "Lamp", "id": "1"}\n```'),
        ('Thought: ok\nAction: {"name": "respond", "arguments": {"content": "Hello!"}}', "Hello!"),
        ('{"name": "respond", "arguments": {"content": " as it is\\n"}}', " as it is\n"),
        ("<think>They greet me.</think>\n\nHello!", "Hello!"),
        ("Your order {#W1} is on its way.", "Your order {#W1} is on its way."),
        ("[Note] two items", "[Note] two items"),
        ("Action: ```Hello there!```", "Hello there!"),
        ('The new address:\n```\n{"city": "Austin"}\n```', 'The new address:\n```\n{"city": "Austin"}\n```'),
        ("Do you agree to this Action: cancel?", "Do you agree to this Action: cancel?"),
        ("Reaction: {sad}", "Reaction: {sad}"),
        (f"I would call {CALL}", f"I would call {CALL}"),
    ],
)
def test_everything_else_is_a_message(text: str, content: str) -> None:
    assert parse_action(text) == Message(content)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{", "not valid JSON"),
        ("{'name': 'think', 'arguments': {}}", "not valid JSON"),
        ('{"name": "think", "arguments": {"thought": "x"}', "not valid JSON"),
        ("Action: {broken", "not valid JSON"),
        ('See:\n```json\n{"name": "think", "arguments": {\n```', "not valid JSON"),
        ("{}", 'lacks "name"'),
        ('{"city": "Austin"}', '"city"'),
        ('{"name": "think"}', 'lacks "arguments"'),
        ('{"name": "think", "kwargs": {}}', '"kwargs"'),
        ('{"name": null, "arguments": {}}', "not null"),
        ('{"name": ["think"], "arguments": {}}', "not an array"),
        ('{"name": 5, "arguments": {}}', "not a number"),
        ('{"name": "think", "arguments": "{}"}', "not a string"),
        ('{"name": "think", "arguments": []}', "not an array"),
        ('{"name": "think", "arguments": null}', "not null"),
        ('{"name": "respond", "arguments": {}}', '"content"'),
        ('{"name": "respond", "arguments": {"content": 5}}', '"content"'),
        ('{"name": "x", "arguments": {"a": NaN}}', "NaN is not JSON"),
        ('{"name": "x", "arguments": {"a": -Infinity}}', "-Infinity is not JSON"),
        ('{"name": "x", "arguments": {"a": 1e999}}', "outside the range"),
        ('{"name": "x", "arguments": {"a": %s}}' % ("9" * 5000), "5,000 digits"),
        ('{"name": "x", "arguments": {"a": "\\ud800"}}', "lone surrogate"),
        ('{"name": "x", "arguments": {"\\udfff": 1}}', "lone surrogate"),
        ('{"name": "\\ud800", "arguments": {}}', "lone surrogate"),
        ('{{"name": "x", "arguments": {{"a": {}1{}}}}}'.format("[" * 70, "]" * 70), "64 levels"),
        ("<think>Never ends", "</think>"),
        ("<thinking>Never ends", "</think>"),
        ("<think>Only thoughts</think>\n", "</think>"),
        ("<think>a</think>\n<think>\nAgain", "</think>"),
        ("Thought: only a thought", "no action"),
        ("Hello!\n\nThought: they greet me", "no action"),
        ("**Thought**: I need the user's profile.\n\nget_user_details(1)", "no action"),
    ],
)
def test_what_sets_out_to_be_a_call_and_is_none_gets_a_lesson(text: str, names: str) -> None:
    parsed = parse_action(text)
    assert isinstance(parsed, Invalid)
    assert names in parsed.problem
    assert "arguments" in parsed.problem
    assert "plain text" in parsed.problem
    assert len(parsed.problem) < 500


def test_of_a_repeated_key_the_last_counts() -> None:
    assert parse_action('{"name": "a", "name": "b", "arguments": {"x": 1, "x": 2}}') == CallAction(
        "b", {"x": 2}
    )


def test_numbers_keep_their_type() -> None:
    parsed = parse_action('{"name": "x", "arguments": {"a": 250, "b": 250.0, "c": true, "d": -0.0}}')
    assert isinstance(parsed, CallAction)
    assert repr(parsed.arguments) == "{'a': 250, 'b': 250.0, 'c': True, 'd': -0.0}"


N = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "{" * N,
        "[" * N,
        "[{" * (N // 2),
        '{"a":' * (N // 5),
        '{{"name": "x", "arguments": {{"a": {}{}}}}}'.format("[" * 3000, "]" * 3000),
        '{{"name": "x", "arguments": {}1{}}}'.format('{"a":' * 3000, "}" * 3000),
        "Action:" * (N // 7),
        "Action: " * (N // 8),
        "Action: {" * (N // 9),
        "Action: ```" * (N // 11),
        "Action:" + " " * N,
        "Action: [" + " " * N,
        "```" * (N // 3),
        "```json\n" * (N // 8),
        "```[ " * (N // 5),
        "<tool_call>" * (N // 11),
        "<think>" * (N // 7),
        "</think>" * (N // 8),
        "*" * N,
        "\\" * N,
        '{"' + "\\" * N,
        '{"name": "' + "é" * N,
        "</s>" * N + "x",
        "<|a|>" * N + "x",
        "\n<think>" * N,
        "<answer>" * N,
        "Thought:" + "\n" * N + "{",
        '{"name": "x", "arguments": {"a": ' + "9" * N + "}}",
        '{"name": "x", "arguments": {"a": 1' + "0" * (N // 2) + ".5e" + "9" * (N // 2) + "}}",
        "\x00" * N,
        "[" + " " * N + "{",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_text_takes_bounded_time(text: str) -> None:
    assert scans(lambda: parse_action(text), text) < 200


def test_deep_nesting_is_refused_where_the_stack_is_nearly_used_up() -> None:
    def down(levels: int) -> object:
        return parse_action('{"a":' * 3000) if levels == 0 else down(levels - 1)

    assert isinstance(down(sys.getrecursionlimit() - 200), Invalid)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=5))
def test_a_rendered_call_is_read_back(name: str, arguments: dict[str, object]) -> None:
    parsed = parse_action(render_call(name, arguments))
    if name == "respond":
        assert isinstance(parsed, Message | Invalid)
    else:
        assert isinstance(parsed, CallAction)
        assert (parsed.name, repr(parsed.arguments)) == (name, repr(arguments))


PIECES = st.lists(
    st.sampled_from(
        [
            "Action:",
            "Thought:",
            "```",
            "```json",
            "<tool_call>",
            "</think>",
            "<think>",
            CALL,
            "{",
            "}",
            "[",
            '"',
            " ",
            "\n",
            "name",
            '{"name": "respond", "arguments": {"content": "hi"}}',
            "\\ud800",
            "NaN",
            "é",
            "**",
        ]
    )
    | st.text(max_size=5),
    max_size=12,
).map("".join)


@given(PIECES)
def test_any_text_has_a_meaning_and_a_message_is_read_back(text: str) -> None:
    assert isinstance(parse_action(text), Message | CallAction | Invalid)
    assert parse_action(render_message(text)) == Message(text)


@given(PIECES)
def test_a_call_holds_only_what_json_can_hold(text: str) -> None:
    parsed = parse_action(text)
    if isinstance(parsed, CallAction):
        written = json.dumps(parsed.arguments, allow_nan=False, ensure_ascii=False)
        assert json.loads(written.encode("utf-8")) == parsed.arguments
