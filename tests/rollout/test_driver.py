"""The driver: every planned episode ends once, budgets cut, faults are typed, nothing is a silent 0."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import gymnasium
import pytest

from nlac_bench.envs import Outcome, TextEnv
from nlac_bench.errors import EnvInfraError, NlacBenchError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import EngineError
from nlac_bench.rollout.interrupts import graceful_interrupt
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import ChatReply, ContentFilterError, Episode, Messages, Role, Turn, Usage
from tests.rollout.stubs import CallAgent, Guess

ORACLE = CallAgent(lambda _n, env, _o: env.oracle_action())
WRONG = CallAgent(lambda _n, _env, _o: "no idea")


def plan(count: int) -> list[EpisodeSpec]:
    return [EpisodeSpec("guess", str(i % 16), i // 16, i) for i in range(count)]


async def collect(driver: Driver, specs: list[EpisodeSpec]) -> list[Episode | Failure]:
    return [result async for result in driver.run(specs)]


def play(driver: Driver, specs: list[EpisodeSpec]) -> list[Episode | Failure]:
    return asyncio.run(collect(driver, specs))


async def never() -> str:
    await asyncio.Event().wait()
    return "not reached"


def key(result: Episode | Failure) -> tuple[str | None, int]:
    where = result.spec if isinstance(result, Failure) else result
    return where.task_id, where.trial


def test_every_planned_episode_ends_exactly_once() -> None:
    specs = plan(100)
    results = play(Driver(ORACLE, Guess, concurrency=7), specs)
    assert sorted(map(key, results)) == sorted((s.task_id, s.trial) for s in specs)
    for episode in results:
        assert isinstance(episode, Episode)
        assert episode.success and episode.terminated and not episode.truncated
        assert (episode.end_reason, episode.total_reward, len(episode.turns)) == ("success", 1.0, 1)
        assert episode.turns[0].observation == "Yes."
        assert episode.usage["policy"].calls == 1


def test_the_tasks_own_limit_terminates_and_is_not_a_cut() -> None:
    (episode,) = play(Driver(WRONG, Guess), plan(1))
    assert isinstance(episode, Episode)
    assert episode.terminated and not episode.truncated
    assert (episode.success, episode.end_reason, len(episode.turns)) == (False, "max_steps", 8)


@pytest.mark.parametrize(
    ("limits", "reason", "turns"),
    [
        (PlayLimits(turns=3), "turn_limit", 3),
        (PlayLimits(tokens=20), "token_limit", 3),  # "no idea" counts 7
        (PlayLimits(cost=0.05), "cost_limit", 5),
    ],
)
def test_limits_of_an_episode_truncate_it(limits: PlayLimits, reason: str, turns: int) -> None:
    (episode,) = play(Driver(WRONG, Guess, limits=limits), plan(1))
    assert isinstance(episode, Episode)
    assert episode.truncated and not episode.terminated
    assert (episode.success, episode.end_reason, len(episode.turns)) == (False, reason, turns)


def test_a_slow_episode_is_cut_by_the_clock_and_the_others_go_on() -> None:
    turns: Counter[str] = Counter()

    async def slow_at_zero(env: TextEnv) -> str:
        turns[env.task_id] += 1
        if env.task_id == "0":
            if turns["0"] == 2:
                await never()
            return "no idea"
        return env.oracle_action()

    agent = CallAgent(lambda _n, env, _o: slow_at_zero(env))
    results = play(Driver(agent, Guess, concurrency=2, limits=PlayLimits(seconds=3.0)), plan(4))
    by_task = {r.task_id: r for r in results if isinstance(r, Episode)}
    assert by_task["0"].truncated and by_task["0"].end_reason == "time_limit"
    assert all(by_task[t].success for t in "123")


def test_an_episode_whose_time_is_up_while_a_simulator_is_awaited_is_no_failure_of_the_agent() -> None:
    async def chat(messages: Messages, role: Role) -> ChatReply:
        await never()
        raise AssertionError

    driver = Driver(WRONG, lambda: Guess(chat=chat), limits=PlayLimits(seconds=0.3))
    (failure,) = play(driver, plan(1))
    assert isinstance(failure, Failure) and (failure.kind, failure.turns) == ("infra", 1)
    assert "limit of 0.3 s ended while it waited for the environment" in failure.message


def test_users_tokens_count_against_the_limit_and_by_role() -> None:
    async def chat(messages: Messages, role: Role) -> ChatReply:
        return ChatReply("No.", Usage(calls=1, completion_tokens=50, cost=0.5))

    driver = Driver(WRONG, lambda: Guess(chat=chat), limits=PlayLimits(tokens=100))
    (episode,) = play(driver, plan(1))
    assert isinstance(episode, Episode)
    assert episode.end_reason == "token_limit" and len(episode.turns) == 2
    assert episode.usage["user"] == Usage(calls=2, completion_tokens=100, cost=1.0)
    assert driver.spent.total.completion_tokens == 114


def test_what_failed_requests_cost_counts_against_the_runs_limit() -> None:
    async def fails(_messages: Messages, role: Role) -> ChatReply:
        raise EngineError("no answer", "bad_reply", usage=Usage(completion_tokens=9, cost=0.5), role=role)

    driver = Driver(WRONG, lambda: Guess(chat=fails), run_limits=PlayLimits(cost=1.0), concurrency=1)
    first, second = play(driver, plan(5))
    assert isinstance(first, Failure) and isinstance(second, Failure)
    assert first.usage["user"] == Usage(completion_tokens=9, cost=0.5)
    assert driver.stopped == "run_cost_limit" and driver.spent.total.cost >= 1 and len(driver.owed) == 3


def test_context_overflow_is_an_end_reason() -> None:
    agent = CallAgent(lambda n, _e, _o: Turn("half a wo", finish="context_overflow") if n == 2 else "x")
    (episode,) = play(Driver(agent, Guess), plan(1))
    assert isinstance(episode, Episode)
    assert episode.truncated and episode.end_reason == "context_overflow" and len(episode.turns) == 3


@pytest.mark.parametrize(("text", "ends"), [("", "length"), (" \n", "length"), ("x", "max_steps")])
def test_a_reply_of_thoughts_alone_is_no_action_and_a_long_one_is(text: str, ends: str) -> None:
    (episode,) = play(Driver(CallAgent(lambda *_: Turn(text, finish="length")), Guess), plan(1))
    assert isinstance(episode, Episode) and episode.end_reason == ends and episode.success is False
    assert episode.truncated == (ends == "length")


def test_a_filtered_reply_has_no_result_and_is_final() -> None:
    agent = CallAgent(lambda n, _e, _o: Turn("half a wo", finish="content_filter") if n == 2 else "x")
    driver = Driver(agent, Guess)
    (episode,) = play(driver, plan(1))
    assert isinstance(episode, Episode) and episode.filtered and not driver.owed
    assert (episode.success, episode.terminated, episode.truncated) == (None, False, False)
    assert episode.info["content_filter"] == "policy" and len(episode.turns) == 3


def test_a_filtered_first_observation_is_an_episode_too() -> None:
    async def stopped(_messages: Messages, role: Role) -> ChatReply:
        raise ContentFilterError(role, Usage(1, 9))

    class Greeted(Guess):
        async def _begin(self, task_id: str) -> str:
            assert self.chat is not None
            return (await self.chat([], "user")).text

    for task in ("3", None):
        (episode,) = play(Driver(ORACLE, lambda: Greeted(chat=stopped)), [EpisodeSpec("guess", task, 0, 7)])
        assert isinstance(episode, Episode) and episode.filtered and not episode.turns
        assert episode.task_id == (task or "7") and episode.usage == {"user": Usage(1, 9)}


@pytest.mark.filterwarnings("ignore:.* reports a")
def test_usage_of_an_environment_is_bounded() -> None:
    async def costly(_messages: Messages, _role: Role) -> ChatReply:
        return ChatReply("no", Usage(1, 10**400, -5, float("inf")))

    (episode,) = play(Driver(ORACLE, lambda: Guess(chat=costly)), plan(1))
    assert isinstance(episode, Episode) and episode.usage["user"] == Usage(1)


@pytest.mark.parametrize("concurrency", [1, 5])
def test_run_limits_stop_the_run_and_the_rest_is_owed(concurrency: int) -> None:
    specs = plan(50)
    driver = Driver(ORACLE, Guess, concurrency=concurrency, run_limits=PlayLimits(cost=0.2))
    results = play(driver, specs)
    assert driver.stopped == "run_cost_limit"
    assert 20 <= len(results) <= 20 + concurrency
    assert sorted([*map(key, results), *((s.task_id, s.trial) for s in driver.owed)]) == sorted(
        (s.task_id, s.trial) for s in specs
    )


def test_run_time_is_up_while_everything_waits() -> None:
    agent = CallAgent(lambda _n, _e, _o: never())
    driver = Driver(agent, Guess, concurrency=3, run_limits=PlayLimits(seconds=0.2))
    assert play(driver, plan(5)) == []
    assert driver.stopped == "run_time_limit" and len(driver.owed) == 5


def test_infrastructure_errors_are_typed_and_keep_what_was_spent() -> None:
    async def chat(messages: Messages, role: Role) -> ChatReply:
        if messages[-1]["content"].startswith("3 "):
            raise EnvInfraError("the user's server is down")
        return ChatReply("Yes.")

    results = play(Driver(ORACLE, lambda: Guess(chat=chat)), plan(16))
    (failure,) = [r for r in results if isinstance(r, Failure)]
    assert (failure.spec.task_id, failure.kind, failure.error) == ("3", "infra", "EnvInfraError")
    assert failure.usage["policy"].calls == 1 and "down" in failure.message
    assert sum(isinstance(r, Episode) and bool(r.success) for r in results) == 15


def test_a_bug_in_one_episode_is_recorded_and_spares_the_rest() -> None:
    def agent(_n: int, env: Any, _o: str) -> str:
        return {"known": "x"}["missing"] if env.task_id == "5" else env.oracle_action()

    results = play(Driver(CallAgent(agent), Guess), plan(16))
    (failure,) = [r for r in results if isinstance(r, Failure)]
    assert failure.kind == "crash" and failure.error == "KeyError" and "test_driver.py" in failure.traceback
    assert len(results) == 16


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("observed", [None, 5, b"no", ["no"]])
def test_an_observation_that_is_no_text_gives_no_result(first: bool, observed: Any) -> None:
    """A run whose episodes cannot be read again would be lost at its end."""

    class Odd(Guess):
        async def _begin(self, task_id: str) -> str:
            text = await super()._begin(task_id)
            return cast(str, observed) if first else text

        async def _respond(self, action: str) -> Outcome:
            outcome = await super()._respond(action)
            return outcome if first else replace(outcome, observation=cast(str, observed))

    (failure,) = play(Driver(ORACLE, Odd), plan(1))
    assert isinstance(failure, Failure) and failure.error == "ValueError"
    assert failure.message == f"the environment returned the observation {observed!r}; it must be a str"


def test_errors_that_no_episode_would_be_spared_stop_the_run() -> None:
    def agent(_n: int, env: Any, _o: str) -> str:
        if env.task_id == "5":
            raise NlacBenchError("the data folder is gone")
        return str(env.oracle_action())

    driver = Driver(CallAgent(agent), Guess, concurrency=1)
    with pytest.raises(NlacBenchError, match="gone") as caught:
        play(driver, plan(16))
    assert "task_id='5'" in caught.value.__notes__[0]
    assert len(driver.owed) == 11


def test_unconsumed_results_pause_playing() -> None:
    begun = 0

    def agent(_n: int, env: Any, _o: str) -> str:
        nonlocal begun
        begun += 1
        return str(env.oracle_action())

    async def scenario() -> None:
        async with aclosing(Driver(CallAgent(agent), Guess, concurrency=4).run(plan(200))) as results:
            await anext(results)
            for _ in range(500):
                await asyncio.sleep(0)
            assert begun <= 1 + 2 * 4 + 1  # taken, waiting in the queue and before it

    asyncio.run(scenario())


def test_leaving_early_leaves_no_task_behind() -> None:
    async def scenario() -> int:
        driver = Driver(CallAgent(lambda _n, _e, _o: asyncio.sleep(0.001, "x")), Guess, concurrency=4)
        async with aclosing(driver.run(plan(50))) as results:
            await anext(results)
        return len(asyncio.all_tasks())

    assert asyncio.run(scenario()) == 1


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_loses_nothing(presses: int) -> None:
    specs, begun = plan(60), 0

    async def scenario() -> tuple[Driver, list[Episode | Failure]]:
        first_ten = asyncio.Event()

        async def answer(env: TextEnv) -> str:
            nonlocal begun
            begun += 1
            if begun <= 10:
                if begun == 10:
                    first_ten.set()
                await first_ten.wait()
                return env.oracle_action()
            last = begun == 20
            if last:
                os.kill(os.getpid(), signal.SIGINT)
            while driver.stopped is None:
                await asyncio.sleep(0.001)
            if presses == 2:
                if last:
                    os.kill(os.getpid(), signal.SIGINT)
                await never()
            return env.oracle_action()

        driver = Driver(CallAgent(lambda _n, env, _o: answer(env)), Guess, concurrency=10)
        with graceful_interrupt(driver):
            return driver, await collect(driver, specs)

    driver, results = asyncio.run(scenario())
    assert driver.stopped == "interrupted"
    assert len(results) == (20 if presses == 1 else 10)  # the second wave ends, or is dropped
    assert len(driver.owed) == 60 - len(results)
    assert not {key(r) for r in results} & {(s.task_id, s.trial) for s in driver.owed}


def test_the_grace_of_an_interrupt_ends(capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> tuple[Driver, list[Episode | Failure]]:
        driver = Driver(CallAgent(lambda _n, _e, _o: never()), Guess, concurrency=3)
        asyncio.get_running_loop().call_later(0.1, os.kill, os.getpid(), signal.SIGTERM)
        with graceful_interrupt(driver, grace=0.2):
            return driver, await collect(driver, plan(5))

    driver, results = asyncio.run(scenario())
    assert results == [] and len(driver.owed) == 5
    said = "interrupted: 3 running episodes have 0.2 s to end; press Ctrl-C again to stop now\n"
    assert capsys.readouterr().err == said


class Plain(gymnasium.Env[str, str]):
    """A Gymnasium environment that knows nothing of this package."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict]:
        super().reset(seed=seed)
        assert options is None
        self.left = int(self.np_random.integers(1, 4))
        return "go", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.left -= 1
        return "on", 0.5, self.left == 0, False, {}


