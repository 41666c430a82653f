"""OpenAIEngine: what is sent, what is read, what is never shown."""

import asyncio
import functools
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from nlac_bench.rollout.engines.backoff import Retries
from nlac_bench.rollout.engines.engine import (
    EngineError,
    Sample,
    SampleRequest,
    Sampling,
    ToolCall,
    chat_fn,
    missing_for_training,
)
from nlac_bench.rollout.engines.openai.complaint import Complaint
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.engines.openai.failures import EngineSetupError
from nlac_bench.rollout.engines.openai.meaning import says_overflow
from nlac_bench.rollout.engines.openai.reply import Price
from nlac_bench.rollout.engines.openai.room import room_left
from nlac_bench.types import Usage
from tests.rollout.fault_server import FaultServer, Reply, completion

KEY = "sk-very-secret-0123456789"
HELLO = SampleRequest(messages=[{"role": "user", "content": "hi"}])
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
WITH_TOOL = SampleRequest(messages=HELLO.messages, tools=[TOOL])


def ask(
    answer: Callable[[str, dict[str, Any]], Reply], request: SampleRequest = HELLO, **options: Any
) -> tuple[list[Sample], FaultServer]:
    async def run() -> tuple[list[Sample], FaultServer]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine(
                "m",
                base_url=server.url,
                retries=Retries(attempts=2, first=0.01, max_wait=0),
                **{"timeout": 20, **options},
            )
            return await engine.sample(request), server

    return asyncio.run(run())


def reply(**changes: Any) -> dict[str, Any]:
    made = completion("hello")
    made["choices"][0].update(changes)
    return made


def test_a_chat_request_carries_what_was_asked_for() -> None:
    request = SampleRequest(
        messages=HELLO.messages, seed=2**62 + 5, tools=[TOOL],
        sampling=Sampling(temperature=0.5, top_p=0.9, max_tokens=7, stop=("\n",)),
    )  # fmt: skip
    (sample,), server = ask(lambda _p, _b: completion("hello"), request, api_key=KEY)
    assert server.requests == [{
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5, "top_p": 0.9,
        "max_tokens": 7, "stop": ["\n"], "seed": 5, "tools": [TOOL],
    }]  # fmt: skip
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (sample.text, sample.finish, sample.ids, sample.logprobs) == ("hello", "stop", None, None)
    assert sample.usage.prompt_tokens == 10 and sample.usage.completion_tokens == 5
    assert sample.usage.calls == 1 and sample.usage.seconds > 0


def test_keys_go_only_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("NLAC_BENCH_API_KEY", raising=False)
    _, server = ask(lambda _p, _b: completion("x"))
    assert KEY not in server.headers[0]["authorization"]
    monkeypatch.setenv("NLAC_BENCH_API_KEY", "other-key")
    _, server = ask(lambda _p, _b: completion("x"))
    assert server.headers[0]["authorization"] == "Bearer other-key"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EngineSetupError, match="OPENAI_API_KEY"):
        OpenAIEngine("m")
    for wrong in ("localhost:8000", "ftp://x/v1", "http://"):
        with pytest.raises(EngineSetupError, match="server address"):
            OpenAIEngine("m", base_url=wrong)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_a_key_is_in_no_error_log_or_representation(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": None}}
    with pytest.raises((EngineError, EngineSetupError)) as caught:
        ask(lambda _p, _b: (status, error), api_key=KEY)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.__dict__) + caplog.text
    assert "Incorrect API key" in shown and KEY not in shown
    engine = OpenAIEngine("m", base_url=f"http://user:{KEY}@host/v1", api_key=KEY)
    assert KEY not in repr(engine) and "host" in repr(engine)


def test_token_ids_and_logprobs_as_vllm_gives_them() -> None:
    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert body["return_token_ids"] is True and body["logprobs"] is True
        content = [{"token": "he", "logprob": -0.5}, {"token": "llo", "logprob": -0.25}]
        return {**reply(token_ids=[7, 8], logprobs={"content": content}), "prompt_token_ids": [1, 2, 3]}

    (sample,), _ = ask(answer, token_data="ids")
    assert (sample.prompt_ids, sample.ids, sample.logprobs) == ([1, 2, 3], [7, 8], [-0.5, -0.25])


