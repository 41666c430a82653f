"""HFEngine: exact log-probabilities, reproducible samples, kept conversations, checked weights."""

import asyncio
import copy
import math
import mmap
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
import pytest
import torch

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.hf import threads
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.kv_slots import SlotCache
from nlac_bench.rollout.engines.weights import ModelSource, forward_logprobs
from nlac_bench.rollout.meter import MeteredEngine
from nlac_bench.types import Usage
from tests.rollout import tiny_model

T = TypeVar("T")
TOKENIZER = tiny_model.tokenizer()


@pytest.fixture
def make() -> Iterator[Callable[..., HFEngine]]:
    engines = []

    def make_one(seed: int = 0, context: int = 512, **options: Any) -> HFEngine:
        engines.append(HFEngine(tiny_model.model(seed, context=context), TOKENIZER, **options))
        return engines[-1]

    yield make_one
    for engine in engines:
        engine.close()


def chat(*texts: str) -> list[dict[str, str]]:
    return [{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(texts)]


def ask(text: str, seed: int | None = 0, n: int = 1, **sampling: Any) -> SampleRequest:
    return SampleRequest(
        messages=chat(text), seed=seed, n=n, sampling=Sampling(**{"max_tokens": 24, **sampling})
    )


def together(engine: HFEngine, requests: Sequence[SampleRequest], gap: float = 0.0) -> list[Sample]:
    async def one(request: SampleRequest, wait: float) -> list[Sample]:
        await asyncio.sleep(wait)
        return await engine.sample(request)

    async def run() -> list[list[Sample]]:
        return await asyncio.gather(*(one(r, gap * i) for i, r in enumerate(requests)))

    return [sample for samples in asyncio.run(run()) for sample in samples]


def run(awaitable: Awaitable[T]) -> T:
    async def wrapped() -> T:
        return await awaitable

    return asyncio.run(wrapped())


def model_of(engine: HFEngine) -> Any:
    return engine.decoders["policy"].model


def error_of_logprobs(engine: HFEngine, sample: Sample, temperature: float = 1.0) -> float:
    """Against one plain forward pass of the model over prompt and answer."""
    assert sample.prompt_ids is not None and sample.ids is not None and sample.logprobs is not None
    ids = torch.tensor([sample.prompt_ids + sample.ids])
    with torch.no_grad():
        logits = model_of(engine)(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    expected = torch.log_softmax(logits / temperature, -1).gather(1, torch.tensor(sample.ids)[:, None])[:, 0]
    return float((expected - torch.tensor(sample.logprobs)).abs().max())


@pytest.mark.parametrize("max_rows", [1, 3, 16])
@pytest.mark.parametrize("gap", [0.0, 0.004])
def test_logprobs_are_those_of_the_sampling_distribution(
    make: Callable[..., HFEngine], max_rows: int, gap: float
) -> None:
    engine = make(max_rows=max_rows)
    temperatures = [0.5, 1.0, 1.7]
    requests = [
        ask("What is it? " * (i % 7), seed=i, n=1 + i % 3, temperature=temperatures[i % 3]) for i in range(12)
    ]
    samples = together(engine, requests, gap)
    assert len(samples) == sum(r.n for r in requests)
    expected = (r.sampling.temperature for r in requests for _ in range(r.n))
    for sample, temperature in zip(samples, expected, strict=True):
        assert error_of_logprobs(engine, sample, temperature) < 1e-4


def test_conversations_reuse_what_is_cached_and_stay_exact(make: Callable[..., HFEngine]) -> None:
    engine = make(max_rows=8)
    fed = count_tokens(engine)

    async def converse(number: int) -> list[Sample]:
        messages, prefix, samples = chat(f"{number} What is it? It is the number. " * 4), None, []
        for turn in range(4):
            (sample,) = await engine.sample(
                SampleRequest(
                    messages=tuple(messages), prefix_ids=prefix, seed=number * 10 + turn,
                    sampling=Sampling(max_tokens=10),
                )
            )  # fmt: skip
            samples.append(sample)
            assert sample.prompt_ids is not None and sample.ids is not None
            prefix = sample.prompt_ids + sample.ids
            messages += [{"role": "assistant", "content": sample.text}, {"role": "user", "content": "No."}]
        return samples

    async def all_of_them() -> list[list[Sample]]:
        return await asyncio.gather(*(converse(i) for i in range(6)))

    conversations = asyncio.run(all_of_them())
    for samples in conversations:
        for sample in samples:
            assert error_of_logprobs(engine, sample) < 1e-4
    alone = make(deterministic=True)
    fed_alone = count_tokens(alone)
    engine = alone
    asyncio.run(all_of_them())
    assert sum(fed) < 0.55 * sum(fed_alone), (sum(fed), sum(fed_alone))


def count_tokens(engine: HFEngine) -> list[int]:
    """Filled with the size of each forward pass."""
    decoder, sizes = engine.decoders["policy"], []
    original = decoder.forward

    def forward(
        first: int, pieces: Sequence[Sequence[int]], starts_R: np.ndarray, columns: int
    ) -> torch.Tensor:
        sizes.append(len(pieces) * max(map(len, pieces)))
        return original(first, pieces, starts_R, columns)

    decoder.forward = forward  # type: ignore[method-assign]
    return sizes


@pytest.mark.parametrize("seed", range(3))
def test_random_conversations_are_what_transformers_computes(
    make: Callable[..., HFEngine], seed: int
) -> None:
    """Turns, forks and short samples in random order through few slots, which are swapped and overwritten."""
    engine = make(max_rows=5)
    draw = np.random.default_rng(seed)
    ids = TOKENIZER("What is it? It is the number. " * 12).input_ids
    histories = [ids[: int(n)] for n in draw.integers(4, 100, 9)]
    for _ in range(6):
        chosen = [int(i) for i in draw.permutation(9)[: draw.integers(2, 9)]]
        requests = [
            SampleRequest(
                prompt_ids=histories[i], seed=i, n=int(draw.integers(1, 3)),
                sampling=Sampling(max_tokens=int(draw.integers(1, 14)), temperature=1.3),
            )
            for i in chosen
        ]  # fmt: skip
        samples = together(engine, requests, gap=float(draw.choice([0.0, 0.003])))
        for sample in samples:
            assert error_of_logprobs(engine, sample, 1.3) < 1e-4
        for i in chosen:  # the next turn, or a fork of another conversation
            base = histories[int(draw.integers(9))] if draw.random() < 0.3 else histories[i]
            said = next(s.ids or [] for s in samples if s.prompt_ids == histories[i])
            histories[i] = [*base, *said, *ids[: int(draw.integers(1, 30))]][:300]


def counts_used(chosen: threads.Threads, steps: int, seconds: Callable[[int], float]) -> list[int]:
    """The threads of each of ``steps`` decoding steps, each of which advances the clock by ``seconds``."""
    used = []
    for _ in range(steps):
        with chosen.for_step(0):
            used.append(torch.get_num_threads())
            now[0] += seconds(used[-1])
    return used


now = [0.0]


@pytest.fixture
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3, "the caller's number is restored"
    torch.set_num_threads(before)


@pytest.mark.usefixtures("three_threads")
def test_steps_use_all_threads_where_they_are_faster() -> None:
    chosen = threads.Threads(3, clock=lambda: now[0])
    idle = counts_used(chosen, threads.SHORTEST + 4, lambda count: 1 / count)
    assert idle == [3, 3, 1, 1] + [3] * (threads.SHORTEST - 4) + [3, 3, 1, 1]
    counts_used(chosen, threads.SHORTEST - 4, lambda count: 1 / count)
    busy = counts_used(chosen, 2 * threads.SHORTEST + 2, lambda count: count)
    assert busy == [3, 3, 1, 1] + [1] * (2 * threads.SHORTEST - 4) + [3, 3], "trials become rare"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
@pytest.mark.usefixtures("three_threads")
def test_threads_that_wait_for_work_are_ended_and_start_again() -> None:
    if threads._libgomp() is None:
        pytest.skip("PyTorch does not use libgomp here")

    def product_of_all_threads() -> tuple[torch.Tensor, int]:
        product = factor @ factor
        return product, len(list(Path("/proc/self/task").iterdir()))

    factor = torch.randn(1024, 1024)
    threads.end_idle_threads()
    before = len(list(Path("/proc/self/task").iterdir()))
    expected, started = product_of_all_threads()
    threads.end_idle_threads()
    assert len(list(Path("/proc/self/task").iterdir())) == before < started
    assert torch.equal(product_of_all_threads()[0], expected)


@pytest.mark.usefixtures("three_threads")
def test_threads_depend_on_the_work_alone_where_results_must_be_reproducible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1000)
    for work, most, expected in ((0, 3, 1), (2500, 3, 2), (10**9, 3, 3), (10**9, 2, 2)):
        chosen = threads.Threads(most, adaptive=False, clock=lambda: now[0])
        assert counts_used(chosen, 10, lambda count: 1 / count) == [1] * 10
        with chosen.for_pass(work):
            assert torch.get_num_threads() == expected


def test_samples_of_one_prompt_compute_it_once(make: Callable[..., HFEngine]) -> None:
    engine = make(max_rows=16)
    fed = count_tokens(engine)
    samples = run(engine.sample(ask("What is it? It is the number. " * 10, n=12, max_tokens=2)))
    assert samples[0].prompt_ids is not None
    assert sum(fed) < 1.5 * len(samples[0].prompt_ids)
    assert len({tuple(s.ids or ()) for s in samples}) > 3  # each has its own random numbers


def test_greedy_is_what_transformers_generates(make: Callable[..., HFEngine]) -> None:
    engine = make()
    requests = [ask("the number " * (1 + i), temperature=0, max_tokens=20) for i in range(5)]
    for sample in together(engine, requests):
        prompt = torch.tensor([sample.prompt_ids])
        with torch.no_grad():
            theirs = model_of(engine).generate(prompt, max_new_tokens=20, do_sample=False)[
                0, prompt.shape[1] :
            ]
        assert theirs.tolist() == sample.ids
        assert error_of_logprobs(engine, sample) < 1e-4


def test_draws_follow_the_distribution(make: Callable[..., HFEngine]) -> None:
    engine = make(max_rows=64)
    count = 2000
    for top_p in (1.0, 0.6):
        samples = run(engine.sample(ask("Guess.", n=count, max_tokens=1, top_p=top_p, temperature=1.5)))
        with torch.no_grad():
            logits = model_of(engine)(input_ids=torch.tensor([samples[0].prompt_ids])).logits[0, -1].double()
        p = torch.softmax(logits / 1.5, -1).numpy()
        if top_p < 1:
            order = np.argsort(-p)
            kept = order[: int(np.searchsorted(np.cumsum(p[order]), top_p)) + 1]
            nucleus = np.zeros_like(p)
            nucleus[kept] = p[kept] / p[kept].sum()
            p = nucleus
        seen = Counter(s.ids[0] for s in samples if s.ids)
        assert all(p[token] > 0 for token in seen)
        common = [token for token in range(len(p)) if p[token] * count > 5]
        observed = np.array([seen[t] for t in common], dtype=float)
        expected = p[common] * count
        chi2 = float(((observed - expected) ** 2 / expected).sum())
        assert chi2 < len(common) + 5 * math.sqrt(2 * len(common)), (chi2, len(common))
        for sample in samples[:50]:
            assert sample.ids and sample.logprobs
            assert sample.logprobs[0] == pytest.approx(math.log(p[sample.ids[0]]), abs=1e-4)


def test_a_seed_gives_the_same_sample_whatever_runs_beside_it(make: Callable[..., HFEngine]) -> None:
    requests = [ask("It is " * (i % 5), seed=i, n=1 + i % 2) for i in range(8)]
    exact = make(deterministic=True)
    first, again = together(exact, requests), together(exact, requests[::-1], gap=0.002)
    by_prompt = {(tuple(s.prompt_ids or ()), tuple(s.ids or ())): s.logprobs for s in again}
    for sample in first:  # bitwise: tokens and log-probabilities
        assert by_prompt[tuple(sample.prompt_ids or ()), tuple(sample.ids or ())] == sample.logprobs
    batched = together(make(max_rows=16), requests)
    assert sum(a.ids == b.ids for a, b in zip(first, batched, strict=True)) >= len(first) - 1
    free = [run(exact.sample(ask("It is", seed=None)))[0].ids for _ in range(2)]
    assert free[0] != free[1]


def test_samples_end_where_they_should(make: Callable[..., HFEngine]) -> None:
    engine = make(context=64)
    samples = run(engine.sample(ask("Guess.", n=400, max_tokens=12)))
    end = TOKENIZER.eos_token_id
    assert {s.finish for s in samples} == {"stop", "length"}
    for sample in samples:
        assert sample.ids is not None and sample.logprobs is not None
        assert len(sample.ids) == len(sample.logprobs)
        assert (sample.ids[-1] == end) == (sample.finish == "stop")
        assert end not in sample.ids[:-1] and (sample.finish == "stop" or len(sample.ids) == 12)
        assert "<|im_end|>" not in sample.text
    usage = [s.usage for s in samples]
    assert sum(u.calls for u in usage) == 1
    assert sum(u.prompt_tokens for u in usage) == len(samples[0].prompt_ids or ())
    assert sum(u.completion_tokens for u in usage) == sum(len(s.ids or ()) for s in samples)


def test_stop_strings_cut_the_text_and_not_the_tokens(make: Callable[..., HFEngine]) -> None:
    engine = make()
    free = run(engine.sample(ask("Guess.", seed=3, max_tokens=60, temperature=1.2)))[0]
    stop = free.text[8:11]
    (cut,) = run(engine.sample(ask("Guess.", seed=3, max_tokens=60, temperature=1.2, stop=("absent", stop))))
    assert cut.finish == "stop" and cut.text == free.text[: free.text.find(stop)]
    assert free.ids is not None and cut.ids == free.ids[: len(cut.ids or ())]
    assert stop in TOKENIZER.decode(cut.ids)


def test_context_overflow(make: Callable[..., HFEngine]) -> None:
    engine = make(context=32)
    samples = run(engine.sample(ask("What is it? " * 20, n=2)))
    assert [(s.finish, s.text, s.ids) for s in samples] == [("context_overflow", "", [])] * 2
    filled = [s for s in run(engine.sample(ask("Guess.", n=30, max_tokens=500))) if s.finish != "stop"]
    assert filled
    for sample in filled:
        assert sample.finish == "context_overflow"
        assert len(sample.prompt_ids or ()) + len(sample.ids or ()) == 32


def test_sampled_tokens_are_not_tokenised_again(make: Callable[..., HFEngine]) -> None:
    """The template drops thoughts from history; tokens that were sampled are not rendered again."""
    engine = make()
    (first,) = run(engine.sample(ask("Guess.", seed=1)))
    assert first.prompt_ids is not None
    end = TOKENIZER.eos_token_id
    thought = TOKENIZER("<think>maybe</think>7").input_ids
    for output in ([*thought, end], thought):  # ended by itself, and cut off
        messages = [*chat("Guess."), {"role": "assistant", "content": "<think>maybe</think>7"}, *chat("No.")]
        request = SampleRequest(
            messages=messages, prefix_ids=first.prompt_ids + output, sampling=Sampling(max_tokens=1)
        )
        (sample,) = run(engine.sample(request))
        text = TOKENIZER.decode(sample.prompt_ids)
        assert sample.prompt_ids is not None
        assert sample.prompt_ids[: len(first.prompt_ids) + len(output)] == first.prompt_ids + output
        assert text == (
            "<|im_start|>user\nGuess.<|im_end|>\n<|im_start|>assistant\n<think>maybe</think>7<|im_end|>\n"
            "<|im_start|>user\nNo.<|im_end|>\n<|im_start|>assistant\n"
        )
    (rendered,) = run(engine.sample(SampleRequest(messages=messages, sampling=Sampling(max_tokens=1))))
    assert "maybe" not in TOKENIZER.decode(rendered.prompt_ids)


def test_tools_are_shown_and_calls_are_read(make: Callable[..., HFEngine]) -> None:
    engine = make()
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    messages: list[dict[str, Any]] = [
        *chat("Guess."),
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    messages.append({"role": "tool", "tool_call_id": "1", "content": "7"})
    (sample,) = run(
        engine.sample(SampleRequest(messages=messages, tools=[tool], sampling=Sampling(max_tokens=1)))
    )
    shown = TOKENIZER.decode(sample.prompt_ids)
    assert '"name": "f", "parameters": {}' in shown and '"arguments": {"x": 1}' in shown


@pytest.mark.parametrize("tools", [(), ({"type": "function", "function": {"name": "f", "parameters": {}}},)])
@pytest.mark.parametrize("text", ["[CALL]f{}", "<|python_tag|>f.call()", "Hello."])
def test_markers_of_calls_that_are_special_tokens_stay_in_the_text(
    make: Callable[..., HFEngine], tools: Any, text: str
) -> None:
    engine = make()
    engine.tokenizer = tokenizer = copy.deepcopy(TOKENIZER)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|python_tag|>", "[CALL]"]})
    ids = [*tokenizer(text).input_ids, TOKENIZER.eos_token_id]
    row = SimpleNamespace(filling=None, ids=ids, logprobs=[0.0], sampling=Sampling(), finish="stop")
    job = SimpleNamespace(request=SampleRequest(prompt_ids=[5], tools=tools), prompt=[5])
    sample = engine._sample(cast(Any, row), cast(Any, job), Usage())
    assert (sample.text, sample.finish) == (text.removeprefix("[CALL]"), "stop")


def test_engine_logprobs_are_those_of_a_forward_pass(make: Callable[..., HFEngine]) -> None:
    engine = make()
    ids = TOKENIZER("the number of it is 7").input_ids
    with torch.no_grad():
        table = torch.log_softmax(model_of(engine)(input_ids=torch.tensor([ids])).logits[0], -1)
    expected = [float(table[i - 1, ids[i]]) for i in range(3, len(ids))]
    assert run(engine.logprobs(ids, 3)) == pytest.approx(expected, abs=1e-5)
    with pytest.raises(ValueError, match="prompt_len"):
        run(engine.logprobs(ids, 0))


@pytest.mark.parametrize("tied", [True, False])
def test_a_sync_changes_the_model_and_nothing_old_is_reused(tied: bool) -> None:
    engine = HFEngine(tiny_model.model(0, tied=tied), TOKENIZER)
    other = tiny_model.model(1, tied=tied)
    request = ask("What is it? " * 8, temperature=0)
    (before,) = run(engine.sample(request))
    engine.sync(ModelSource(other), version=7)
    (after,) = run(engine.sample(request))
    assert (before.weight_version, after.weight_version) == (0, 7)
    assert (tied or before.ids != after.ids) and error_of_logprobs(engine, after) < 1e-4
    ids = (after.prompt_ids or []) + (after.ids or [])
    theirs = forward_logprobs(other, ids, len(after.prompt_ids or ()))
    assert after.logprobs == pytest.approx(theirs, abs=1e-4)
    engine.close()


def test_the_target_slot_has_weights_of_its_own(make: Callable[..., HFEngine]) -> None:
    engine = make(0)
    request = ask("Guess.", temperature=0)
    on_target = SampleRequest(messages=request.messages, sampling=request.sampling, slot="target")
    with pytest.raises(NlacBenchError, match="'target' has no weights"):
        run(engine.sample(on_target))
    engine.sync(ModelSource(tiny_model.model(1)), version=3, slot="target")
    policy, target = together(engine, [request, on_target])
    assert (policy.weight_version, target.weight_version) == (0, 3)
    assert policy.ids != target.ids and error_of_logprobs(engine, policy) < 1e-4


class Stale(ModelSource):
    """Hands out other weights than those it computes with."""

    def named_tensors(self) -> Any:
        return ModelSource(tiny_model.model(5)).named_tensors()


class Renamed(ModelSource):
    def named_tensors(self) -> Any:
        return ((name.replace("q_proj", "query"), tensor) for name, tensor in super().named_tensors())


class Partial(ModelSource):
    def named_tensors(self) -> Any:
        return list(super().named_tensors())[:-1]


class Reshaped(ModelSource):
    def named_tensors(self) -> Any:
        return ((name, tensor[:-1]) for name, tensor in super().named_tensors())


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Stale, "does not use the new weights"),
        (Renamed, "no weight"),
        (Partial, "lacks 1 of"),
        (Reshaped, "has shape"),
    ],
)
def test_sync_raises_if_the_engine_does_not_use_the_new_weights(
    make: Callable[..., HFEngine], source: type[ModelSource], message: str
) -> None:
    with pytest.raises(SyncError, match=message):
        make().sync(source(tiny_model.model(1)), version=1)


