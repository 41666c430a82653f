"""Several vLLM servers, each with the weights of one slot, as one engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Slot, WeightSource
from nlac_bench.rollout.engines.hf.loading import load_model, load_tokenizer
from nlac_bench.rollout.engines.model_files import check_model
from nlac_bench.rollout.engines.pool import EnginePool
from nlac_bench.rollout.engines.shared_source import SharedSource
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.vllm.plugin import WeightsBy
from nlac_bench.rollout.engines.vllm.server_engine import ServerEngine
from nlac_bench.rollout.engines.weight_file import WeightFile
from nlac_bench.rollout.engines.weights import ModelSource

if TYPE_CHECKING:
    from nlac_bench.rollout.engines.vllm.fanout import Fanout


STEP_S = 240.0
"""Longest time limit of a step of a broadcast. Meanwhile, the other ranks of the learner wait for the next
tensor; NCCL's time limit for them is 600 s."""


class SlotEngine:
    """A ``TrainableEngine`` that sends each request to the pool of its slot.

    Args:
        pools: the engines of each slot, ``policy`` at least.
        folder: where weights are written for the servers to read (see ``WeightFile``).
        fanouts: if given, the fanout of a slot sends its weights, and no files are written.
    """

    def __init__(
        self,
        pools: Mapping[Slot, EnginePool],
        folder: Path | None = None,
        fanouts: "Mapping[Slot, Fanout] | None" = None,
    ) -> None:
        self.pools, self.folder, self.fanouts = dict(pools), folder, dict(fanouts or {})
        self.name = pools["policy"].name

    def __repr__(self) -> str:
        return f"SlotEngine({self.pools!r})"

    @property
    def tokenizer(self) -> Tokenizer:
        """See ``TrainableEngine.tokenizer``."""
        return self.pools["policy"].tokenizer

    @property
    def slots(self) -> tuple[Slot, ...]:
        """See ``TrainableEngine.slots``."""
        return tuple(self.pools)

    @property
    def generated_tokens(self) -> int:
        """Number of tokens sampled so far; read by progress displays."""
        return sum(pool.generated_tokens for pool in self.pools.values())

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of all prompts so far."""
        return sum(pool.prompt_tokens for pool in self.pools.values())

    @property
    def cached_tokens(self) -> int:
        """Number of ``prompt_tokens`` that were read from a cache."""
        return sum(pool.cached_tokens for pool in self.pools.values())

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``."""
        return await self._pool(request.slot).sample(request)

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        return await self._pool(slot).logprobs(ids, prompt_len, slot)

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync`` and ``EnginePool.sync``."""
        pool = self._pool(slot)
        with self._shared(source, slot) as shared:
            return pool.sync(shared, version, slot)

    def close(self) -> None:
        """Close the connections; the servers keep running."""
        for pool in self.pools.values():
            pool.close()
        for fanout in self.fanouts.values():
            fanout.close()

    def _shared(self, source: WeightSource, slot: Slot) -> SharedSource:
        if slot not in self.fanouts:
            return WeightFile(source, self.folder)
        from nlac_bench.rollout.engines.vllm.broadcast import Broadcast

        return Broadcast(source, self.fanouts[slot])

    def _pool(self, slot: Slot) -> EnginePool:
        if slot not in self.pools:
            raise NlacBenchError(f"no server has the slot {slot!r}; add one to --servers as URL@{slot}")
        return self.pools[slot]


def slot_engine(
    model: str,
    servers: Sequence[tuple[str, Slot]],
    *,
    timeout: float,
    folder: Path | None = None,
    weights_by: WeightsBy = "file",
) -> SlotEngine:
    """Return the engine of ``servers``, which cannot be sampled from before each slot has got weights.

    Args:
        model: name or folder of a Hugging Face model with a chat template.
        servers: the address and the slot of each, at least one of slot ``policy``.
        timeout: seconds for each request.
        folder: of the files with weights, which the servers read; by default shared memory of this machine.
        weights_by: how the servers get weights; with ``nccl`` no files are written.

    Raises:
        NlacBenchError: the model's files are refused, or an address is invalid.
    """
    from nlac_bench.rollout.engines.vllm.fanout import Fanout

    check_model(model)
    format = ChatFormat(load_tokenizer(model))
    engines = [ServerEngine(url, model, slot, format, timeout, weights_by) for url, slot in servers]
    slots: tuple[Slot, ...] = ("policy", "target")
    pools = {slot: EnginePool(own) for slot in slots if (own := [e for e in engines if slot in e.slots])}
    limit = min(timeout / 2, STEP_S)  # a request to a server contains two steps of the group
    fanouts = {slot: Fanout(limit) for slot in pools} if weights_by == "nccl" else {}
    return SlotEngine(pools, folder, fanouts)


def connect(model: str, servers: Sequence[tuple[str, Slot]], **options: Any) -> SlotEngine:
    """Return the engine of ``servers`` after all of them have loaded the weights of ``model``.

    Earlier runs may have left other weights there. Servers that cannot be used are left out with a message.
    The arguments are those of ``slot_engine``.

    Raises:
        NlacBenchError: as ``slot_engine``; the model cannot be loaded, or a server refuses the weights.
        EngineError: a slot has no server that can be used.
    """
    import torch

    engine = slot_engine(model, servers, **options)
    try:
        source = ModelSource(load_model(model, torch.float32))
        for slot in engine.slots:
            engine.sync(source, 0, slot)
    except BaseException:
        engine.close()
        raise
    return engine
