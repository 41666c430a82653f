"""``openenv@{"url": …}``: the environment of a server is played, trained on and checked like any other."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openenv")

import requests
from fastapi import FastAPI, WebSocket
from openenv.core.env_server.types import Observation

from nlac_bench.agents.floors import Constant
from nlac_bench.bridges import openenv_session
from nlac_bench.bridges.openenv_env import OpenEnvEnv
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import join
from nlac_bench.errors import ConfigError, EnvInfraError, NlacBenchError
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from tests.bridges.openenv_servers import FreeAction, FreeObservation, Talked, free, of_app, served
from tests.cli.command import nlac_bench, one_json

pytestmark = pytest.mark.bridge


def greeted(seed: int | None) -> Observation:
    return Talked(text=f"hello {seed}")


@pytest.mark.parametrize("name", ["tau_retail", "twenty_questions"])
def test_an_episode_is_the_local_one(name: str) -> None:
    with served(name) as url:
        bridged, local = OpenEnvEnv(url=url, split="train"), registry.make_text_env(name, split="train")
        assert len(bridged.task_ids) == len(local.task_ids) and bridged.splits == tuple(local.splits)
        for index in (0, 5):
            options = [{"task_id": bridged.task_ids[index]}, {"task_id": local.task_ids[index]}]
            (seen, said), (observation, info) = (
                env.reset(seed=4, options=each) for env, each in zip((bridged, local), options, strict=True)
            )
            assert seen == observation
            assert {key: said[key] for key in ("messages", "tools", "policy")} == {
                key: info[key] for key in ("messages", "tools", "policy")
            }
            assert bridged.max_steps == local.max_steps
            rng, ended = np.random.default_rng(0), False
            while not ended:
                action = local.random_action(rng) if rng.random() < 0.5 else local.oracle_action()
                expected, played = local.step(action), bridged.step(action)
                ended = expected[2]
                assert played[:4] == expected[:4]
                for key in (
                    "action_kind",
                    "tool_name",
                    "tool_error",
                    "success",
                    "reward_parts",
                    "end_reason",
                ):
                    assert played[4].get(key) == expected[4].get(key), key


def test_envs_check_passes() -> None:
    with served("twenty_questions") as url:
        checked = one_json(nlac_bench("envs", "check", join("openenv", {"url": url}), "--json"))
    assert checked["holds"] and checked["warnings"] == []
    skipped = {each["name"] for each in checked["checks"] if each["ok"] is None}
    assert skipped == {"oracle", "gold answers stay hidden", "make_vec"}


@pytest.fixture(scope="module")
def easy() -> Iterator[str]:
    with served('twenty_questions@{"level": "easy"}') as url:
        yield url


def test_agents_are_measured_and_trained(easy: str, tmp_path: Path) -> None:
    env = join("openenv", {"url": easy})
    run = one_json(
        nlac_bench(
            "run", "--env", env, "--agent", "random", "--limit", "6", "--out", f"{tmp_path}/r", "--json"
        )
    )
    assert (run["scored"], run["infra_errors"]) == (6, 0)
    trained = one_json(
        nlac_bench(
            "run", "--env", env, "--agent", "grpo", "--model", "tiny", "--budget", "steps=2", "--limit", "1",
            "--train", "val_tasks=1", "--train", "train_batch_size=8", "--train", "rollouts_per_task=4",
            "--out", f"{tmp_path}/g", "--json",
        )
    )  # fmt: skip
    assert trained["scored"] == 1 and trained["complete"]
    rows = [json.loads(line) for line in (tmp_path / "g" / "metrics.jsonl").read_text().splitlines()]
    assert max(row.get("gradient_steps_total", 0) for row in rows) == 2
    assert "oracle" in nlac_bench("run", "--env", env, "--agent", "oracle", status=2).stderr


def test_splits_that_the_server_cannot_play_are_left_out() -> None:
    with served('tau_retail@{"tasks": ["retail/test/easy/000", "retail/test/easy/003"]}') as url:
        answer = requests.post(f"{url}/tau_retail/num_tasks", json={"split": "train"})
        assert answer.status_code == 404 and "retail/test/easy/000" in answer.json()["detail"]
        env = OpenEnvEnv(url=url)
        assert env.splits == ("test",) and len(env.task_ids) == 2
        assert env.reset(seed=0)[1]["policy"]
        env.close()
        with pytest.raises(ValueError, match="split must be 'test'"):
            OpenEnvEnv(url=url, split="train")


@pytest.mark.official
def test_the_split_with_scripted_users_is_played_without_the_others(official_data: Path) -> None:
    with served('tau_retail@{"data": "official", "split": "train"}') as url:
        env = OpenEnvEnv(url=url, split="train")
        assert env.splits == ("train",) and len(env.task_ids) == 500
        env.close()


def test_floors_are_those_that_can_play_on_a_server() -> None:
    for text, agents in (
        ("twenty_questions", ["random", "silent"]),
        ("tau_retail", ["random", "silent", "transfer"]),
    ):
        with served(text) as url:
            floors = ("floors", "--env", join("openenv", {"url": url}), "--episodes", "2", "--json")
            assert [row["agent"] for row in one_json(nlac_bench(*floors))["rows"]] == agents


def test_a_copy_of_an_episode_is_continued_in_a_session_of_its_own(fragile: str) -> None:
    env = OpenEnvEnv(url=fragile)
    env.reset(seed=0, options={"task_id": "test/1"})
    env.step("a")
    twin = env.fork()
    assert twin.step("win")[1] == 1 and env.step("b")[0] == "you said b"
    env.close()


def test_a_server_that_answers_differently_cannot_continue_a_copy() -> None:
    answers = iter(range(100))
    with free(greeted, lambda action: Talked(text=f"answer {next(answers)}")) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        env.step("a")
        with pytest.raises(EnvInfraError, match="had another result"):
            env.fork().step("b")
        assert env.step("b")[0] == "answer 2"  # the original is not touched


def test_seeds_are_the_tasks_of_a_server_without_tasks() -> None:
    with free(greeted, lambda action: Talked(text="x", done=True, reward=1)) as url:
        test, train = OpenEnvEnv(url=url), OpenEnvEnv(url=url, split="train")
        assert not set(test.task_ids) & set(train.task_ids)
        assert test.reset(seed=9, options={"task_id": "seed-7"})[0] == "hello 7"
        assert train.reset(seed=9, options={"task_id": "seed-107"})[0] == "hello 107"
        _, reward, terminated, truncated, info = train.step("?")
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
        assert info["success_by"] == "reward" and "reward_missing" not in info


@pytest.mark.parametrize(
    ("reply", "reward", "success", "by", "missing"),
    [
        (Talked(text="x", done=True), 0.0, False, "reward", True),
        (Talked(text="x", done=True, reward=0.0), 0.0, False, "reward", False),
        (Talked(text="x", done=True, reward=-1), -1.0, False, "reward", False),
        (Talked(text="x", done=True, reward=True), 1.0, True, "reward", False),
        (Talked(text="x", done=True, reward=1, metadata={"success": False}), 1.0, False, "server", False),
        (Talked(text="x", done=True, metadata={"success": True}), 0.0, True, "server", True),
        (Talked(text="x", done=True, reward=1, metadata={"success": "yes"}), 1.0, True, "reward", False),
    ],
)
def test_success_is_what_the_server_says_else_a_positive_reward(
    reply: Talked, reward: float, success: bool, by: str, missing: bool
) -> None:
    with free(greeted, lambda action: reply) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        _, earned, _, _, info = env.step("?")
    assert (earned, info["success"], info["success_by"]) == (reward, success, by)
    assert info.get("reward_missing", False) is missing


def test_a_cut_of_the_server_is_a_truncation() -> None:
    cut = Talked(text="x", done=True, reward=0, metadata={"truncated": True})
    with free(greeted, lambda action: cut) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        assert env.step("?")[2:4] == (False, True)


def test_an_action_of_several_fields_is_json() -> None:
    def reply(action: FreeAction) -> FreeObservation:
        return FreeObservation(board=[action.count], reward=float(action.count), done=action.count > 8)

    with free(lambda seed: FreeObservation(board=[0]), reply, action=FreeAction) as url:
        env = OpenEnvEnv(url=url)
        observation, info = env.reset(seed=0)
        assert observation == '{"board":[0]}' and '"count"' in info["policy"]
        assert env.step('{"move": "a", "count": 2}')[:2] == ('{"board":[2]}', 2.0)
        fenced = 'I move.\n```json\n{"move": "a", "count": 3}\n```'
        assert env.step(fenced)[1] == 3.0
        invalid = ["hello", "[1]", '{"move": "a"}', '{"move": "a", "count": "many"}', "[" * 10_000]
        for action in [*invalid, *invalid[:4]]:
            observation, reward, terminated, _, info = env.step(action)
            assert (reward, terminated, info["action_kind"]) == (0.0, False, "invalid"), action
            assert observation.startswith("Invalid action")
        assert env.fork().step('{"move": "a", "count": 9}')[2]  # invalid actions are not played again
        _, reward, terminated, _, info = env.step("hello")  # the tenth one
        assert (reward, terminated, info["end_reason"]) == (0.0, True, "failure")


def test_all_episodes_wait_for_the_only_session() -> None:
    with free(greeted, lambda action: Talked(text="x", done=True, reward=1), sessions=1) as url:
        driver = Driver(Constant("?"), lambda: OpenEnvEnv(url=url), concurrency=4)
        specs = [EpisodeSpec("openenv", f"seed-{seed}", 0, seed) for seed in range(8)]

        async def all_of() -> list[Any]:
            return [result async for result in driver.run(specs)]

        results = asyncio.run(all_of())
    assert [getattr(each, "total_reward", each) for each in results] == [1.0] * 8


@pytest.mark.parametrize(
    ("limit", "actions", "reason"),
    [
        (None, ["hello"] * 10, "failure"),
        (2, ["hello"] * 2, "max_steps"),
        (2, ['{"move": "a", "count": 1}'] * 2, "max_steps"),
        (2, ["x" * 100_001] * 2, "max_steps"),
        (None, ['{"move": "a", "count": 9}'], "failure"),
    ],
)
def test_every_end_of_an_episode_frees_its_session(
    limit: int | None, actions: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it ends: by invalid actions, which the server does not see, by the limit, or by the server."""
    monkeypatch.setattr(openenv_session, "FREE_S", 2.0)

    def first(seed: int | None) -> FreeObservation:
        return FreeObservation(board=[0], metadata={} if limit is None else {"max_steps": limit})

    def reply(action: FreeAction) -> FreeObservation:
        return FreeObservation(board=[action.count], done=action.count > 8)

    with free(first, reply, action=FreeAction, sessions=1) as url:
        one, other = OpenEnvEnv(url=url), OpenEnvEnv(url=url)
        for _ in range(2):
            one.reset(seed=0)
            for action in actions:
                *_, terminated, _, info = one.step(action)
            assert terminated and info["end_reason"] == reason
            other.reset(seed=0)
            for action in actions[:-1]:
                assert not other.step(action)[2]  # an episode that goes on keeps its session
            assert other.step('{"move": "a", "count": 9}')[4]["end_reason"] in ("failure", "max_steps")
        one.close()
        one.close()


