"""Faults of a model server at a rate of 20 %: every planned episode is scored as without them, or typed."""

import asyncio
import math
import time
from typing import Any

import pytest

from nlac_bench.agents.prompted import PromptedAgent
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.backoff import Retries, parse_retry_after
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling, chat_fn
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode
from tests.rollout.fault_server import FAULTS, FaultServer, Reply, completion
from tests.rollout.stubs import Guess

SPECS = [EpisodeSpec("guess", str(task), trial, trial) for trial in range(2) for task in range(16)]


def answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The policy counts up from 0, a guess a turn; the user repeats what it was told."""
    messages = body["messages"]
    if messages[0]["role"] == "system":
        return completion(str(len(messages) // 2 - 1))
    return completion(messages[-1]["content"])


def play(server: FaultServer, retries: Retries, timeout: float = 5.0) -> list[Episode | Failure]:
    async def run() -> list[Episode | Failure]:
        async with server.running():
            engine = OpenAIEngine(
                "stub", base_url=server.url, timeout=timeout, retries=retries, concurrency=16
            )
            user = chat_fn(engine)
            agent = make("act", AgentContext(engine=engine))
            driver = Driver(agent, lambda: Guess(chat=user), concurrency=48)
            return [result async for result in driver.run(SPECS)]

    return asyncio.run(run())


def check(results: list[Episode | Failure]) -> int:
    """Every planned episode once; each score is that of a faultless run. Returns how many are scored."""
    ended = [
        (r.spec.task_id, r.spec.trial) if isinstance(r, Failure) else (r.task_id, r.trial) for r in results
    ]
    assert sorted(ended) == sorted((s.task_id, s.trial) for s in SPECS)
    scored = 0
    for result in results:
        if isinstance(result, Failure):
            assert (result.kind, result.error) == ("infra", "EngineError"), result
            continue
        scored += 1
        assert result.terminated and not result.truncated
        assert result.success is (int(result.task_id) < 8), (result.task_id, result.end_reason)
        assert len(result.turns) == min(int(result.task_id) + 1, 8)
        assert result.usage["policy"].calls == result.usage["user"].calls == len(result.turns)
    return scored


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(each, marks=pytest.mark.slow(reason="waits for time-outs"))
        if each == "timeout"
        else each
        for each in FAULTS
    ],
)
def test_each_fault_at_20_percent(fault: str) -> None:
    server = FaultServer(answer, [fault], rate=0.2)
    retries = Retries(attempts=12, timeouts=12, first=0.01, longest=0.1, max_wait=0)
    scored = check(play(server, retries, timeout=1.5 if fault == "timeout" else 30.0))
    assert server.served[fault] > 50
    assert scored == len(SPECS)  # twelve failures in a row: 400 calls · 0.2^12 = 2e-6 expected


def test_all_faults_with_few_retries_leave_typed_failures_and_no_silent_zero() -> None:
    server = FaultServer(answer, FAULTS, rate=0.2)
    results = play(server, Retries(attempts=2, first=0.01, longest=0.02, max_wait=0), timeout=2.0)
    scored = check(results)
    assert 0 < scored < len(SPECS)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429", "rate_limit"),
        ("500", "server"),
        ("timeout", "timeout"),
        ("broken_json", "bad_reply"),
        ("drop", "connection"),
        ("truncated", "connection"),
        ("empty_choices", "bad_reply"),
    ],
)
def test_spent_retries_say_how_it_failed(fault: str, kind: str) -> None:
    async def run() -> FaultServer:
        async with FaultServer(answer, [fault], rate=1.0).running() as server:
            engine = OpenAIEngine(
                "stub",
                base_url=server.url,
                timeout=0.1 if fault == "timeout" else 60.0,
                retries=Retries(attempts=3, timeouts=3, first=0.01, max_wait=0),
            )
            with pytest.raises(EngineError, match="failed 3 times") as caught:
                await engine.sample(SampleRequest(messages=[{"role": "user", "content": "hi"}]))
            assert (caught.value.kind, caught.value.attempts) == (kind, 3)
            return server

    assert asyncio.run(run()).served[fault] == 3


def test_a_server_that_hangs_is_asked_twice_and_the_message_names_the_flags() -> None:
    async def run() -> FaultServer:
        async with FaultServer(answer, ["timeout"], rate=1.0).running() as server:
            engine = OpenAIEngine(
                "stub", base_url=server.url, timeout=0.1, retries=Retries(first=0.01, max_wait=0)
            )
            with pytest.raises(EngineError, match=r"within 0\.1 s.*--request-timeout.*--retries") as caught:
                await engine.sample(SampleRequest(messages=[{"role": "user", "content": "hi"}]))
            assert caught.value.attempts == 2
            return server

    assert asyncio.run(run()).served["timeout"] == 2


def test_an_episode_whose_time_is_up_before_the_first_reply_is_no_failure_of_the_agent() -> None:
    async def run() -> list[Episode | Failure]:
        async with FaultServer(answer, ["timeout"], rate=1.0).running() as server:
            agent = PromptedAgent("act", OpenAIEngine("stub", base_url=server.url), Sampling())
            driver = Driver(agent, Guess, limits=PlayLimits(seconds=0.3))
            return [result async for result in driver.run([EpisodeSpec("guess", "0", 0, 0)])]

    (failure,) = asyncio.run(run())
    assert isinstance(failure, Failure) and failure.kind == "infra" and failure.turns == 0
    assert "--max-seconds" in failure.message


def test_connection_refused() -> None:
    async def run() -> None:
        engine = OpenAIEngine(
            "stub",
            base_url="http://127.0.0.1:9/v1",
            timeout=1,
            retries=Retries(attempts=2, first=0.01, max_wait=0),
        )
        with pytest.raises(EngineError, match="connection to 127") as caught:
            await engine.sample(SampleRequest(messages=[{"role": "user", "content": "hi"}]))
        assert caught.value.kind == "connection"

    asyncio.run(run())


def test_waits_grow_are_jittered_and_respect_the_server() -> None:
    retries = Retries(first=1.0, longest=8.0, max_wait=0)
    for failures, planned in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (9, 8.0)]:
        waits = [retries.wait(failures, None) for _ in range(200)]
        assert planned / 2 <= min(waits) < max(waits) <= planned
    assert 20 < retries.wait(1, 20.0) <= 21
    assert retries.wait(1, 1e9) <= 121
    assert retries.wait(1, -5.0) <= 1


IN_2100 = "Fri, 31 Dec 2100 23:59:59 GMT"


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("2", 2, 2), ("0.5", 0.5, 0.5), (" 7 ", 7, 7), ("1e9", 120, 120), ("9" * 400, 0, 0),
        ("1e300", 120, 120), (IN_2100, 120, 120), ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("nan", 0, 0), ("-nan", 0, 0), ("inf", 0, 0), ("-inf", 0, 0), ("Infinity", 0, 0), ("-1", 0, 0),
        ("-1e308", 0, 0), ("0", 0, 0), ("", 0, 0), ("soon", 0, 0), ("5 s", 0, 0), ("0x10", 0, 0),
        ("Fri, 31 Dec 99999 23:59:59 GMT", 0, 0), ("Fri, 99 Foo 2030 99:99:99 GMT", 0, 0), ("," * 50, 0, 0),
        ("\u0663", 3, 3),
    ],
)  # fmt: skip
def test_retry_after_in_every_form_gives_a_finite_bounded_wait(
    header: str, least: float, most: float
) -> None:
    retries = Retries(first=0.5, max_wait=0)
    asked = parse_retry_after(header)
    assert asked is None or (math.isfinite(asked) and asked > 0)
    for _ in range(20):
        assert least + 0.25 <= retries.wait(1, asked) <= most + 0.5


def test_a_date_is_a_wait_until_then() -> None:
    then = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 3600))
    asked = parse_retry_after(then)
    assert asked is not None and 0 < asked <= 3600


@pytest.mark.parametrize("asked", [math.nan, math.inf, -math.inf, -1.0, 1e300, None])
def test_waits_are_finite_whatever_is_asked(asked: float | None) -> None:
    assert 0.25 <= Retries(first=0.5, max_wait=0).wait(1, asked) <= 120.5


@pytest.mark.parametrize("header", ["nan", "inf", "-1", "1e9", IN_2100, "soon"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_for_odd_waits_is_asked_again(header: str, status: int) -> None:
    refusal: Reply = (status, {"error": {"message": "wait"}}, f"Retry-After: {header}\r\n")
    replies: Any = iter([refusal, refusal, completion("well")])

    async def run() -> list[Sample]:
        async with FaultServer(lambda _p, _b: next(replies)).running() as server:
            retries = Retries(first=0.01, longest_asked=0.02, max_wait=0)
            engine = OpenAIEngine("stub", base_url=server.url, retries=retries)
            return await engine.sample(SampleRequest(messages=[{"role": "user", "content": "hi"}]))

    assert [sample.text for sample in asyncio.run(run())] == ["well"]
