"""Native tool calls: what each family's template writes is read back, and nothing else is."""

import asyncio
import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from nlac_bench.agents.prompted import as_turn
from nlac_bench.agents.roles.chat_forms import policy
from nlac_bench.envs.call_markers import call_marker, named_call
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines import template_trial
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling, ToolCall
from nlac_bench.rollout.engines.forms import Form
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls, read_sample, sampled_calls
from nlac_bench.rollout.engines.tool_support import tool_problem
from nlac_bench.rollout.engines.vllm.sampling import Generated
from nlac_bench.rollout.engines.vllm.sampling import sample as vllm_sample
from nlac_bench.thoughts import THOUGHTS, drop_reasoning
from tests.rollout import tiny_model
from tests.timing import scans

TOOLS = [{
    "type": "function",
    "function": {
        "name": "get",
        "parameters": {"type": "object", "properties": {
            "id": {"type": "string"}, "n": {"type": "integer"},
            "of": {"type": "object"}, "on": {"type": "boolean"},
        }},
    },
}]  # fmt: skip
ARGUMENTS = {"id": '7 "é"\n<b>', "n": 3, "of": {"a": [1]}, "on": True}

BEGIN = (
    "{%- if tools %}<|im_start|>tools {{ tools | tojson }}<|im_end|>{% endif %}{%- for message in messages %}"
)
HEAD = "<|im_start|>{{ message.role }} {{ message.content }}"
END = "<|im_end|>{%- endfor %}{%- if add_generation_prompt %}<|im_start|>assistant {% endif %}"
NAME, GIVEN = "{{ call.function.name }}", "{{ call.function.arguments | tojson }}"
EACH = "{%- for key, value in call.function.arguments | items %}"
VALUE = "{{ value if value is string else value | tojson }}"
FAMILIES = {
    # family: what its template writes for a call
    "Hermes": "<tool_call>\n{{ call.function | tojson }}\n</tool_call>",
    "Qwen 3.5": f"<tool_call>\n<function={NAME}>\n{EACH}<parameter={{{{ key }}}}>\n{VALUE}\n</parameter>\n"
    "{% endfor %}</function>\n</tool_call>",
    "GLM": f"<tool_call>{NAME}\n{EACH}<arg_key>{{{{ key }}}}</arg_key>\n<arg_value>{VALUE}</arg_value>\n"
    "{% endfor %}</tool_call>",
    "Llama": f'{{{{ \'{{"name": "\' }}}}{NAME}", "parameters": {GIVEN}}}',
    "Llama, python tag": f'<|python_tag|>{{{{ \'{{"name": "\' }}}}{NAME}", "parameters": {GIVEN}}}<|eom_id|>',
    "Mistral": f'[TOOL_CALLS] [{{{{ \'{{"name": "\' }}}}{NAME}", "arguments": {GIVEN}, '
    '"id": "{{ call.id[-9:] }}"}]</s>',
    "Mistral 2025": f"[TOOL_CALLS]{NAME}[ARGS]{GIVEN}</s>",
    "Mistral, id": f"[TOOL_CALLS]{NAME}[CALL_ID]{{{{ call.id }}}}[ARGS]{GIVEN}",
    "DeepSeek V3": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{NAME}\n"
    f"```json\n{GIVEN}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    # Its template joins the JSON text of the arguments to other text.
    "DeepSeek V3.1": f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{NAME}<｜tool▁sep｜>"
    "{{ '' + call.function.arguments }}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "DeepSeek V3.2": f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="{NAME}">\n{EACH}<｜DSML｜parameter '
    f'name="{{{{ key }}}}" string="{{{{ \'true\' if value is string else \'false\' }}}}">{VALUE}'
    "</｜DSML｜parameter>\n"
    "{% endfor %}</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    # Its template writes the id of the call, which has the name in it.
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>"
    f"{GIVEN}<|tool_call_end|><|tool_calls_section_end|>",
    "MiniMax": f'<minimax:tool_call>\n<invoke name="{NAME}">\n{EACH}<parameter name="{{{{ key }}}}">{VALUE}'
    "</parameter>\n"
    "{% endfor %}</invoke>\n</minimax:tool_call>",
    "MiniMax's parts in another wrapper": f'<function_calls>\n<invoke name="{NAME}">\n{EACH}'
    f'<parameter name="{{{{ key }}}}">{VALUE}</parameter>\n{{% endfor %}}</invoke>\n</function_calls>',
    "gpt-oss": f"<|channel|>commentary to=functions.{NAME} <|constrain|>json<|message|>{GIVEN}<|call|>",
    "Gemma 4": f"<|tool_call>call:{NAME}{{{{ '{{' }}}}{EACH}{{{{ key }}}}:{{{{ '<|\"|>' ~ value ~ '<|\"|>' "
    "if value is string else value | tojson }}{{ ',' if not loop.last }}{% endfor %}{{ '}' }}<tool_call|>",
    "Granite": "<|tool_call|>[{{ call.function | tojson }}]",
    "Granite, a line after the end": "<|tool_call|>[{{ call.function | tojson }}]<|end_of_text|>\n",
    "Jamba": "<tool_calls>[{{ call.function | tojson }}]</tool_calls>",
}  # fmt: skip