def test_an_end_in_another_event_loop_frees_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_session, "FREE_S", 5.0)
    with free(lambda seed: FreeObservation(), broken, action=FreeAction, sessions=1) as url:
        env, other = OpenEnvEnv(url=url), OpenEnvEnv(url=url)
        env.reset(seed=0)

        async def fail() -> bool:
            return [(await env.astep("hello"))[2] for _ in range(10)][-1]

        assert asyncio.run(fail())
        assert other.reset(seed=0)
        other.close()


def test_a_session_that_never_becomes_free_is_an_infrastructure_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openenv_session, "FREE_S", 0.2)
    with free(greeted, lambda action: Talked(text="x"), sessions=1) as url:
        one, other = OpenEnvEnv(url=url), OpenEnvEnv(url=url)
        one.reset(seed=0)
        with pytest.raises(EnvInfraError, match="no session was free"):
            other.reset(seed=0)
        del one  # an environment that is dropped frees its session
        monkeypatch.setattr(openenv_session, "FREE_S", 60.0)
        assert other.reset(seed=0)[0].startswith("hello")
        other.close()
        assert OpenEnvEnv(url=url).reset(seed=0)[0].startswith("hello")


def broken(action: Any) -> Observation:
    raise ValueError("the browser has crashed")


def test_an_error_frame_is_an_infrastructure_error_and_the_next_episode_plays() -> None:
    crashes = [True]

    def reply(action: Any) -> Observation:
        return broken(action) if crashes.pop() else Talked(text="x", done=True, reward=1)

    with free(greeted, reply) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        with pytest.raises(EnvInfraError, match=r"the browser has crashed.*\(EXECUTION_ERROR\)"):
            env.step("?")
        crashes.append(False)
        env.reset(seed=0)
        assert env.step("?")[1] == 1