class Doubled(gymnasium.RewardWrapper[str, str]):
    def reward(self, reward: Any) -> float:
        return 2.0 * float(reward)


@pytest.mark.parametrize(("allowed", "asked", "played"), [(3, 8, 3), (8, 3, 3), (None, 8, 8), (1, 8, 1)])
def test_an_environment_limits_the_number_of_episodes(allowed: int | None, asked: int, played: int) -> None:
    class Limited(Guess):
        max_concurrency = allowed

    most = 0

    async def answer(env: Any) -> str:
        nonlocal most
        most = max(most, driver.running)
        await asyncio.sleep(0)
        return str(env.oracle_action())

    driver = Driver(CallAgent(lambda _n, env, _o: answer(env)), Limited, concurrency=asked)
    for _ in range(2):
        results = play(driver, plan(20))
        assert len(results) == 20 and all(r.success for r in results if isinstance(r, Episode))
    assert most == played


def test_plain_gymnasium_environments_are_played_too() -> None:
    results = play(Driver(WRONG, Plain), [EpisodeSpec("plain", None, 0, seed) for seed in range(5)])
    assert sorted(r.task_id for r in results if isinstance(r, Episode)) == list("01234")
    for episode in results:
        assert isinstance(episode, Episode)
        assert episode.terminated and episode.end_reason == "terminated" and episode.success is None
        assert episode.total_reward == 0.5 * len(episode.turns)


@pytest.mark.parametrize(("make", "reward"), [(lambda: Doubled(Guess()), 2.0), (Guess, 1.0)])
def test_a_users_wrapper_keeps_its_effect(make: Callable[[], Any], reward: float) -> None:
    results = play(Driver(ORACLE, make, concurrency=16), plan(16))
    assert [r.total_reward for r in results if isinstance(r, Episode)] == [reward] * 16


def test_wrapped_environments_wait_for_their_simulators_at_the_same_time() -> None:
    waiting, all_wait = 0, asyncio.Event()

    async def chat(messages: Messages, role: Role) -> ChatReply:
        nonlocal waiting
        waiting += 1
        if waiting == 8:
            all_wait.set()
        await all_wait.wait()
        return ChatReply("Yes.")

    results = play(Driver(ORACLE, lambda: Doubled(Guess(chat=chat)), concurrency=8), plan(8))
    assert [r.total_reward for r in results if isinstance(r, Episode)] == [2.0] * 8


def test_limits_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="'turns' must be positive"):
        PlayLimits(turns=0)
    with pytest.raises(ValueError, match="concurrency"):
        Driver(ORACLE, Guess, concurrency=0)
