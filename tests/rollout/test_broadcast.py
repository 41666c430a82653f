"""Weights by broadcast over Gloo to stubs of vLLM servers whose workers are threads: ranks, verified pushes,
and servers that refuse, never come or end, each of which is named in bounded time."""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest
import torch

from nlac_bench.rollout.engines.engine import EngineError, SyncError
from nlac_bench.rollout.engines.vllm import fanout
from nlac_bench.rollout.engines.vllm.group import Group, GroupError, Meeting, Member, within
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.vllm.servers import SlotEngine, connect
from nlac_bench.rollout.engines.weights import ModelSource
from tests.rollout import tiny_model
from tests.rollout.stub_vllm import StubVLLM, _Http
from tests.rollout.test_pool import together
from tests.rollout.test_servers import (
    LAYERS,
    SIZES,
    VERSIONS,
    ask,
    lagging,
    never_sent,
    one_stale_layer,
    perturbed,
    skipped_by_the_worker,
)

Captured: TypeAlias = pytest.CaptureFixture[str]
BUFFER = 20_000
"""Bytes, so that the model needs several buffers."""
WORKERS = (1, 3, 2)
LIMIT = 30.0
"""Seconds for a step of the group, half of the time limit of a request."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_model.saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def stubs(folder: str) -> Iterator[list[StubVLLM]]:
    """Servers for the policy, with different numbers of workers."""
    with contextlib.ExitStack() as stack:
        made = [StubVLLM(folder, backend="nlac_bench_nccl", workers=count) for count in WORKERS]
        yield [stack.enter_context(stub.running()) for stub in made]


def connected(stubs: list[StubVLLM], folder: str, timeout: float) -> SlotEngine:
    servers: Any = [(stub.url, "policy") for stub in stubs]
    made = connect(folder, servers, timeout=timeout, weights_by="nccl")
    made.fanouts["policy"].size = BUFFER
    return made


@pytest.fixture
def engine(stubs: list[StubVLLM], folder: str) -> Iterator[SlotEngine]:
    made = connected(stubs, folder, 2 * LIMIT)
    yield made
    made.close()
    for stub in stubs:
        stub.fault, stub.before = "", lambda path: None


@pytest.fixture
def two(stubs: list[StubVLLM], folder: str) -> Iterator[SlotEngine]:
    """The engine of the first two servers."""
    made = connected(stubs[:2], folder, 2 * LIMIT)
    yield made
    made.close()
    for stub in stubs:
        stub.fault, stub.before = "", lambda path: None


def check_weights(stubs: list[StubVLLM], model: Any, version: int) -> None:
    """All of ``stubs`` have exactly the weights of ``model``."""
    for stub in stubs:
        assert stub.weight_version.startswith(f"policy:{version}:")
        own = dict(stub.engine.decoders["policy"].model.named_parameters())
        assert all(torch.equal(own[name], tensor) for name, tensor in ModelSource(model).named_tensors())


# --- verified pushes --------------------------------------------------------------------------------------


def test_workers_of_all_servers_get_ranks_after_each_other(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    """The order of the servers is the one in which they have started their updates."""
    assert {stub.invitation.world_size for stub in stubs if stub.invitation} == {1 + sum(WORKERS)}
    ranks = [[member.rank for member in stub.members] for stub in stubs]
    assert [len(each) for each in ranks] == list(WORKERS)
    assert [rank for each in sorted(ranks) for rank in each] == list(range(1, 1 + sum(WORKERS)))


@pytest.mark.parametrize("size", SIZES)
def test_a_push_without_a_fault_passes(engine: SlotEngine, stubs: list[StubVLLM], size: float) -> None:
    model, version = perturbed(size), next(VERSIONS)
    before = [stub.served["/update_weights"] for stub in stubs]
    invited = [stub.served["/init_weight_transfer_engine"] for stub in stubs]
    assert engine.sync(ModelSource(model), version) == pytest.approx(1.0, abs=0.05)
    check_weights(stubs, model, version)
    assert all(stub.served["/update_weights"] > old + 2 for stub, old in zip(stubs, before, strict=True))
    assert [stub.served["/init_weight_transfer_engine"] for stub in stubs] == invited  # the group is kept
    assert {s.weight_version for (s,) in together(engine, [ask()])} == {version}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fault", "layer"),
    [
        (never_sent, "versions"),
        (lagging, "versions"),
        (one_stale_layer, "digests"),
        (skipped_by_the_worker, "probe"),
    ],
)
def test_a_fault_in_a_push_is_caught(
    engine: SlotEngine, stubs: list[StubVLLM], monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[StubVLLM, pytest.MonkeyPatch], None], layer: str, size: float,
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        fault(stubs[1], patch)
        with pytest.raises(SyncError, match=f"{layer}:") as caught:
            engine.sync(ModelSource(perturbed(size)), next(VERSIONS))
    assert not any(f"{other}:" in str(caught.value) for other in LAYERS if other != layer)


def test_a_byte_that_changes_on_the_way_is_caught_by_the_digests(
    engine: SlotEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Group.broadcast

    def changed(self: Group, data: torch.Tensor) -> None:
        if self._rank == 0:
            data[len(data) // 2] ^= 1
        send(self, data)

    monkeypatch.setattr(Group, "broadcast", changed)
    with pytest.raises(SyncError, match=r"digests: the tensor '.*' that was received is not the one"):
        engine.sync(ModelSource(perturbed(1e-2)), next(VERSIONS))


def test_half_a_push_is_caught_by_the_digests(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    class Half(ModelSource):
        def named_tensors(self) -> Any:
            tensors = list(super().named_tensors())
            return tensors[: len(tensors) // 2]

    with pytest.raises(SyncError, match="digests:"):
        engine.sync(Half(perturbed(1e-2)), next(VERSIONS))
    version = next(VERSIONS)
    engine.sync(ModelSource(perturbed(1e-2)), version)
    check_weights(stubs, perturbed(1e-2), version)


def test_an_error_of_the_source_ends_the_push(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    class Broken(ModelSource):
        def named_tensors(self) -> Any:
            yield from list(super().named_tensors())[:3]
            raise ValueError("the learner failed")

    with pytest.raises(ValueError, match="the learner failed"):
        engine.sync(Broken(perturbed(1e-2)), next(VERSIONS))
    version = next(VERSIONS)
    engine.sync(ModelSource(perturbed(1e-3)), version)
    check_weights(stubs, perturbed(1e-3), version)


# --- servers that do not take part ------------------------------------------------------------------------


def check_left_out(engine: SlotEngine, stubs: list[StubVLLM], told: str, capfd: Captured) -> None:
    """A push leaves the second server out with the message ``told``; the next one uses it again."""
    model, version = perturbed(1e-2), next(VERSIONS)
    engine.sync(ModelSource(model), version)
    message = " ".join(capfd.readouterr().err.split())
    assert f"the server {stubs[1].url} (policy) is left out" in message and told in message
    assert stubs[0].url not in message
    check_weights(stubs[:1], model, version)
    stubs[1].fault, stubs[1].before = "", lambda path: None
    model, version = perturbed(1e-3), next(VERSIONS)
    engine.sync(ModelSource(model), version)
    assert "is used again" in capfd.readouterr().err
    check_weights(stubs[:2], model, version)


@pytest.mark.parametrize("status", [400, 404, 500])
@pytest.mark.parametrize("path", ["/get_world_size", "/init_weight_transfer_engine", "/update_weights"])
def test_a_server_that_refuses_a_request_is_left_out(
    two: SlotEngine, stubs: list[StubVLLM], capfd: Captured, path: str, status: int
) -> None:
    def refuse(asked: str) -> None:
        if asked == path:
            raise _Http(status, "no")

    stubs[1].before = refuse
    if path != "/update_weights":
        two.fanouts["policy"].close()  # so that the group is made again
    check_left_out(two, stubs, f"answered {path} with HTTP {status}: no", capfd)


@pytest.mark.parametrize("path", ["/init_weight_transfer_engine", "/update_weights"])
def test_a_server_that_never_takes_part_is_left_out(
    two: SlotEngine, stubs: list[StubVLLM], capfd: Captured, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit passes when the workers of the other server have come."""
    ended, missing, now = threading.Event(), Meeting.missing, 0.0

    def look(self: Meeting, step: str, ranks: Sequence[int]) -> list[int]:
        nonlocal now
        found = missing(self, step, ranks)
        if len(found) == WORKERS[1] and stubs[1].before is hang:
            now += 2 * LIMIT
        return found

    monkeypatch.setattr(Meeting, "missing", look)
    monkeypatch.setattr(fanout, "time", SimpleNamespace(monotonic=lambda: now, sleep=time.sleep))

    def hang(asked: str) -> None:
        if asked == path:
            ended.wait()
            raise _Http(500, "too late")

    stubs[1].before = hang
    if path != "/update_weights":
        two.fanouts["policy"].close()
    try:
        check_left_out(two, stubs, f"{WORKERS[1]} of its {WORKERS[1]} workers did not come", capfd)
    finally:
        ended.set()