class Rendered:
    """A tokenizer of which only the chat template is used."""

    name_or_path = "stub"

    def __init__(self, template: str) -> None:
        self.chat_template = template

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": list(map(ord, text))}

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any,
        tokenize: bool,
        add_generation_prompt: bool,
    ) -> str:
        made = template_trial.environment().from_string(self.chat_template)
        return made.render(messages=messages, tools=tools, add_generation_prompt=add_generation_prompt)


def problem(template: str) -> str | None:
    return tool_problem(cast(Tokenizer, Rendered(template)))


def template(call: str, head: str = HEAD) -> str:
    return f"{BEGIN}{head}{{%- for call in message.tool_calls or [] %}}{call}{{%- endfor %}}{END}"


def written(call: str, arguments: Any, call_id: str = "call00000") -> str:
    made = {"id": call_id, "type": "function", "function": {"name": "get", "arguments": arguments}}
    return template_trial.environment().from_string(call).render(call=made)


CALLED = "{%- if message.role == 'assistant' and message.tool_calls %}"
RESULTS = "{%- for each in messages[loop.index:] if each.role == 'tool' %}<|r>{{ each.content }}{% endfor %}"
NO_RESULT = "{%- if message.role == 'tool' %}{% continue %}{% endif %}"


@pytest.mark.parametrize(
    ("each", "after"),
    [
        (HEAD, "<sampled><|im_end|><|im_start|>tool 41<|im_end|><|im_start|>assistant "),
        (HEAD.replace("content", "content if message.role != 'tool' else message.content | tojson"),
         '<sampled><|im_end|><|im_start|>tool "41"<|im_end|>'),
        # The result follows the call in the same turn, as in Gemma 4; a tool's message alone is not written.
        (f"{NO_RESULT}{HEAD}{CALLED}{RESULTS}{{% endif %}}", "assistant sampled<|r>41<tool_call>"),
        (f"{HEAD}{{%- if message.role == 'tool' and loop.previtem.tool_calls is not defined %}}"
         "{{ raise_exception('no call') }}{% endif %}", "<|im_start|>assistant sampled<tool_call>"),
    ],
)  # fmt: skip
def test_the_result_of_a_sampled_call_reaches_the_prompt(each: str, after: str) -> None:
    call = {"id": "call00000", "type": "function", "function": {"name": "get", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Q"}, {"role": "assistant", "content": "sampled", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call00000", "content": "41"},
    ]  # fmt: skip
    used = template(FAMILIES["Hermes"], each)
    assert problem(used) is None
    chat = ChatFormat(cast(Tokenizer, Rendered(used)))
    prefix = list(map(ord, "<sampled>"))
    ids = chat.prompt_ids(SampleRequest(messages=messages, tools=TOOLS, prefix_ids=prefix))
    prompt = "".join(map(chr, ids))
    assert after in prompt and prompt.count("41") == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_template_writes_is_read_back(family: str) -> None:
    call_id = "functions.get:0" if family == "Kimi" else "call00000"
    arguments = json.dumps(ARGUMENTS) if family == "DeepSeek V3.1" else ARGUMENTS
    text = written(FAMILIES[family], arguments, call_id)
    rest, calls = parse_tool_calls(text if family == "Llama" else f"Let me see.{text}", TOOLS)
    assert rest == ("" if family == "Llama" else "Let me see."), text
    assert [(call.name, json.loads(call.arguments), call.id) for call in calls] == [
        ("get", ARGUMENTS, call_id)
    ]
    assert family == "Llama" or call_marker(text) is not None
    assert problem(template(FAMILIES[family])) is None


