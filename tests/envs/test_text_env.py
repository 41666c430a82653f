"""The contract that TextEnv keeps for every environment."""

import asyncio
import copy
import dataclasses
import json
import pickle
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics
from hypothesis import given
from hypothesis import strategies as st

from nlac_bench.agents.floors import OracleAgent, RandomAgent, search_constant
from nlac_bench.envs import TextEnv
from nlac_bench.envs.text_env import MAX_ACTION_CHARS, Outcome
from nlac_bench.errors import NlacBenchError, UnknownIdError
from tests.envs.count_down import CountDown


def started(task_id: str = "4", **kwargs: object) -> CountDown:
    env = CountDown(**kwargs)  # type: ignore[arg-type]
    env.reset(seed=0, options={"task_id": task_id})
    return env


def test_gymnasium_accepts_it() -> None:
    check_env(CountDown(), skip_render_check=True)


def test_reset_info_has_every_key_and_is_json() -> None:
    _, info = CountDown().reset(seed=0, options={"task_id": "3"})
    assert set(info) == {
        "task_id",
        "split",
        "messages",
        "tools",
        "policy",
        "env_version",
        "data_source",
        "data_sha256",
    }
    assert info["task_id"] == "3"
    assert info["data_source"] == "custom" and len(info["data_sha256"]) == 64
    json.dumps(info, allow_nan=False)


def test_success_ends_with_its_keys() -> None:
    env = started("3")
    _, reward, terminated, truncated, info = env.step("2")
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert "success" not in info and "end_reason" not in info
    _, reward, terminated, truncated, info = env.step("1")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (
        info["success"] is True and info["end_reason"] == "success" and info["reward_parts"] == {"said": 1.0}
    )


def test_own_limit_terminates_and_does_not_truncate() -> None:
    env = started()
    steps = [env.step("?") for _ in range(6)]
    assert [s[2] for s in steps] == [False] * 5 + [True]
    assert not any(s[3] for s in steps)
    assert steps[-1][4]["end_reason"] == "max_steps" and steps[-1][4]["success"] is False


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward": "1"}, "returned the reward '1'; it must be a finite number"),
        ({"reward": float("nan")}, "the reward nan"),
        (
            {"end_reason": "won"},
            "returned the end_reason 'won'; it must be None or one of success",
        ),
        ({"end_reason": 3}, "end_reason 3; it"),
        ({"reward": np.float32(0.5)}, None),
        ({"end_reason": "user_stop"}, None),
    ],
)
def test_an_outcome_has_a_number_and_a_known_end(change: dict[str, Any], said: str | None) -> None:
    class Changed(CountDown):
        async def _respond(self, action: str) -> Outcome:
            return dataclasses.replace(await super()._respond(action), **change)

    env = Changed()
    env.reset(seed=0)
    if said is None:
        _, reward, terminated, _, _ = env.step("9")
        assert type(reward) is float and terminated == ("end_reason" in change)
    else:
        with pytest.raises(ValueError, match=said):
            env.step("9")


@pytest.mark.parametrize(
    ("task_ids", "said"),
    [
        (["2", "\ud8003"], r"Listed: task_ids must be texts without lone surrogates, got '\\ud8003'"),
        (["2", 3], "task_ids must be texts .*, got 3"),
        ([None], "task_ids must be texts .*, got None"),
        (["2\n", "🙂", "é"], None),
        ("234", None),
    ],
)
def test_task_ids_are_texts(task_ids: Any, said: str | None) -> None:
    class Listed(CountDown):
        def __init__(self) -> None:
            TextEnv.__init__(self, task_ids=task_ids)

    if said is None:
        assert Listed().task_ids == tuple(task_ids)
    else:
        with pytest.raises(ValueError, match=said):
            Listed()


@pytest.mark.parametrize(
    ("method", "returned", "said"),
    [
        ("oracle_action", 1, "oracle_action of count_down returned the action 1; it must be a str"),
        ("oracle_action", "1", None),
        ("random_action", None, "random_action of count_down returned the action None; it must be a str"),
        ("random_action", "1", None),
        (
            "constant_actions",
            [1, 2],
            "constant_actions of count_down returned the action 1; it must be a str",
        ),
        (
            "constant_actions",
            "12",
            "constant_actions of count_down returned '12'; it must be a list of actions",
        ),
        ("constant_actions", None, "constant_actions of count_down returned None; it must be a list of"),
        ("constant_actions", (np.str_("1"), "2"), None),
    ],
)
def test_an_action_that_is_no_text_is_blamed_on_the_environment(
    method: str, returned: Any, said: str | None
) -> None:
    kind = type("Acts", (CountDown,), {method: lambda self, *_: returned})
    agent = OracleAgent() if method == "oracle_action" else RandomAgent()

    async def first_action() -> str:
        env = kind()
        return (await agent.begin(env, 0).act(*env.reset(seed=0))).text

    if said is None:
        assert asyncio.run(first_action()) in ("1", "2")
        return
    with pytest.raises(NlacBenchError, match=said):
        asyncio.run(first_action())
    if method == "constant_actions":
        with pytest.raises(NlacBenchError, match=said):
            search_constant(kind())


def test_an_outcome_is_an_outcome() -> None:
    class Forgets(CountDown):
        async def _respond(self, action: str) -> Outcome:
            return None  # type: ignore[return-value]

    env = Forgets()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="_respond of count_down returned None; it must be an Outcome"):
        env.step("1")
    assert env.step(3)[4]["action_kind"] == "invalid"  # type: ignore[arg-type]


