"""Every prompted agent in every environment, on a small random model run here."""

import asyncio
from collections.abc import Iterator

import pytest

from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.envs import registry
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode
from tests.rollout import tiny_model


@pytest.fixture(scope="module")
def engine() -> Iterator[HFEngine]:
    made = HFEngine(tiny_model.model(context=16384), tiny_model.tokenizer(), max_rows=4)
    yield made
    made.close()


@pytest.mark.parametrize("env", registry.BUILTIN)
@pytest.mark.parametrize("name", ["react", "act", "tool_calling"])
def test_agents_play_every_environment(engine: HFEngine, name: str, env: str) -> None:
    agent = make(name, AgentContext(engine=engine, sampling=Sampling(max_tokens=6)))
    ids = registry.make_text_env(env).task_ids[:2]
    specs = [EpisodeSpec(env, task_id, 0, i) for i, task_id in enumerate(ids)]

    async def play() -> list[Episode | Failure]:
        driver = Driver(agent, lambda: registry.make(env), concurrency=2, limits=PlayLimits(turns=3))
        return [result async for result in driver.run(specs)]

    results = asyncio.run(play())
    assert sorted(r.task_id for r in results if isinstance(r, Episode)) == sorted(ids), results
    for episode in results:
        assert isinstance(episode, Episode)
        assert episode.end_reason == "turn_limit" or episode.terminated
        for before, after in zip(episode.turns, episode.turns[1:], strict=False):
            assert before.prompt_ids is not None and before.output_ids is not None
            assert after.prompt_ids is not None
            said = before.prompt_ids + before.output_ids  # what was sampled stays as it was sampled
            assert after.prompt_ids[: len(said)] == said
        shown = tiny_model.tokenizer().decode(episode.turns[0].prompt_ids)
        assert registry.make_text_env(env).policy().strip()[:40] in shown