def test_a_small_update_that_is_lost_is_noticed(make: Callable[..., HFEngine]) -> None:
    class Lost(ModelSource):
        def named_tensors(self) -> Any:
            return ModelSource(tiny_model.model(0)).named_tensors()

    nudged = tiny_model.model(0)
    with torch.no_grad():
        for parameter in nudged.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.01)
    engine = make(0)
    engine.sync(ModelSource(nudged), version=1)
    with pytest.raises(SyncError, match="does not use the new weights"):
        engine.sync(Lost(nudged), version=2)


def test_a_sync_waits_for_running_samples_and_later_ones_for_it(make: Callable[..., HFEngine]) -> None:
    engine = make(0)

    async def scenario() -> tuple[list[Sample], list[Sample]]:
        running = asyncio.create_task(engine.sample(ask("Guess.", n=8, max_tokens=200, temperature=2.0)))
        await asyncio.sleep(0.05)
        sync = asyncio.create_task(asyncio.to_thread(engine.sync, ModelSource(tiny_model.model(1)), 1))
        await asyncio.sleep(0.01)
        later = await engine.sample(ask("Guess.", temperature=0))
        await sync
        return await running, later

    running, later = asyncio.run(scenario())
    assert {s.weight_version for s in running} == {0} and later[0].weight_version == 1
    assert error_of_logprobs(engine, later[0]) < 1e-4


