"""EnginePool and ProcessEngine: the samples of an engine in this process, verified weights, lost replicas."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines import weight_file
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.hf.process import ProcessEngine, start_pool
from nlac_bench.rollout.engines.pool import EnginePool
from nlac_bench.rollout.engines.routing import Conversation, within
from nlac_bench.rollout.engines.weights import ModelSource
from tests.rollout import tiny_model

TOKENIZER = tiny_model.tokenizer()
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model")
    tiny_model.model(0).save_pretrained(path)
    TOKENIZER.save_pretrained(path)
    return str(path)


@pytest.fixture(scope="module")
def shared(folder: str) -> Iterator[EnginePool]:
    pool = start_pool(folder, 2, max_rows=8, deterministic=True)
    yield pool
    pool.close()


@pytest.fixture
def pool(shared: EnginePool) -> EnginePool:
    """Two processes with the weights of the folder, whatever a test before has loaded."""
    shared.sync(ModelSource(tiny_model.model(0)), 0)
    return shared


@pytest.fixture
def own(folder: str) -> Iterator[EnginePool]:
    """Two processes that a test may kill."""
    made = start_pool(folder, 2, max_rows=8, deterministic=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def here(folder: str) -> Iterator[HFEngine]:
    engine = HFEngine.from_pretrained(folder, deterministic=True)
    yield engine
    engine.close()


def ask(text: str, seed: int | None = 0, n: int = 1, **sampling: Any) -> SampleRequest:
    said = [{"role": "user", "content": text}]
    return SampleRequest(messages=said, seed=seed, n=n, sampling=Sampling(**{"max_tokens": 6, **sampling}))


def requests() -> list[SampleRequest]:
    """Requests of every kind: greedy and seeded, several samples, stop strings, tools, tokens, overflow."""
    ids = TOKENIZER("the number of it is 7").input_ids
    said = [{"role": "user", "content": "No. é 中\u2028"}]
    return [
        *(ask("What is it? " * (i % 4), seed=i, n=1 + i % 3, temperature=0.7 * (i % 3)) for i in range(6)),
        ask("Guess.", seed=3, max_tokens=20, top_p=0.8, stop=("e", "absent")),
        SampleRequest(messages=said, tools=[TOOL], seed=4, sampling=Sampling(max_tokens=5)),
        SampleRequest(prompt_ids=ids, seed=2**63 - 1, sampling=Sampling(max_tokens=5)),
        SampleRequest(messages=said, prefix_ids=ids, seed=6, sampling=Sampling(max_tokens=5)),
        ask("What is it? " * 300, n=2),
    ]


def together(engine: Any, asked: Sequence[SampleRequest]) -> list[list[Sample]]:
    async def run() -> list[list[Sample]]:
        return await asyncio.gather(*(engine.sample(request) for request in asked))

    return asyncio.run(run())


def content(samples: Sequence[Sequence[Sample]]) -> list[list[Any]]:
    """What samples are, without the time that they took."""
    return [
        [
            (s.text, s.finish, s.prompt_ids, s.ids, s.logprobs, s.weight_version, s.tool_calls,
             s.usage.calls, s.usage.prompt_tokens, s.usage.completion_tokens)
            for s in each
        ]
        for each in samples
    ]  # fmt: skip


def nudged(size: float) -> Any:
    """The model of the folder with a little noise on its weights."""
    made = tiny_model.model(0)
    torch.manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * size)
    return made


def ended(pid: int) -> bool:
    """Whether the process has ended, waiting for it for at most a minute."""
    for _ in range(600):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.1)
    return False


def processes(pool: EnginePool) -> list[ProcessEngine]:
    return [replica for replica in pool.replicas if isinstance(replica, ProcessEngine)]


# --- the same samples ---------------------------------------------------------------------------------------


def test_samples_are_bitwise_those_of_an_engine_in_this_process(pool: EnginePool, here: HFEngine) -> None:
    expected = content(together(here, requests()))
    for engine in (pool, *pool.replicas):
        assert content(together(engine, requests())) == expected
    assert pool.generated_tokens == sum(p.generated_tokens for p in processes(pool)) > 0
    assert pool.name == "HFEngine" and pool.slots == here.slots
    assert {p.context for p in processes(pool)} == {here.context}
    assert pool.tokenizer.get_vocab() == here.tokenizer.get_vocab()


def test_a_free_request_draws_new_numbers(pool: EnginePool) -> None:
    free = together(pool, [ask("Guess.", seed=None, max_tokens=20)] * 4)
    assert len({tuple(each[0].ids or ()) for each in free}) > 1


def test_batched_samples_of_processes_differ_at_most_as_batches_do(folder: str, here: HFEngine) -> None:
    """Without ``deterministic`` the last bits depend on the batch, so at most a token now and then."""
    expected = together(here, requests())
    engines = [HFEngine.from_pretrained(folder, max_rows=4) for _ in range(2)]
    try:
        found = together(EnginePool(engines), requests())
    finally:
        for engine in engines:
            engine.close()
    same = [a.ids == b.ids for x, y in zip(found, expected, strict=True) for a, b in zip(x, y, strict=True)]
    assert sum(same) >= len(same) - 1


def test_logprobs_and_errors_come_from_the_process(pool: EnginePool, here: HFEngine) -> None:
    ids = TOKENIZER("the number of it is 7").input_ids
    assert asyncio.run(pool.logprobs(ids, 3)) == asyncio.run(here.logprobs(ids, 3))
    with pytest.raises(ValueError, match="prompt_len"):
        asyncio.run(pool.logprobs(ids, 0))
    narrator = SampleRequest(messages=[{"role": "narrator", "content": "Guess."}])
    with pytest.raises(NlacBenchError, match=r"\['narrator'\].*unknown role"):
        asyncio.run(pool.sample(narrator))
    with pytest.raises(TypeError, match="cannot contain a object"):
        asyncio.run(pool.sample(SampleRequest(messages=[{"role": "user", "content": object()}])))
    assert len(together(pool, requests())) == len(requests()), "it goes on"


def test_many_event_loops_and_threads_ask_at_once(pool: EnginePool, here: HFEngine) -> None:
    expected = content(together(here, requests()[:5]))
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: content(together(pool, requests()[:5])), range(6)))
    assert found == [expected] * 6


def test_cancelled_requests_are_no_longer_computed(pool: EnginePool) -> None:
    async def scenario() -> None:
        endless = ask("Guess.", n=4, max_tokens=450, temperature=5.0)
        tasks = [asyncio.create_task(pool.sample(endless)) for _ in range(40)]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scenario())
    together(pool, [ask("Guess.")] * 2)
    computed = pool.generated_tokens
    together(pool, [ask("Guess.", max_tokens=1)] * 8)
    assert pool.generated_tokens - computed < 100
    assert all(not p.child._pending for p in processes(pool))


def test_an_idle_process_uses_no_cpu_time(pool: EnginePool) -> None:
    def used() -> float:
        ticks = [Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split() for p in processes(pool)]
        return sum(int(t[11]) + int(t[12]) for t in ticks) / os.sysconf("SC_CLK_TCK")

    together(pool, requests())
    before = used()
    time.sleep(2)
    assert used() - before < 0.3


# --- weights ------------------------------------------------------------------------------------------------


def test_a_sync_reaches_every_process_and_leaves_no_file(
    pool: EnginePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_file, "SHARED_MEMORY", tmp_path)  # other programs use the real one
    new = nudged(0.05)
    pool.sync(ModelSource(new), 7)
    pool.sync(ModelSource(tiny_model.model(2)), 8, "target")
    reference = HFEngine(new, TOKENIZER, deterministic=True)
    reference.sync(ModelSource(new), 7)
    reference.sync(ModelSource(tiny_model.model(2)), 8, "target")
    asked = [*requests()[:6], SampleRequest(messages=requests()[0].messages, slot="target", seed=1)]
    expected = content(together(reference, asked))
    assert {each[0][5] for each in expected} >= {7, 8}
    for engine in (pool, *pool.replicas):
        assert content(together(engine, asked)) == expected
    reference.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("fault", ["skipped", "one old tensor", "half"])
def test_a_process_that_keeps_old_weights_is_caught_and_named(
    pool: EnginePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: float, fault: str
) -> None:
    """One of the processes loads a file with old weights; the difference may be far below the tolerance."""
    from safetensors.torch import save_file

    old, new = dict(tiny_model.model(0).named_parameters()), dict(nudged(size).named_parameters())
    stale = {"skipped": list(new), "one old tensor": list(new)[3:4], "half": list(new)[: len(new) // 2]}[
        fault
    ]
    mixed = {name: (old if name in stale else new)[name].detach() for name in new}
    save_file(mixed, tmp_path / "stale.safetensors")
    replica = processes(pool)[1]
    call = replica.child.call

    def misled(name: str, **arguments: Any) -> Any:
        return call(
            name, **arguments | ({"path": str(tmp_path / "stale.safetensors")} if name == "sync" else {})
        )

    monkeypatch.setattr(replica.child, "call", misled)
    with pytest.raises(SyncError, match=rf"replica 2 of 2, ProcessEngine\(.*pid={replica.pid}\)") as caught:
        pool.sync(ModelSource(nudged(size)), 1)
    if size < 1e-5:  # the probe alone would not have seen it
        assert f"{len(stale)} of the engine's weights are not those that were sent" in str(caught.value)
        assert repr(min(stale)) in str(caught.value)


def test_a_process_that_keeps_the_old_version_is_caught(
    pool: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = processes(pool)[0]
    call = replica.child.call
    monkeypatch.setattr(
        replica.child,
        "call",
        lambda name, **kw: call(name, **kw | ({"version": 3} if name == "sync" else {})),
    )
    with pytest.raises(SyncError, match=r"replica 1 of 2.* has version 3 after the sync to version 4"):
        pool.sync(ModelSource(tiny_model.model(0)), 4)


def test_a_source_that_is_not_the_model_is_refused_as_in_this_process(pool: EnginePool) -> None:
    class Renamed(ModelSource):
        def named_tensors(self) -> Any:
            return ((name.replace("q_proj", "query"), t) for name, t in super().named_tensors())

    class Stale(ModelSource):
        def named_tensors(self) -> Any:
            return ModelSource(tiny_model.model(5)).named_tensors()

    for source, message in ((Renamed, "no weight"), (Stale, "does not use the new weights")):
        with pytest.raises(SyncError, match=message):
            pool.sync(source(tiny_model.model(0)), 1)


def test_a_source_is_read_in_the_thread_of_the_caller(pool: EnginePool) -> None:
    """Its collectives must be called by one thread."""
    used = set()

    class Watched(ModelSource):
        def named_tensors(self) -> Any:
            used.add(threading.get_ident())
            return super().named_tensors()

        def logprobs(self, ids: Sequence[int], prompt_len: int) -> list[float]:
            used.add(threading.get_ident())
            return super().logprobs(ids, prompt_len)

    pool.sync(Watched(tiny_model.model(0)), 1)
    assert used == {threading.get_ident()}


def test_samples_after_a_sync_have_its_version_and_running_ones_the_old_one(pool: EnginePool) -> None:
    async def scenario() -> tuple[list[list[Sample]], list[list[Sample]]]:
        long = ask("Guess.", n=2, max_tokens=100, temperature=2.0)
        running = [asyncio.create_task(pool.sample(long)) for _ in range(4)]
        await asyncio.sleep(0.3)
        await asyncio.to_thread(pool.sync, ModelSource(tiny_model.model(1)), 5)
        return list(await asyncio.gather(*running)), [await pool.sample(ask("Guess.")) for _ in range(4)]

    running, later = asyncio.run(scenario())
    assert {s.weight_version for each in running for s in each} == {0}
    assert {s.weight_version for each in later for s in each} == {5}


def test_digests_see_a_single_bit() -> None:
    model = tiny_model.model(0)
    named = {
        n: (str(p.dtype).removeprefix("torch."), weight_file.digest(p)) for n, p in model.named_parameters()
    }
    weight_file.check_digests(named, ModelSource(model).named_tensors())
    changed = model.model.norm.weight
    with torch.no_grad():
        changed[3] = torch.nextafter(changed[3], torch.tensor(2.0))
    with pytest.raises(SyncError, match=r"1 of the engine's weights .* 'model.norm.weight'"):
        weight_file.check_digests(named, ModelSource(model).named_tensors())
    del named["model.embed_tokens.weight"]
    with pytest.raises(SyncError, match="2 of the engine's weights"):
        weight_file.check_digests(named, ModelSource(model).named_tensors())
    as_bf16 = tiny_model.model(1).to(torch.bfloat16)
    rounded = {n: ("bfloat16", weight_file.digest(p)) for n, p in as_bf16.named_parameters()}
    weight_file.check_digests(rounded, ModelSource(tiny_model.model(1)).named_tensors())


def test_weights_go_to_a_temporary_folder_where_shared_memory_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_file.tempfile, "tempdir", str(tmp_path))
    for missing in (True, False):
        with monkeypatch.context() as patch:
            if missing:
                patch.setattr(weight_file, "SHARED_MEMORY", tmp_path / "absent")
            else:
                patch.setattr(weight_file.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
            with weight_file.WeightFile(ModelSource(tiny_model.model(0))) as file:
                assert file.path.is_relative_to(tmp_path)
                assert {n for n, _ in file.named_tensors()} == {
                    n for n, _ in tiny_model.model(0).named_parameters()
                }
            assert not file.path.exists() and not file.path.parent.exists()


# --- processes that end -------------------------------------------------------------------------------------


@pytest.mark.slow(reason="starts two processes")
def test_requests_of_a_killed_process_are_answered_by_another_one(
    own: EnginePool, here: HFEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> list[list[Sample]]:
        asked = [asyncio.create_task(own.sample(request)) for request in requests() * 3]
        await asyncio.sleep(0.05)
        os.kill(processes(own)[0].pid, signal.SIGKILL)
        return list(await asyncio.gather(*asked))

    assert content(asyncio.run(scenario())) == content(together(here, requests() * 3))
    assert content(together(own, requests())) == content(together(here, requests()))
    said = capfd.readouterr().err
    assert said.count("ended (exit status -9)") == 1 and "of which 1 are left" in said
    own.sync(ModelSource(tiny_model.model(1)), 2)
    assert {s.weight_version for each in together(own, requests()) for s in each} == {2}

    os.kill(processes(own)[1].pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(EngineError, match="all 2 replicas were lost") as lost:
            together(own, requests())
        assert lost.value.kind == "connection"
    with pytest.raises(EngineError, match="all 2 replicas were lost"):
        own.sync(ModelSource(tiny_model.model(1)), 3)
    assert "no replica is left" in capfd.readouterr().err


@pytest.mark.slow(reason="starts two processes")
def test_a_process_that_is_stopped_is_not_waited_for_without_end(
    own: EnginePool, here: HFEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    stopped = processes(own)[0]
    stopped.child.wait_s = 1.0
    together(stopped, [ask("Guess.")])  # after the reply the new time is used
    os.kill(stopped.pid, signal.SIGSTOP)
    assert content(together(own, requests() * 2)) == content(together(here, requests() * 2))
    assert "sent nothing for" in capfd.readouterr().err and ended(stopped.pid)


@pytest.mark.slow(reason="starts two processes")
def test_interrupts_are_left_to_the_parent_and_closing_leaves_no_trace(
    own: EnginePool, capfd: pytest.CaptureFixture[str]
) -> None:
    for process in processes(own):
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGTERM)
        assert os.getpgid(process.pid) != os.getpgid(0), "Ctrl-C in a terminal does not reach it"
    assert len(together(own, requests())) == len(requests())

    async def closed() -> list[Any]:
        endless = [asyncio.create_task(own.sample(ask("Guess.", n=8, max_tokens=450))) for _ in range(8)]
        await asyncio.sleep(0.1)
        await asyncio.to_thread(own.close)
        return await asyncio.gather(*endless, return_exceptions=True)

    errors = asyncio.run(closed())
    assert all(isinstance(error, EngineError) and error.kind == "closed" for error in errors)
    assert all(ended(process.pid) for process in processes(own))
    with pytest.raises(EngineError, match="closed"):
        together(own, requests())
    own.close()
    assert capfd.readouterr() == ("", "")


PARENT = """
import sys, time
from nlac_bench.rollout.engines.hf.process import ProcessEngine
engine = ProcessEngine(sys.argv[1])
if sys.argv[2] == "loaded":
    engine.wait_until_loaded()