def test_calls_on_lines_of_their_own_are_several() -> None:
    one = '{"name": "get", "arguments": {"id": "%s"}}'
    rest, calls = parse_tool_calls(f"<tool_calls>\n{one % 7}\n{one % 8}\n</tool_calls>", TOOLS)
    assert rest == "" and [json.loads(call.arguments)["id"] for call in calls] == ["7", "8"]
    assert not parse_tool_calls(f"<tool_calls>\n{one % 7}\nand more\n</tool_calls>", TOOLS)[1]


def test_templates_that_are_refused_and_why() -> None:
    hermes = FAMILIES["Hermes"]
    assert "name of the tool" in str(problem(template(hermes).replace("{{ tools | tojson }}", "")))
    assert "parameters" in str(problem(template(hermes).replace("tools | tojson", "tools[0].function.name")))
    assert "a call does not" in str(problem(template("")))
    assert "arguments of a call" in str(problem(template(NAME)))
    assert "cannot be read back" in str(problem(template(f"CALL {NAME} WITH {GIVEN}")))
    assert "cannot be read back" in str(problem(template("<tool_call>{{ call.function }}</tool_call>")))
    for role, what in (("system", "system text"), ("tool", "result")):
        silent = HEAD.replace(
            "{{ message.content }}", f"{{{{ message.content if message.role != '{role}' }}}}"
        )
        assert what in str(problem(template(hermes, silent)))
    once = HEAD.replace(
        "{{ message.content }}", "{{ message.content if message.role != 'tool' or not loop.last }}"
    )
    assert "the result of a call" in str(problem(template(hermes, once)))
    fails = "{%- if message.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    assert "fails on a call and its result" in str(problem(template(hermes, fails + HEAD)))
    with pytest.raises(NlacBenchError, match="no chat template"):
        problem("")


@pytest.mark.parametrize(
    "text",
    [
        "hello", "", '{"a": 1}', '{"name": 7, "arguments": {}}', "[1, 2]",
        '{"name": "get", "arguments": {}} and more', '<tool_call>{"name": "get"',
        '<tool_call>{"name": "get", "arguments": {}}, {"name": "other"}</tool_call>',
        "<tool_call>not json</tool_call>", "<tool_call>[1]</tool_call>", '<|python_tag|>get.call(id="7")',
        "<function=get>junk</function>", "[TOOL_CALLS]get[ARGS]{", "[TOOL_CALLS]",
        '[TOOL_CALLS][{"arguments": {}}]',
        "<｜tool▁call▁begin｜>get<｜tool▁sep｜>{}, {}<｜tool▁call▁end｜>",
        "<tool_call>get\n<arg_key>id</tool_call>", "<tool_call>ge",
        "<tool_call>get\n<arg_key>id</arg_key>\n<arg_value>7</arg_value>\n",
        '<tool_call>{"name": "", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "a"}' + "[" * 5000 + "</tool_call>",
        "<tool_call>" + "[" * 100_000 + "</tool_call>",
        '{"function": {"name": "get"}, "input": {"id": 7}}',
        '{"name": "get", "input": {"id": "7"}}', '{"name": "get", "args": {}}', '{"name": "Lamp", "V": 5}',
        '<tool_call>{"name": "get", "arguments": {"id": 7</tool_call>'
        '<tool_call>{"name": "get", "arguments": {}}</tool_call>',
    ],
)  # fmt: skip
def test_what_is_no_call_stays_in_the_text(text: str) -> None:
    assert parse_tool_calls(text, TOOLS) == (text, ())


