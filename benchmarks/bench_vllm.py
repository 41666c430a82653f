"""Compares rollout through the driver on vLLM with one ``LLM.generate`` over the same prompts.

The episodes are those of τ-retail's easy level at temperature 1. Their prompts and numbers of output tokens
are then given to ``generate`` all at once, which need not wait for environments: the ratio is what the driver
and its waiting cost. The models are the embedded one, where Python is much of the work, and a random one with
100 M parameters. Wall time is measured, and CPU time of all processes, which says more on a busy machine.

vLLM runs on CPUs in the environment of ``make test-vllm``::

    VLLM_CPU_KVCACHE_SPACE=2 .venv-vllm/bin/python -m pytest benchmarks/bench_vllm.py --benchmark-only
"""

import asyncio
import importlib.util
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Row
from nlac_bench import tiny
from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.cluster.gpu.engine import mismatch
from nlac_bench.cluster.gpu.shapes import random_model, write
from nlac_bench.envs import registry
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sampling
from nlac_bench.rollout.engines.hf.loading import load_model
from nlac_bench.rollout.engines.vllm.plugin import BACKENDS
from nlac_bench.rollout.engines.weights import ModelSource
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("vllm") is None,
    reason="vLLM is not installed; run it with .venv-vllm/bin/python",
)

ENV, ANSWER, TURNS = 'tau_retail@{"level": "easy"}', 160, 6
SHAPE = {  # 98 M parameters with the embedded model's vocabulary
    "hidden_size": 768, "intermediate_size": 2304, "num_hidden_layers": 13, "num_attention_heads": 12,
    "num_key_value_heads": 4, "vocab_size": 4096,
}  # fmt: skip
CONTEXT = 4096


