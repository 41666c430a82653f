"""What real servers refuse, in their words or close to them, over HTTP: ``servers/habits.jsonl``.

Each line is a server, what it refuses, and the body of its error. Most wordings are from public issues;
numbers, envelopes and statuses are adapted, and some lines were written from memory. Lines with ``held_out``
were collected after the first rules, which were then changed for some of them.
"""

import asyncio
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.rollout.engines.backoff import Retries
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.openai.adapting import Adaptations
from nlac_bench.rollout.engines.openai.complaint import Complaint, read_complaint
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.engines.openai.failures import EngineSetupError
from nlac_bench.rollout.engines.openai.meaning import meaning_of
from nlac_bench.rollout.engines.openai.quotation import unquoted, words_sent
from tests.rollout.fault_server import FaultServer, Reply, completion
from tests.timing import scans

HABITS = [
    json.loads(line)
    for line in (Path(__file__).parent / "servers" / "habits.jsonl").read_text(encoding="utf-8").splitlines()
]
TOOL = {"type": "function", "function": {"name": "get", "parameters": {"type": "object", "properties": {}}}}
LONG = "Please count the green and the blue pebbles. " * 100
STREAMED = "".join(
    f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': end}]})}\n\n"
    for delta, end in (({"role": "assistant", "content": "hel"}, None), ({"content": "lo"}, "stop"))
)  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore:.*requests are changed")


def of(kind: str) -> Any:
    rows = [row for row in HABITS if row["kind"] == kind]
    return pytest.mark.parametrize("habit", rows, ids=[row["server"] for row in rows])


def error(habit: dict[str, Any]) -> Reply:
    headers = "".join(f"{name}: {value}\r\n" for name, value in habit.get("headers", {}).items())
    return habit.get("status", 400), habit["body"], headers


def ask(
    answer: Callable[[dict[str, Any]], Reply], *messages: dict[str, Any], tools: tuple[Any, ...] = ()
) -> tuple[Sample, FaultServer, OpenAIEngine]:
    async def run() -> tuple[Sample, FaultServer, OpenAIEngine]:
        async with FaultServer(lambda _path, body: answer(body)).running() as server:
            engine = OpenAIEngine(
                "m", base_url=server.url, retries=Retries(attempts=1, first=0.001, max_wait=0), timeout=20
            )
            request = SampleRequest(
                messages=messages or [{"role": "user", "content": "hi"}], seed=1, tools=tools,
                sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=1024, stop=("\n",)),
            )  # fmt: skip
            (sample,) = await engine.sample(request)
            return sample, server, engine

    return asyncio.run(run())


def has(body: dict[str, Any], habit: dict[str, Any]) -> bool:
    """Return whether the server of ``habit`` refuses ``body``."""
    name = habit["field"]
    if name == "!stream":
        return not body.get("stream")
    if name == "system":
        return any(message["role"] == "system" for message in body["messages"])
    if name.startswith("messages."):
        return any(name.partition(".")[2] in message for message in body["messages"])
    return name in body and body[name] > habit["above"] if "above" in habit else name in body


@of("field")
def test_a_field_that_a_server_refuses_is_changed_once_and_recorded(habit: dict[str, Any]) -> None:
    history = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "why?"},
    ]

    async def run() -> tuple[list[Sample], FaultServer, OpenAIEngine]:
        def answer(_path: str, body: dict[str, Any]) -> Reply:
            if has(body, habit):
                return error(habit)
            return STREAMED if body.get("stream") else completion("yes", reasoning_content="hm")

        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine(
                "m", base_url=server.url, retries=Retries(attempts=1, max_wait=0), token_data="logprobs",
                extra={"parallel_tool_calls": False},
            )  # fmt: skip
            sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=1024, stop=("\n",))
            samples = []
            for messages in (history[:2], history, history):
                samples += await engine.sample(SampleRequest(messages=messages, seed=1, sampling=sampling))
            return samples, server, engine

    samples, server, engine = asyncio.run(run())
    assert {sample.text for sample in samples} <= {"yes", "hello"}
    name = {"!stream": "stream", "system": "system message"}.get(habit["field"], habit["field"])
    told = engine.adapted
    assert list(told) == [name] and told[name] in (habit["adapted"], "left out")
    assert sum(has(body, habit) for body in server.requests) <= (6 if habit.get("held_out") else 1)
    assert not has(server.requests[-1], habit)


