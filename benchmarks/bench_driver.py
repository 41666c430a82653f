"""Measures the driver on 1,000 parallel τ-retail episodes, against the ideal and thread pools, and its cost.

The policy is the agent ``act`` on a stub engine that waits (``asyncio.sleep``) instead of computing; the
environment, its scripted user, prompts, budgets and records are those of real runs. CPU seconds are measured
by ``time.process_time``, so that other load on the machine does not count. The short form plays a tenth of
the episodes.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.conftest import Row
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.envs import registry
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Slot, WeightSource
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode, Usage

TURNS = 30
SAYINGS = (
    "Could you tell me your name and zip code, please?",
    '{"name": "list_all_product_types", "arguments": {}}',
    '{"name": "get_user_details", "arguments": {"user_id": "nobody_1"}}',
    "What would you like me to do?",
    '{"name": "calculate", "arguments": {"expression": "2 * (3 + 4)"}}',
)


class StubEngine:
    """Returns the texts in ``SAYINGS`` in turn, each after ``latency`` seconds."""

    tokenizer: None = None

    def __init__(self, latency: float) -> None:
        self.latency = latency

    async def sample(self, request: SampleRequest) -> list[Sample]:
        if self.latency:
            await asyncio.sleep(self.latency)
        return [Sample(saying(len(request.messages or ()) // 2 - 1), "stop", usage=Usage(1, 100, 20))]

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        raise NotImplementedError

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> None:
        raise NotImplementedError


def saying(turn: int) -> str:
    return SAYINGS[turn % len(SAYINGS)]


def make_env() -> Any:
    return registry.make("tau_retail")


def specs(count: int) -> list[EpisodeSpec]:
    ids = make_env().unwrapped.task_ids
    return [EpisodeSpec("tau_retail", ids[i % len(ids)], i // len(ids), i) for i in range(count)]


def drive(latency: float, concurrency: int, episodes: int) -> tuple[int, float, float]:
    """Play ``episodes`` with the driver; returns (steps, wall seconds, CPU seconds)."""
    planned = specs(episodes)

    async def run() -> tuple[int, float, float]:
        agent = make("act", AgentContext(engine=StubEngine(latency)))
        driver = Driver(agent, make_env, concurrency=concurrency, limits=PlayLimits(turns=TURNS))
        wall, cpu, steps = time.perf_counter(), time.process_time(), 0
        async for result in driver.run(planned):
            assert isinstance(result, Episode) and result.end_reason, result
            steps += len(result.turns)
        return steps, time.perf_counter() - wall, time.process_time() - cpu

    return asyncio.run(run())


def play_plainly(env: Any, spec: EpisodeSpec, latency: float) -> int:
    """Play the same episode without prompts, records and budgets; returns the number of steps."""
    env.reset(seed=spec.seed, options={"task_id": spec.task_id})
    for turn in range(TURNS):
        if latency:
            time.sleep(latency)
        *_, terminated, truncated, _ = env.step(saying(turn))
        if terminated or truncated:
            return turn + 1
    return TURNS


def thread_pool(latency: float, threads: int, episodes: int) -> tuple[int, float, float]:
    planned = specs(episodes)
    envs = [make_env() for _ in range(threads)]

    def play(spec: EpisodeSpec) -> int:
        env = envs.pop()
        try:
            return play_plainly(env, spec, latency)
        finally:
            envs.append(env)

    wall, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        steps = sum(pool.map(play, planned))
    return steps, time.perf_counter() - wall, time.process_time() - cpu


def test_latency_of_1_s(benchmark: Any, row: Row, short: bool) -> None:
    """In the ideal case all episodes run at the same time and every step takes exactly the latency."""
    episodes, few, latency = (100, 8, 0.2) if short else (1000, 64, 1.0)
    steps, wall, cpu = benchmark.pedantic(drive, args=(latency, episodes, episodes), rounds=1)
    ideal = steps / episodes * latency  # the script ends every episode at the same turn
    # One episode per thread is enough: a pool plays more episodes in rounds of this length.
    pooled = {threads: thread_pool(latency, threads, threads) for threads in (few, episodes)}
    rate = {threads: played / taken for threads, (played, taken, _) in pooled.items()}
    benchmark.extra_info |= {
        "steps": steps, "wall_s": wall, "cpu_s": cpu, "of_ideal": ideal / wall, "steps_per_s": steps / wall,
        **{f"pool_{threads}_steps_per_s": value for threads, value in rate.items()},
    }  # fmt: skip
    assert steps > episodes * 20
    row(
        f"driver, {episodes:,} τ episodes, {latency:g} s a model call",
        f"no time but the calls'; pools of {few} and {episodes:,} threads",
        f"{ideal / wall:.1%} of the ideal; {steps / wall / rate[few]:.1f} × and "
        f"{steps / wall / rate[episodes]:.2f} × the pools' steps a second",
        "≥ 95 %",
    )


def test_no_latency(benchmark: Any, row: Row, short: bool) -> None:
    """Steps per second of one core, and the share of a step's time that the harness itself takes."""
    episodes = 50 if short else 500
    steps, wall, cpu = benchmark.pedantic(drive, args=(0.0, 64, episodes), rounds=1)
    env, planned = make_env(), specs(episodes)
    bare = time.process_time()
    bare_steps = sum(play_plainly(env, spec, 0.0) for spec in planned)
    bare = (time.process_time() - bare) / bare_steps
    pool_steps, pool_wall, pool_cpu = thread_pool(0.0, 64, episodes)
    benchmark.extra_info |= {
        "steps": steps, "steps_per_cpu_s": steps / cpu, "steps_per_wall_s": steps / wall,
        "harness_us_per_step": (cpu / steps - bare) * 1e6, "environment_us_per_step": bare * 1e6,
        "pool_64_steps_per_cpu_s": pool_steps / pool_cpu, "pool_64_steps_per_wall_s": pool_steps / pool_wall,
    }  # fmt: skip
    row(
        "driver, no latency", "one core, CPU seconds",
        f"{steps / cpu:,.0f} steps a second; {(cpu / steps - bare) * 1e6:.0f} µs of a step are "
        f"the harness's, {bare * 1e6:.0f} µs the environment's",
        "≥ 5,000",
    )  # fmt: skip
