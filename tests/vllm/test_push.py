"""Faults in a push of weights: each is caught by the layer named here, however little the weights changed."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nlac_bench.rollout.engines.engine import Slot, SyncError
from nlac_bench.rollout.engines.vllm.engine import VLLMEngine
from nlac_bench.rollout.engines.vllm.instance import Instance
from nlac_bench.rollout.engines.weights import ModelSource
from tests.rollout import tiny_model
from tests.vllm import WHERE
from tests.vllm.conftest import CONTEXT
from tests.vllm.updates import SIZES, Half, perturbed

pytest.importorskip("vllm", reason=WHERE)
pytestmark = [pytest.mark.vllm, pytest.mark.slow]

VERSIONS = itertools.count(100)


@pytest.fixture
def start(engine: VLLMEngine) -> Iterator[Any]:
    """A model whose weights both slots have; at the end they get the first weights again, without a fault."""
    model = tiny_model.model(0, context=CONTEXT)
    plant(engine, "keep")
    for slot in engine.slots:
        engine.sync(ModelSource(model), next(VERSIONS), slot)
    plant(engine, "none")
    yield model
    plant(engine, "none")
    for slot in engine.slots:
        engine.sync(ModelSource(model), next(VERSIONS), slot)


def plant(engine: VLLMEngine, fault: str) -> None:
    for instance in engine.instances.values():
        engine._call(instance._vllm.collective_rpc("plant", args=(fault,)))


def skipped_by_the_worker(engine: VLLMEngine, patch: pytest.MonkeyPatch) -> None:
    plant(engine, "skipped push")


def one_stale_layer(engine: VLLMEngine, patch: pytest.MonkeyPatch) -> None:
    plant(engine, "stale layer")


def no_salt(engine: VLLMEngine, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Instance, "salt", "the same for all weights")


def never_sent(engine: VLLMEngine, patch: pytest.MonkeyPatch) -> None:
    async def transfer(self: Instance, source: object, version: int) -> None:
        self.version = version

    patch.setattr(Instance, "transfer", transfer)


def to_the_other_slot(engine: VLLMEngine, patch: pytest.MonkeyPatch) -> None:
    right = Instance.transfer

    async def transfer(self: Instance, *args: Any) -> None:
        other: Slot = "target" if self.slot == "policy" else "policy"
        await right(engine.instances[other], *args)

    patch.setattr(Instance, "transfer", transfer)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("fault", "layer"),
    [
        (never_sent, "versions"),
        (to_the_other_slot, "versions"),
        (one_stale_layer, "digests"),
        (skipped_by_the_worker, "probe"),
        (no_salt, "prefix cache"),
    ],
)
def test_a_fault_is_caught(
    engine: VLLMEngine, start: Any, monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[VLLMEngine, pytest.MonkeyPatch], None], layer: str, size: float,
) -> None:  # fmt: skip
    with monkeypatch.context() as patch:
        fault(engine, patch)
        with pytest.raises(SyncError, match=layer) as caught:
            engine.sync(ModelSource(perturbed(start, size)), next(VERSIONS))
    others = {"versions", "digests", "probe", "prefix cache"} - {layer}
    assert not any(f"{other}:" in str(caught.value) for other in others)


@pytest.mark.parametrize("size", SIZES)
def test_half_a_push_is_caught_by_the_digests(engine: VLLMEngine, start: Any, size: float) -> None:
    with pytest.raises(SyncError, match=r"digests: .* weights were not sent"):
        engine.sync(Half(perturbed(start, size)), next(VERSIONS))


@pytest.mark.parametrize("size", SIZES)
def test_a_push_without_a_fault_passes(engine: VLLMEngine, start: Any, size: float) -> None:
    for slot in engine.slots:
        engine.sync(ModelSource(perturbed(start, size)), next(VERSIONS), slot)


def test_the_prefix_cache_is_read_until_the_next_push(engine: VLLMEngine, start: Any) -> None:
    from vllm import SamplingParams

    instance = engine.instances["policy"]
    prompt = [5] * (instance.block_size + 50)

    def cached_tokens() -> int:
        return int(engine._call(instance.generate(prompt, SamplingParams(max_tokens=1))).num_cached_tokens)

    assert [cached_tokens(), cached_tokens()] == [0, instance.block_size]
    engine.sync(ModelSource(start), instance.version)  # also if the version is an old one
    assert cached_tokens() == 0