def play(engine: Any, count: int, concurrency: int, max_tokens: int = ANSWER) -> list[Episode]:
    agent = make("nlac", AgentContext(engine=engine, sampling=Sampling(1.0, max_tokens=max_tokens)))
    ids = registry.make_text_env(ENV).task_ids
    specs = [EpisodeSpec(ENV, ids[i % len(ids)], i // len(ids), i) for i in range(count)]

    async def played() -> list[Episode]:
        driver = Driver(
            agent, lambda: registry.make(ENV), concurrency=concurrency, limits=PlayLimits(turns=TURNS)
        )
        return [each async for each in driver.run(specs) if isinstance(each, Episode)]

    episodes = asyncio.run(played())
    assert len(episodes) == count
    return episodes


def generate(llm: Any, calls: Sequence[tuple[list[int], int]]) -> None:
    from vllm import SamplingParams

    prompts = [{"prompt_token_ids": prompt} for prompt, _ in calls]
    params = [
        SamplingParams(temperature=1.0, max_tokens=count, ignore_eos=True, seed=i, logprobs=0)
        for i, (_, count) in enumerate(calls)
    ]
    llm.generate(prompts, params, use_tqdm=False)


def cpu_seconds() -> float:
    """CPU time of this process and all that it has started."""
    import psutil  # type: ignore[import-untyped]

    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measured(function: Any, *arguments: Any) -> tuple[float, float, Any]:
    """Return wall seconds, CPU seconds and the result of a call."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    result = function(*arguments)
    return time.perf_counter() - wall, cpu_seconds() - cpu, result


@contextmanager
def engine_of(folder: Path, dtype: str = "float32") -> Iterator[Any]:
    from nlac_bench.rollout.engines.vllm.engine import VLLMEngine

    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")
    made = VLLMEngine(str(folder), dtype=dtype, max_model_len=CONTEXT, gpu_memory_utilization=0.3)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with 100 M parameters and the embedded model's tokenizer."""
    import torch

    folder = tmp_path_factory.mktemp("large")
    write(random_model(SHAPE, "cpu", torch.float32), folder)
    return folder


@pytest.mark.parametrize("model", ["100 M parameters", "tiny"])
def test_driver_against_generate(benchmark: Any, row: Row, short: bool, model: str, large: Path) -> None:
    from vllm import LLM

    folder = tiny.path() if model == "tiny" else large
    count = 4 if short else 64
    answer = ANSWER if model == "tiny" else 32  # a random model never ends an answer
    with engine_of(folder) as engine:
        play(engine, 2, 2, 8)
        read, cached = engine.prompt_tokens, engine.cached_tokens
        wall, cpu, episodes = measured(benchmark.pedantic, play, (engine, count, 64, answer))
        hits = (engine.cached_tokens - cached) / (engine.prompt_tokens - read)
    turns = [turn for episode in episodes for turn in episode.turns]
    calls = [(list(turn.prompt_ids), len(turn.output_ids)) for turn in turns]
    llm = LLM(
        str(folder), dtype="float32", max_model_len=CONTEXT, enforce_eager=True,
        logprobs_mode="processed_logprobs", generation_config="vllm", gpu_memory_utilization=0.3,
        # On a CPU, without it, vLLM ends at a prompt that is computed in chunks, because of the seeds.
        weight_transfer_config={"backend": BACKENDS["file"]},
    )  # fmt: skip
    generate(llm, [([1, 2, 3], 8)])
    open_wall, open_cpu, _ = measured(generate, llm, calls)
    del llm
    tokens = sum(said for _, said in calls)
    benchmark.extra_info |= {
        "tokens": tokens, "driver_s": wall, "generate_s": open_wall, "driver_cpu_s": cpu,
        "generate_cpu_s": open_cpu, "prefix_hit_rate": hits,
    }  # fmt: skip
    row(
        f"vLLM through the driver, {model}", "one `LLM.generate` over the same prompts",
        f"{open_wall / wall:.2f} × its speed ({open_cpu / cpu:.2f} × by CPU time; "
        f"{tokens / wall:.0f} tokens/s, {hits:.0%} of prompts cached)", "≥ 0.9 ×" if model != "tiny" else "–",
    )  # fmt: skip


def test_tau_at_two_concurrencies(benchmark: Any, row: Row, short: bool) -> None:
    sizes = (4, 8) if short else (64, 256)
    found = {}
    with engine_of(tiny.path()) as engine:
        play(engine, 2, 2)
        for size in sizes:
            wall, cpu, episodes = measured(play, engine, sizes[-1], size)
            tokens = sum(len(turn.output_ids) for episode in episodes for turn in episode.turns)
            found[size] = (tokens / wall, tokens / cpu)
        benchmark.pedantic(play, (engine, 2, 2))
    benchmark.extra_info |= {str(size): speeds for size, speeds in found.items()}
    few, many = (found[size] for size in sizes)
    row(
        f"vLLM, τ-retail with {sizes[1]} episodes at a time", f"{sizes[0]} at a time, `tiny`",
        f"{many[0] / few[0]:.2f} × ({many[0]:.0f} against {few[0]:.0f} tokens/s; {many[1]:.0f} against "
        f"{few[1]:.0f} tokens a CPU second)",
    )  # fmt: skip


@pytest.mark.parametrize("dtype, aim", [("float32", 1e-5), ("bfloat16", 0.03)])
def test_log_probabilities_of_engine_and_learner(
    benchmark: Any, row: Row, short: bool, dtype: str, aim: float
) -> None:
    import torch

    source = ModelSource(load_model(str(tiny.path()), getattr(torch, dtype)))
    with engine_of(tiny.path(), dtype) as engine:
        turns = [turn for episode in play(engine, 4 if short else 32, 32) for turn in episode.turns]
        prompts = [list(turn.prompt_ids or ()) for turn in turns]
        found = benchmark.pedantic(mismatch, (engine, source, prompts, ANSWER))
    benchmark.extra_info |= {"logprob_gap": found.gap, "kl": found.kl}
    row(
        f"log-probabilities of vLLM, {dtype}", "transformers with the same weights",
        f"mean |Δlogprob| {found.gap:.1e}, KL {found.kl:.1e} a token", f"≤ {aim:g}",
    )  # fmt: skip
