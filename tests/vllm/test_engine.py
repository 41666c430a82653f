"""VLLMEngine on a real vLLM: the same contract as HFEngine, and weights that really change."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch

from nlac_bench.agents.registry import AgentContext, make
from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.forms import Choice, Fixed, Form, Free
from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
from nlac_bench.rollout.engines.weights import ModelSource, forward_logprobs
from nlac_bench.types import Episode
from tests.rollout import tiny_model
from tests.rollout.stubs import Guess
from tests.vllm import WHERE

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

T = TypeVar("T")
TOKENIZER = tiny_model.tokenizer()
CHAT = [{"role": "user", "content": "What is it? It is the number."}]
NUMBERS: Form = (Fixed("Best:"), Choice(tuple(f" {i}" for i in range(1, 12))))
VERDICT: Form = (
    Fixed("Why:"), Free(12, ("\n",)), Fixed("\nOptimal:"), Choice((" yes", " no"), last=(" yes",)),
    Fixed("\nInstead:"), Free(12, ("\n",)),
)  # fmt: skip


def run(awaitable: Awaitable[T]) -> T:
    async def wrapped() -> T:
        return await awaitable

    return asyncio.run(wrapped())


def error_of_logprobs(model: Any, sample: Sample, temperature: float = 1.0, top_p: float = 1.0) -> float:
    assert sample.prompt_ids is not None and sample.ids is not None and sample.logprobs is not None
    ids = torch.tensor([sample.prompt_ids + sample.ids])
    with torch.no_grad():
        logits = model(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
    p = torch.softmax(logits / temperature, -1)
    if top_p < 1:
        order = p.sort(-1, descending=True)
        dropped = order.values.cumsum(-1) - order.values >= top_p
        p = p.scatter(1, order.indices, order.values.masked_fill(dropped, 0.0))
        p = p / p.sum(-1, keepdim=True)
    expected = p.log().gather(1, torch.tensor(sample.ids)[:, None])[:, 0]
    return float((expected - torch.tensor(sample.logprobs)).abs().max())


@pytest.mark.parametrize(("temperature", "top_p"), [(0.7, 1.0), (1.0, 1.0), (1.5, 1.0), (1.5, 0.6)])
def test_logprobs_are_those_of_the_sampling_distribution(
    engine: VLLMEngine, temperature: float, top_p: float
) -> None:
    sampling = Sampling(temperature=temperature, top_p=top_p, max_tokens=20)
    samples = run(engine.sample(SampleRequest(messages=CHAT, sampling=sampling, seed=1, n=4)))
    assert len({tuple(s.ids or ()) for s in samples}) > 1
    again = run(engine.sample(SampleRequest(messages=CHAT, sampling=sampling, seed=1, n=4)))
    assert [s.ids for s in again] == [s.ids for s in samples]
    for sample in samples:
        assert error_of_logprobs(tiny_model.model(0), sample, temperature, top_p) < 2e-3
        assert sample.ids is not None
        assert (sample.ids[-1] == TOKENIZER.eos_token_id) == (sample.finish == "stop")
    assert sum(s.usage.calls for s in samples) == 1


@pytest.mark.parametrize("form", [VERDICT, NUMBERS])
def test_forms_are_filled_in_with_restricted_choices(engine: VLLMEngine, form: Form) -> None:
    request = SampleRequest(messages=CHAT, form=form, sampling=Sampling(max_tokens=60), seed=1, n=6)
    samples = run(engine.sample(request))
    model, found = tiny_model.model(0), set()
    for sample in samples:
        assert sample.prompt_ids and sample.ids and sample.logprobs and sample.filled
        assert sample.finish == "stop" and sample.text.startswith(form[0].text)  # type: ignore[union-attr]
        found.add(sample.filled.chosen[0][0])
        ids = torch.tensor([sample.prompt_ids + sample.ids])
        with torch.no_grad():
            logits_TV = model(input_ids=ids).logits[0, len(sample.prompt_ids) - 1 : -1]
        for at, (token, logprob) in enumerate(zip(sample.ids, sample.logprobs, strict=True)):
            few = sample.filled.restricted.get(at)
            scale = logits_TV[at] if few is None else logits_TV[at, few]
            expected = float(logits_TV[at, token] - scale.logsumexp(0)) if sample.filled.sampled[at] else 0.0
            assert abs(expected - logprob) < 2e-3
    assert len(found) > 1
    assert [s.ids for s in run(engine.sample(request))] == [s.ids for s in samples]


def test_greedy_logprobs_stops_and_overflow(engine: VLLMEngine) -> None:
    greedy = Sampling(temperature=0, max_tokens=20)
    (sample,) = run(engine.sample(SampleRequest(messages=CHAT, sampling=greedy)))
    assert error_of_logprobs(tiny_model.model(0), sample) < 2e-3
    stop = sample.text[3:6]
    (cut,) = run(
        engine.sample(
            SampleRequest(messages=CHAT, sampling=Sampling(temperature=0, max_tokens=20, stop=(stop,)))
        )
    )
    assert cut.finish == "stop" and cut.text == sample.text[: sample.text.find(stop)]
    (full,) = run(engine.sample(SampleRequest(prompt_ids=[5] * 256)))
    assert (full.finish, full.ids) == ("context_overflow", [])
    (filled,) = run(
        engine.sample(SampleRequest(prompt_ids=[5] * 250, sampling=Sampling(temperature=0, max_tokens=99)))
    )
    assert filled.finish == "stop" or (filled.finish == "context_overflow" and len(filled.ids or ()) == 6)


def test_engine_logprobs_are_those_of_a_forward_pass(engine: VLLMEngine) -> None:
    ids = TOKENIZER("the number of it is 7, user").input_ids
    assert run(engine.logprobs(ids, 2)) == pytest.approx(
        forward_logprobs(tiny_model.model(0), ids, 2), abs=2e-3
    )


def test_agents_play_on_it(engine: VLLMEngine) -> None:
    agent = make("act", AgentContext(engine=engine, sampling=Sampling(max_tokens=8)))
    specs = [EpisodeSpec("guess", str(i), 0, i) for i in range(8)]

    async def play() -> list[Episode | Failure]:
        return [r async for r in Driver(agent, lambda: Guess(tasks=8), concurrency=8).run(specs)]

    results = asyncio.run(play())
    assert len(results) == 8
    for episode in results:
        assert isinstance(episode, Episode), episode
        for before, after in zip(episode.turns, episode.turns[1:], strict=False):
            assert before.prompt_ids is not None and before.output_ids is not None
            assert after.prompt_ids is not None
            said = before.prompt_ids + before.output_ids
            assert after.prompt_ids[: len(said)] == said


def test_syncs_change_the_weights_in_place_again_and_again(engine: VLLMEngine) -> None:
    request = SampleRequest(messages=CHAT, sampling=Sampling(temperature=0, max_tokens=20))
    seen = set()
    for version in (1, 2, 3):
        model = tiny_model.model(version)
        engine.sync(ModelSource(model), version)
        (sample,) = run(engine.sample(request))
        assert sample.weight_version == version
        assert error_of_logprobs(model, sample) < 2e-3
        seen.add(tuple(sample.ids or ()))
    assert len(seen) == 3
    engine.sync(ModelSource(tiny_model.model(0)), 4)


def test_sync_raises_if_the_engine_does_not_use_the_new_weights(engine: VLLMEngine) -> None:
    class Stale(ModelSource):
        def named_tensors(self) -> Any:
            return ModelSource(tiny_model.model(0)).named_tensors()

    class Renamed(ModelSource):
        def named_tensors(self) -> Any:
            return ((name.replace("q_proj", "query"), tensor) for name, tensor in super().named_tensors())

    with pytest.raises(SyncError, match="does not use the new weights"):
        engine.sync(Stale(tiny_model.model(1)), 5)
    with pytest.raises(SyncError, match="refused"):
        engine.sync(Renamed(tiny_model.model(0)), 6)
    with pytest.raises(NlacBenchError, match="last sync of the slot 'policy' failed"):
        run(engine.sample(SampleRequest(messages=CHAT)))
    engine.sync(ModelSource(tiny_model.model(0)), 7)
    assert run(engine.sample(SampleRequest(messages=CHAT)))[0].weight_version == 7


def test_a_sync_waits_for_running_samples(engine: VLLMEngine) -> None:
    async def scenario() -> tuple[list[Sample], list[Sample]]:
        long = SampleRequest(messages=CHAT, n=4, sampling=Sampling(max_tokens=150, temperature=2.0), seed=1)
        running = asyncio.create_task(engine.sample(long))
        while not engine._running:
            await asyncio.sleep(0.01)
        sync = asyncio.create_task(asyncio.to_thread(engine.sync, ModelSource(tiny_model.model(1)), 8))
        while engine._open.is_set() and not sync.done():
            await asyncio.sleep(0.01)
        later = await engine.sample(SampleRequest(messages=CHAT, sampling=Sampling(temperature=0)))
        await sync
        return await running, later

    running, later = asyncio.run(scenario())
    assert {s.weight_version for s in running} == {7} and later[0].weight_version == 8
    for sample in running:
        assert error_of_logprobs(tiny_model.model(0), sample, temperature=2.0) < 2e-3
    assert error_of_logprobs(tiny_model.model(1), later[0]) < 2e-3


def test_the_target_slot_has_weights_of_its_own(engine: VLLMEngine) -> None:
    on_target = SampleRequest(messages=CHAT, slot="target", sampling=Sampling(temperature=0, max_tokens=12))
    engine.sync(ModelSource(tiny_model.model(2)), 3, slot="target")
    (sample,) = run(engine.sample(on_target))
    assert sample.weight_version == 3
    assert error_of_logprobs(tiny_model.model(2), sample) < 2e-3


def test_ctrl_c_does_not_reach_the_processes_of_vllm(engine: VLLMEngine) -> None:
    found = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # ended meanwhile
            rows = dict(line.split(":", 1) for line in path.read_text().splitlines())
            found[int(path.parent.name)] = int(rows["PPid"]), rows["Name"].strip(), int(rows["SigBlk"], 16)
    started = {os.getpid()}
    while more := {pid for pid, (parent, _, _) in found.items() if parent in started} - started:
        started |= more
    blocked = [
        mask & 1 << (signal.SIGINT - 1)
        for pid in started
        if "VLLM" in (row := found[pid])[1]
        for mask in row[2:]
    ]
    assert len(blocked) >= 2 and all(blocked)
