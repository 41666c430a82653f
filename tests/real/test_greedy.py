"""Greedy texts of the engine are those of plain transformers."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine

TOKENS = 32
NEAR_TIE = 1e-3
"""Difference of the two largest logits below which rounding may decide."""
QUESTIONS = (
    "What is the capital of Norway?",
    "Name three fruits.",
    "Which is larger, 22 or 11? Answer with the number only.",
    "Write a sentence about rain.",
    "Count from 1 to 5.",
    'Translate "good morning" to French.',
)


@pytest.fixture(scope="module")
def reference(smollm2: Path) -> tuple[Any, Any]:
    return AutoModelForCausalLM.from_pretrained(smollm2), AutoTokenizer.from_pretrained(smollm2)


def expected(model: Any, tokenizer: Any, question: str) -> tuple[list[int], list[float]]:
    """Return the greedy tokens of plain transformers, and by how much each was ahead."""
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": question}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    output = model.generate(
        **inputs, do_sample=False, max_new_tokens=TOKENS, output_logits=True, return_dict_in_generate=True
    )
    ids = output.sequences[0, inputs["input_ids"].shape[1] :].tolist()
    top = [torch.topk(logits[0], 2).values for logits in output.logits]
    return ids, [float(first - second) for first, second in top]


def test_the_engine_writes_the_same_greedy_tokens(smollm2: Path, reference: tuple[Any, Any]) -> None:
    engine = HFEngine.from_pretrained(str(smollm2), dtype="float32", device="cpu")

    async def written() -> list[list[int]]:
        requests = [
            SampleRequest(
                messages=({"role": "user", "content": question},),
                sampling=Sampling(temperature=0.0, max_tokens=TOKENS),
            )
            for question in QUESTIONS
        ]
        results = await asyncio.gather(*(engine.sample(request) for request in requests))
        return [list(sample.ids or ()) for (sample,) in results]

    try:
        texts = asyncio.run(written())
    finally:
        engine.close()
    for question, ids in zip(QUESTIONS, texts, strict=True):
        wanted, ahead = expected(*reference, question)
        certain = next((i for i, margin in enumerate(ahead) if margin < NEAR_TIE), len(wanted))
        assert certain >= 1
        assert ids[:certain] == wanted[:certain], question