def test_prompt_ids_go_to_the_completions_endpoint() -> None:
    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert path == "/v1/completions" and body["prompt"] == [1, 2, 3] and "messages" not in body
        made = reply(text="hello", logprobs={"token_logprobs": [-0.5], "tokens": ["hello"]})
        del made["choices"][0]["message"]
        return made

    (sample,), _ = ask(answer, SampleRequest(prompt_ids=[1, 2, 3]), token_data="logprobs")
    assert (sample.text, sample.logprobs, sample.prompt_ids) == ("hello", [-0.5], [1, 2, 3])


def test_native_tool_calls() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]
    (sample,), _ = ask(lambda _p, _b: completion(None, tool_calls=calls), WITH_TOOL)
    assert sample.tool_calls == (ToolCall("f", '{"x": 1}', "c1"),)
    assert (sample.text, sample.finish) == ("", "tool_calls")


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}'), ("yes", "yes"),
     ("<think>hm</think>", '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}')],
)  # fmt: skip
def test_a_call_where_no_tool_was_offered_is_no_empty_answer(content: str | None, text: str) -> None:
    """Agents that describe tools in the prompt, and simulated users, read only texts."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}]
    (sample,), server = ask(lambda _p, _b: completion(content, tool_calls=calls, reasoning_content="hm"))
    assert (sample.text, sample.finish, sample.tool_calls) == (text, "stop", ())
    assert len(server.requests) == 1
    assert sample.usage.completion_tokens == 5


def test_several_samples_also_from_a_server_that_ignores_n() -> None:
    def one(path: str, body: dict[str, Any]) -> dict[str, Any]:
        return completion(f"seed {body['seed']}")

    samples, server = ask(one, SampleRequest(messages=HELLO.messages, n=3, seed=4))
    assert [s.text for s in samples] == ["seed 4", "seed 5", "seed 6"]
    assert sum((s.usage for s in samples), Usage()).calls == len(server.requests) == 3

    def two(path: str, body: dict[str, Any]) -> dict[str, Any]:
        made = completion("a")
        return {**made, "choices": made["choices"] * body["n"]}

    samples, server = ask(two, SampleRequest(messages=HELLO.messages, n=2), price=Price(1.0, 1000.0))
    assert len(server.requests) == 1
    total = sum((s.usage for s in samples), Usage())
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (1, 10, 5)
    assert total.cost == pytest.approx((10 * 1.0 + 5 * 1000.0) / 1e6)


LIMIT = "This model's maximum context length is"
OVERFLOWS = [
    # (as worded by, message, room)
    ("OpenAI", f"{LIMIT} 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the "
     "completion). Please reduce the length.", -308),
    ("vLLM 0.6", f"{LIMIT} 256 tokens. However, you requested 542 tokens (30 in the messages, 512 in the "
     "completion). Please reduce the length.", 226),
    ("vLLM 0.10", f"'max_tokens' or 'max_completion_tokens' is too large: 512. {LIMIT} 256 tokens and your "
     "request has 30 input tokens (512 > 256 - 30).", 226),
    ("vLLM 0.12", f"{LIMIT} 256 tokens. However, your request has 300 input tokens. Please reduce the length "
     "of the input messages.", -44),
    ("llama.cpp", "the request exceeds the available context size (4096 tokens), try increasing it", None),
    ("Anthropic", "prompt is too long: 210000 tokens > 200000 maximum", None),
    ("vLLM 0.11", f"{LIMIT} 256 tokens. However, your request has 256 input tokens. Please reduce the length",
     0),
    ("vLLM, chat", "max_tokens must be at least 1, got 0.", None),
    ("vLLM, prompt", "The decoder prompt (length 300) is longer than the maximum model length of 256.", None),
    ("SGLang, total", "Requested token count exceeds the model's maximum context length of 256 tokens. You "
     "requested a total of 542 tokens: 30 tokens from the input messages and 512 tokens for the completion.",
     226),
    ("TGI", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 "
     "`inputs` tokens and 200 `max_new_tokens`", 96),
    ("Gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
     None),
    ("SGLang", "The input (5000 tokens) is longer than the model's context length (4096 tokens).", None),
]  # fmt: skip


@pytest.mark.parametrize(("_server", "message", "room"), OVERFLOWS)
def test_overflow_messages_are_recognised(_server: str, message: str, room: int | None) -> None:
    assert says_overflow(Complaint(400, message))
    assert room_left(message, 512) == room


def test_other_refusals_are_no_overflow() -> None:
    assert not says_overflow(Complaint(400, "Invalid value for temperature"))
    assert not says_overflow(Complaint(400, "the context of this request is unclear"))
    assert not says_overflow(Complaint(400, "max_tokens must be at least 16, got 1"))
    assert not says_overflow(Complaint(400, "max_tokens must be an integer"))


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (413, "rate_limit_exceeded", "Request too large for model m on tokens per minute (TPM): Limit 6000, "
         "Requested 7000, please reduce your message size and try again."),
        (400, "", "Rate limit reached: maximum context length of 9000 tokens per minute"),
        (500, "", "KV context size of worker 3 is too fragmented"),
        (503, "", "the context window is too full at present"),
        (429, "", "too many requests"),
        (504, "", "rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
        (500, "", "rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
        (500, "", "upstream context canceled: request exceeded deadline"),
        (500, "", "CUDA out of memory: tried to allocate 2048 MiB; sequence too large, 4096 tokens"),
        (500, "", "request took longer than 30000 ms; input size 1200"),
        (500, "", "exceeded the maximum wait of 30 s in the queue with size 10"),
    ],
)  # fmt: skip
def test_a_limit_of_the_account_and_a_fault_of_the_server_are_no_overflow(
    status: int, code: str, message: str
) -> None:
    error = {"error": {"message": message, "code": code}}
    with pytest.raises(EngineError, match="failed 2 times"):
        ask(lambda _p, _b: (status, error))


def test_a_failing_server_that_gives_the_lengths_reports_an_overflow() -> None:
    error = {"error": {"message": OVERFLOWS[-1][1]}}
    (sample,), _ = ask(lambda _p, _b: (500, error))
    assert sample.finish == "context_overflow"


@pytest.mark.parametrize(
    ("status", "message", "code", "meaning"),
    [
        (403, "You have reached your monthly token limit.", None, "quota"),
        (403, "Daily limit of 500,000 tokens reached", None, "quota"),
        (400, "Monthly token budget exceeded for this key", None, "quota"),
        (403, "Token limit exceeded for your plan", "token_limit_exceeded", "setup"),
        (401, "Your session token has exceeded its maximum lifetime", None, "setup"),
        (
            403,
            "Model with context window larger than 32k tokens is not available in your plan",
            None,
            "setup",
        ),
        (404, "The model `m` does not exist or the request exceeded your access window", None, "setup"),
        (403, "Forbidden", "context_length_exceeded", "overflow"),
        (400, "Your prompt exceeds the context of your plan: 5000 > 4096 tokens", None, "overflow"),
        (400, "Prompt of 5000 tokens exceeds the allocated context of 4096", None, "overflow"),
    ],
)
def test_what_the_account_lacks_is_no_overflow(
    status: int, message: str, code: str | None, meaning: str
) -> None:
    error: Reply = (status, {"error": {"message": message, "code": code}})
    if meaning == "overflow":
        assert ask(lambda _p, _b: error)[0][0].finish == "context_overflow"
        return
    with pytest.raises(EngineSetupError, match="quota is used up" if meaning == "quota" else "API key"):
        ask(lambda _p, _b: error)


@pytest.mark.parametrize("code", [None, "context_length_exceeded"])
def test_context_overflow_is_a_finish(code: str | None) -> None:
    error = {"error": {"message": OVERFLOWS[0][1] if code is None else "too long", "code": code}}
    samples, server = ask(lambda _p, _b: (400, error), SampleRequest(messages=HELLO.messages, n=2))
    assert [s.finish for s in samples] == ["context_overflow"] * 2
    assert len(server.requests) == 1  # no retry can help


@pytest.mark.parametrize(("finish", "expected"), [("stop", "stop"), ("length", "context_overflow")])
def test_an_answer_that_overflows_is_requested_again_with_the_room_left(finish: str, expected: str) -> None:
    def answer(path: str, body: dict[str, Any]) -> Reply:
        if body["max_tokens"] > 226:
            return 400, {"error": {"message": OVERFLOWS[2][1]}}
        used = {"prompt_tokens": 30, "completion_tokens": 226 if finish == "length" else 5}
        return {**reply(finish_reason=finish), "usage": used}

    (sample,), server = ask(answer)
    assert [r["max_tokens"] for r in server.requests] == [1024, 226]
    assert (sample.text, sample.finish) == ("hello", expected)


@pytest.mark.parametrize(
    ("prompt", "completion", "total", "finish"),
    [
        (10, 6, 16, "context_overflow"),
        (3584, 512, None, "context_overflow"),
        (3584, 512, 4096, "context_overflow"),
        (3584, 1024, 4608, "length"),
        (3584, 0, 3584, "length"),
        (3584, 300, 4608, "length"),  # and 724 thoughts, as xAI counts them
        (3272, 100, 4096, "context_overflow"),  # and 724 thoughts
        (10, 512, 522, "length"),  # the server's own limit
    ],
)
def test_an_answer_that_a_server_cuts_silently_is_an_overflow_only_beside_a_long_prompt(
    prompt: int, completion: int, total: int | None, finish: str
) -> None:
    used = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    (sample,), _ = ask(lambda _p, _b: {**reply(finish_reason="length"), "usage": used})
    assert sample.finish == finish


@pytest.mark.parametrize(
    "broken",
    [
        {"choices": "x"},
        {"choices": [7]},
        reply(message=None),
        reply(finish_reason="abort"),  # a fragment must not pass as a natural end
        reply(message={"content": 7}),
        reply(message={"content": None, "tool_calls": [{"function": {"name": 3}}]}),
        reply(message={"content": None, "tool_calls": 5}),
        reply(finish_reason="tool_calls"),
        reply(token_ids=[1, 2], logprobs={"content": [{"logprob": -1.0}]}),
        [],
        None,
    ],
)
def test_replies_that_are_no_sample_are_faults(broken: Any) -> None:
    with pytest.raises(EngineError, match="failed 2 times") as caught:
        ask(lambda _p, _b: broken)
    assert caught.value.kind == "bad_reply"


def test_odd_but_usable_replies() -> None:
    parts = reply(message={"content": [{"type": "text", "text": "he"}, {"type": "text", "text": "llo"}]})
    assert ask(lambda _p, _b: parts)[0][0].text == "hello"
    assert ask(lambda _p, _b: reply(message={"content": None, "refusal": "no"}))[0][0].text == "no"
    mixed = reply(
        message={"content": ["he", {"type": "thinking", "text": "hm"}, {"text": None}, 7, {"text": "y"}]}
    )
    assert ask(lambda _p, _b: mixed)[0][0].text == "hey"
    refused = reply(message={"content": [{"type": "refusal", "refusal": "no"}], "refusal": None})
    assert ask(lambda _p, _b: refused)[0][0].text == "no"
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    (sample,), _ = ask(lambda _p, _b: completion("", tool_calls=[call], reasoning_content="hm"), WITH_TOOL)
    assert sample.finish == "tool_calls" and sample.tool_calls[0].name == "f"
    assert ask(lambda _p, _b: {**reply(), "usage": {"cost": 0.5}})[0][0].usage.cost == 0.5
    assert ask(lambda _p, _b: reply(finish_reason="end_turn"))[0][0].finish == "stop"


def test_thoughts_before_an_answer_stay_part_of_the_text() -> None:
    assert ask(lambda _p, _b: completion("<think>hm</think>yes"))[0][0].text == "<think>hm</think>yes"
    assert ask(lambda _p, _b: completion("yes", reasoning_content="hm"))[0][0].text == "yes"


@pytest.mark.parametrize("text", ["", None, " \n", "<think>hm</think>", "<think>hm"])
def test_the_completions_endpoint_has_the_same_rules(text: str | None) -> None:
    def ends(finish: str) -> list[Sample]:
        made = reply(text=text, finish_reason=finish)
        del made["choices"][0]["message"]
        return ask(lambda _p, _b: made, SampleRequest(prompt_ids=[1]))[0]

    with pytest.raises(EngineError, match=r"is empty|no answer") as caught:
        ends("stop")
    assert (caught.value.kind, caught.value.attempts) == ("bad_reply", 2)
    assert [(s.finish, s.text) for s in ends("length")] == [("length", "")]
    assert [s.finish for s in ends("content_filter")] == ["content_filter"]


def test_before_a_stop_string_there_may_be_nothing() -> None:
    request = SampleRequest(messages=HELLO.messages, sampling=Sampling(stop=("\n",)))
    assert ask(lambda _p, _b: completion(""), request)[0][0].text == ""
    with pytest.raises(EngineError, match="thoughts but no answer"):
        ask(lambda _p, _b: completion("", reasoning="hm"), request)


def test_several_choices_one_of_which_is_no_answer() -> None:
    three = SampleRequest(messages=HELLO.messages, n=3)

    def choices(*made: dict[str, Any]) -> dict[str, Any]:
        return {**completion("x"), "choices": [each["choices"][0] for each in made]}

    empty_at_first = iter([choices(reply(), completion(""), reply()), choices(reply(), reply(), reply())])
    samples, server = ask(lambda _p, _b: next(empty_at_first), three)
    assert [s.text for s in samples] == ["hello"] * 3 and len(server.requests) == 2
    mixed = choices(reply(), reply(finish_reason="content_filter"), reply(finish_reason="length"))
    samples, _ = ask(lambda _p, _b: mixed, three)
    assert [s.finish for s in samples] == ["stop", "content_filter", "length"]
    # More choices than requested are not read, and what they cost is counted once.
    (sample,), _ = ask(lambda _p, _b: choices(reply(), completion("")))
    assert sample.text == "hello" and sample.usage.completion_tokens == 5


def test_a_reply_that_is_asked_for_again_is_paid_for() -> None:
    paid = {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.25}
    replies: Any = iter([{**completion(""), "usage": paid}, {**reply(), "usage": paid}])
    (sample,), server = ask(lambda _p, _b: next(replies))
    assert sample.text == "hello" and len(server.requests) == 2
    usage = sample.usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cost) == (1, 14, 6, 0.5)


def test_replies_that_never_had_an_answer_are_paid_for() -> None:
    paid = {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.25}
    replies: Any = iter([{**reply(), "usage": paid}, *[{**completion(""), "usage": paid}] * 2])
    request = SampleRequest(messages=HELLO.messages, n=2, role="user")
    with pytest.raises(EngineError, match="failed 2 times") as caught:
        ask(lambda _p, _b: next(replies), request)
    usage = caught.value.spent["user"]
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cost) == (21, 9, 0.75)
    with pytest.raises(EngineError) as caught:
        ask(lambda _p, _b: (500, {"error": {"message": "no"}}))
    assert caught.value.spent == {"policy": Usage()}


@pytest.mark.filterwarnings("ignore:.*could not read a call")
@pytest.mark.parametrize(
    ("status", "message", "finish"),
    [
        (400, {"code": "content_filter", "message": "no"}, "content_filter"),
        (500, {"message": "error parsing tool call: raw='get {', err=unexpected end of JSON input"}, "stop"),
        (400, {"message": "Could not finish: max_tokens was reached"}, "length"),
    ],
)
def test_replies_before_a_refusal_are_paid_for(status: int, message: dict[str, str], finish: str) -> None:
    empty = {**completion(""), "usage": {"prompt_tokens": 7, "completion_tokens": 3, "cost": 0.25}}
    replies: Any = iter([empty, (status, {"error": message})])
    (sample,), _ = ask(lambda _p, _b: next(replies))
    assert (sample.finish, sample.usage.cost) == (finish, 0.25)


def test_a_prompt_that_a_filter_rejects_after_other_samples() -> None:
    replies: Any = iter([reply(), (400, {"error": {"code": "content_filter", "message": "no"}})])
    samples, server = ask(lambda _p, _b: next(replies), SampleRequest(messages=HELLO.messages, n=3))
    assert [s.finish for s in samples] == ["stop", "content_filter", "content_filter"]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid value for temperature"),
        (500, "the content filter crashed"),
        (422, "flags must be a list"),
        (400, "Your account has been flagged for unusual activity."),
        (400, "Your organization was flagged by our fraud detection"),
        (422, "this key was flagged for abuse"),
    ],
)
def test_other_errors_are_no_content_filter(status: int, message: str) -> None:
    with pytest.raises((EngineError, EngineSetupError)):
        ask(lambda _p, _b: (status, {"error": {"message": message}}))


@pytest.mark.parametrize(
    ("finish", "expected"),
    [("SAFETY", "content_filter"), ("refusal", "content_filter"), ("content_filter: SPII", "content_filter"),
     ("MAX_TOKENS", "length"), ("model_length", "context_overflow"), ("STOP", "stop"), ("eos_token", "stop"),
     ("x" * 1000, "stop")],
)  # fmt: skip
def test_names_that_servers_have_for_the_end(finish: str, expected: str) -> None:
    assert ask(lambda _p, _b: {**reply(finish_reason=finish), "usage": None})[0][0].finish == expected


@pytest.mark.parametrize("finish", [7, {}, ["stop"], True, "error", "ABORT", "cancelled"])
def test_samples_that_did_not_end(finish: Any) -> None:
    with pytest.raises(EngineError, match="did not end normally"):
        ask(lambda _p, _b: reply(finish_reason=finish))


def test_no_text_of_a_model_makes_a_server_reject_the_conversation() -> None:
    """vLLM answers 400 where earlier arguments are no JSON object; UTF-8 has no lone surrogates."""

    def history(arguments: str, content: str = "") -> list[dict[str, Any]]:
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
        return [{"role": "assistant", "content": content, "tool_calls": [call]}]

    for arguments in ("", "{", "[1]", "null", '"x"', "{}}", "[" * 100_000, "\ud800"):
        request = SampleRequest(messages=history(arguments))
        _, server = ask(lambda _p, _b: completion("x"), request)
        assert server.requests[0]["messages"] == history("{}")
        assert request.messages == history(arguments), "the caller's conversation is not changed"
    _, server = ask(
        lambda _p, _b: completion("x"), SampleRequest(messages=history('{"a": "é"}', "\ud83d\ude00\ud83d"))
    )
    assert server.requests[0]["messages"] == history('{"a": "é"}', "\U0001f600\ufffd")


@pytest.mark.parametrize(
    ("name", "sent"),
    [("functions.get", "functions_get"), ("get<|channel|>commentary", "get__channel__commentary"),
     ("", "unknown"), ("gét \ud800", "g_t__"), ("g" * 70, "g" * 64), ("get_a-1", "get_a-1"), ("f.g", "f.g")],
)  # fmt: skip
def test_no_name_that_a_model_made_up_makes_a_server_reject_the_conversation(name: str, sent: str) -> None:
    """OpenAI answers 400 to other characters; a name that the server accepts as a tool's stays as it is."""

    def history(name: str) -> list[dict[str, Any]]:
        call = {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}
        return [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "name": name, "content": "no"},
        ]

    request = SampleRequest(messages=history(name), tools=[{**TOOL, "function": {"name": "f.g"}}])
    _, server = ask(lambda _p, _b: completion("x"), request)
    assert server.requests[0]["messages"] == history(sent)
    assert request.messages == history(name), "the caller's conversation is not changed"