print(engine.pid, flush=True)
if sys.argv[2] != "returns":
    time.sleep(600)
"""


@pytest.mark.slow(reason="starts two processes a case")
@pytest.mark.parametrize("when", ["loading", "loaded", "returns"])
def test_a_process_does_not_outlive_its_parent(folder: str, when: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, folder, when],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None and parent.stderr is not None
    pid = int(parent.stdout.readline())
    if when != "returns":
        parent.kill()
    parent.wait()
    assert ended(pid)
    assert not parent.stderr.read()


@pytest.mark.slow(reason="starts a process")
def test_an_engine_that_nobody_uses_any_more_ends_its_process(folder: str) -> None:
    engine = ProcessEngine(folder)
    engine.wait_until_loaded()
    pid = engine.pid
    del engine
    assert ended(pid)


def test_a_model_that_cannot_be_loaded_is_refused_as_in_this_process(tmp_path: Path) -> None:
    for engine in (HFEngine.from_pretrained, lambda name: start_pool(name, 2, max_rows=8)):
        with pytest.raises(NlacBenchError, match=f"cannot load the model '{tmp_path}/absent'"):
            engine(f"{tmp_path}/absent")


@pytest.mark.slow(reason="starts two processes")
def test_a_model_that_the_process_refuses_ends_all_of_them(tmp_path: Path) -> None:
    made = tiny_model.model(0)
    made.config.layer_types = ["full_attention", "sliding_attention"]
    made.config.use_sliding_window = True
    made.save_pretrained(tmp_path)
    TOKENIZER.save_pretrained(tmp_path)
    with pytest.raises(NlacBenchError, match="runs full attention only"):
        start_pool(str(tmp_path), 2, max_rows=8)


# --- which replica ------------------------------------------------------------------------------------------


class Recorded:
    """A replica that answers with its number; ``delay`` keeps requests in progress."""

    def __init__(self, number: int, delay: Callable[[], float] = lambda: 0.01) -> None:
        self.number, self.delay, self.asked = number, delay, 0

    async def sample(self, request: SampleRequest) -> list[Sample]:
        self.asked += request.n
        await asyncio.sleep(self.delay())
        return [Sample(str(self.number), "stop")] * request.n


def numbered(count: int) -> EnginePool:
    replicas: list[Any] = [Recorded(number) for number in range(count)]
    return EnginePool(replicas)


def test_a_conversation_stays_at_its_replica_and_new_ones_go_where_least_is_done() -> None:
    pool = numbered(3)

    async def talk() -> set[str]:
        with within(Conversation()):
            return {(await pool.sample(ask("Guess.")))[0].text for _ in range(6)}

    async def run() -> list[set[str]]:
        return await asyncio.gather(*(talk() for _ in range(12)))

    places = asyncio.run(run())
    assert all(len(place) == 1 for place in places)
    assert sorted(min(place) for place in places) == ["0"] * 4 + ["1"] * 4 + ["2"] * 4
    gc.collect()  # a conversation may be part of a reference cycle of its task
    assert [len(pool.router.places), set(pool.router.running.values())] == [0, {0}], "all is forgotten"


def test_tasks_of_a_conversation_share_its_replica_until_that_has_far_more_to_do() -> None:
    pool = numbered(2)

    async def run() -> list[str]:
        with within(Conversation()):
            tasks = [asyncio.create_task(pool.sample(ask("Guess."))) for _ in range(14)]
        return [each[0].text for each in await asyncio.gather(*tasks)]

    places = asyncio.run(run())
    assert places[:9] == ["0"] * 9 and places[9] == "1" and set(places) == {"0", "1"}


def test_requests_outside_of_a_conversation_are_spread() -> None:
    pool = numbered(2)
    together(pool, [ask("Guess.", n=3), *[ask("Guess.")] * 5])
    replicas: Any = pool.replicas
    assert [replica.asked for replica in replicas] == [4, 4]


def test_a_sync_tells_how_far_the_probe_moved(pool: EnginePool) -> None:
    assert pool.sync(ModelSource(nudged(1e-3)), 1) == pytest.approx(1.0, abs=0.05)
    assert pool.sync(ModelSource(nudged(1e-3)), 2) is None  # nothing to measure


def test_tokens_of_prompts_and_of_the_cache_are_counted(folder: str, pool: EnginePool) -> None:
    before = pool.prompt_tokens
    ((sample,),) = together(pool, [ask("What is it?")])
    assert pool.prompt_tokens - before == len(sample.prompt_ids or ()) and pool.cached_tokens == 0
    engine = HFEngine.from_pretrained(folder, device="cpu", dtype="float32")
    long = ask("What is it? It is the number. " * 8)
    ((sample,),) = together(engine, [long])
    together(engine, [long])
    prompt = len(sample.prompt_ids or ())
    assert engine.prompt_tokens == 2 * prompt and prompt - 2 <= engine.cached_tokens < prompt
    assert engine.read_tokens == 2 * (prompt - 1) - engine.cached_tokens  # sampling reads the last token
    engine.close()