@pytest.mark.parametrize(
    "part",
    ["<tool_call>", "<function=a>", "<parameter=a>", "<parameter=", '<invoke name="a">', "[TOOL_CALLS]",
     "<｜tool▁call▁begin｜>a", "<|tool_call_begin|>a<|tool_call_argument_begin|>", "<|python_tag|>",
     " to=functions.a<|message|>", "<|tool_call>call:a{", '<|tool_call>call:a{<|"|>',
     "<arg_key>a</arg_key>", "<tool_calls>", '{"name": ', " ", "</think>", "<|channel|>analysis<|message|>",
     "<|channel|>final ", "<|start|>assistant", '{"name" : "', "\n  [", "<a_", "<｜", "functions.a:", "\t{",
     '\n{"arguments":{', "\n[get(", "\n["],
)  # fmt: skip
def test_hostile_texts_are_read_in_time(part: str) -> None:
    text = "<tool_call><function=a>" * (part[1:4] in ("par", "arg")) + part * (200_000 // len(part))
    assert not parse_tool_calls(text, TOOLS)[1]
    call_marker(text)


def test_several_calls_and_types_that_a_tool_declares() -> None:
    two = '<tool_call>{"name": "get", "arguments": {}}</tool_call>'
    assert [call.id for call in parse_tool_calls(two * 2)[1]] == ["call00000", "call00001"]
    assert (
        len(parse_tool_calls('{"name": "get", "parameters": {}}; {"name": "get", "parameters": {}}')[1]) == 2
    )
    given = "".join(
        f"<parameter={key}>{text}</parameter>" for key, text in (("id", 7), ("n", 7), ("on", True))
    )
    text = f"<function=get>{given}</function>"
    assert json.loads(parse_tool_calls(text, TOOLS)[1][0].arguments) == {"id": "7", "n": 7, "on": True}
    assert json.loads(parse_tool_calls(text)[1][0].arguments)["id"] == 7


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": ["string", "null"]}, "7", "7"), ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "007", "007"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "7", 7),
        ({"oneOf": [{"type": "boolean"}]}, "True", True), ({"type": "string"}, "null", "null"),
        ({"type": ["integer", "null"]}, "null", None), ({}, "7", 7), (True, "7", 7),
        ({"anyOf": None}, "x", "x"),
    ],
)  # fmt: skip
def test_a_parameter_may_have_several_types(schema: Any, text: str, value: object) -> None:
    tool = {"function": {"name": "get", "parameters": {"properties": {"id": schema}}}}
    (call,) = parse_tool_calls(f"<function=get><parameter=id>{text}</parameter></function>", [tool])[1]
    assert json.loads(call.arguments) == {"id": value}


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ('I will check.\n\n{"name":"get","parameters":{"id": "7"}}', '{"name":"get","parameters":{'),
        ('I look.\n [{"name": "get", "arguments": "{}"}]', '[{"name": "get", "arguments": "{'),
        ('I look.\n{\n  "type": "function",\n  "name": "get",\n  "parameters": {}\n}', None),
        ('So:\n{"type": "function", "function": {"name": "get", "arguments": {}}}', None),
        ('So:\n[{"tool_name": "get", "parameters": {}}]', None),
        ('Sure. functools[{"name": "get"}]', "functools["),
        ("<TOOLCALL>[]</TOOLCALL>", "<TOOLCALL>"), ("I look.</tool_calls>", "</tool_calls>"),
        ("<|tools_prefix|>[]<|tools_suffix|>", "<|tools_prefix|>"), ("[TOOLCALL]", "[TOOLCALL]"),
        ("<｜tool_calls_begin｜>", "<｜tool_calls_begin｜>"), ("<|/tool_call|>", "<|/tool_call|>"),
        ("<|tool_calls_begin|>", "<|tool_calls_begin|>"), ("<tool_call|>", "<tool_call|>"),
        ("<|tool_call_argument_begin|>", "<|tool_call_argument_begin|>"),
        ("<a:function_calls>", "<a:function_calls>"), ("<start_function_call>", "<start_function_call>"),
        ('function call<|role_sep|>\n{"name": "get"', "function call<|"),
        ('functions.get:0{"id": "7"}', "functions.get:0{"), ("to=get<|message|>{}", "to=get<|"),
        ('[get(id="7")]', "[get(id="), ('I look.\n\n [get_all(), get(id="7")]', "[get_all(),"),
        ("[get_all()]", "[get_all()]"), ('get\n{"id": "7"}', 'get\n{"'), ("get_all\n{}", "get_all\n{}"),
        ('I look.\n<code>\nget(id="7")\n</code>', "<code>\nget("),
        ('<function=get{"id": "7"}</function>', "<function=get{"), ("<tool_code>get()", "<tool_code>"),
        ('So:\n>>>get\n{"id": "7"}', ">>>get\n{"), ("<|recipient|>get\n<|content|>{}", "<|recipient|>"),
        ('So:\n{"arguments": {"id": "7"}, "name": "get"}', '{"arguments": {"id": "7"}, "name":'),
        ("analysis to=browser.search code<|message|>{}", "to=browser.search code<|"),
        ('```tool_code\nget(id="7")\n```', "```tool_code"), ('<a:invoke name="get">', "<a:invoke name="),
    ],
)  # fmt: skip
def test_markers_of_calls(text: str, marker: str | None) -> None:
    assert call_marker(text) == (marker or text[text.index("\n") + 1 : text.index(" {}") + 2])


