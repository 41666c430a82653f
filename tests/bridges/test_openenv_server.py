"""``nlac-bench serve``, played with the client and the validation of the package openenv."""

import json
import signal
import socket
from typing import Any

import pytest

pytest.importorskip("openenv")

import requests
from openenv import GenericEnvClient
from openenv.cli._validation import validate_running_environment
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from nlac_bench.bridges import openenv_server
from nlac_bench.envs import registry
from nlac_bench.errors import NlacBenchError
from tests.bridges.openenv_servers import served
from tests.cli.command import nlac_bench, started

pytestmark = pytest.mark.bridge


def client_of(url: str) -> Any:
    return GenericEnvClient(base_url=url).sync()


def test_openenv_validates_the_server(fragile: str) -> None:
    report = validate_running_environment(fragile)
    assert report["passed"] and report["mode"] == "simulation", report["summary"]


@pytest.mark.parametrize(
    "env",
    [
        "tau_retail",
        "twenty_questions",
        "math500_hard",
        'shop_worlds@{"split": "train", "world": 3}',
    ],
)
def test_the_oracles_episode_earns_the_local_reward(env: str) -> None:
    with served(env) as url, client_of(url) as client:
        local = registry.make_text_env(env)
        for task_id in (local.task_ids[0], local.task_ids[-1]):
            prompt, info = local.reset(seed=11, options={"task_id": task_id})
            result = client.reset(seed=11, task_id=task_id)
            assert result.observation["prompt"] == prompt and result.reward is None
            assert result.observation["messages"] == info["messages"]
            assert result.observation["tools"] == info["tools"]
            assert result.metadata["system_prompt"] == info["policy"]
            for key in ("task_id", "split", "env_version", "data_sha256"):
                assert result.metadata[key] == info[key]
            done, steps = False, 0
            while not done:
                action = local.oracle_action()
                prompt, reward, done, _, info = local.step(action)
                result = client.step({"message": action})
                steps += 1
                assert (result.observation["prompt"], result.reward, result.done) == (prompt, reward, done)
                assert result.metadata["action_kind"] == info["action_kind"]
            assert result.metadata["success"] is info["success"] is True
            assert result.metadata["reward_parts"] == info["reward_parts"]
            assert result.observation["end_reason"] == info["end_reason"]
            assert client.state()["step_count"] == steps


def test_sessions_are_independent(fragile: str) -> None:
    with client_of(fragile) as one, client_of(fragile) as other:
        one.reset(split="test", index=0, episode_id="mine")
        assert other.reset(split="test", index=1).observation["prompt"] == "task 1"
        assert one.step({"message": "a"}).observation["prompt"] == "you said a"
        assert other.step({"message": "win"}).reward == 1
        assert not one.step({"message": "b"}).done
        assert (one.state()["episode_id"], one.state()["step_count"]) == ("mine", 2)
        assert (one.state()["task_id"], other.state()["task_id"]) == ("0", "1")
        assert other.state()["episode_id"] and other.state()["step_count"] == 1


def test_a_plain_environment_that_cannot_be_copied_is_made_for_each_session() -> None:
    name = "tests.envs.plain_env:nlac_bench_test/EchoLocked-v0"
    with served(name) as url, client_of(url) as one, client_of(url) as other:
        first, second = one.reset(seed=1), other.reset(seed=2)
        assert one.step({"message": first.observation["prompt"]}).reward == 1
        result = other.step({"message": second.observation["prompt"]})
        assert result.done and result.metadata["success"] is True


def test_a_limit_of_the_task_is_an_end_and_no_cut(fragile: str) -> None:
    with client_of(fragile) as client:
        client.reset()
        for _ in range(5):
            result = client.step({"message": "a"})
        assert result.done and result.observation["end_reason"] == "max_steps"
        assert result.observation["truncated"] is False and result.metadata["success"] is False