@of("overflow")
def test_a_context_that_is_full_ends_the_episode_and_is_scored(habit: dict[str, Any]) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        return error(habit) if len(json.dumps(body["messages"])) > 2000 else completion("hello")

    sample, server, _ = ask(answer, {"role": "user", "content": LONG})
    assert (sample.finish, sample.text) == ("context_overflow", "")
    assert len(server.requests) <= 4


@of("room")
def test_a_prompt_that_leaves_less_room_gets_a_shorter_answer(habit: dict[str, Any]) -> None:
    """The prompt has 7,476 of 8,192 tokens; the next conversation may have a long answer again."""
    prompt, context = 7476, 8192

    def answer(body: dict[str, Any]) -> Reply:
        asked = body["max_tokens"]
        if prompt + asked <= context:
            return completion("hello")
        lengths = {
            "N": context,
            "P": prompt,
            "M": asked,
            "T": prompt + asked,
            "p": 7000,
            "f": 476,
            "R": context - prompt,
        }
        message = habit["body"]["error"]["message"].format(**lengths, I=context - asked)
        return 400, {"error": {"message": message}}, ""

    sample, server, engine = ask(answer)
    assert sample.text == "hello" and not engine.adapted
    assert [body["max_tokens"] for body in server.requests] == [1024, context - prompt]


@pytest.mark.parametrize(
    ("prompt", "most", "asked"),
    [(3500, 1024, [1024, 512]), (3900, 1024, [1024, 512, 256, 128]), (4095, 8, [8, 4, 2, 1])],
)
def test_a_least_length_of_the_prompt_halves_the_answer(prompt: int, most: int, asked: list[int]) -> None:
    """vLLM counts the tokens of a prompt only until they are too many."""

    def answer(_path: str, body: dict[str, Any]) -> Reply:
        most = body["max_tokens"]
        if prompt + most <= 4096:
            return completion("hello")
        message = (
            "This model's maximum context length is 4096 tokens. However, you requested "
            f"{most} output tokens and your prompt contains at least {4097 - most} input tokens, for a total "
            "of at least 4097 tokens. Please reduce the length of the input prompt or the number of "
            "requested output tokens."
        )
        return 400, {"error": {"message": message, "param": "input_tokens"}}, ""

    async def run() -> tuple[Sample, list[int]]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1, max_wait=0))
            messages, sampling = [{"role": "user", "content": "hi"}], Sampling(max_tokens=most)
            (sample,) = await engine.sample(SampleRequest(messages=messages, sampling=sampling))
            return sample, [body["max_tokens"] for body in server.requests]

    sample, requested = asyncio.run(run())
    assert (sample.finish, sample.text, requested) == ("stop", "hello", asked)


@of("cut")
def test_an_answer_that_a_server_cuts_and_keeps_is_cut(habit: dict[str, Any]) -> None:
    sample, server, engine = ask(lambda _body: error(habit))
    assert (sample.finish, sample.text) == ("length", "")
    assert len(server.requests) == 1 and not engine.adapted


