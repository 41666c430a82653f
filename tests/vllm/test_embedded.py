"""The embedded model in vLLM: it plays as in the transformers engine, and seeds decide its samples."""

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from typing import TypeVar

import pytest

from nlac_bench import tiny
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.envs import registry
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
from nlac_bench.types import Episode
from tests.vllm import WHERE

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

T = TypeVar("T")
ENV = 'tau_retail@{"level": "easy"}'
EPISODES = 16


@pytest.fixture(scope="module")
def transformers() -> Iterator[HFEngine]:
    made = HFEngine.from_pretrained(str(tiny.path()), device="cpu", dtype="float32", max_rows=EPISODES)
    yield made
    made.close()


def run(awaitable: Awaitable[T]) -> T:
    async def wrapped() -> T:
        return await awaitable

    return asyncio.run(wrapped())


def play(engine: VLLMEngine, temperature: float, concurrency: int) -> list[Episode]:
    agent = make("nlac", AgentContext(engine=engine, sampling=Sampling(temperature, max_tokens=160)))
    assert isinstance(agent, PolicyAgent) and isinstance(agent.prompts, CompactPrompts)
    tasks = registry.make_text_env(ENV).task_ids
    specs = [EpisodeSpec(ENV, tasks[i % len(tasks)], i // len(tasks), i) for i in range(EPISODES)]

    async def played() -> list[Episode]:
        driver = Driver(agent, lambda: registry.make(ENV), concurrency=concurrency)
        return [found async for found in driver.run(specs) if isinstance(found, Episode)]

    episodes = run(played())
    assert len(episodes) == EPISODES
    return sorted(episodes, key=lambda episode: episode.seed)


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """The first place at which two samples of one prompt differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)


def test_greedy_actions_are_those_of_the_transformers_engine(
    embedded: VLLMEngine, transformers: HFEngine
) -> None:
    episodes = play(embedded, temperature=0.0, concurrency=EPISODES)
    assert any(episode.success for episode in episodes)
    turns = [turn for episode in episodes for turn in episode.turns]
    greedy = Sampling(temperature=0.0, max_tokens=160)

    async def ask() -> list[list[Sample]]:
        requests = (SampleRequest(prompt_ids=turn.prompt_ids, sampling=greedy) for turn in turns)
        return await asyncio.gather(*(transformers.sample(request) for request in requests))

    others = [sample for (sample,) in run(ask())]
    pairs = list(zip(turns, others, strict=True))
    different = [(turn, other) for turn, other in pairs if turn.output_ids != other.ids]
    assert len(different) <= max(1, 0.01 * len(pairs))
    for turn, other in pairs:
        assert turn.output_ids and turn.logprobs and other.ids and other.logprobs
        end = first_difference(turn.output_ids, other.ids)
        # Equal up to rounding; where the tokens differ, both are the best, and the second best by as little.
        end = len(other.ids) if end is None else end + 1
        assert turn.logprobs[:end] == pytest.approx(other.logprobs[:end], abs=2e-3)


def test_a_seeded_prompt_that_is_computed_in_chunks(embedded: VLLMEngine, transformers: HFEngine) -> None:
    ids = (embedded.tokenizer("The order is here. " * 1000)["input_ids"])[:3000]
    request = SampleRequest(prompt_ids=ids, sampling=Sampling(max_tokens=20), seed=5)

    async def among_others() -> list[list[Sample]]:
        others = (
            SampleRequest(prompt_ids=[*ids[:100], i, *ids[:700]], sampling=Sampling(max_tokens=20), seed=i)
            for i in range(30)
        )
        return await asyncio.gather(*map(embedded.sample, [*others, request]))

    (alone,) = run(embedded.sample(request))
    (together,) = run(among_others())[-1]
    assert len(alone.ids or ()) > 1 and together.ids == alone.ids
    expected = run(transformers.logprobs([*ids, *(alone.ids or ())], len(ids)))
    assert alone.logprobs == pytest.approx(expected, abs=2e-3)


def test_a_slot_has_no_weights_before_its_first_sync(embedded: VLLMEngine) -> None:
    with pytest.raises(NlacBenchError, match="'target' has no weights"):
        run(embedded.sample(SampleRequest(prompt_ids=[5, 6], slot="target")))


def test_seeded_episodes_do_not_depend_on_the_concurrency(embedded: VLLMEngine) -> None:
    """Two episodes may differ only from a token on that rounding decided."""
    few, many = play(embedded, 1.0, 5), play(embedded, 1.0, EPISODES)
    same = sum(
        [t.output_ids for t in a.turns] == [t.output_ids for t in b.turns]
        for a, b in zip(few, many, strict=True)
    )
    assert same >= 0.9 * EPISODES