def test_a_failing_server_is_never_scored(fragile: str) -> None:
    driver = Driver(Constant("fail"), lambda: OpenEnvEnv(url=fragile))
    (result,) = asyncio.run(_first(driver))
    assert (result.kind, result.error) == ("infra", "EnvInfraError")


async def _first(driver: Driver) -> list[Any]:
    return [result async for result in driver.run([EpisodeSpec("openenv", "test/0", 0, 0)])]


def hostile(answer: Callable[[WebSocket, dict[str, Any]], Any]) -> Any:
    """A server that speaks the protocol up to the reply to a step, which ``answer`` sends."""
    app = FastAPI()

    @app.get("/schema")
    def schema() -> dict[str, Any]:
        return {"action": {"required": ["message"], "properties": {"message": {"type": "string"}}}}

    @app.get("/metadata")
    def metadata() -> dict[str, Any]:
        return {"name": "hostile", "description": "is hostile"}

    @app.websocket("/ws")
    async def session(socket: WebSocket) -> None:
        await socket.accept()
        while (frame := await socket.receive_json())["type"] != "close":
            if frame["type"] == "reset":
                await socket.send_json({"type": "observation", "data": {"observation": {"prompt": "go"}}})
            else:
                await answer(socket, frame)
        await socket.close()

    return of_app(app)