@of("call")
def test_a_call_that_a_server_cannot_read_is_an_invalid_action(habit: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match="could not read a call"):
        sample, server, _ = ask(lambda _body: error(habit))
    assert sample.text.startswith("<tool_call>") and "get {" in sample.text and len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, "Failed to parse input at pos 0: Your gift card has insufficient balance. <tool_call>{"),
        (500, "error parsing tool call: raw='Please wait before', err=unexpected end of JSON input"),
        (400, "Failed to generate tool_calls: I cannot send your message: inappropriate content"),
        (400, "Failed to generate tool_calls: Your order exceeds the monthly limit"),
        (400, "Failed to generate tool_calls: The prompt is too long: 9000 tokens, at most 8192"),
    ],
)
def test_what_a_model_wrote_in_such_a_call_is_no_error_of_the_server(status: int, message: str) -> None:
    with pytest.warns(UserWarning, match="could not read a call"):
        sample, server, _ = ask(lambda _body: (status, {"error": {"message": message}}, ""))
    assert sample.text == f"<tool_call>{message}" and len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "message", "code", "meaning"),
    [
        (402, "Failed to generate tool_calls: no credit", "", "quota"),
        (429, "Failed to generate tool_calls: slow down", "", "rate_limit"),
        (401, "Failed to generate tool_calls: no key", "", "setup"),
        (400, "Failed to generate tool_calls", "insufficient_quota", "quota"),
        (400, "Failed to generate tool_calls", "content_filter", "filter"),
        (400, "Failed to generate tool_calls", "context_length_exceeded", "overflow"),
        (500, "Rate limit reached. Failed to generate tool_calls: {", "", "rate_limit"),
    ],
)
def test_statuses_and_codes_beside_such_a_call_count(
    status: int, message: str, code: str, meaning: str
) -> None:
    assert meaning_of(read_complaint(status, {"error": {"message": message, "code": code}})) == meaning


@of("setup")
def test_a_server_that_refuses_every_request_stops_the_run(habit: dict[str, Any]) -> None:
    with pytest.raises(EngineSetupError):
        ask(lambda body: error(habit) if body.get("tools") else completion("hello"), tools=(TOOL,))


SAID = (
    "The game ends when you say 'stop'.\nThe oven has a 'temperature' knob; answer length at most 20 words."
)


@pytest.mark.parametrize(
    "message",
    [
        f"Invalid prompt: the text '{SAID}' is refused", f"Unsupported: {SAID!r}",
        "Invalid prompt: " + SAID.replace("'", "\\'").replace("\n", "\\n"),
        "Invalid messages: " + json.dumps([{"role": "user", "content": SAID}]),
    ],
)  # fmt: skip
def test_a_field_in_a_quotation_of_the_conversation_is_not_changed(message: str) -> None:
    def answer(body: dict[str, Any]) -> Reply:
        refused = {"error": {"message": message}}
        return (400, refused, "") if "oven" in json.dumps(body["messages"]) else completion("hello")

    with pytest.raises(EngineError, match="The oven has a"), warnings.catch_warnings():
        warnings.simplefilter("error")  # no field is changed
        ask(answer, {"role": "user", "content": SAID})


def test_a_field_beside_a_quotation_is_changed() -> None:
    refused = {"error": {"message": f"Unsupported parameter: 'seed', sent with {SAID!r}"}}
    sample, _, engine = ask(
        lambda body: (400, refused, "") if "seed" in body else completion("hello"),
        {"role": "user", "content": SAID},
    )
    assert sample.text == "hello" and engine.adapted == {"seed": "left out"}


def test_quotations_are_found_in_long_conversations_in_time() -> None:
    words = words_sent({"messages": [{"role": "user", "content": "abcdefghij" * 50_000}]})
    message = "abcdefghi" * 300 + "x"
    assert scans(lambda: [unquoted(message, words)], words) < 100


@pytest.mark.parametrize(
    ("message", "bound"),
    [
        ("Error code: 400 - The maximum tokens you requested exceeds the model limit of 256", "at most 256"),
        ("max_tokens must be less than 512 for model gpt-4-0613", "at most 511"),
        ("Invalid response length limit setting in plan 12", None),
        ("The top_k of 300 is invalid; the output limit is unknown", None),
    ],
)
def test_the_bound_of_an_answer_is_the_number_that_is_called_a_bound(message: str, bound: str | None) -> None:
    complaint = Complaint(400, message)
    adaptations = Adaptations()
    adaptations.learn(complaint, {"model": "m", "messages": [], "max_tokens": 1024})
    assert adaptations.changes == ({} if bound is None else {"max_tokens": bound})


