"""OpenAIEngine against a real vLLM server: tokens, limits, agents."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import pytest
import torch

from nlac_bench import tiny
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.envs import registry
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.loading import load_tokenizer
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine
from nlac_bench.rollout.engines.openai.failures import EngineSetupError
from nlac_bench.rollout.engines.vllm.servers import SlotEngine
from nlac_bench.rollout.engines.weights import ModelSource, forward_logprobs
from nlac_bench.types import Episode
from tests.vllm import WHERE
from tests.vllm.servers.conftest import VERSIONS
from tests.vllm.servers.served import PYTHON, Served
from tests.vllm.updates import perturbed

pytestmark = [pytest.mark.vllm, pytest.mark.slow]
if PYTHON is None:
    pytest.skip(WHERE, allow_module_level=True)

T = TypeVar("T")
CONTEXT = 4096
CHAT = [{"role": "user", "content": "What is it? It is the number."}]
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "f", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return load_tokenizer(str(tiny.path()))


@pytest.fixture(scope="module")
def noisy(model: Any, tokenizer: Any) -> Any:
    """A model that answers every prompt with text; the embedded one may answer with special tokens alone."""
    made = perturbed(model, size=1.0)
    with torch.no_grad():
        made.get_input_embeddings().weight[tokenizer.all_special_ids] = 0
    return made


@pytest.fixture(scope="module")
def client(pair: list[Served], engine: SlotEngine, noisy: Any) -> OpenAIEngine:
    """Asks a server that has the weights of ``noisy``."""
    engine.sync(ModelSource(noisy), next(VERSIONS))
    return OpenAIEngine(str(tiny.path()), base_url=f"{pair[0].url}/v1", token_data="ids", timeout=300)


def run(awaitable: Awaitable[T]) -> T:
    async def wrapped() -> T:
        return await awaitable

    return asyncio.run(wrapped())


@pytest.mark.parametrize("tools", [(), (TOOL,)])
def test_tokens_and_logprobs_come_with_the_text(
    client: OpenAIEngine, noisy: Any, tokenizer: Any, tools: tuple[dict[str, object], ...]
) -> None:
    request = SampleRequest(messages=CHAT, seed=1, n=3, sampling=Sampling(max_tokens=20), tools=tools)
    samples = run(client.sample(request))
    assert [s.ids for s in run(client.sample(request))] == [s.ids for s in samples]
    for sample in samples:
        assert sample.prompt_ids and sample.ids and sample.logprobs
        ids = sample.prompt_ids + sample.ids
        expected = forward_logprobs(noisy, ids, len(sample.prompt_ids))
        assert sample.logprobs == pytest.approx(expected, abs=2e-3)
        assert (sample.ids[-1] == tokenizer.eos_token_id) == (sample.finish == "stop")
        assert sample.usage.completion_tokens == len(sample.ids)


def test_prompts_of_ids_and_their_logprobs(client: OpenAIEngine, noisy: Any, tokenizer: Any) -> None:
    ids = tokenizer("the number of it is 7, user").input_ids
    (sample,) = run(client.sample(SampleRequest(prompt_ids=ids, sampling=Sampling(max_tokens=5), seed=0)))
    assert sample.prompt_ids == ids and sample.ids and sample.logprobs
    expected = forward_logprobs(noisy, ids, 3)
    assert run(client.logprobs(ids, 3)) == pytest.approx(expected, abs=2e-3)


def test_context_overflow_and_answers_that_just_fit(client: OpenAIEngine) -> None:
    (full,) = run(client.sample(SampleRequest(messages=[{"role": "user", "content": "é" * 5000}])))
    assert full.finish == "context_overflow"
    (long,) = run(
        client.sample(SampleRequest(prompt_ids=[5] * (CONTEXT - 6), sampling=Sampling(max_tokens=99)))
    )
    assert long.finish == "stop" or (long.finish == "context_overflow" and len(long.ids or ()) == 6)


def test_a_wrong_model_name_stops_at_once(pair: list[Served]) -> None:
    with pytest.raises(EngineSetupError, match="--model 'tinny'"):
        run(OpenAIEngine("tinny", base_url=f"{pair[0].url}/v1").sample(SampleRequest(messages=CHAT)))


@pytest.mark.parametrize("agent", ["react", "tool_calling"])
@pytest.mark.parametrize("env", ["tau_retail", "twenty_questions", "math500_hard"])
def test_agents_play_every_kind_of_environment(client: OpenAIEngine, agent: str, env: str) -> None:
    player = make(agent, AgentContext(engine=client, sampling=Sampling(max_tokens=12)))
    ids = registry.make_text_env(env).task_ids[:4]
    specs = [EpisodeSpec(env, task_id, 0, i) for i, task_id in enumerate(ids)]

    async def play() -> list[Episode | Failure]:
        return [r async for r in Driver(player, lambda: registry.make(env), concurrency=6).run(specs)]

    results = asyncio.run(play())
    episodes = [r for r in results if isinstance(r, Episode)]
    # A first token that ends the answer is rare, not impossible.
    assert len(results) == len(ids) and len(episodes) >= len(ids) - 1
    assert all("is empty" in r.message for r in results if isinstance(r, Failure))
    for episode in episodes:
        assert episode.end_reason in ("max_steps", "failure", "success", "user_stop", "context_overflow")
        assert all(t.output_ids and t.logprobs for t in episode.turns if t.finish != "context_overflow")
    assert any(t.output_ids for episode in episodes for t in episode.turns)