@pytest.mark.parametrize(
    ("used", "tokens"),
    [
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 541}, 509),
        ({"prompt_tokens": 32, "completion_tokens": 509, "total_tokens": 541}, 509),
        ({"prompt_tokens": 32, "completion_tokens": 9}, 9),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": None}, 9),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 0}, 9),
        ({"completion_tokens": 9, "total_tokens": 541}, 9),  # the prompt is not thoughts
    ],
)
def test_thoughts_that_a_server_counts_only_in_the_total_are_paid(used: dict[str, Any], tokens: int) -> None:
    """xAI: ``completion_tokens`` is the answer alone."""
    (sample,), _ = ask(lambda _p, _b: {**reply(), "usage": used}, price=Price(0, 1e6))
    assert (sample.usage.completion_tokens, sample.usage.cost) == (tokens, tokens)


def test_a_request_that_is_too_large_for_the_server_is_an_overflow() -> None:
    assert ask(lambda _p, _b: (413, {"detail": "Payload Too Large"}))[0][0].finish == "context_overflow"


def test_endless_replies_are_cut_off() -> None:
    with pytest.raises(EngineError, match="longer than 10,000 bytes"):
        ask(lambda _p, _b: completion("x" * 50_000), max_reply_bytes=10_000)
    with pytest.raises(EngineError) as caught:
        ask(lambda _p, _b: (500, {"error": {"message": "x" * 1_000_000}}))
    assert len(str(caught.value)) < 1000