@pytest.mark.parametrize(
    ("message", "extra", "changed"),
    [
        ("gpt-5 models don't support temperature=0.5. Only temperature=1 is supported. For gpt-5.1, "
         "temperature is supported when reasoning_effort='none' (or not specified).",
         {"reasoning_effort": "high"}, ["temperature", "reasoning_effort"]),
        ("`temperature` may only be set to 1 when thinking is enabled.", {"thinking": {}},
         ["temperature", "thinking"]),
        ("When 'thinking' is enabled, 'temperature' must be 1.", {"thinking": {}},
         ["temperature", "thinking"]),
        ("Json mode response is not supported when enable_thinking is true",
         {"enable_thinking": True, "response_format": {}}, ["response_format", "enable_thinking"]),
        ("min_tokens must be less than or equal to max_tokens=1024, got 2048.", {"min_tokens": 2048},
         ["min_tokens"]),
        ("`max_tokens` must be greater than `thinking.budget_tokens`.", {"thinking": {"budget_tokens": 2048}},
         ["thinking"]),
        ("`max_tokens` must be less than 512, see `thinking.budget_tokens`.", {"thinking": {}},
         ["max_tokens"]),
        ("The parameter 'top_logprobs' must be at most 20.", {"top_logprobs": 50, "logprobs": True},
         ["top_logprobs"]),
        ("The parameter 'top_logprobs' is not supported", {"logprobs": 1}, ["logprobs"]),
    ],
)  # fmt: skip
def test_the_field_that_a_sentence_is_about_is_changed_and_others_only_if_it_is_said_again(
    message: str, extra: dict[str, Any], changed: list[str]
) -> None:
    adaptations = Adaptations()
    body = {"model": "m", "messages": [], "temperature": 0.5, "max_tokens": 1024} | extra
    for number in range(len(changed)):
        assert adaptations.learn(Complaint(400, message), adaptations.apply(body)) is not None
        assert list(adaptations.changes) == changed[: number + 1]


@of("not overflow")
def test_other_refusals_are_no_overflow(habit: dict[str, Any]) -> None:
    """The server refuses what this conversation contains, whatever its length."""

    def answer(body: dict[str, Any]) -> Reply:
        return error(habit) if "pebbles" in json.dumps(body["messages"]) else completion("hello")

    with pytest.raises((EngineError, EngineSetupError)):
        ask(answer, {"role": "user", "content": LONG})


@of("filter")
def test_a_content_filter_is_understood(habit: dict[str, Any]) -> None:
    sample, server, _ = ask(lambda _body: error(habit))
    assert sample.finish == "content_filter" and len(server.requests) == 1


@of("quota")
def test_an_empty_account_stops_the_run(habit: dict[str, Any]) -> None:
    with pytest.raises(EngineSetupError, match="quota is used up"):
        ask(lambda _body: error(habit))


@of("wait")
def test_a_rate_limit_pauses_for_as_long_as_the_server_asks(
    habit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float | None] = []

    def wait(_self: Retries, _failures: int, retry_after: float | None, *_: object) -> float:
        asked.append(retry_after)
        return 0.001

    monkeypatch.setattr(Retries, "wait", wait)
    refusals = iter([True] * 8 + [False])

    async def run() -> Sample:
        answer = lambda _path, _body: error(habit) if next(refusals) else completion("hello")  # noqa: E731
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, retries=Retries(attempts=1))
            (sample,) = await engine.sample(SampleRequest(messages=[{"role": "user", "content": "hi"}]))
            return sample

    assert asyncio.run(run()).text == "hello"
    assert asked == [pytest.approx(habit["seconds"])] * 8
