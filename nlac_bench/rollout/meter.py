"""An engine that counts what it was asked for, by role: methods are compared at equal cost."""

from collections.abc import Sequence
from typing import Any

from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Slot, TrainableEngine, WeightSource
from nlac_bench.types import Usage


class MeteredEngine:
    """``engine``, with ``usage`` by role. ``label`` is put before the role of everything asked meanwhile:
    what is sampled only to measure must not be booked as the cost of learning.
    """

    def __init__(self, engine: TrainableEngine) -> None:
        self.engine = engine
        self.usage: dict[str, Usage] = {}
        self.label = ""

    @property
    def tokenizer(self) -> Any:
        """As ``TrainableEngine.tokenizer``."""
        return self.engine.tokenizer

    @property
    def slots(self) -> tuple[Slot, ...]:
        """As ``TrainableEngine.slots``."""
        return self.engine.slots

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """As ``Engine.sample``."""
        label = self.label
        samples = await self.engine.sample(request)
        name = f"{label}{request.role}"
        self.usage[name] = sum((s.usage for s in samples), self.usage.get(name, Usage()))
        return samples

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """As ``Engine.logprobs``."""
        return await self.engine.logprobs(ids, prompt_len, slot)

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> None:
        """As ``TrainableEngine.sync``."""
        self.engine.sync(source, version, slot)

    def generated_tokens(self) -> int:
        """Tokens that were sampled for learning, all roles together; what only measures is left out."""
        return sum(usage.completion_tokens for name, usage in self.usage.items() if ":" not in name)
