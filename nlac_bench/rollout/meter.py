"""Counts sampled tokens by purpose and role, and environment steps, so that methods are compared at equal
cost."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any, Literal, TypeAlias, cast, get_args

from nlac_bench.rollout.engines.engine import (
    Engine,
    Sample,
    SampleRequest,
    Slot,
    TrainableEngine,
    WeightSource,
)
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.types import Role, Usage

Purpose: TypeAlias = Literal["learning", "validation", "probe"]
"""The purpose of a sample; only ``learning`` is counted as the cost of training."""
Spent: TypeAlias = dict[tuple[Purpose, Role], Usage]

_purpose: ContextVar[Purpose] = ContextVar("purpose", default="learning")


@contextmanager
def spending_on(purpose: Purpose) -> Iterator[None]:
    """Count what metered engines sample within this context under ``purpose``.

    The purpose is a context variable: a task inherits it from the task that started it, and tasks that run
    at the same time for other purposes are not affected.
    """
    token = _purpose.set(purpose)
    try:
        yield
    finally:
        _purpose.reset(token)


class StepMeter:
    """Counts the environment steps that an algorithm takes itself, by purpose; see ``spending_on``."""

    def __init__(self) -> None:
        self.steps: Counter[Purpose] = Counter()

    def add(self, steps: int) -> None:
        """Count ``steps`` under the purpose of this context."""
        self.steps[_purpose.get()] += steps

    @property
    def learning(self) -> int:
        """The steps for learning since the last call of ``taken``."""
        return self.steps["learning"]

    def taken(self) -> int:
        """Return the steps for learning since the last call."""
        return self.steps.pop("learning", 0)


class UsageMeter:
    """Wraps ``engine`` and counts the ``usage`` of each (purpose, role); see ``spending_on``."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.usage: Spent = {}

    @property
    def tokenizer(self) -> Tokenizer | None:
        """See ``Engine.tokenizer``."""
        return self.engine.tokenizer

    async def sample(self, request: SampleRequest) -> list[Sample]:
        """See ``Engine.sample``."""
        samples = await self.engine.sample(request)
        key = _purpose.get(), request.role
        self.usage[key] = sum((s.usage for s in samples), self.usage.get(key, Usage()))
        return samples

    async def logprobs(self, ids: Sequence[int], prompt_len: int, slot: Slot = "policy") -> list[float]:
        """See ``Engine.logprobs``."""
        return await self.engine.logprobs(ids, prompt_len, slot)


class MeteredEngine(UsageMeter):
    """A ``UsageMeter`` of an engine that is trained; it also measures pushes and the cache of prompts."""

    engine: TrainableEngine

    def __init__(self, engine: TrainableEngine) -> None:
        super().__init__(engine)
        self.version = 0
        """The version of the weights in the slot ``policy``."""
        self._pushes: list[tuple[float, float | None]] = []
        self._prompts = 0, 0

    @property
    def tokenizer(self) -> Tokenizer:
        """See ``TrainableEngine.tokenizer``."""
        return self.engine.tokenizer

    @property
    def slots(self) -> tuple[Slot, ...]:
        """See ``TrainableEngine.slots``."""
        return self.engine.slots

    def sync(self, source: WeightSource, version: int, slot: Slot = "policy") -> float | None:
        """See ``TrainableEngine.sync``."""
        began = time.perf_counter()
        slope = self.engine.sync(source, version, slot)
        if slot == "policy":
            self.version = version
        self._pushes.append((time.perf_counter() - began, slope))
        return slope

    def forget(self) -> None:
        """Drop cached keys and values, in engines that have such a method."""
        if forget := getattr(self.engine, "forget", None):
            forget()

    def metrics(self) -> dict[str, float | None]:
        """Return what was measured since the last call; None for what the engine does not measure.

        ``push_seconds`` is the time of all syncs, their verification included, and ``push_slope`` the
        smallest result of ``TrainableEngine.sync``. ``prefix_hit_rate`` is the share of the prompts' tokens
        whose keys and values were cached, of engines with the attributes ``prompt_tokens`` and
        ``cached_tokens``.
        """
        pushes, self._pushes = self._pushes, []
        slopes = [slope for _, slope in pushes if slope is not None]
        before = self._prompts
        self._prompts = (
            int(getattr(self.engine, "prompt_tokens", 0)),
            int(getattr(self.engine, "cached_tokens", 0)),
        )
        prompts, cached = (now - then for now, then in zip(self._prompts, before, strict=True))
        return {
            "push_seconds": sum(seconds for seconds, _ in pushes) if pushes else None,
            "push_slope": min(slopes, default=None),
            "prefix_hit_rate": cached / prompts if prompts > 0 else None,
        }

    def generated_tokens(self) -> int:
        """Return the number of tokens sampled for learning, summed over roles."""
        return sum(u.completion_tokens for (purpose, _), u in self.usage.items() if purpose == "learning")


def spent_to_row(spent: Spent) -> dict[str, dict[str, object]]:
    """Convert ``spent`` to JSON, in the form of ``metrics.jsonl`` and checkpoints.

    The key is the role for learning and ``purpose:role`` for the other purposes, in alphabetical order:
    ``{"evaluator": …, "policy": …, "probe:evaluator": …, "validation:policy": …}``.
    """
    named = {role if p == "learning" else f"{p}:{role}": usage for (p, role), usage in spent.items()}
    return {name: asdict(usage) for name, usage in sorted(named.items())}


def spent_from_row(row: Mapping[str, Mapping[str, Any]]) -> Spent:
    """Read a row that ``spent_to_row`` returned.

    Raises:
        ValueError: a key names an unknown purpose.
    """
    spent: Spent = {}
    for name, usage in row.items():
        before, _, role = name.rpartition(":")
        purpose = before or "learning"
        if purpose not in get_args(Purpose):
            raise ValueError(f"usage key {name!r}: the purpose must be one of {', '.join(get_args(Purpose))}")
        spent[cast(Purpose, purpose), cast(Role, role)] = Usage(**usage)
    return spent
