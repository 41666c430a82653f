"""Compares HFEngine with ``model.generate`` on the same model, prompts and numbers of tokens.

The model is a random Qwen2 with 4 M parameters on one thread; times are CPU seconds, so that other load does
not count. Both sample at temperature 1. The engine also returns log-probabilities and uses a separate random
generator for each sample, which ``generate`` cannot do. ``generate`` gets its rows in one left-padded batch.
"""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

from benchmarks.conftest import Row
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.rollout.tiny_model import tokenizer

ROWS, ANSWER = 32, 48
AIMS = {"equal_answers": 0.8, "ragged_answers": 1.2, "next_turns": 1.3}


def make_model() -> Any:
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=4096, hidden_size=256, intermediate_size=704, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=4096, tie_word_embeddings=True, eos_token_id=4095,
        pad_token_id=0,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config).eval()
    model.generation_config.eos_token_id = 4095
    return model


def prompts(longest: int, count: int) -> list[list[int]]:
    rng = np.random.default_rng(0)
    return [rng.integers(3, 4000, int(n)).tolist() for n in rng.integers(longest // 2, longest, count)]


def generate(model: Any, rows: Sequence[list[int]], answers: Sequence[int]) -> None:
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    model.generate(
        ids, attention_mask=mask, do_sample=True, temperature=1.0, top_k=0, max_new_tokens=max(answers)
    )


def by_engine(engine: HFEngine, rows: Sequence[list[int]], answers: Sequence[int]) -> list[list[int]]:
    async def run() -> list[list[int]]:
        requests = [
            SampleRequest(prompt_ids=row, sampling=Sampling(max_tokens=answer), seed=i)
            for i, (row, answer) in enumerate(zip(rows, answers, strict=True))
        ]
        samples = await asyncio.gather(*(engine.sample(request) for request in requests))
        return [sample.ids or [] for (sample,) in samples]

    return asyncio.run(run())


def cpu_seconds(function: Any, *args: Any) -> float:
    start = time.process_time()
    function(*args)
    return time.process_time() - start


@pytest.mark.parametrize("case", AIMS)
def test_hf_engine_against_generate(benchmark: Any, case: str, row: Row, short: bool) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    model = make_model()
    count = 4 if short else ROWS
    engine = HFEngine(model, tokenizer(), max_rows=count)
    rows = prompts(600, count)
    rng = np.random.default_rng(1)
    answers = (
        [ANSWER] * count
        if case != "ragged_answers"
        else rng.geometric(1 / ANSWER, count).clip(2, 192).tolist()
    )
    generate(model, rows[:2], [2, 2])
    if case == "next_turns":  # every conversation continues with 40 more tokens
        said = by_engine(engine, rows, answers)
        rows = [
            [*row, *out, *rng.integers(3, 4000, 40).tolist()] for row, out in zip(rows, said, strict=True)
        ]
    else:
        by_engine(engine, prompts(64, 2), [2, 2])
    theirs = cpu_seconds(generate, model, rows, answers)
    ours = cpu_seconds(benchmark.pedantic, by_engine, (engine, rows, answers))
    engine.close()
    torch.set_num_threads(threads)
    benchmark.extra_info |= {
        "generate_cpu_s": theirs, "engine_cpu_s": ours, "speedup": theirs / ours,
        "engine_tokens_per_cpu_s": sum(answers) / ours,
    }  # fmt: skip
    row(
        f"`HFEngine`, {case.replace('_', ' ')}", "`generate` of transformers, CPU seconds",
        f"{theirs / ours:.1f} × faster", f"≥ {AIMS[case]} ×",
    )  # fmt: skip