@pytest.mark.parametrize(
    "text",
    [
        'Your profile:\n{"name": "Ann", "address": {"city": "Rome"}}', '{"name": "Ann"}',
        'The product:\n{"name": "Lamp", "parameters": "5 V"}', '{"Name": "Lamp", "Parameters": {"V": 5}}',
        '{"parameters": {"V": 5}, "name": "Lamp"}', 'I would call {"name": "get", "arguments": {}}.',
        "Is it a function call, a tool call or tool calling?", "A [tool call], a <function call>.",
        "The tools: call us. <tools> <tool> <function> <caller> <call>", "I use functools and functions.get.",
        "It goes to=functions, a < tool_call.", "A tool_call has <b>arguments</b>: functions.get:0 is one.",
        "```json\n{}\n```", "[get()](http://a.example/get)", "[see (a) and (b)]", "[note(s)]",
        'Here:\n{"id": "7"}', "Yes\n{name}", 'I found this\n{"id": "7"}', "The <code>get</code> tool",
        "[TOOLS] [CALL]", "5 <function", "", "<|prefix|>", 'Order\n{"id": 7}', ">>> get()", "a >>>b\n{c}",
        '{"arguments": {"for": 1}}', '{"arguments": {"for": 1, "name": "Bob"}}', "<functionCode>",
        "<|recipient|>all\nHello", "He replied to=all of us.",
    ],
)  # fmt: skip
def test_ordinary_speech_has_no_marker_of_a_call(text: str) -> None:
    assert call_marker(text) is None


WRITTEN = '<tool_call>{"name": "get", "arguments": {}}</tool_call>'
ANALYSIS = "<|channel|>analysis<|message|>We need it.<|end|><|start|>assistant"
TO_GET = "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{}"


@pytest.mark.parametrize(
    ("text", "rest", "called"),
    [
        (f"<think>Perhaps {WRITTEN}, no.</think>\nSorry.", None, False),
        (f"Perhaps {WRITTEN}, no.\n</think>\n\nSorry.", None, False),  # the prompt opened the tag
        (f"<think>Perhaps {WRITTEN}", None, False),
        (f"[THINK]Perhaps {WRITTEN}[/THINK]Sorry.", f"<think>\nPerhaps {WRITTEN}\n</think>\n\nSorry.", False),
        (f"<seed:think>Perhaps {WRITTEN}</seed:think>", f"<think>\nPerhaps {WRITTEN}\n</think>\n\n", False),
        (f"Perhaps {WRITTEN}[/THINK]Sorry.", f"<think>\nPerhaps {WRITTEN}\n</think>\n\nSorry.", False),
        ("<|START_THINKING|>I must<|END_THINKING|>\nHi", "<think>\nI must\n</think>\n\nHi", False),
        (f"<|channel>thought\nI must.\n<channel|>{WRITTEN}", "<think>\nI must.\n</think>", True),
        (f"[THINK]a[/THINK]\n[THINK]Perhaps {WRITTEN}[/THINK]No.",
         f"<think>\na[/THINK]\n[THINK]Perhaps {WRITTEN}\n</think>\n\nNo.", False),
        ("<|channel>thought\nI must", "<think>\nI must\n</think>\n\n", False),
        ("It writes [THINK] before and [/THINK] after.", None, False),
        ('{"name": "get", "parameters": {"id": "[/THINK]"}}', "", True),
        ("<think>Perhaps [TOOL_CALLS]get{}</think>No.", None, False),
        (f"<think>Perhaps {WRITTEN}.</think>\n\nI look.\n{WRITTEN}",
         f"<think>Perhaps {WRITTEN}.</think>\n\nI look.", True),
        (f"I need it.</think>{WRITTEN}", "I need it.</think>", True),
        ('<think>a</think>\n\n{"name": "get", "parameters": {}}', "<think>a</think>", True),
        ('{"name": "get", "parameters": {"id": "</think>"}}', "", True),
        (ANALYSIS + TO_GET, "<think>\nWe need it.\n</think>", True),
        (f"{ANALYSIS}<|channel|>commentary<|message|>I look.<|end|><|start|>assistant{TO_GET}",
         "<think>\nWe need it.\n</think>\n\nI look.", True),
        ("<|channel|>analysis to=functions.get<|message|>{}<|call|>", "", True),
        ("<|start|>assistant to=python<|channel|>analysis<|message|>print(1)<|call|>",) * 2 + (False,),
        (f"{ANALYSIS} to=functions.get<|channel|>commentary <|constrain|>json<|message|>{{}}<|call|>",
         "<think>\nWe need it.\n</think>", True),
        (f"<|channel|>analysis<|message|>Perhaps {WRITTEN}<|end|>{TO_GET[:-1]}",
         f"<think>\nPerhaps {WRITTEN}\n</think>\n\n{TO_GET[:-1]}", False),
        (f"{ANALYSIS}<|channel|>final<|message|>Hello!", "<think>\nWe need it.\n</think>\n\nHello!", False),
        ("<|channel|>analysis<|message|>We need", "<think>\nWe need\n</think>\n\n", False),
    ],
)  # fmt: skip
def test_calls_in_private_reasoning_are_none_and_the_reasoning_is_kept(
    text: str, rest: str | None, called: bool
) -> None:
    plain = text if "<think>" in text or "</think>" in text else "plain"
    read, calls = sampled_calls(plain, text, TOOLS)
    assert parse_tool_calls(text, TOOLS) == (text if rest is None else rest, calls)
    assert [call.name for call in calls] == ["get"] * called
    assert read == (plain if rest is None else rest)