def test_abandoned_requests_make_room(make: Callable[..., HFEngine]) -> None:
    engine = make(max_rows=2)

    async def scenario() -> Sample:
        endless = ask("Guess.", n=2, max_tokens=400, temperature=3.0)
        tasks = [asyncio.create_task(engine.sample(endless)) for _ in range(3)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        return (await engine.sample(ask("Guess.")))[0]

    sample = asyncio.run(scenario())
    assert error_of_logprobs(engine, sample) < 1e-4


def test_broken_weights_and_templates_are_typed_errors(make: Callable[..., HFEngine]) -> None:
    engine = make()
    with pytest.raises(NlacBenchError, match=r"chat template .* \['narrator'\].*unknown role"):
        run(engine.sample(SampleRequest(messages=[{"role": "narrator", "content": "Guess."}])))
    with torch.no_grad():
        model_of(engine).model.norm.weight.fill_(float("nan"))
    with pytest.raises(EngineError, match="NaN"):
        run(engine.sample(ask("Guess.")))
    with torch.no_grad():
        model_of(engine).model.norm.weight.fill_(1.0)
    (sample,) = run(engine.sample(ask("Guess.")))  # and it goes on, with nothing broken left in its cache
    assert error_of_logprobs(engine, sample) < 1e-4


def test_a_prompt_without_tokens_is_refused(make: Callable[..., HFEngine], monkeypatch: Any) -> None:
    engine = make()
    monkeypatch.setattr(
        engine.tokenizer, "chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    with pytest.raises(NlacBenchError, match="renders the messages as no text"):
        together(engine, [ask("")])
    assert together(engine, [ask("2")])


def test_a_closed_engine_says_so(make: Callable[..., HFEngine]) -> None:
    engine = make()
    run(engine.sample(ask("Guess.", max_tokens=1)))
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        run(engine.sample(ask("Guess.")))


def test_models_it_cannot_run_are_refused() -> None:
    model = tiny_model.model()
    model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(NlacBenchError, match="sliding_attention"):
        HFEngine(model, TOKENIZER)
    with pytest.raises(NlacBenchError, match="no-such-model"):
        HFEngine.from_pretrained("/tmp/no-such-model")


def test_a_saved_model_is_loaded_by_its_folder(tmp_path: Any) -> None:
    tiny_model.model(3).save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    engine = HFEngine.from_pretrained(str(tmp_path))
    (sample,) = run(engine.sample(ask("Guess.")))
    theirs = forward_logprobs(
        tiny_model.model(3), (sample.prompt_ids or []) + (sample.ids or []), len(sample.prompt_ids or ())
    )
    assert sample.logprobs == pytest.approx(theirs, abs=1e-4)
    engine.close()


def test_a_cache_that_grows_keeps_what_is_used_and_takes_memory_for_nothing_else() -> None:
    """One of two slots is used, and the cache grows to 16 slots: only pages that are used are resident."""
    cache = SlotCache(1, slots=2, length=10_000)
    positions_RQ = torch.arange(100)[None]
    cache.focus(0, positions_RQ, 100)
    keys = torch.rand(1, 2, 100, 64)
    before = resident_bytes()
    kept, _ = cache.update(keys, keys, 0)
    cache.reserve(16, 50_000, 16, [100, 0])
    cache.focus(0, positions_RQ[:, :1] + 100, 101)
    grown, _ = cache.update(keys[:, :, :1], keys[:, :, :1], 0)
    assert torch.equal(grown[:, :, :100], kept) and torch.equal(grown[:, :, 100:], keys[:, :, :1])
    allocated = 2 * 16 * 2 * 50_000 * 64 * 4
    assert resident_bytes() - before < 0.01 * allocated


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_an_engine_forgets_conversations_when_it_is_told_to(make: Callable[..., HFEngine]) -> None:
    engine = make()
    first = run(engine.sample(ask("Tell me about the moon and the sea.", temperature=0)))
    run(engine.sample(ask("Tell me about the moon and the sea.", temperature=0)))
    assert (known := engine.cached_tokens) > 0
    MeteredEngine(engine).forget()
    again = run(engine.sample(ask("Tell me about the moon and the sea.", temperature=0)))
    assert engine.cached_tokens == known and again[0].ids == first[0].ids
    nothing: Any = SimpleNamespace()
    MeteredEngine(nothing).forget()  # an engine without such a method
