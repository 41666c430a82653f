"""Weights by broadcast to two real vLLM servers: verified pushes, faults, and a server that stops in one."""

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from nlac_bench import tiny
from nlac_bench.rollout.engines.engine import EngineError, SampleRequest, Sampling, SyncError
from nlac_bench.rollout.engines.vllm.group import Group
from nlac_bench.rollout.engines.vllm.server import Server
from nlac_bench.rollout.engines.vllm.servers import SlotEngine, connect
from nlac_bench.rollout.engines.weights import ModelSource
from tests.vllm import WHERE
from tests.vllm.servers.conftest import VERSIONS
from tests.vllm.servers.served import PYTHON, Served, plant
from tests.vllm.updates import SIZES, Half, perturbed

pytestmark = [pytest.mark.vllm, pytest.mark.slow]
if PYTHON is None:
    pytest.skip(WHERE, allow_module_level=True)


@pytest.fixture(scope="module")
def sent(pair: list[Served]) -> Iterator[SlotEngine]:
    """Both servers have the policy's weights, which come in several buffers."""
    made = connect(
        str(tiny.path()), [(s.url, "policy") for s in pair], timeout=300.0, weights_by="nccl"
    )  # fmt: skip
    made.fanouts["policy"].size = 2**20
    yield made
    made.close()


@pytest.fixture
def start(sent: SlotEngine, pair: list[Served], model: Any) -> Iterator[Any]:
    """A model whose weights both servers have; at the end they get them again, without a fault."""
    plant(pair, "keep")
    sent.sync(ModelSource(model), next(VERSIONS))
    plant(pair, "none")
    yield model
    plant(pair, "none")
    sent.sync(ModelSource(model), next(VERSIONS))


@pytest.mark.parametrize("size", SIZES)
def test_a_push_to_two_servers_is_verified(sent: SlotEngine, start: Any, size: float) -> None:
    version = next(VERSIONS)
    assert sent.sync(ModelSource(perturbed(start, size)), version) == pytest.approx(1.0, abs=0.1)
    replicas = sent.pools["policy"].replicas
    request = SampleRequest(prompt_ids=[5, 6, 7], sampling=Sampling(0.0, max_tokens=8))

    async def ask() -> list[Any]:
        return [(await replica.sample(request))[0] for replica in replicas]

    samples = asyncio.run(ask())
    assert {sample.weight_version for sample in samples} == {version}
    assert samples[0].ids == samples[1].ids


@pytest.mark.parametrize(("fault", "layer"), [("stale layer", "digests"), ("skipped push", "probe")])
def test_a_fault_in_a_worker_is_caught(
    sent: SlotEngine, pair: list[Served], start: Any, fault: str, layer: str
) -> None:
    plant(pair[1:], fault)
    with pytest.raises(SyncError, match=f"replica 2 of 2.*{pair[1].url}.*{layer}:"):
        sent.sync(ModelSource(perturbed(start, SIZES[-1])), next(VERSIONS))


def test_half_a_push_is_caught_by_the_digests(sent: SlotEngine, start: Any) -> None:
    with pytest.raises(SyncError, match=r"digests: .* weights were not sent"):
        sent.sync(Half(perturbed(start, SIZES[0])), next(VERSIONS))


def test_a_byte_that_changes_on_the_way_is_caught_by_the_digests(
    sent: SlotEngine, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Group.broadcast

    def changed(self: Group, data: torch.Tensor) -> None:
        data[len(data) // 2] ^= 1
        send(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Group, "broadcast", changed)
        with pytest.raises(SyncError, match=r"digests: the tensor '.*' that was received is not the one"):
            sent.sync(ModelSource(perturbed(start, SIZES[0])), next(VERSIONS))


def test_a_server_that_stops_in_a_broadcast_is_left_out_and_used_again(
    pair: list[Served], model: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    engine = connect(
        str(tiny.path()), [(s.url, "policy") for s in pair], timeout=60.0, weights_by="nccl"
    )  # fmt: skip
    send, lost = Group.broadcast, Server.lost
    stopped: list[Served] = []

    def stopping(self: Group, data: torch.Tensor) -> None:
        if not stopped:
            stopped.append(pair[1])
            os.killpg(pair[1].process.pid, signal.SIGSTOP)
            engine.fanouts["policy"].limit = 15
        send(self, data)

    def continuing(self: Server, why: str) -> EngineError:
        """A server that is left out is asked to resume; it would not answer."""
        os.killpg(pair[1].process.pid, signal.SIGCONT)
        return lost(self, why)

    try:
        with monkeypatch.context() as patch:
            patch.setattr(Group, "broadcast", stopping)
            patch.setattr(Server, "lost", continuing)
            engine.sync(ModelSource(perturbed(model, SIZES[0])), next(VERSIONS))
        told = capfd.readouterr().err
        # Which time limit passes first, that of the request or that of the step, depends on the machine.
        assert f"the server {pair[1].url} (policy) is left out" in told and "did not answer" in told
    finally:
        os.killpg(pair[1].process.pid, signal.SIGCONT)
    # A server on a busy machine may need longer than one push to end what it was stopped in.
    engine.fanouts["policy"].limit = 60
    for version in (next(VERSIONS) for _ in range(5)):
        engine.sync(ModelSource(model), version)
        if told := capfd.readouterr().err:
            break
    assert f"'{pair[1].url}', 'policy') has the weights of version {version}" in told
    engine.close()