HARMONY = (
    "{%- if tools %}{{ tools | tojson }}{% endif %}{%- for message in messages %}"
    "{%- if '<|channel|>' in message.content %}{{ raise_exception('a channel') }}{% endif %}"
    "{%- if message.tool_calls %}{%- set call = message.tool_calls[0] %}"
    "<|start|>assistant<|channel|>analysis<|message|>{{ message.content }}<|end|><|start|>assistant"
    + FAMILIES["gpt-oss"]
    + "{%- elif message.role == 'tool' and not loop.previtem.tool_calls %}{{ raise_exception('no call') }}"
    "{%- else %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endif %}"
    "{%- endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)


def test_the_reasoning_of_gpt_oss_is_its_analysis_again() -> None:
    assert problem(HARMONY) is None
    rest, (call,) = sampled_calls("", ANALYSIS + TO_GET, TOOLS)
    made = {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Q"}, {"role": "assistant", "content": rest, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": call.id, "content": "41"},
    ]  # fmt: skip
    chat = ChatFormat(cast(Tokenizer, Rendered(HARMONY)))
    ids = chat.prompt_ids(SampleRequest(messages=messages, tools=TOOLS, prefix_ids=[1]))
    prompt = "".join(map(chr, ids))
    assert ANALYSIS + TO_GET in prompt and "tool<|message|>41" in prompt
    reply = {"role": "assistant", "content": "<think>\nI greet.\n</think>\n\nHello!"}
    assert "assistant<|message|>Hello!" in chat.render([*messages, reply, messages[0]], TOOLS)
    # A template that refuses every text before a call would fail in a run.
    refuses = HARMONY.replace("'<|channel|>' in message.content", "message.tool_calls and message.content")
    assert "fails on a call" in str(problem(refuses))


def special_tokenizer() -> Any:
    made = copy.deepcopy(tiny_model.tokenizer())
    marks = "[TOOL_CALLS] [ARGS] <|tool_call_begin|> <|tool_call_argument_begin|> <|python_tag|> <|x|>"
    made.add_special_tokens({"additional_special_tokens": marks.split()})
    return made


MISTRAL = '[TOOL_CALLS]get[ARGS]{"id": "1"}'


@pytest.mark.parametrize(
    ("marked", "seen"),
    [
        (MISTRAL, MISTRAL),
        ("<|tool_call_begin|>get:0<|tool_call_argument_begin|>{}",) * 2,
        ('<|python_tag|>get.call("7")',) * 2,
        ('<|python_tag|>{"name": "get", "arguments": {}}', '{"name": "get", "arguments": {}}'),
        ("Hello<|x|>, Ann.", "Hello, Ann."),
        ("<think>[TOOL_CALLS]?</think>Hello<|x|>.", "<think>?</think>Hello."),
        ("Hello, Ann.",) * 2,
        (f"{MISTRAL}\nObservation: 3", MISTRAL),  # a stop string
    ],
)  # fmt: skip
@pytest.mark.parametrize("ended", [True, False])
def test_markers_that_are_special_tokens_are_seen_without_tools(marked: str, seen: str, ended: bool) -> None:
    tokenizer = special_tokenizer()
    sampling = Sampling(stop=("\nObservation",))
    ids = tokenizer(marked)["input_ids"]
    plain = sampling.cut(tokenizer.decode(ids, skip_special_tokens=True))
    assert read_sample(tokenizer, [5], ids, plain, lambda: sampling.cut(tokenizer.decode(ids))) == (seen, ())

    async def generate(prompt: list[int], arguments: Mapping[str, Any]) -> Generated:
        assert arguments.get("skip_special_tokens", True)
        done = [*ids, tokenizer.eos_token_id] if ended else ids
        return Generated(done, [0.0] * len(done), plain, True, 0)

    request = SampleRequest(prompt_ids=[5], sampling=sampling)
    (sample,) = asyncio.run(vllm_sample(request, [5], 512, generate, tokenizer))
    assert (sample.text, sample.tool_calls, sample.finish) == (seen, (), "stop")
    with_tools = replace(request, tools=TOOLS)
    (sample,) = asyncio.run(vllm_sample(with_tools, [5], 512, generate, tokenizer))
    read = read_sample(tokenizer, [5], ids, plain, lambda: sampling.cut(tokenizer.decode(ids)), TOOLS)
    assert (sample.text, sample.tool_calls) == read and bool(read[1]) == (seen.startswith(("[", "{", "<|t")))


