"""The controls of NLAC: what must be right in each, on figures worked by hand, and their known results."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from nlac_bench.agents.roles.role_prompts import Critique
from nlac_bench.agents.roles.speaker import Speaker
from nlac_bench.baselines.drlc import DRLC
from tests.baselines.test_parts import episode, make


def judging(monkeypatch: pytest.MonkeyPatch, verdicts: Sequence[bool | None]) -> None:
    """Let the critic call the next actions optimal or not, in the order in which it is asked; None cannot be
    parsed."""
    left = iter(verdicts)

    async def futures(*_: Any) -> list[str]:
        return ["next: right; end: success"]

    async def critique(*_: Any) -> Critique | None:
        verdict = next(left)
        return None if verdict is None else Critique(verdict, "optimal: yes" if verdict else "optimal: no")

    monkeypatch.setattr(Speaker, "futures", futures)
    monkeypatch.setattr(Speaker, "critique", critique)


def weights(algorithm: Any) -> torch.Tensor:
    return torch.cat([tensor.flatten() for _, tensor in algorithm.learner.named_tensors()])


# --- DRLC ---------------------------------------------------------------------------------------------


def test_drlc_without_verdicts_is_ppo_to_the_bit() -> None:
    played = [episode("a", [0.0, 1.0]), episode("b", [0.0], cut=True), episode("c", [0.0])]
    pair = [make("ppo", mini_batch_size=2), make("drlc", mini_batch_size=2, verdict_coef=0)]
    metrics = [asyncio.run(algorithm.update(played)) for algorithm in pair]
    assert metrics[0] == metrics[1] and metrics[0]["gradient_steps"] == 4
    assert torch.equal(*map(weights, pair))


def test_drlc_adds_the_verdicts_that_follow_to_an_advantage(monkeypatch: pytest.MonkeyPatch) -> None:
    """With γ = λ = 1, a turn's advantage is PPO's plus the sum of its and the later verdicts. The turn that
    did not fit into the context was not judged, and a critique that cannot be parsed is no reward."""
    judging(monkeypatch, [True, False, False, None, True])
    played = [episode("a", [0.0, 0.0, 1.0]), episode("b", [0.0, 0.0, 0.0], cut=True)]
    played[1].turns[-1] = replace(played[1].turns[-1], finish="context_overflow", output_ids=[])
    ppo, drlc = make("ppo"), make("drlc", verdict_coef=0.5)
    asyncio.run(drlc.prepare(played))
    assert drlc.rewards(played[0]) == [0.5, -0.5, 0.5] and drlc.rewards(played[1]) == [0.0, 0.5, 0.0]
    found: list[list[float]] = []
    for algorithm in (ppo, drlc):
        monkeypatch.setattr(algorithm, "_whitened", lambda sequences: sequences)
        found.append([s.advantages[-1] for s in algorithm.advantages(played)])
    added = [one - other for one, other in zip(found[1], found[0], strict=True)]
    assert added == pytest.approx([-0.5, -1.0, -0.5, 0.5, 0.5], abs=1e-6)
    assert drlc.learn(played, 1)["share_optimal"] == 0.5


def test_drlcs_shuffled_verdicts_are_those_of_other_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """All turns of half of the episodes are optimal; the verdicts of neighbours would be the right ones."""
    played = [episode(f"{i:02}", [0.0] * 4) for i in range(16)]
    right = [i < 8 for i in range(16) for _ in range(4)]
    found = []
    for shuffled in (False, True):
        judging(monkeypatch, right)
        drlc: DRLC = make("drlc", verdict_coef=1, shuffle_critiques=shuffled)
        asyncio.run(drlc.prepare(played))
        found.append([reward > 0 for e in played for reward in drlc.rewards(e)])
    assert found[0] == right and sum(found[1]) == sum(right)
    assert 16 < sum(one == other for one, other in zip(found[1], right, strict=True)) < 48
