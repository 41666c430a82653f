"""verifiers plays environments of this package with a model that a server on the loopback address imitates.

``make test-bridges`` runs these tests in ``.venv-verifiers``: verifiers pins mcp 2, and OpenEnv needs mcp 1.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bridge
vf = pytest.importorskip("verifiers.v1")

from nlac_bench.envs.registry import make_text_env  # noqa: E402
from nlac_bench.envs.tau import TauRetailEnv  # noqa: E402
from nlac_bench.errors import EnvInfraError, NlacBenchError  # noqa: E402
from nlac_bench.harness.runs.seeds import plan_episodes  # noqa: E402

ENV = 'tau_retail@{"level": "medium"}'
Reply = Callable[[list[dict[str, Any]]], str]


@contextmanager
def served(reply: Reply) -> Iterator[str]:
    """A server of chat completions whose model is ``reply``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": reply(request["messages"])}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            body = json.dumps({
                "id": "1", "object": "chat.completion", "created": 0, "model": "m", "usage": usage,
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            }).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def oracle(messages: list[dict[str, Any]]) -> str:
    """A model that plays the oracle's action: it replays the conversation in an environment of its own."""
    env = make_text_env(ENV)
    first = next(m["content"] for m in messages if m["role"] == "user")
    for item in plan_episodes(env.task_ids, 1, base_seed=0):
        if env.reset(seed=item.seed, options={"task_id": item.task_id})[0] == first:
            break
    for message in messages:
        if message["role"] == "assistant":
            env.step(message["content"])
    return env.oracle_action()


def run(url: str, out: Path, monkeypatch: pytest.MonkeyPatch, limit: int = 2) -> list[Any]:
    from verifiers.v1.cli.eval.runner import run_eval
    from verifiers.v1.configs.cli.eval import EvalConfig

    monkeypatch.setenv("VERIFIERS_TEST_KEY", "none")
    config = EvalConfig.model_validate({
        "env": {"taskset": {"id": "nlac-bench-v1", "env": ENV}}, "model": "m", "push": False, "rich": None,
        "client": {"base_url": url, "api_key_var": "VERIFIERS_TEST_KEY"}, "output_dir": str(out),
        "select": {"limit": limit},
    })  # fmt: skip
    return asyncio.run(run_eval(config))


def test_the_oracle_earns_the_local_reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(oracle) as url:
        episodes = run(url, tmp_path, monkeypatch)
    env = make_text_env(ENV)
    for episode, task in zip(episodes, env.task_ids, strict=False):
        [trace] = episode.traces
        assert (episode.ok, episode.task.data.id, trace.reward) == (True, task, 1.0)
        assert (trace.metrics["success"], trace.info["end_reason"]) == (1.0, "success")
        _, info = env.reset(seed=episode.task.data.seed, options={"task_id": task})
        first = trace.branches[0].messages[: len(info["messages"])]
        assert [(m.role, m.content) for m in first] == [(m["role"], m["content"]) for m in info["messages"]]


def test_a_wrong_action_earns_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(lambda _: '{"name": "transfer_to_human_agents", "arguments": {"summary": ""}}') as url:
        [episode] = run(url, tmp_path, monkeypatch, limit=1)
    assert (episode.ok, episode.traces[0].reward, episode.traces[0].metrics["success"]) == (True, 0.0, 0.0)


def test_an_infrastructure_error_is_not_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(self: TauRetailEnv, action: str) -> Any:
        raise EnvInfraError("the user's server is down")

    with served(oracle) as url:
        monkeypatch.setattr(TauRetailEnv, "_respond", fail)
        [episode] = run(url, tmp_path, monkeypatch, limit=1)
    assert not episode.ok
    assert "the user's server is down" in episode.errors[-1].message
    assert all(not trace.rewards for trace in episode.traces)
    [line] = next(tmp_path.rglob("traces.jsonl")).read_text().splitlines()
    assert json.loads(line)["ok"] is False


def test_tasks_without_a_user_are_refused() -> None:
    from nlac_bench.bridges.verifiers import NlacTaskset, NlacTasksetConfig

    assert next(iter(NlacTaskset(NlacTasksetConfig(env=ENV)).load())).data.env == ENV
    with pytest.raises(NlacBenchError, match="needs a model that plays the user"):
        list(NlacTaskset(NlacTasksetConfig(env='tau_retail@{"user": "none"}')).load())


def test_a_model_that_fails_is_not_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> str:
        raise ConnectionError

    with served(fail) as url:
        [episode] = run(url, tmp_path, monkeypatch, limit=1)
    assert not episode.ok
    assert all(not trace.rewards for trace in episode.traces)