def test_a_server_that_ends_in_a_broadcast_is_left_out(
    two: SlotEngine, stubs: list[StubVLLM], capfd: Captured
) -> None:
    stubs[1].fault = "ends in a broadcast"
    check_left_out(two, stubs, "connection", capfd)


def test_a_server_that_answers_without_taking_part_is_left_out(
    two: SlotEngine,
    stubs: list[StubVLLM],
    capfd: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive = StubVLLM.receive

    def nothing(self: StubVLLM, number: int, parts: Any) -> None:
        if self is not stubs[1] or self.fault != "nothing":
            receive(self, number, parts)

    monkeypatch.setattr(StubVLLM, "receive", nothing)
    stubs[1].fault = "nothing"
    check_left_out(two, stubs, "answered before its workers took part", capfd)


def test_a_server_that_was_restarted_joins_again(engine: SlotEngine, stubs: list[StubVLLM]) -> None:
    """Nobody has noticed the restart: its workers have left the group."""
    stubs[1].members = []
    model, version = perturbed(1e-2), next(VERSIONS)
    engine.sync(ModelSource(model), version)
    check_weights(stubs, model, version)


def test_a_group_that_fails_twice_ends_the_push(
    engine: SlotEngine,
    stubs: list[StubVLLM],
    monkeypatch: pytest.MonkeyPatch,
    capfd: Captured,
) -> None:
    joined = [stub.served["/init_weight_transfer_engine"] for stub in stubs]

    def fails(self: Group, data: torch.Tensor) -> None:
        raise GroupError("the cable was cut")

    with monkeypatch.context() as patch:
        patch.setattr(Group, "broadcast", fails)
        with pytest.raises(EngineError, match="all 3 replicas were lost"):
            engine.sync(ModelSource(perturbed(1e-2)), next(VERSIONS))
    assert [s.served["/init_weight_transfer_engine"] for s in stubs] == [1 + count for count in joined]
    assert "the broadcast failed twice, the last time: the cable was cut" in capfd.readouterr().err
    version = next(VERSIONS)
    engine.sync(ModelSource(perturbed(1e-2)), version)
    check_weights(stubs, perturbed(1e-2), version)


def test_a_collective_that_does_not_end_is_left_behind(
    two: SlotEngine, stubs: list[StubVLLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NCCL may block a thread for ever; here, the first buffer is never sent."""
    ended = threading.Event()
    hung: list[bool] = []

    def block() -> None:
        ended.wait()

    def hanging(seconds: float, function: Callable[[], None]) -> None:
        if isinstance(function, functools.partial) and not hung:
            hung.append(True)
            within(0.1, block)
        within(seconds, function)

    monkeypatch.setattr(fanout, "within", hanging)
    try:
        version = next(VERSIONS)
        two.sync(ModelSource(perturbed(1e-2)), version)
        check_weights(stubs[:2], perturbed(1e-2), version)
    finally:
        ended.set()


def test_a_server_for_files_only_is_refused(folder: str, capfd: Captured) -> None:
    with StubVLLM(folder).running() as stub, pytest.raises(EngineError, match="all 1 replicas were lost"):
        connect(folder, [(stub.url, "policy")], timeout=20.0, weights_by="nccl")
    told = " ".join(capfd.readouterr().err.split())
    assert "takes weights from files only (backend: nlac_bench_file)" in told and "nlac_bench_nccl" in told


def test_a_server_for_both_reads_files_too(stubs: list[StubVLLM], folder: str) -> None:
    engine = connect(folder, [(stubs[0].url, "policy")], timeout=60.0)
    version = next(VERSIONS)
    try:
        engine.sync(ModelSource(perturbed(1e-2)), version)
    finally:
        engine.close()
    check_weights(stubs[:1], perturbed(1e-2), version)


def test_a_worker_without_a_learner_gives_up(stubs: list[StubVLLM]) -> None:
    from nlac_bench.rollout.engines.vllm.group import Invitation

    nobody = Invitation("127.0.0.1", 9, "none", 1, 2, "gloo", 1.0)
    with pytest.raises(ConnectionError, match=r"rank 1 cannot reach rank 0 at 127.0.0.1:9 .* any port"):
        Member(nobody, 0, torch.device("cpu"))


def test_requests_name_the_workers(stubs: list[StubVLLM]) -> None:
    tokenizer: Any = None
    server = Server(stubs[1].url, "m", "policy", tokenizer, 10.0, "nccl")
    from nlac_bench.rollout.engines.vllm import loop

    assert loop.call(server.workers()) == WORKERS[1]
    loop.call(server.http.close())