def test_errors_of_every_request_stop_the_run() -> None:
    for status in (401, 403, 404):
        refused: Reply = (status, {"error": {"message": "no"}})
        with pytest.raises(EngineSetupError, match=f"HTTP {status}.*--model 'm'"):
            ask(functools.partial(lambda reply, _p, _b: reply, refused))
    error = {"error": {"message": "pay", "code": "insufficient_quota"}}
    with pytest.raises(EngineSetupError, match="quota is used up"):
        ask(lambda _p, _b: (429, error))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another host would get the prompt, and headers such as ``OPENAI_CUSTOM_HEADERS``."""
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Key: abcdefgh-0123")

    async def run() -> FaultServer:
        async with FaultServer(lambda _p, _b: completion("stolen")).running() as other:
            to: Reply = (status, {}, f"Location: {other.url}/chat/completions\r\n")
            async with FaultServer(lambda _p, _b: to).running() as server:
                engine = OpenAIEngine("m", base_url=server.url, api_key=KEY, timeout=20)
                with pytest.raises(EngineSetupError, match=f"HTTP {status} .* redirects to '{other.url}"):
                    await engine.sample(HELLO)
                assert len(server.requests) == 1
            return other

    assert not asyncio.run(run()).headers


def test_requests_in_flight_are_bounded() -> None:
    async def run() -> FaultServer:
        async with FaultServer(lambda _p, _b: completion("x")).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, concurrency=4)
            await asyncio.gather(*(engine.sample(HELLO) for _ in range(40)))
            return server

    server = asyncio.run(run())
    assert len(server.requests) == 40 and server.most_in_flight <= 4


def test_one_engine_serves_several_event_loops() -> None:
    async def run(engine: OpenAIEngine | None) -> OpenAIEngine:
        async with FaultServer(lambda _p, _b: completion("x")).running() as server:
            engine = engine or OpenAIEngine("m", base_url=server.url, concurrency=2)
            if engine.base_url == server.url:
                await asyncio.gather(*(engine.sample(HELLO) for _ in range(8)))
        return engine

    async def listen_again(engine: OpenAIEngine) -> None:
        with pytest.raises(EngineError):  # that server is gone; the fault is an honest connection error
            await engine.sample(HELLO)

    engine = asyncio.run(run(None))
    engine.retries = Retries(attempts=1)
    asyncio.run(listen_again(engine))


def test_logprobs_of_a_prompt_by_echo() -> None:
    def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
        assert body["echo"] is True and body["prompt"] == [5, 6, 7]
        return reply(logprobs={"token_logprobs": [None, -1.0, -2.0, -3.0]})

    async def run(answer: Callable[..., Any]) -> list[float]:
        async with FaultServer(answer).running() as server:
            return await OpenAIEngine("m", base_url=server.url).logprobs([5, 6, 7], prompt_len=1)

    assert asyncio.run(run(answer)) == [-1.0, -2.0]
    with pytest.raises(EngineError, match="echo"):
        asyncio.run(run(lambda _p, _b: reply()))


def test_weights_of_a_server_cannot_be_set() -> None:
    engine = OpenAIEngine("m", base_url="http://h/v1")
    assert missing_for_training(engine, ("policy",)) == ["tokenizer", "sync", "slots"]


def test_a_simulator_counts_usage_and_its_overflow_is_not_the_agents() -> None:
    async def run(answer: Callable[..., Any], seed: int | None) -> tuple[Any, FaultServer]:
        async with FaultServer(answer).running() as server:
            engine = OpenAIEngine("m", base_url=server.url, price=Price(1e6, 0.0))
            chat = chat_fn(engine, Sampling(temperature=0.3), seed=seed)
            return [await chat([{"role": "user", "content": c}], "user") for c in ("a", "a", "b")], server

    replies, server = asyncio.run(run(lambda _p, _b: completion("ok"), 1))
    assert [(r.text, r.usage.cost) for r in replies] == [("ok", 10.0)] * 3
    seeds = [r["seed"] for r in server.requests]
    assert seeds[0] == seeds[1] != seeds[2]
    _, server = asyncio.run(run(lambda _p, _b: completion("ok"), None))
    assert "seed" not in server.requests[0]
    with pytest.raises(EngineError, match=r"'user' role.*whole budget") as caught:
        asyncio.run(run(lambda _p, _b: reply(message={"content": ""}, finish_reason="length"), None))
    assert {role: usage.cost for role, usage in caught.value.spent.items()} == {"user": 10.0}
    with pytest.raises(EngineError, match="'user' role"):
        asyncio.run(run(lambda _p, _b: (400, {"error": {"message": OVERFLOWS[0][1]}}), None))


def test_requests_are_checked_when_made() -> None:
    cases: Any = ({}, {"messages": []}, {"messages": [{}], "prompt_ids": [1]}, {"prompt_ids": [1], "n": 0})
    for wrong in cases:
        with pytest.raises(ValueError, match=r"SampleRequest|n must"):
            SampleRequest(**wrong)
    for bad in ({"temperature": -1}, {"top_p": 0}, {"max_tokens": 0}, {"stop": "x"}, {"stop": ("",)}):
        with pytest.raises(ValueError, match="must be"):
            Sampling(**bad)