def test_step_outside_an_episode_is_refused() -> None:
    env = CountDown()
    with pytest.raises(ResetNeeded):
        env.step("1")
    env = started("2")
    env.step("1")
    with pytest.raises(ResetNeeded):
        env.step("1")


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ("x" * 10_000_000, "10,000,000"),
        ("\ud800 hello", "surrogates"),
        (None, "NoneType"),
        (7, "int"),
        (b"1", "bytes"),
    ],
)
def test_unusable_actions_are_counted_steps_with_a_message(action: object, says: str) -> None:
    env = started()
    observation, reward, terminated, _, info = env.step(action)  # type: ignore[arg-type]
    assert says in observation and info["action_kind"] == "invalid"
    assert (reward, terminated) == (0.0, False)
    for _ in range(4):
        env.step("?")
    assert env.step("?")[2], "the unusable action must have counted"
    env.render_mode = "ansi"
    rendered = env.render()
    assert rendered is not None
    rendered.encode()


def test_action_at_the_limit_is_played() -> None:
    _, _, _, _, info = started("2").step("1" + " " * (MAX_ACTION_CHARS - 1))
    assert info["success"]


def test_same_seed_same_episode_and_no_global_randomness() -> None:
    def play(seed: int) -> list[str]:
        env = CountDown()
        first, _ = env.reset(seed=seed)
        return [first, *(env.step(str(int(first) - 1))[0] for _ in range(1))]

    np.random.seed(0)
    before = np.random.get_state(legacy=False)["state"]["key"].tolist()
    assert play(5) == play(5)
    assert len({tuple(play(s)) for s in range(20)}) > 3
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == before


def test_threads_do_not_share_randomness() -> None:
    seen: list[str] = []

    def play() -> None:
        env = CountDown()
        env.reset(seed=11, options={"task_id": "4"})
        seen.append(env.step("3")[0])

    threads = [threading.Thread(target=play) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 and len(set(seen)) == 1


def test_unknown_task_and_option_name_the_value() -> None:
    env = CountDown()
    with pytest.raises(UnknownIdError, match="'17'"):
        env.reset(options={"task_id": "17"})
    with pytest.raises(ValueError, match="difficulty"):
        env.reset(options={"difficulty": 3})
    with pytest.raises(ValueError, match="'human'"):
        CountDown(render_mode="human")


def test_a_failed_reset_leaves_nothing_to_step() -> None:
    env = started()
    with pytest.raises(UnknownIdError):
        env.reset(options={"task_id": "17"})
    env.step("3")  # refused before anything was touched: the episode goes on


def test_pickled_in_the_middle_it_goes_on_the_same() -> None:
    env = started()
    env.step("3")
    twin = pickle.loads(pickle.dumps(env))
    assert env.step("2") == twin.step("2")


@given(st.lists(st.sampled_from(["3", "2", "?", ""]), max_size=5), st.lists(st.text(max_size=4), max_size=6))
def test_a_fork_never_changes_its_parent(before: list[str], inside: list[str]) -> None:
    env = started("4", render_mode="ansi")
    ended = False
    for action in before:
        ended = ended or env.step(action)[2]
    snapshot = pickle.dumps((env._state.number, env._state.draws, env._steps, env.render()))
    generator = copy.deepcopy(env.np_random.bit_generator.state)
    fork = env.fork()
    for action in inside:
        ended = ended or fork.step(action)[2]
    assert snapshot == pickle.dumps((env._state.number, env._state.draws, env._steps, env.render()))
    assert generator == env.np_random.bit_generator.state


def test_a_fork_has_the_same_future_and_its_own() -> None:
    env = started()
    env.step("3")
    fork = env.fork()
    assert fork.step("2") == env.step("2")
    fork = env.fork()
    assert fork.step("1")[2] and not env.step("?")[2]


def test_remote_environment_waits_without_an_event_loop_and_within_one() -> None:
    env = CountDown(remote=True)
    assert env.reset(seed=0, options={"task_id": "2"})[0] == "2"
    assert env.step("1")[4]["success"]

    async def within() -> bool:
        inner = CountDown(remote=True)
        await inner.areset(seed=0, options={"task_id": "2"})
        return (await inner.astep("1"))[2]

    assert asyncio.run(within())


def test_usage_of_the_simulator_is_reported_by_role() -> None:
    _, _, _, _, info = started().step("?")
    assert info["usage"]["user"]["calls"] == 1


def test_record_episode_statistics_counts() -> None:
    env = RecordEpisodeStatistics(CountDown())
    env.reset(seed=0, options={"task_id": "3"})
    env.step("2")
    info = env.step("1")[4]
    assert info["episode"]["r"] == 1.0 and info["episode"]["l"] == 2


def test_make_by_registration() -> None:
    gymnasium.register(
        "CountDownTest-v0",
        "tests.envs.count_down:CountDown",
        vector_entry_point="tests.envs.count_down:CountDownVector",
        disable_env_checker=True,
    )
    env = gymnasium.make("CountDownTest-v0", split="train", render_mode="ansi")
    _, info = env.reset(seed=0)
    assert info["split"] == "train"
    assert env.render() is not None
    assert gymnasium.make_vec("CountDownTest-v0", num_envs=2).reset(seed=0)[0]
