"""One environment used by several threads: every call gives the right result or an error."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded

from nlac_bench.envs import registry
from nlac_bench.envs.episode_guard import EpisodeGuard
from nlac_bench.errors import NlacBenchError
from tests.envs.count_down import CountDown

PLAIN = "tests.envs.plain_env:nlac_bench_test/EchoUnreported-v0"
ROUNDS = 200


def episode(env: Any, task: str) -> list[Any]:
    """What the oracle's episode of ``task`` looks like from outside."""
    observation, info = env.reset(seed=3, options={"task_id": task})
    seen: list[Any] = [observation, info["task_id"]]
    for _ in range(40):
        observation, reward, terminated, truncated, info = env.step(env.oracle_action())
        seen.append((observation, reward, terminated, truncated, info.get("success")))
        if terminated:
            break
    return seen


@pytest.mark.parametrize("name", [*registry.BUILTIN, "count_down"])
def test_two_threads_get_the_right_result_or_an_error(name: str) -> None:
    make = CountDown if name == "count_down" else lambda: registry.make_text_env(name)
    tasks = make().task_ids[:2]
    expected = {task: episode(make(), task) for task in tasks}
    shared, together = make(), threading.Barrier(2)
    outcomes: list[str] = []  # appending is atomic, adding to a counter is not
    wrong: list[Any] = []

    def play(task: str) -> None:
        for _ in range(ROUNDS // 10 if name == "math500_hard" else ROUNDS):
            together.wait()
            try:
                found = episode(shared, task)
            except (NlacBenchError, ResetNeeded) as error:
                outcomes.append(type(error).__name__)
            else:
                outcomes.append("right")
                if found != expected[task]:
                    wrong.append((task, found))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(play, tasks))
    assert not wrong, wrong[0]
    assert len(outcomes) == 2 * (ROUNDS // 10 if name == "math500_hard" else ROUNDS)
    assert episode(shared, tasks[0]) == expected[tasks[0]]  # still usable


def test_a_call_during_another_is_an_error() -> None:
    entered, leave = threading.Event(), threading.Event()

    class Slow(CountDown):
        async def _begin(self, task_id: str) -> str:
            entered.set()
            leave.wait()
            return await super()._begin(task_id)

    env = Slow()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(env.reset, options={"task_id": "3"})
        entered.wait()
        for call in (env.reset, lambda: env.step("2")):
            with pytest.raises(NlacBenchError, match="another thread is inside"):
                call()
        leave.set()
        assert first.result()[0] == "3"
    assert env.step("2")[0].startswith("2 ")


def test_an_episode_that_another_thread_has_replaced_is_an_error() -> None:
    env = CountDown()
    env.reset(options={"task_id": "3"})
    with ThreadPoolExecutor(1) as pool:
        pool.submit(env.reset, options={"task_id": "4"}).result()
        with pytest.raises(NlacBenchError, match="another thread has reset"):
            env.step("2")
        assert pool.submit(env.step, "3").result()[0].startswith("3 ")
    env.reset(options={"task_id": "3"})
    assert env.step("2")[0].startswith("2 ")


def test_no_thread_begins_an_episode_while_another_is_asked_about() -> None:
    guard = EpisodeGuard()

    def begin() -> None:
        with guard.reset("env", running=lambda: False):
            pass

    def running() -> bool:
        with ThreadPoolExecutor(1) as pool, pytest.raises(NlacBenchError, match="another thread is inside"):
            pool.submit(begin).result()
        return False

    with guard.reset("env", running=running):
        pass
    begin()


def test_threads_may_take_turns_and_copies_are_their_own() -> None:
    env = CountDown()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(env.reset, options={"task_id": "3"}).result()
        assert env.step("2")[0].startswith("2 ")
        copies = [env.fork(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        pool.submit(env.reset, options={"task_id": "4"}).result()
        assert [twin.step("1")[4]["success"] for twin in copies] == [True] * 3


def test_a_plain_environment_is_guarded_too() -> None:
    env = registry.make_playable(PLAIN)
    env.reset(seed=1)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(env.reset, seed=2).result()
    with pytest.raises(NlacBenchError, match="another thread has reset"):
        env.step("red")
    assert isinstance(env.unwrapped, gymnasium.Env)
