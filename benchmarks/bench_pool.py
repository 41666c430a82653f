"""Measures playing and asking the roles with two engine processes against one engine with one thread.

The model is the embedded one, the episodes are those of ``make run``: τ-retail on the easy level at
temperature 1, and each process has as many at the same time as there. After playing, NLAC's roles answer for
the transitions of the episodes. Wall time is measured, since several processes save no CPU time; on a busy
machine the ratio is lower.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from benchmarks.conftest import Row
from nlac_bench import tiny
from nlac_bench.agents.nlac.config import NlacConfig
from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.nlac import ask, fresh, predicted
from nlac_bench.agents.roles.policy_agent import PolicyAgent
from nlac_bench.agents.roles.speaker import samplings
from nlac_bench.agents.roles.speaking import Speaking
from nlac_bench.agents.roles.styles import prompts_for
from nlac_bench.agents.roles.transition import transitions
from nlac_bench.envs import registry
from nlac_bench.harness.measure.model_defaults import CONCURRENCY, EASY
from nlac_bench.learner.model import load_causal_lm
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.process import start_pool
from nlac_bench.rollout.engines.weights import ModelSource
from nlac_bench.types import Episode

ANSWER = 160
CONFIG = NlacConfig(max_response_length=ANSWER, improvement_temperature=0.0)


def make_env() -> Any:
    return registry.make("tau_retail", split="train", **EASY["tau_retail"])


def play(engine: Any, count: int, concurrency: int) -> list[Episode]:
    sampling = Sampling(max_tokens=ANSWER)
    agent = PolicyAgent(engine, prompts_for(engine.tokenizer), sampling)
    ids = make_env().unwrapped.task_ids
    specs = [EpisodeSpec("tau_retail", ids[i % len(ids)], i // len(ids), i) for i in range(count)]

    async def run() -> list[Episode]:
        driver = Driver(agent, make_env, concurrency=concurrency)
        return [result async for result in driver.run(specs) if isinstance(result, Episode)]

    episodes = asyncio.run(run())
    assert len(episodes) == count
    return sorted(episodes, key=lambda episode: episode.seed)


def ask_roles(engine: Any, episodes: Sequence[Episode], count: int, concurrency: int) -> None:
    env = make_env().unwrapped
    _, info = env.reset(seed=0)
    sampling = samplings(CONFIG.temperature, CONFIG.improvement_temperature, ANSWER)
    roles = Speaking(engine, prompts_for(engine.tokenizer), *sampling, seed=0, concurrency=concurrency)
    found = [t for episode in episodes for t in transitions(episode, env.name, info)][:count]
    lessons = [Lesson(transition, 1.0, roles.speaker(n)) for n, transition in enumerate(found)]
    asyncio.run(ask(lessons, roles, CONFIG, fresh, partial(predicted, k=1)))


def measured(
    engine: Any, source: ModelSource, episodes: int, lessons: int, processes: int
) -> tuple[float, float]:
    """Return the wall seconds of playing ``episodes``, and of the roles' answers for ``lessons`` of them."""
    concurrency = processes * CONCURRENCY
    engine.sync(source, 1, "target")
    play(engine, 2, concurrency)  # starts threads and allocates the cache
    began = time.perf_counter()
    played = play(engine, episodes, concurrency)
    between = time.perf_counter()
    ask_roles(engine, played, lessons, concurrency)
    return between - began, time.perf_counter() - between


def test_two_engine_processes(benchmark: Any, row: Row, short: bool) -> None:
    sizes = (4, 4) if short else (128, 512)
    folder = str(tiny.path())
    source = ModelSource(load_causal_lm(tiny.path()))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    one = HFEngine.from_pretrained(folder, max_rows=2 * CONCURRENCY)
    torch.set_num_threads(before)
    two = start_pool(folder, 2, max_rows=4 * CONCURRENCY)
    try:
        one_playing, one_asking = measured(one, source, *sizes, 1)
        two_playing, two_asking = benchmark.pedantic(measured, (two, source, *sizes, 2))
    finally:
        one.close()
        two.close()
    playing, asking = one_playing / two_playing, one_asking / two_asking
    both = (one_playing + one_asking) / (two_playing + two_asking)
    benchmark.extra_info |= {
        "one_playing_s": one_playing, "one_asking_s": one_asking, "two_playing_s": two_playing,
        "two_asking_s": two_asking, "speedup": both,
    }  # fmt: skip
    row(
        "two engine processes, playing and asking the roles", "one engine with one thread, wall time",
        f"{both:.2f} × as fast ({playing:.2f} × and {asking:.2f} ×)", "≥ 1.6 ×",
    )  # fmt: skip