def test_text_without_special_tokens_is_not_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = special_tokenizer()
    ids = tokenizer("Hello.")["input_ids"]
    monkeypatch.setattr(tokenizer, "decode", None)
    assert read_sample(tokenizer, [], ids, "Hello.", str, TOOLS) == ("Hello.", ())


def test_markers_that_are_special_tokens_are_not_lost() -> None:
    marked = '<|python_tag|>{"name": "get", "parameters": {}}'
    plain = marked.removeprefix("<|python_tag|>")
    assert sampled_calls(plain, marked, TOOLS) == ("", (ToolCall("get", "{}", "call00000"),))
    broken = '<|python_tag|>get.call("7")'
    assert sampled_calls('get.call("7")', broken, TOOLS) == (broken, ())
    assert sampled_calls("hello", "<|x|>hello", TOOLS) == ("hello", ())


@pytest.mark.parametrize("mark", [begin for begin, _ in THOUGHTS])
def test_reasoning_that_the_prompt_opens_and_the_limit_cuts_is_not_spoken(mark: str) -> None:
    tokenizer = tiny_model.tokenizer()
    prompt = tokenizer(f"Hello{mark}\n")["input_ids"]

    async def sampled(text: str, prompt: list[int], form: Form | None = None) -> Sample:
        ids = tokenizer(text)["input_ids"]

        async def generate(asked: list[int], arguments: Mapping[str, Any]) -> Generated:
            given = ids[len(asked) - len(prompt) :][: arguments["max_tokens"]]
            return Generated(given, [0.0] * len(given), tokenizer.decode(given), False, 0)

        request = SampleRequest(prompt_ids=prompt, sampling=Sampling(max_tokens=len(ids)), form=form)
        return (await vllm_sample(request, prompt, 4096, generate, tokenizer))[0]

    for form in (None, policy("opened"), policy("first")):
        cut = asyncio.run(sampled(f"They want a refund. {WRITTEN}", prompt, form))
        assert cut.finish == "length" and drop_reasoning(cut.text) == "", cut
        assert not as_turn(cut, cut.text).played and not cut.tool_calls
        spoken = asyncio.run(sampled("Hello, Ann.", tokenizer("Hello")["input_ids"], form))
        assert form == policy("opened") or spoken.text == "Hello, Ann."
    end = dict(THOUGHTS)[mark]
    ended = asyncio.run(sampled(f"They greet. {WRITTEN}{end}Hello, Ann.", prompt))
    assert drop_reasoning(ended.text) == "Hello, Ann." and as_turn(ended, ended.text).played


