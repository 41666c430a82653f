"""The roles of a pretrained chat model of 135 million parameters: every answer in a form can be read."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from nlac_bench.agents.roles.answers import RoleAnswers
from nlac_bench.agents.roles.chat import ChatPrompts
from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import ComparingSpeaker, Speaker
from nlac_bench.agents.roles.styles import prompts_for, with_forms
from nlac_bench.agents.roles.transition import State
from nlac_bench.rollout.engines.engine import SampleRequest, Sampling
from nlac_bench.rollout.engines.hf.engine import HFEngine

STATE = State(
    "first_steps",
    "Answer the question exactly in the form that it asks for.",
    (),
    (
        {
            "role": "user",
            "content": "Which is larger, 22 or 11? Answer with the number only.",
            "kind": "message",
        },
    ),
)
FUTURE = "Prediction: The task ends with this action: Wrong.\nOutcome: failure"


@pytest.fixture(scope="module")
def engine(smollm2: Path) -> Iterator[HFEngine]:
    made = HFEngine.from_pretrained(str(smollm2), device="cpu", dtype="float32", max_rows=8)
    yield made
    made.close()


def test_every_role_can_be_read(engine: HFEngine) -> None:
    """At temperature 1 and with few tokens; without forms nearly none can be read."""
    prompts = with_forms(prompts_for(engine.tokenizer), "filled", one_line=True)
    drawn, answers = Sampling(max_tokens=50), RoleAnswers()

    async def ask() -> list[Any]:
        speaker = ComparingSpeaker(engine, prompts, drawn, drawn, 0, answers)
        return await asyncio.gather(
            speaker.futures(STATE, "11", n=2),
            speaker.aggregate(STATE, "11", [FUTURE, FUTURE]),
            speaker.pick(STATE, [("11", FUTURE), ("22", FUTURE), ("33", FUTURE)]),
            *(speaker.critique(STATE, "11", [FUTURE]) for _ in range(2)),
            *(speaker.refine(STATE, "11", Critique(False, "Optimal: no\nInstead: 22")) for _ in range(2)),
        )

    asyncio.run(ask())
    roles = ("successor", "aggregator", "picker", "evaluator", "refiner")
    assert [answers[role] for role in roles] == [2, 1, 1, 2, 2]
    assert sum(answers[f"{role}/unparseable"] for role in roles) <= 1  # an action may be empty


def test_the_log_probabilities_of_a_verdict_are_those_of_yes_and_no(engine: HFEngine) -> None:
    prompts = prompts_for(engine.tokenizer)
    assert isinstance(prompts, ChatPrompts)
    prompt = prompts.evaluator(STATE, "11", [FUTURE])
    request = SampleRequest(
        messages=prompt.messages, form=prompt.form, seed=3, sampling=Sampling(max_tokens=60)
    )
    (sample,) = asyncio.run(engine.sample(request))
    assert sample.prompt_ids and sample.ids and sample.logprobs and sample.filled
    ((at, few),) = sample.filled.restricted.items()
    assert engine.tokenizer.convert_ids_to_tokens(few) == ["Ġyes", "Ġno"]
    ids = torch.tensor([sample.prompt_ids + sample.ids[:at]])
    with torch.no_grad():
        logits = engine.decoders["policy"].model(input_ids=ids).logits[0, -1, few]
    expected = float(logits.log_softmax(0)[few.index(sample.ids[at])])
    assert abs(sample.logprobs[at] - expected) < 1e-3
    speaker = Speaker(engine, prompts, Sampling(), Sampling(max_tokens=60), 3, RoleAnswers())
    critique = asyncio.run(speaker.critique(STATE, "11", [FUTURE]))
    assert critique is not None and critique.probability is not None and 0 < critique.probability < 1