@pytest.mark.parametrize(("action", "error"), [("fail", "EnvInfraError: the simulator"), ("bug", "KeyError")])
def test_an_exception_is_an_error_frame_and_never_a_reward(
    fragile: str, action: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLAC_BENCH_API_KEY", "Sw0rdfish-77-and-more")
    with client_of(fragile) as client:
        client.reset()
        with pytest.raises(RuntimeError, match=rf"{error}.*\(code: EXECUTION_ERROR\)") as raised:
            client.step({"message": action})
        assert "Sw0rdfish" not in str(raised.value)
        with pytest.raises(RuntimeError, match="no episode is running"):  # it cannot be continued
            client.step({"message": "win"})
        client.reset()
        assert client.step({"message": "win"}).reward == 1
        with pytest.raises(RuntimeError, match="no episode is running"):
            client.step({"message": "win"})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"split": "nowhere"}, "split must be one of train, test, got 'nowhere'"),
        ({"split": "test", "index": 2}, "out of range"),
        ({"split": "test", "index": -1}, "not negative"),
        ({"task_id": "9"}, "has no task '9'"),
        ({"task_id": ["0"]}, "TypeError"),
        ({"seed": "x"}, "Error"),
        ({"episode_id": 7}, "episode_id"),
    ],
)
def test_a_bad_reset_starts_no_episode(fragile: str, arguments: dict[str, Any], error: str) -> None:
    with client_of(fragile) as client:
        with pytest.raises(RuntimeError, match=error):
            client.reset(**arguments)
        with pytest.raises(RuntimeError, match="no episode is running"):
            client.step({"message": "win"})


@pytest.mark.parametrize("action", [{}, {"text": "win"}, {"message": 1}, {"message": "win", "more": 1}])
def test_an_action_has_one_field(fragile: str, action: dict[str, Any]) -> None:
    with client_of(fragile) as client:
        client.reset()
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            client.step(action)
        assert client.step({"message": "win"}).reward == 1  # it was not counted, and the episode goes on


def test_tasks_and_schemas_are_read_by_http(fragile: str) -> None:
    def post(route: str, **body: Any) -> Any:
        return requests.post(f"{fragile}/Fragile_v0/{route}", json=body)

    assert requests.get(f"{fragile}/list_environments").json() == ["Fragile_v0"]
    splits = requests.get(f"{fragile}/Fragile_v0/splits").json()
    assert splits == [{"name": "train", "type": "train"}, {"name": "test", "type": "test"}]
    assert post("num_tasks", split="train").json() == {"num_tasks": 2}
    assert post("tasks", split="test").json()["tasks"] == [{"id": "0", "index": 0}, {"id": "1", "index": 1}]
    assert post("task_range", split="test", start=-1).json()["tasks"] == [{"id": "1", "index": 1}]
    assert post("task", split="test", index=1).json() == {"task": {"id": "1", "index": 1}}
    assert post("task", split="test", index=2).status_code == 400
    assert post("tasks", split="nowhere").status_code == 404
    action = requests.get(f"{fragile}/schema").json()["action"]
    assert action["required"] == ["message"] and action["properties"]["message"]["type"] == "string"
    metadata = requests.get(f"{fragile}/metadata").json()
    assert metadata["name"] == "Fragile_v0" and metadata["version"].startswith("0+")
    assert requests.post(f"{fragile}/step", json={"action": {"message": "win"}}).status_code == 500


def test_what_a_client_sends_is_bounded(fragile: str) -> None:
    much = "a" * openenv_server.MAX_REQUEST_BYTES
    with client_of(fragile) as client:
        client.reset()
        with pytest.raises(ConnectionClosed):
            client.step({"message": much})
    assert requests.post(f"{fragile}/reset", data=much + "a").status_code == 413


def test_the_number_of_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_server, "MAX_SESSIONS", 1)
    with served("first_steps") as url, client_of(url) as one:
        one.reset()
        with client_of(url) as other, pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
            other.reset()
        assert one.step({"message": "?"}).reward is not None


def test_an_idle_session_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openenv_server, "IDLE_S", 0.2)
    monkeypatch.setattr(openenv_server, "MAX_SESSIONS", 1)
    with served("first_steps") as url:
        with connect(f"ws{url.removeprefix('http')}/ws") as idle, pytest.raises(ConnectionClosed):
            idle.recv(timeout=60)
        with client_of(url) as client:  # the session is free again
            assert client.reset().observation["prompt"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_serve_prints_its_url_and_ends_by_a_signal(number: signal.Signals, status: int) -> None:
    process = started("serve", "--env", "first_steps", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        line = json.loads(process.stdout.readline())
        assert line["env"] == "first_steps"
        with client_of(line["url"]) as client:
            assert client.reset(seed=1, split="test", index=0).observation["prompt"]
            process.send_signal(number)  # an open session does not keep the server alive
            out, err = process.communicate()
    finally:
        process.kill()
    assert (process.returncode, out) == (status, ""), err
    assert "Traceback" not in err


def test_serve_refuses_before_it_prints() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = nlac_bench("serve", "--env", "first_steps", "--port", port, "--json", status=2)
    assert done.stdout == "" and "in use" in done.stderr
    assert "no environment is named 'nothing'" in nlac_bench("serve", "--env", "nothing", status=2).stderr
    with pytest.raises(NlacBenchError, match="needs a model that plays the user"):
        openenv_server.Served('tau_retail@{"data": "official"}')