def sends(text: str) -> Callable[[WebSocket, dict[str, Any]], Any]:
    async def answer(socket: WebSocket, frame: dict[str, Any]) -> None:
        await socket.send_text(text)

    return answer


async def closes(socket: WebSocket, frame: dict[str, Any]) -> None:
    await socket.close()


async def is_silent(socket: WebSocket, frame: dict[str, Any]) -> None:
    return None


def framed(**data: Any) -> str:
    return json.dumps({"type": "observation", "data": {"observation": {"prompt": "x"}, **data}})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (closes, "the session failed"),
        (is_silent, "no reply within"),
        (sends("nonsense"), "the session failed"),
        (sends("[1]"), "expected a frame"),
        (sends('{"type": "observation", "data": {"observation": "text"}}'), "expected a frame"),
        (sends('{"type": "error", "data": 3}'), "reports an error"),
        (sends('{"type": "state", "data": {}}'), "expected a frame"),
        (sends("[" * 200_000), "the session failed"),
        (sends(json.dumps({"a": [0] * 300_000})), "values"),
        (sends(framed(reward=1).replace(": 1", ": NaN")), "NaN"),
        (sends(framed(reward=1).replace(": 1", ": 1e999")), "too large"),
        (sends(framed(reward="1")), "the reward is '1'"),
        (sends(framed(reward=10**400)), "the reward is 1000"),
        (sends(framed(reward=1, done=True, observation={"prompt": "x" * 1_000_001})), "at most"),
        (sends('{"type": "observation", "data": "' + "x" * 2**24 + '"}'), "the session failed"),
    ],
)
def test_what_a_server_sends_is_bounded_and_never_a_reward(
    answer: Any, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openenv_session, "REPLY_S", 0.5 if answer is is_silent else 60.0)
    with hostile(answer) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        with pytest.raises(EnvInfraError, match=error):
            env.step("?")
        with pytest.raises(EnvInfraError, match="the session failed"):  # the episode cannot be continued
            env.step("?")


def test_hostile_texts_and_lists_are_cleaned() -> None:
    data = {
        "observation": {"prompt": "a\ud800b", "tool_name": 7},
        "done": True,
        "reward": 1,
        "metadata": {
            "success": 1, "end_reason": "<script>", "action_kind": "root", "tool_error": "\udfff",
            "reward_parts": {"x": 1, "y": "no", "z": 10**400}, "usage": {"policy": {"cost": -1}},
        },
    }  # fmt: skip
    with hostile(sends(json.dumps({"type": "observation", "data": data}))) as url:
        env = OpenEnvEnv(url=url)
        env.reset(seed=0)
        observation, _, terminated, _, info = env.step("?")
    assert (observation, terminated) == ("a?b", True)
    assert info == {
        "action_kind": "message", "tool_name": None, "tool_error": "?", "usage": {}, "success": True,
        "success_by": "reward", "end_reason": "success", "reward_parts": {"x": 1.0},
    }  # fmt: skip


def test_a_socket_that_closed_is_not_opened_again_in_an_episode(fragile: str) -> None:
    env = OpenEnvEnv(url=fragile)
    env.reset(seed=0)
    session = env._state.session
    asyncio.run_coroutine_threadsafe(session._socket.close(), session.loop).result()
    with pytest.raises(EnvInfraError, match="the session failed"):
        env.step("win")


@pytest.mark.parametrize("url", ["ftp://a", "localhost:8000", 3])
def test_an_address_is_http(url: Any) -> None:
    with pytest.raises(ConfigError, match="url must be an address"):
        OpenEnvEnv(url=url)


def test_servers_that_speak_another_protocol_are_refused() -> None:
    with pytest.raises(ConfigError, match=r'openenv@\{"url"'):
        OpenEnvEnv()
    with pytest.raises(EnvInfraError, match=r"does not answer http://127\.0\.0\.1:9/schema"):
        OpenEnvEnv(url="http://127.0.0.1:9")
    with of_app(FastAPI()) as url, pytest.raises(EnvInfraError, match="with status 404"):
        OpenEnvEnv(url=url)
    with free(greeted, broken) as url, pytest.raises(ValueError, match="split must be 'test' or 'train'"):
        OpenEnvEnv(url=url, split="valid")
    done = free(lambda seed: Talked(text="x", done=True), broken)
    with done as url, pytest.raises(EnvInfraError, match="done before the first action"):
        OpenEnvEnv(url=url).reset(seed=0)
    with pytest.raises(NlacBenchError, match="there is no oracle"), free(greeted, broken) as url:
        OpenEnvEnv(url=url).oracle_action()