def test_an_answer_after_special_marks_of_thoughts_has_no_control_tokens() -> None:
    cohere = "<|START_THINKING|>They greet.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>"
    assert sampled_calls("They greet.Hello.", cohere, ()) == ("<think>\nThey greet.\n</think>\n\nHello.", ())
    assert sampled_calls("Why. Hi.", "Why. </think>Hi.", ()) == ("Why. </think>Hi.", ())  # a special token
    other = "<|channel|>doubts<|message|>Why.<|end|><|channel|>final<|message|>Hi."
    for bare in ("analysisWhy.assistantfinalHi.", "analysis\nWhy.assistantfinalHi.", other):
        assert sampled_calls(bare, bare, TOOLS) == ("<think>\nWhy.\n</think>\n\nHi.", ())
    assert drop_reasoning(sampled_calls("analysisWhy", "analysisWhy", TOOLS)[0]) == ""
    called = "analysisWhy.assistantcommentary to=get json{}"
    assert call_marker(drop_reasoning(sampled_calls(called, called, ())[0])) == "to=get json{"
    assert sampled_calls("analysis of it", "analysis of it", TOOLS) == ("analysis of it", ())
    for header in ("analysis code", "analysis<|constrain|>text"):
        analysis = f"<|channel|>{header}<|message|>Why.<|end|>"
        text = f"{analysis}<|start|>assistant<|channel|>final answer<|message|>Hi."
        assert sampled_calls("", text, TOOLS) == ("<think>\nWhy.\n</think>\n\nHi.", ())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('get_order(id="7")', "get_order"),
        ("get_order\nAction Input: {}", "get_order"),
        ('I look.\n`get_order {"id": 7}`', "get_order"),
        ("<get_order><id>7</id></get_order>", "get_order"),
        ("order = functions.get_order(7)", "get_order"),
        ('**think**: {"thought": "x"}', "think"),
        ("think('x')", "think"),
        ('Sure. {"name": "get_order", "arguments": {}}', "get_order"),
        ("Sure.\n{'tool': 'get_order', 'id': 7}", "get_order"),
        ('- {"action": "think", "x": 1}', "think"),
        ("- get_order(7)", "get_order"),
        ("1. Calling get_order {}", "get_order"),
        ("Tool: get_order\nInput: 7", "get_order"),
        ("tool_call: get_order", "get_order"),
        ("Action: think: they are rude", "think"),
        ("Action: think of it", None),
        ("<tool>get_order</tool>", "get_order"),
        ('<function name="get_order">', "get_order"),
        ("functionget_order\n```json\n{}", "get_order"),
        ("think\nAction Input: They are rude", "think"),
        ("`think`\nInput: They are rude", "think"),
        ("think[They are rude]", "think"),
        ("think", "think"),
        ("**get_order** can be used once", None),
        ("get_order (order #W1) is what I do", None),
        ("think(ing) of it", None),
        ('The product {"name": "Lamp"}', None),
        ("The tool get_order failed.", None),
        ("I can do this:\n- get_order: looks up an order", None),
        ("think about it (twice)", None),
        ("get_orders are many", None),
        ("", None),
    ],
)
def test_a_tools_name_in_the_place_of_a_call_is_one(text: str, name: str | None) -> None:
    assert named_call(text, ["think", "get_order", "get"]) == name
    assert named_call(text, []) is None


def test_searching_for_names_takes_linear_time() -> None:
    names = [*(f"get_{i}" for i in range(20)), "think"]
    text = "think" + " " * 20_000 + "\n" + "x = " * 20_000 + "(" * 20_000 + "\n" * 20_000
    assert scans(lambda: named_call(text, names), text) < 50


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "array"}, "['a', 'b']", ["a", "b"]),
        ({"type": "object"}, "{'a': None, 'b': True}", {"a": None, "b": True}),
        ({"type": ["integer", "null"]}, "None", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "None", None),
        ({"type": "boolean"}, "True", True),
        ({"type": "string"}, "None", "None"),
        ({"type": "string"}, "['a']", "['a']"),
        ({}, "None", "None"),
        ({"type": "array"}, "{1, 2}", "{1, 2}"),
        ({"type": "array"}, "__import__('os')", "__import__('os')"),
        ({"type": "array"}, "[" * 50_000, "[" * 50_000),
        ({"type": "array"}, "[b'a']", "[b'a']"),
    ],
)
def test_arguments_written_as_python_writes_them(schema: Any, text: str, value: object) -> None:
    tools = [{"function": {"name": "get", "parameters": {"properties": {"x": schema}}}}]
    call = f"<tool_call>\n<function=get>\n<parameter=x>\n{text}\n</parameter>\n</function>\n</tool_call>"
    (read,) = parse_tool_calls(call, tools)[1]
    assert json.loads(read.arguments) == {"x": value}


def test_gemmas_arguments_may_have_pythons_constants() -> None:
    call = '<|tool_call>call:get{a:None,b:[True,<|"|>None, True<|"|>]}<tool_call|>'
    (read,) = parse_tool_calls(call)[1]
    assert json.loads(read.arguments) == {"a": None, "b": [True, "None, True"]}


@pytest.mark.parametrize("begin", ["[TOOL_CALLS]a</s>", "<|python_tag|>a<|eom_id|>"])
def test_end_tokens_are_removed_in_linear_time(begin: str) -> None:
    text = begin + "<|eom_id|>" * 5_000 + "x"
    assert scans(lambda: parse_tool_calls(text, TOOLS), text) < 50
