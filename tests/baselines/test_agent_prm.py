"""AgentPRM on figures worked by hand: targets, the reward model, pairs, and how a short budget is divided."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from nlac_bench.baselines.agent_prm import AgentPRM, VisitedState
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch
from nlac_bench.learner.outputs import LossFn
from nlac_bench.rollout.driver import Driver, EpisodeSpec
from nlac_bench.rollout.engines.engine import Sample
from nlac_bench.training.player import TrainingPlayer
from nlac_bench.types import Episode
from tests.baselines.test_parts import episode, make


def told(rewards: Sequence[float], *actions: str, cut: bool = False) -> Episode:
    """An episode whose turns have the texts ``actions``; equal texts have equal tokens."""
    made = episode("t", rewards, cut=cut)
    made.turns = [
        replace(turn, text=text, output_ids=[8 + ord(text[-1]) % 8, 1])
        for turn, text in zip(made.turns, actions, strict=True)
    ]
    return made


def three() -> list[Episode]:
    """Two episodes with the same first turn, of which one succeeds, and another success."""
    return [
        told([0.0, 1.0], "red-0", "red-1"),
        told([0.0, 0.0, 0.0], "red-0", "red-2", "red-1"),
        told([1.0], "red-3"),
    ]


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_targets_are_means_over_the_visits_of_an_action(gamma: float) -> None:
    """With γ = 1 they are also those of the authors' script: 1/2, 1, 0, 0 and 1."""
    prm: AgentPRM = make("agent_prm", gamma=gamma)
    found = prm.targets([*three(), told([0.0], "red-0", cut=True)])
    values = [s.returns[-1] for s in found if s.returns]
    shared = ((1 + gamma) / 2 + (1 - gamma**2) / 2) / 2
    assert values == pytest.approx([shared, 1.0, (1 - gamma) / 2, 0.0, 1.0])
    assert all(s.returns and s.returns[:3] == [0.0] * 3 for s in found)


@pytest.mark.parametrize(
    ("reason", "values"), [("turn_limit", [(1 - 0.95) / 2, 0.0]), ("context_overflow", [])]
)
def test_an_episode_that_reaches_the_limit_of_turns_has_failed(
    reason: str, values: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody: Any = None

    async def run(driver: Driver, specs: Sequence[EpisodeSpec]) -> Any:
        yield replace(told([0.0, 0.0], "red-0", "red-1", cut=True), end_reason=reason, success=False)

    monkeypatch.setattr(Driver, "run", run)
    player = TrainingPlayer(Driver(nobody, nobody), Driver(nobody, nobody), lambda episode: None)
    played = asyncio.run(player.train([EpisodeSpec("signal", "t", 0, 0)]))
    found = make("agent_prm").targets(played)
    assert [s.returns[-1] for s in found] == pytest.approx(values)


def test_the_reward_model_learns_the_mean_label() -> None:
    """The minimum of the cross-entropy of a soft label q is at σ(r) = q."""
    prm: AgentPRM = make("agent_prm", gamma=1.0, lr=5e-3, kl_probe=False, mini_batch_size=8)
    sequences = prm.targets(three()[1:])
    sequences = [replace(s, returns=[0.25 * m for m in s.loss_mask]) for s in sequences]
    batches = prm.mini_batches(sequences)
    for _ in range(40):
        prm.take_steps(iter(batches), prm.reward_loss, None)
    rated = prm.read(lambda batch: prm.learner.scalars(batch, ["reward"])[..., 0], sequences)
    assert [float(torch.sigmoid(r_T[-1])) for r_T in rated.values()] == pytest.approx([0.25] * 4, abs=0.08)


def offer(prm: AgentPRM, *pairs: tuple[Sample, Sample]) -> None:
    """Let the policy have drawn these actions at the first state of an episode."""
    (t,) = prm.transitions(episode("t", [1.0]))
    prm.choices = [VisitedState(t, prm.speaking.speaker("x"), list(pair)) for pair in pairs]


def drawn(*ids: int, finish: Any = "stop") -> Sample:
    return Sample("red-0", finish, ids=list(ids))


def test_pairs_begin_with_the_action_that_is_rated_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal actions and equal scores make no pair, an action without an end token is always the worse one."""
    prm: AgentPRM = make("agent_prm", max_response_length=3)
    low, high, same = drawn(9, 1), drawn(10, 1), drawn(11, 1)
    unfinished, too_long = drawn(12, 12, finish="length"), drawn(13, 13, 13, 1)
    offer(prm, (low, high), (high, low), (same, same), (low, low), (low, unfinished), (low, too_long))
    rates = {9: -2.0, 10: 2.0, 11: 0.0, 12: 9.0}

    def read(what: Any, sequences: Any) -> dict[int, torch.Tensor]:
        return {s.group_id: torch.tensor([0.0, rates[s.ids[3]]]) for s in sequences}

    monkeypatch.setattr(prm, "read", read)
    units = prm.pairs()
    assert [[list(s.ids[3:]) for (s,) in unit.groups] for unit in units] == [
        [[10, 1], [9, 1]], [[10, 1], [9, 1]], [[9, 1], [12, 12]],
    ]  # fmt: skip
    offer(prm, (low, drawn(9, 9, 1)))
    assert prm.pairs() == [], "different actions with the same score"


def test_preferences_at_the_initial_policy() -> None:
    """Loss log 2, gradient −(β/2) (∇ log π(a⁺) − ∇ log π(a⁻))."""
    prm: AgentPRM = make("agent_prm")
    value, slopes_2 = losses.slopes(torch.zeros(2), prm.objective)
    assert value == pytest.approx(math.log(2)) and slopes_2.tolist() == pytest.approx([-0.015, 0.015])


@pytest.mark.parametrize(("most", "steps"), [(None, (5, 2)), (7, (5, 2)), (4, (2, 2)), (1, (0, 1))])
def test_a_short_budget_is_divided(
    most: int | None, steps: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    prm: AgentPRM = make("agent_prm", mini_batch_size=1, kl_probe=False)
    offer(prm, (drawn(9, 1), drawn(10, 1)), (drawn(9, 1), drawn(11, 1)))
    rated: list[int] = []
    monkeypatch.setattr(prm, "scores", lambda sequences: {s.group_id: s.group_id for s in sequences})
    reward_loss = prm.reward_loss

    def counted(batch: TokenBatch) -> LossFn:
        rated.append(len(batch))
        return reward_loss(batch)

    monkeypatch.setattr(prm, "reward_loss", counted)
    metrics = prm.learn(three(), most)
    assert (len(rated), metrics["gradient_steps"]) == (steps[0], sum(steps))
    assert metrics["pairs"] == 2 and metrics["objective"] == pytest.approx(math.log(2), abs=0.05)


def test_two_actions_are_drawn_at_every_visited_state() -> None:
    prm: AgentPRM = make("agent_prm")
    asyncio.run(prm.prepare(three()))
    assert len(prm.choices) == 6 and all(len(choice.samples) == 2 for choice in prm.choices)
    assert {choice.transition.step for choice in prm.choices} == {0, 1, 2}
