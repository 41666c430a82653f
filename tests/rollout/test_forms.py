"""Forms: what is sampled, log-probabilities equal in engines and learner, and the tokens of given texts."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import pytest
import torch
from scipy import stats

from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenSequence, one_a_row, pack
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.filling import Filling
from nlac_bench.rollout.engines.forms import Choice, Fixed, Form, FormTokens, Free
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.wire import request_of, sample_of
from nlac_bench.rollout.engines.vllm.sampling import Generated
from nlac_bench.rollout.engines.vllm.sampling import sample as vllm_sample
from tests.rollout import tiny_model

TOKENIZER = tiny_model.tokenizer()
CHAT = [{"role": "user", "content": "What is it?"}]
TEXT = Free(12, ("\n",))
VERDICT: Form = (
    Fixed("Why:"), TEXT, Fixed("\nOptimal:"), Choice((" yes", " no"), last=(" yes",)), Fixed("\nInstead:"),
    TEXT,
)  # fmt: skip
NUMBERS: Form = (Fixed("Best:"), Choice(tuple(f" {i}" for i in range(1, 12))))
ACTION: Form = (Fixed("Thought:"), TEXT, Fixed("\nAction:"), Free(stop=("\nUser:",)))
POLICY: Form = (Free(stop=("\nAction:",)), Free(stop=("\nAction:", "\nUser:")))
FORMS = {"verdict": VERDICT, "numbers": NUMBERS, "action": ACTION, "policy": POLICY}


@pytest.fixture(scope="module")
def engine() -> Iterator[HFEngine]:
    made = HFEngine(tiny_model.model(0), TOKENIZER)
    yield made
    made.close()


def sampled(engine: HFEngine, form: Form, n: int = 8, seed: int = 0, **sampling: Any) -> list[Sample]:
    drawn = Sampling(**{"max_tokens": 60, **sampling})
    return asyncio.run(engine.sample(SampleRequest(messages=CHAT, n=n, seed=seed, sampling=drawn, form=form)))


def sequence(sample: Sample) -> TokenSequence:
    """The sample as the learner gets it."""
    assert sample.prompt_ids and sample.ids and sample.filled
    start = len(sample.prompt_ids)
    return TokenSequence(
        [*sample.prompt_ids, *sample.ids],
        [0.0] * start + [float(own) for own in sample.filled.sampled],
        restricted={start + at: few for at, few in sample.filled.restricted.items()},
    )


# --- engine and learner ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_samples_have_the_form_and_the_learners_log_probabilities(engine: HFEngine, name: str) -> None:
    samples = sampled(engine, FORMS[name])
    learner = Learner(tiny_model.model(0), LearnerConfig(precision="fp32"))
    for batch in (one_a_row([sequence(s) for s in samples]), pack([sequence(s) for s in samples], 400)):
        own = learner.logprobs(batch)[batch.loss_mask != 0]
        told = torch.tensor(
            [p for s in samples for p, own in zip(s.logprobs or (), s.filled.sampled, strict=True) if own]  # type: ignore[union-attr]
        )
        if len(batch) < len(samples):  # packing sorts the sequences
            own, told = own.sort().values, told.sort().values
        torch.testing.assert_close(own, told, rtol=0, atol=1e-4)
    for sample in samples:
        assert sample.filled and sample.ids and sample.logprobs
        fixed = [p for p, own in zip(sample.logprobs, sample.filled.sampled, strict=True) if not own]
        assert bool(fixed) == (name != "policy") and not any(fixed)
        assert sample.usage.completion_tokens == sum(sample.filled.sampled)
        if sample.finish == "stop":
            assert FormTokens(FORMS[name], TOKENIZER).encoded(sample.text) is not None


def test_a_choice_is_drawn_from_the_restricted_distribution(engine: HFEngine) -> None:
    samples = sampled(engine, (Fixed("It is"), Choice((" yes", " no", " number"))), n=300)
    counts = Counter(s.filled.chosen[0][0] for s in samples if s.filled)
    chances = {s.filled.chosen[0][0]: torch.tensor(s.filled.chosen[0][1]).exp() for s in samples if s.filled}
    assert set(counts) == {" yes", " no", " number"} and float(sum(chances.values())) == pytest.approx(1)
    expected = [float(chances[option]) for option in counts]
    expected = [300 * chance / sum(expected) for chance in expected]
    assert stats.chisquare(list(counts.values()), expected).pvalue > 1e-3


def test_options_may_begin_with_one_another(engine: HFEngine) -> None:
    """1, 10 and 11: after the 1 the choice is among two digits and the end."""
    samples = sampled(engine, (Fixed("Best:"), Choice((" 1", " 10", " 11"))), n=200)
    assert {s.text for s in samples} == {"Best: 1", "Best: 10", "Best: 11"}
    total = {s.text: torch.tensor(s.filled.chosen[0][1]).exp() for s in samples if s.filled}
    assert float(sum(total.values())) == pytest.approx(1, abs=1e-4)
    assert all(s.finish == "stop" and s.ids and s.ids[-1] == TOKENIZER.eos_token_id for s in samples)


def test_greedy_choices_are_the_likeliest_option_and_alone_equals_together() -> None:
    engines = [HFEngine(tiny_model.model(0), TOKENIZER, deterministic=flag) for flag in (False, True)]
    try:
        alone, together = (sampled(e, VERDICT, n=3, temperature=0.0) for e in engines)
        assert {s.text for s in together} == {alone[0].text}
        assert all(s.filled and torch.tensor(s.filled.chosen[0][1]).exp() >= 0.5 for s in together)
        drawn = [[s.ids for s in sampled(e, VERDICT, n=3, seed=5)] for e in engines]
        assert drawn[0] == drawn[1]
    finally:
        for each in engines:
            each.close()


@pytest.mark.parametrize("name", FORMS)
def test_vllm_fills_in_forms_with_one_request_a_slot(engine: HFEngine, name: str) -> None:
    model = engine.decoders["policy"].model
    calls: list[Mapping[str, Any]] = []

    async def generate(prompt: list[int], arguments: Mapping[str, Any]) -> Generated:
        calls.append(arguments)
        allowed = arguments.get("allowed_token_ids")
        if allowed is None:
            drawn = Sampling(max_tokens=arguments["max_tokens"], stop=tuple(arguments["stop"]))
            request = SampleRequest(prompt_ids=prompt, sampling=drawn, seed=arguments["seed"])
            (s,) = await engine.sample(request)
            assert s.ids is not None and s.logprobs is not None
            return Generated(s.ids, s.logprobs, s.text, s.finish == "stop", 3)
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt])).logits[0, -1, allowed]
        at = int(torch.multinomial(logits.softmax(0), 1, generator=torch.Generator().manual_seed(1)))
        return Generated([allowed[at]], [float(logits.log_softmax(0)[at])], "", False, 3)

    form = FORMS[name]
    request = SampleRequest(messages=CHAT, form=form, seed=4, n=3, sampling=Sampling(max_tokens=60))
    prompt = engine._format.prompt_ids(request)
    samples = asyncio.run(vllm_sample(request, prompt, 512, generate, TOKENIZER))
    assert [s.weight_version for s in samples] == [3] * 3 and len({a["seed"] for a in calls}) == len(calls)
    learner = Learner(tiny_model.model(0), LearnerConfig(precision="fp32"))
    for s in samples:
        batch = one_a_row([sequence(s)])
        assert s.filled and s.logprobs
        told = torch.tensor([p for p, own in zip(s.logprobs, s.filled.sampled, strict=True) if own])
        torch.testing.assert_close(learner.logprobs(batch)[batch.loss_mask != 0], told, rtol=0, atol=1e-4)
        assert s.finish == "length" or FormTokens(form, TOKENIZER).encoded(s.text) is not None


def test_a_server_that_does_not_restrict_a_choice_is_reported() -> None:
    async def generate(prompt: list[int], arguments: Mapping[str, Any]) -> Generated:
        return Generated([TOKENIZER.eos_token_id], [-1.0], "", True, 0)

    request = SampleRequest(messages=CHAT, form=NUMBERS, seed=0)
    with pytest.raises(EngineError, match="allowed_token_ids"):
        asyncio.run(vllm_sample(request, [5], 512, generate, TOKENIZER))


def test_forms_and_filled_samples_survive_the_way_to_another_process(engine: HFEngine) -> None:
    for form in FORMS.values():
        request = SampleRequest(messages=CHAT, form=form)
        assert request_of(json.loads(json.dumps(asdict(request)))).form == form
        (sample,) = sampled(engine, form, n=1)
        assert sample_of(json.loads(json.dumps(asdict(sample)))) == sample


# --- the budget of tokens ----------------------------------------------------------------------------------


def test_free_text_leaves_room_for_what_follows(engine: HFEngine) -> None:
    needed = len(TOKENIZER("Why:\nOptimal: no\nInstead:")["input_ids"]) + 3
    for sample in sampled(engine, VERDICT, max_tokens=needed + 4):
        assert sample.finish == "stop" and sample.ids and len(sample.ids) <= needed + 4
    for sample in sampled(engine, VERDICT, max_tokens=8):
        assert sample.finish == "length" and sample.ids and len(sample.ids) <= 8


def test_an_answer_that_is_cut_in_its_unlimited_text_is_incomplete(engine: HFEngine) -> None:
    assert {s.finish for s in sampled(engine, ACTION, max_tokens=40)} == {"length"}
    full = HFEngine(tiny_model.model(0, context=64), TOKENIZER)
    try:
        finishes = {s.finish for s in sampled(full, ACTION, max_tokens=400)}
        assert "context_overflow" in finishes and "length" not in finishes
    finally:
        full.close()


# --- filling by hand ---------------------------------------------------------------------------------------


def fill(form: Form, *written: str | None, limit: int = 200) -> Filling:
    """Write ``written`` into the free slots and choices; None is the end token."""
    tokens = FormTokens(form, TOKENIZER)
    filling = Filling(tokens, limit)
    left = [i for each in written for i in ([tokens.end_id] if each is None else tokens.ids(each))]
    while filling.finish is None:
        if filling.given:
            filling.take(filling.given[0], -9.0)
        elif (allowed := filling.allowed) is not None:
            token = next(i for i in left if i in allowed)
            filling.take(left.pop(left.index(token)), -0.5)
        else:
            filling.take(left.pop(0), -1.0)
    return filling


@pytest.mark.parametrize(
    ("form", "written", "text"),
    [
        (VERDICT, (" it is\n", " no", " go on\n"), "Why: it is\nOptimal: no\nInstead: go on"),
        (VERDICT, (" it is", None, " yes"), "Why: it is\nOptimal: yes"),
        (VERDICT, ("\n it is\n", " yes"), "Why:\n it is\nOptimal: yes"),  # a blank line ends no text
        (ACTION, (" a\n", " look\nUser: what"), "Thought: a\nAction: look"),
        (ACTION, (None, " look\nit up", None), "Thought:\nAction: look\nit up"),
        (NUMBERS, (" 1", "0", None), "Best: 10"),
        (POLICY, ("Thought: a\nAction:", " look\nAction:"), "Thought: a\nAction: look"),
        (POLICY, ("Thought: a\nAction:", " look\nit\nUser:"), "Thought: a\nAction: look\nit"),
        (POLICY, ("It is\nUser: no", None), "It is\nUser: no"),
    ],
)
def test_what_ends_free_text(form: Form, written: tuple[str | None, ...], text: str) -> None:
    filling = fill(form, *written)
    assert filling.finish == "stop" and filling.text() == text
    assert len(filling.ids) == len(filling.logprobs) == len(filling.filled.sampled)
    own = [p for p, s in zip(filling.logprobs, filling.filled.sampled, strict=True) if s]
    assert -9.0 not in filling.logprobs and all(p < 0 for p in own)


def test_an_answer_without_fixed_words_may_use_all_tokens_of_its_budget(engine: HFEngine) -> None:
    drawn: dict[str, Any] = {"max_tokens": 100, "temperature": 1.5}
    request = SampleRequest(messages=CHAT, n=20, seed=2, sampling=Sampling(**drawn))
    plain = asyncio.run(engine.sample(request))
    for one, other in zip(plain, sampled(engine, (Free(),), n=20, seed=2, **drawn), strict=True):
        assert (one.ids, one.text, one.finish) == (other.ids, other.text, other.finish)
    assert {s.finish for s in plain} == {"stop", "length"}


def test_an_end_token_that_ends_a_line_is_replaced_by_the_words_that_follow() -> None:
    ended, broken = fill(VERDICT, " it", None, " yes"), fill(VERDICT, " it\n", " yes")
    assert ended.text() == broken.text() and sum(broken.filled.sampled) == sum(ended.filled.sampled) + 1
    assert ended.ids.count(TOKENIZER.eos_token_id) == 1  # the one that ends the answer


def test_a_thought_is_closed_where_it_is_cut() -> None:
    form: Form = (
        Fixed("<think>\n"),
        Free(16, ("</think>",)),
        Fixed("</think>\n\nBest:"),
        Choice((" 1", " 2")),
    )
    assert fill(form, " no idea</think>", " 1").text() == "<think>\n no idea</think>\n\nBest: 1"
    assert fill(form, " no idea" * 9, " 2").text().endswith("</think>\n\nBest: 2")
    assert fill(form, " no", None, " 2").text() == "<think>\n no</think>\n\nBest: 2"


@pytest.mark.parametrize(
    "form",
    [
        (),
        (Fixed(""),),
        (Choice(()),),
        (Choice(("a", "a")),),
        (Choice(("a",), last=("b",)),),
        (TEXT, Choice(("a",))),
        (Fixed("a"), Fixed("b")),
        (Free(), Fixed("a")),
        (Choice(("a",)), Free()),
        (Free(0),),
    ],
)
def test_forms_that_cannot_be_filled_in_are_refused(form: Form) -> None:
    with pytest.raises(ValueError):
        FormTokens(form, TOKENIZER)


# --- texts in a form ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Why: it is\nOptimal: no\nInstead: go on",
        "Why: it is\nOptimal: yes",
        "Why:\nit\n\nOptimal: yes",
    ],
)
def test_the_tokens_of_a_text_are_those_that_fill_the_form(text: str) -> None:
    found = FormTokens(VERDICT, TOKENIZER).encoded(text)
    assert found is not None
    ids, filled = found
    decoded = TOKENIZER.decode(ids, skip_special_tokens=True)
    assert " ".join(decoded.split()) == " ".join(text.split()) and len(filled.sampled) == len(ids)
    fixed = TOKENIZER.decode([i for i, own in zip(ids, filled.sampled, strict=True) if not own])
    assert fixed.startswith("Why:") and "Optimal:" in fixed and "it" not in fixed.partition("Optimal")[0]
    (few,) = filled.restricted.items()
    assert len(few[1]) == 2 and ids[few[0]] in few[1]


@pytest.mark.parametrize(
    "text", ["", "It is.", "Why: it\nOptimal: maybe", "Why: it\nOptimal: no", "Optimal: yes\nWhy: it"]
)
def test_a_text_in_another_form_has_no_such_tokens(text: str) -> None:
    assert FormTokens(VERDICT, TOKENIZER).encoded(text) is None


# --- the learner's side ------------------------------------------------------------------------------------


def test_restricted_log_softmax_is_the_softmax_of_the_possible_tokens() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(4, 9, generator=generator, dtype=torch.float64).requires_grad_()
    ids = torch.tensor([3, 1, 8, 0])
    allowed = torch.tensor([[3, 5, -1], [-1, -1, -1], [8, -1, -1], [2, 0, 4]])
    found = losses.restricted_log_softmax(logits, ids, allowed)
    expected = torch.stack([
        logits[0, [3, 5]].log_softmax(0)[0], logits[1].log_softmax(0)[1], logits[2, 8] * 0,
        logits[3, [2, 0, 4]].log_softmax(0)[1],
    ])  # fmt: skip
    torch.testing.assert_close(found, expected)
    torch.autograd.gradcheck(lambda x: losses.restricted_log_softmax(x, ids, allowed), logits)
    (slope,) = torch.autograd.grad(found[0], logits)
    assert set(slope[0].nonzero().flatten().tolist()) == {3, 5} and not slope[1:].any()


def test_a_restriction_without_its_token_is_refused() -> None:
    for restricted in ({1: [3]}, {5: [2]}, {0: [1]}):
        with pytest.raises(ValueError, match="restricted"):
            TokenSequence([1, 2], [0.0, 1.0], restricted=restricted)
