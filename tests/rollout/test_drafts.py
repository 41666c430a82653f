"""Proposed tokens: the same samples in fewer passes."""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.hf import decoder, drafts
from nlac_bench.rollout.engines.hf.decoder import Decoder
from nlac_bench.rollout.engines.hf.drafts import Drafts
from nlac_bench.rollout.engines.hf.engine import HFEngine
from tests.rollout import tiny_model

TOKENIZER = tiny_model.tokenizer()
PROMPTS = [
    TOKENIZER("What is it? It is the number. " * n + "Guess. " * (n % 3)).input_ids for n in range(1, 9)
]


def answers(engine: HFEngine, requests: Sequence[SampleRequest]) -> list[Sample]:
    async def ask() -> list[list[Sample]]:
        return await asyncio.gather(*(engine.sample(request) for request in requests))

    return [sample for samples in asyncio.run(ask()) for sample in samples]


def requests(**sampling: Any) -> list[SampleRequest]:
    return [
        SampleRequest(prompt_ids=prompt, seed=i % 5, n=2, sampling=Sampling(**{"max_tokens": 40, **sampling}))
        for i, prompt in enumerate(PROMPTS)
    ]


def sampled(
    monkeypatch: pytest.MonkeyPatch, model: Any, most: int, asked: Sequence[SampleRequest], **options: Any
) -> tuple[list[Sample], int]:
    """The samples of a new engine that proposes up to ``most`` tokens, and the number of its steps.

    All is asked twice, so that the second round finds the first one's samples in the table.
    """
    monkeypatch.setattr(drafts, "MOST", most)
    engine = HFEngine(model, TOKENIZER, **options)
    policy, passes = engine.decoders["policy"], []
    original = policy.step
    policy.step = lambda: passes.append(1) or original()  # type: ignore[method-assign,func-returns-value]
    found = answers(engine, asked) + answers(engine, asked)
    generated = engine.generated_tokens
    engine.close()
    assert generated == sum(len(s.ids or ()) for s in found)
    return found, len(passes)


def assert_same(found: Sequence[Sample], expected: Sequence[Sample]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one.ids, one.finish, one.text) == (other.ids, other.finish, other.text)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize(
    "sampling", [{"temperature": 0.0}, {"temperature": 0.4}, {"temperature": 0.4, "top_p": 0.8}]
)
@pytest.mark.parametrize("max_rows", [3, 32])
def test_the_samples_are_the_same_and_take_fewer_passes(
    monkeypatch: pytest.MonkeyPatch, sampling: dict[str, float], max_rows: int
) -> None:
    model = tiny_model.model()
    expected, many = sampled(monkeypatch, model, 0, requests(**sampling), max_rows=max_rows)
    found, few = sampled(monkeypatch, model, 4, requests(**sampling), max_rows=max_rows)
    assert_same(found, expected)
    assert few < 0.8 * many


def test_deterministic_samples_compute_one_token_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    found, passes = sampled(monkeypatch, tiny_model.model(), 4, requests(temperature=0.0), deterministic=True)
    assert passes == sum(len(s.ids or ()) for s in found)


def test_no_token_is_computed_beyond_the_last_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-2 has an embedding for each position; rows that are padded up to others stay within them."""
    torch.manual_seed(0)
    vocabulary = len(TOKENIZER)
    config = GPT2Config(vocab_size=vocabulary, n_positions=96, n_embd=32, n_layer=2, n_head=2)
    model = GPT2LMHeadModel(config).eval()
    long = [SampleRequest(prompt_ids=list(np.resize(PROMPTS[7], 96 - n)), seed=n) for n in (1, 2, 3, 9)]
    asked = [*long, *requests(temperature=0.2)]
    expected, _ = sampled(monkeypatch, model, 0, asked)
    found, _ = sampled(monkeypatch, model, 4, asked)
    assert_same(found, expected)
    assert found[0].finish == "context_overflow"


def test_nothing_is_proposed_where_a_stop_string_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model.model()
    (free, *_), _ = sampled(monkeypatch, model, 4, requests(temperature=0.0))
    stop = free.text[4:7]
    asked = requests(temperature=0.0, stop=(stop,))
    expected, _ = sampled(monkeypatch, model, 0, asked)
    found, _ = sampled(monkeypatch, model, 4, asked)
    assert_same(found, expected)
    assert found[0].finish == "stop" and found[0].text == free.text[: free.text.find(stop)]


def test_nothing_is_proposed_and_no_row_padded_where_each_token_takes_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with a large model: a pass without tokens takes no time."""
    model, passes = tiny_model.model(), []
    original = Decoder.forward

    def forward(
        self: Decoder, first: int, pieces: Sequence[Sequence[int]], starts_R: np.ndarray, columns: int
    ) -> torch.Tensor:
        passes.append((len(pieces) * max(map(len, pieces)), sum(map(len, pieces)), columns))
        return original(self, first, pieces, starts_R, columns)

    monkeypatch.setattr(Decoder, "forward", forward)
    expected, _ = sampled(monkeypatch, model, 0, requests(temperature=0.0))
    passes.clear()
    sampled(monkeypatch, model, 4, requests(temperature=0.0))
    assert (
        max(columns for *_, columns in passes) > 1
    )  # with the overhead of a small model, tokens are proposed
    monkeypatch.setitem(decoder._OVERHEAD, "float32", (0, 0))
    passes.clear()
    found, _ = sampled(monkeypatch, model, 4, requests(temperature=0.0))
    assert_same(found, expected)
    assert {columns for *_, columns in passes} == {1}
    # Which prompts share a pass depends on when they arrive.
    assert all(computed <= wanted + wanted // 2 for computed, wanted, _ in passes)


def test_as_many_tokens_are_proposed_as_save_time() -> None:
    table = Drafts()
    table.learn([1, 2, 3, 4] * 50, 0, sampled=True)  # always right
    assert table.worth(1, 50) == table.worth(100, 50) == drafts.MOST
    assert table.worth(8, 0) == table.worth(10_000, 50) == 0
    rising = [table.worth(rows, 50) for rows in range(10_000, 0, -100)]
    assert rising == sorted(rising) and len(set(rising)) == drafts.MOST + 1
    prompts = Drafts()
    prompts.learn([1, 2, 3, 4] * 50, 0)  # nothing that the model chose
    assert prompts.worth(8, 50) == Drafts().worth(8, 50) < drafts.MOST
    for token in range(5, 3000):
        table.learn([1, 2, 3, 4, token], 4, sampled=True)  # always wrong
    assert table.worth(8, 50) == 0


def test_the_table_has_what_followed_last(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Drafts()
    table.learn([1, 2, 3, 4, 5, 6, 7], 0)
    assert table.propose([1, 2, 3, 4], 9) == [5, 6, 7]
    assert table.propose([1, 2, 3, 4], 2) == [5, 6] and table.propose([1, 2, 3, 4], 0) == []
    assert table.propose([3, 4], 4) == table.propose([2, 2, 2, 2], 4) == []
    table.learn([0, 1, 2, 3, 4, 8], 5)
    assert table.propose([1, 2, 3, 4], 9) == [8]
    monkeypatch.setattr(drafts, "ENTRIES", 2)
    table.learn([5, 6, 7, 8, 9], 0)
    assert table.propose([1, 2, 3, 4], 1) == [] and table.propose([5, 6, 7, 8], 1) == [9]


def test_a_row_without_room_gets_no_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (1, 2, 3):
        found, _ = sampled(monkeypatch, tiny_model.model(), 4, requests(temperature=0.0, max_tokens=count))
        assert all(len(s.ids or ()) == count or s.finish == "stop" for s in found)
