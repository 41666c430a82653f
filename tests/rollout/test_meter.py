import asyncio
from dataclasses import asdict
from typing import Any, get_args

import pytest

from nlac_bench.rollout.engines.engine import Sample, SampleRequest, Sampling
from nlac_bench.rollout.meter import MeteredEngine, Purpose, spending_on, spent_from_row, spent_to_row
from nlac_bench.types import Role, Usage


class Waiting:
    """Answers every request with as many tokens as it asks for, after giving other tasks a turn."""

    async def sample(self, request: SampleRequest) -> list[Sample]:
        await asyncio.sleep(0)
        return [Sample("", "stop", usage=Usage(1, 0, request.sampling.max_tokens, 0.0))]


def request(role: Role, tokens: int) -> SampleRequest:
    return SampleRequest(
        messages=({"role": "user", "content": "x"},), role=role, sampling=Sampling(max_tokens=tokens)
    )


def test_tasks_that_run_at_once_are_booked_under_their_own_purposes() -> None:
    metered = MeteredEngine(Waiting())  # type: ignore[arg-type]

    async def ask(tokens: int) -> None:
        for role in ("policy", "evaluator"):
            await metered.sample(request(role, tokens))

    async def ask_for(purpose: Purpose, tokens: int) -> None:
        with spending_on(purpose):
            await asyncio.gather(ask(tokens), ask(tokens))

    async def both() -> None:
        await asyncio.gather(ask(1), ask_for("probe", 10), ask_for("validation", 100))
        await ask(1)

    asyncio.run(both())
    found = {key: usage.completion_tokens for key, usage in metered.usage.items()}
    expected = {"learning": 2, "probe": 20, "validation": 200}
    assert found == {(p, r): n for p, n in expected.items() for r in ("policy", "evaluator")}
    assert metered.generated_tokens() == 4


def test_an_exception_ends_the_purpose() -> None:
    metered = MeteredEngine(Waiting())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError), spending_on("probe"):
        raise RuntimeError
    asyncio.run(metered.sample(request("policy", 3)))
    assert list(metered.usage) == [("learning", "policy")]


def test_usage_on_disk_keeps_its_names() -> None:
    """Earlier runs have these names in metrics.jsonl and in checkpoints."""
    usage = Usage(1, 2, 3, 0.5)
    spent = {("validation", "policy"): usage, ("learning", "policy"): usage, ("probe", "evaluator"): usage}
    row = spent_to_row(spent)  # type: ignore[arg-type]
    assert list(row) == ["policy", "probe:evaluator", "validation:policy"]
    assert row["policy"] == asdict(usage)
    assert spent_from_row(row) == spent
    for purpose in get_args(Purpose):
        one: dict[Any, Usage] = {(purpose, "successor"): usage}
        assert spent_from_row(spent_to_row(one)) == one
    with pytest.raises(ValueError, match=r"'play:policy'.*validation"):
        spent_from_row({"play:policy": asdict(usage)})


def test_syncs_and_the_prefix_cache_are_measured_since_the_last_call() -> None:
    class Engine:
        prompt_tokens = cached_tokens = 0
        slopes = iter((1.5, None, 0.9, None))

        def sync(self, source: Any, version: int, slot: Any = "policy") -> float | None:
            return next(self.slopes)

    inner = Engine()
    engine: Any = MeteredEngine(inner)  # type: ignore[arg-type]
    nothing = {"push_seconds": None, "push_slope": None, "prefix_hit_rate": None}
    assert engine.metrics() == nothing
    for version in range(3):
        engine.sync(None, version)
    inner.prompt_tokens, inner.cached_tokens = 200, 50
    found = engine.metrics()
    assert found["push_seconds"] > 0 and (found["push_slope"], found["prefix_hit_rate"]) == (0.9, 0.25)
    engine.sync(None, 3)
    inner.prompt_tokens, inner.cached_tokens = 300, 150
    found = engine.metrics()
    assert (found["push_slope"], found["prefix_hit_rate"]) == (None, 1.0)
    assert engine.metrics() == nothing
