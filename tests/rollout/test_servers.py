"""vLLM servers as an engine: samples, routes, verified pushes, lost servers. The servers are stubs
(``stub_vllm``) that run a small model; ``tests/vllm/servers`` uses real ones."""

import asyncio
import contextlib
import copy
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import EngineError, SampleRequest, Sampling, Slot, SyncError
from nlac_bench.rollout.engines.hf.engine import HFEngine
from nlac_bench.rollout.engines.vllm.http import Http
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.vllm.server_check import Found, look
from nlac_bench.rollout.engines.vllm.servers import SlotEngine, connect
from nlac_bench.rollout.engines.weights import ModelSource
from tests.cli.command import call
from tests.rollout import tiny_model
from tests.rollout.stub_vllm import StubVLLM
from tests.rollout.test_pool import content, requests, together

SIZES = [1e-2, 1e-3, 1e-4]
LAYERS = ("versions", "digests", "probe", "prefix cache")
VERSIONS = itertools.count(10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_model.saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def stubs(folder: str) -> Iterator[list[StubVLLM]]:
    """Two servers for the policy and one for the moving average."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(StubVLLM(folder).running()) for _ in range(3)]


def connected(stubs: list[StubVLLM], folder: str, timeout: float = 60.0) -> SlotEngine:
    slots: tuple[Slot, ...] = ("policy", "policy", "target")
    return connect(folder, [(s.url, slot) for s, slot in zip(stubs, slots, strict=True)], timeout=timeout)


@pytest.fixture
def engine(stubs: list[StubVLLM], folder: str) -> Iterator[SlotEngine]:
    made = connected(stubs, folder)
    yield made
    made.close()
    for stub in stubs:
        stub.fault, stub.before = "", lambda path: None


@pytest.fixture(scope="module")
def here(folder: str) -> Iterator[HFEngine]:
    made = HFEngine.from_pretrained(folder, deterministic=True)
    yield made
    made.close()


def ask(text: str = "What is it? It is the number.", slot: Any = "policy") -> SampleRequest:
    said = [{"role": "user", "content": text}]
    return SampleRequest(messages=said, seed=3, slot=slot, sampling=Sampling(max_tokens=8))


def perturbed(size: float) -> Any:
    """The model with noise of ``size`` times each parameter's own spread."""
    made = copy.deepcopy(tiny_model.model(0))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.parameters():
            spread = parameter.std() if parameter.dim() > 1 else torch.ones(())
            parameter.add_(size * spread * torch.randn(parameter.shape, generator=generator))
    return made


# --- samples ----------------------------------------------------------------------------------------


def test_samples_are_those_of_the_model_behind_the_servers(engine: SlotEngine, here: HFEngine) -> None:
    """A server gets one request for each sample, with its own seed, so only first samples can be equal."""
    asked = [request for request in requests() if request.n == 1]
    assert content(together(engine, asked)) == content(together(here, asked))


def test_two_samples_of_a_request_differ_and_are_repeated(engine: SlotEngine) -> None:
    said = [{"role": "user", "content": "Guess."}]
    request = SampleRequest(messages=said, seed=1, n=3, sampling=Sampling(max_tokens=10))
    first, again = together(engine, [request, request])
    assert content([first]) == content([again])
    assert len({tuple(s.ids or ()) for s in first}) == 3 and [s.usage.calls for s in first] == [1, 0, 0]


def test_log_probabilities_of_a_text(engine: SlotEngine, here: HFEngine) -> None:
    ids = tiny_model.tokenizer()("the number of it is 7, user").input_ids
    for slot in engine.slots:
        assert asyncio.run(engine.logprobs(ids, 2, slot)) == pytest.approx(
            asyncio.run(here.logprobs(ids, 2)), abs=1e-5
        )


def test_each_slot_has_its_own_servers_and_weights(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    engine.sync(ModelSource(perturbed(0.5)), 7, "target")
    policy, target = together(engine, [ask(), ask(slot="target")])
    assert (policy[0].weight_version, target[0].weight_version) == (0, 7)
    assert policy[0].logprobs != target[0].logprobs
    assert [stub.weight_version.split(":")[:2] for stub in stubs] == [["policy", "0"]] * 2 + [["target", "7"]]


def test_the_prefix_cache_is_counted(engine: SlotEngine) -> None:
    before = engine.prompt_tokens, engine.cached_tokens
    ((sample,),) = together(engine, [ask()])
    assert engine.prompt_tokens - before[0] == len(sample.prompt_ids or ())
    ((sample,),) = together(engine, [ask()])
    assert engine.cached_tokens > before[1]


# --- verified pushes ----------------------------------------------------------------------------------


def lagging(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    stub.fault = "lagging"


def skipped_by_the_worker(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    stub.fault = "skipped push"


def one_stale_layer(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    stub.fault = "stale layer"


def no_salt(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    stub.fault = "keeps the cache"
    patch.setattr(Server, "salt", "the same for all weights")


def never_sent(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    async def transfer(self: Server, source: Any, version: int) -> None:
        self.version, self._label = version, f"{self.slot}:{version}:never sent"

    patch.setattr(Server, "transfer", transfer)


def restarted_with_old_weights(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    """Between the transfer and the check of its version."""

    def restart(path: str) -> None:
        if path == "/weight_info":
            stub.weight_version = "default"
            stub.engine.sync(ModelSource(tiny_model.model(0)), 0)

    stub.before = restart


def to_the_other_slot(stub: StubVLLM, patch: pytest.MonkeyPatch) -> None:
    right = Server.transfer

    async def transfer(self: Server, *args: Any) -> None:
        self.slot, slot = ("target" if self.slot == "policy" else "policy"), self.slot
        await right(self, *args)
        self.slot = slot
        self._label = ":".join([slot, *self._label.split(":")[1:]])

    patch.setattr(Server, "transfer", transfer)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fault", "layer"),
    [
        (never_sent, "versions"),
        (to_the_other_slot, "versions"),
        (lagging, "versions"),
        (restarted_with_old_weights, "versions"),
        (one_stale_layer, "digests"),
        (skipped_by_the_worker, "probe"),
        (no_salt, "prefix cache"),
    ],
)
def test_a_fault_in_a_push_is_caught(
    engine: SlotEngine, stubs: list[StubVLLM], monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[StubVLLM, pytest.MonkeyPatch], None], layer: str, size: float,
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        if fault is no_salt:  # the weights before it must have been cached without a salt too
            fault(stubs[0], patch)
            fault(stubs[1], patch)
            engine.sync(ModelSource(tiny_model.model(0)), next(VERSIONS))
        fault(stubs[1], patch)
        with pytest.raises(SyncError, match=f"{layer}:") as caught:
            engine.sync(ModelSource(perturbed(size)), next(VERSIONS))
    assert not any(f"{other}:" in str(caught.value) for other in LAYERS if other != layer)


@pytest.mark.parametrize("size", SIZES)
def test_half_a_push_is_caught_by_the_digests(engine: SlotEngine, size: float) -> None:
    class Half(ModelSource):
        def named_tensors(self) -> Any:
            tensors = list(super().named_tensors())
            return tensors[: len(tensors) // 2]

    with pytest.raises(SyncError, match="digests:"):
        engine.sync(Half(perturbed(size)), next(VERSIONS))


@pytest.mark.parametrize("size", SIZES)
def test_a_push_without_a_fault_passes(engine: SlotEngine, size: float) -> None:
    for slot in engine.slots:
        slope = engine.sync(ModelSource(perturbed(size)), next(VERSIONS), slot)
        assert slope == pytest.approx(1.0, abs=0.05)


def test_a_server_whose_push_failed_is_not_sampled_from(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    for stub in stubs[:2]:
        stub.fault = "skipped push"
    with pytest.raises(SyncError):
        engine.sync(ModelSource(perturbed(1e-2)), next(VERSIONS))
    before = stubs[0].served["/inference/v1/generate"]
    with pytest.raises(EngineError, match=r"no weights that are known|all 2 replicas were lost"):
        together(engine, [ask()])
    assert stubs[0].served["/inference/v1/generate"] == before


def test_a_program_that_was_killed_in_a_push_does_not_keep_the_next_one_from_pushing(
    stubs: list[StubVLLM], folder: str
) -> None:
    """It leaves a server that answers no request, within an update of the weights."""
    stubs[0].active = True
    stubs[0].resumed.clear()
    engine = connected(stubs, folder)
    try:
        engine.sync(ModelSource(perturbed(1e-2)), 5)
        assert {stub.weight_version.rpartition(":")[0] for stub in stubs[:2]} == {"policy:5"}
        assert together(engine, [ask()])[0][0].weight_version == 5
    finally:
        engine.close()


def test_the_source_is_used_in_the_calling_thread_alone(engine: SlotEngine) -> None:
    import threading

    used = set()

    class Watched(ModelSource):
        def logprobs(self, ids: Any, prompt_len: int) -> Any:
            used.add(threading.get_ident())
            return super().logprobs(ids, prompt_len)

    engine.sync(Watched(perturbed(1e-2)), next(VERSIONS))
    assert used == {threading.get_ident()}


def test_an_error_of_the_source_ends_the_push(engine: SlotEngine) -> None:
    class Broken(ModelSource):
        calls = 0

        def logprobs(self, ids: Any, prompt_len: int) -> Any:
            self.calls += 1
            if self.calls > 1:  # the continuation, which the servers' threads ask for
                raise ValueError("the learner failed")
            return super().logprobs(ids, prompt_len)

    with pytest.raises(ValueError, match="the learner failed"):
        engine.sync(Broken(perturbed(1e-2)), next(VERSIONS))


# --- lost servers -----------------------------------------------------------------------------------------


def breaks(stub: StubVLLM) -> None:
    stub.fault = "500"


def is_slow(stub: StubVLLM) -> None:
    stub.fault = "slow"


def serves_another_model(stub: StubVLLM) -> None:
    stub.model = "another"


def has_old_weights(stub: StubVLLM) -> None:
    stub.weight_version = "default"


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (breaks, "HTTP 500: RuntimeError: out of memory"),
        (is_slow, "did not answer /inference/v1/generate within 2 s"),
        (serves_another_model, "does not exist"),
        (has_old_weights, "versions: the server has the weights 'default'"),
    ],
)
def test_requests_of_a_server_that_cannot_be_used_go_to_another_one(
    stubs: list[StubVLLM], folder: str, here: HFEngine, capfd: pytest.CaptureFixture[str],
    how: Callable[[StubVLLM], None], told: str,
) -> None:  # fmt: skip
    engine = connected(stubs, folder, timeout=2.0 if how is is_slow else 60.0)
    asked = [request for request in requests() if request.n == 1]
    model, label = stubs[0].model, stubs[0].weight_version
    how(stubs[0])
    try:
        assert content(together(engine, asked)) == content(together(here, asked))
        assert told in (message := capfd.readouterr().err)
        assert message.count("its requests go to the other replicas, of which 1 are left") == 1
    finally:
        stubs[0].fault, stubs[0].model, stubs[0].weight_version = "", model, label
    engine.sync(ModelSource(tiny_model.model(0)), 4)
    assert f"{stubs[0].url}" in (again := capfd.readouterr().err) and "is used again" in again
    before = stubs[0].served["/inference/v1/generate"]
    samples = together(engine, asked)
    assert {s.weight_version for (s,) in samples} == {4}
    assert stubs[0].served["/inference/v1/generate"] > before
    engine.close()


def test_a_refused_request_is_not_the_servers_fault(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    for stub in stubs:
        stub.settings["scale_out"] = True
    with pytest.raises(EngineError, match="HTTP 400") as caught:

        def refuse(path: str) -> None:
            if path == "/inference/v1/generate":
                from tests.rollout.stub_vllm import _Http

                raise _Http(400, "This model's maximum context length is 8 tokens")

        for stub in stubs:
            stub.before = refuse
        together(engine, [ask()])
    assert caught.value.kind == "refused"


def test_servers_that_cannot_be_used_from_the_start(
    folder: str, stubs: list[StubVLLM], capfd: pytest.CaptureFixture[str]
) -> None:
    dead = "http://127.0.0.1:9"
    engine = connect(folder, [(stubs[0].url, "policy"), (dead, "policy")], timeout=20.0)
    assert "unreachable" in (told := capfd.readouterr().err) and dead in told
    assert together(engine, [ask()])
    engine.close()
    with pytest.raises(EngineError, match="all 1 replicas were lost"):
        connect(folder, [(dead, "policy")], timeout=20.0)


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://host", "http://", "http://host:80000", "http://[::1", "http://me:pw@host:8000"],
)
def test_what_is_not_an_address(folder: str, url: str) -> None:
    with pytest.raises(NlacBenchError, match=r"write it as http://host:port") as caught:
        connect(folder, [(url, "policy")], timeout=5.0)
    assert "pw" not in str(caught.value)


# --- doctor -------------------------------------------------------------------------------------------


def examined(folder: str, *options: str, **settings: Any) -> tuple[int, dict[str, Any]]:
    with StubVLLM(folder, **settings).running() as stub:
        done = call("doctor", "--server", stub.url, "--json", *options)
    return done.returncode, json.loads(done.stdout)


def test_doctor_finds_nothing_wrong_with_a_server(folder: str) -> None:
    found = {"ok": True, "version": "0.32.0", "weights_by": ["file"], "problems": []}
    assert examined(folder, "--model", folder) == (0, found)
    found["weights_by"] = ["file", "nccl"]
    assert examined(folder, "--weights-by", "nccl", backend="nlac_bench_nccl") == (0, found)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"version": "0.31.2"}, "version 0.31.2 of vLLM is not supported; install vllm>=0.32,<0.34"),
        ({"version": "0.34.0"}, "version 0.34.0 of vLLM"),
        ({"version": "unknown"}, "version unknown of vLLM"),
        ({"scale_out": False}, "--enable-scale-out"),
        ({"dev_mode": False}, "VLLM_SERVER_DEV_MODE=1"),
        ({"pip": False}, "install pip in its environment"),
        ({"backend": None}, "plug-in does not load the weights"),
        ({"backend": "nccl"}, "plug-in does not load the weights"),
        ({"logprobs_mode": "raw_logprobs"}, "--logprobs-mode processed_logprobs"),
        ({"enforce_eager": False}, "--enforce-eager"),
    ],
)
def test_doctor_names_what_is_wrong_with_a_server(
    folder: str, settings: dict[str, Any], problem: str
) -> None:
    code, found = examined(folder, **settings)
    assert code == 1 and not found["ok"] and found["version"] == settings.get("version", "0.32.0")
    (named,) = found["problems"]
    assert problem in named


@pytest.mark.parametrize(
    "config",
    [None, "VllmConfig(...)", {}, {"model_config": None}, {"model_config": {}, "cache_config": {}}],
    ids=str,
)
def test_a_configuration_that_cannot_be_read_is_a_problem(
    stubs: list[StubVLLM], monkeypatch: pytest.MonkeyPatch, config: Any
) -> None:
    monkeypatch.setattr(stubs[0], "_info", lambda: {"vllm_config": config})
    http = Http(stubs[0].url, 10.0)

    async def asked() -> Found:
        try:
            return await look(http, None)
        finally:
            await http.close()

    found = asyncio.run(asked())
    assert found.version == "0.32.0" and "unexpected reply" in found.problems[-1]


def test_doctor_names_all_problems_at_once(folder: str) -> None:
    code, found = examined(folder, "--model", "owner/other", version="0.20.0", scale_out=False)
    assert code == 1 and len(found["problems"]) == 3
    assert any("wrong model" in problem for problem in found["problems"])


def test_doctor_and_what_is_no_server(stubs: list[StubVLLM]) -> None:
    done = call("doctor", "--server", "http://127.0.0.1:9", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1 and not found["ok"] and found["version"] is None
    assert "unreachable" in found["problems"][0]
    assert call("doctor", "--server", "nonsense", "--json").returncode == 2
    told = call("doctor", "--server", stubs[0].url)
    assert told.returncode == 0 and "ok, vLLM 0.32.0" in told.stdout
