"""Greedy texts of plain transformers, and where rounding may decide."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from nlac_bench.rollout.engines.engine import Engine, SampleRequest, Sampling

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


def check_greedy(engine: Engine, folder: Path, questions: Sequence[str] = QUESTIONS) -> None:
    """Compare the greedy tokens of ``engine`` with those of plain transformers on the model in ``folder``.

    They must be equal in fp32 up to the first token that rounding may decide.
    """

    async def written() -> list[list[int]]:
        sampling = Sampling(temperature=0.0, max_tokens=TOKENS)
        requests = [
            SampleRequest(messages=({"role": "user", "content": question},), sampling=sampling)
            for question in questions
        ]
        results = await asyncio.gather(*map(engine.sample, requests))
        return [list(sample.ids or ()) for (sample,) in results]

    texts = asyncio.run(written())
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for question, ids in zip(questions, texts, strict=True):
        wanted, ahead = expected(model, tokenizer, question)
        certain = next((i for i, margin in enumerate(ahead) if margin < NEAR_TIE), len(wanted))
        assert certain >= 1
        assert ids[:certain] == wanted[:certain], question


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
