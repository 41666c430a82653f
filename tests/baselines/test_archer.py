"""ArCHer on figures worked by hand: targets, losses, when the policy is trained; a chain and a grid."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.nlac.theory import MOVES, Grid
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.baselines.archer import HEADS, ArCHer, archer_loss
from nlac_bench.baselines.grpo import GRPO
from nlac_bench.errors import NlacBenchError
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenSequence, pack
from nlac_bench.learner.outputs import Metrics, mean_of_steps
from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from tests.baselines import signal_env
from tests.baselines.test_parts import episode, make
from tests.baselines.test_totals import gradient


def lessons(archer: ArCHer, rewards: Sequence[float], cut: bool = False) -> list[Lesson]:
    """Those about the turns of an episode; each proposes the tokens that were played, sampled by θ."""
    found = archer.transitions(episode("t", rewards, cut=cut))
    archer.replay.add(found)
    made = []
    for i, t in enumerate(found):
        ids, prompt = list(t.action_ids or ()), list(t.state.prompt_ids or ())
        logprobs = archer.learner.text_logprobs([*prompt, *ids], len(prompt))
        proposed = Action(t.action, Sample(t.action, "stop", ids=ids, logprobs=logprobs))
        made.append(Lesson(t, 1.0, archer.speaking.speaker("recorded"), i, proposed=proposed))
    return made


def set_heads(archer: ArCHer, *values: float) -> None:
    """Let the heads, and those of the moving average, return ``values`` everywhere."""
    for name, value in zip(HEADS, values, strict=True):
        head = archer.learner.model.heads[name]
        head.get_parameter("weight").data.zero_()
        head.get_parameter("bias").data.fill_(value)
    archer.learner.ema_update(1.0)


def test_targets_are_those_of_the_paper() -> None:
    """Q_i → r + γ V̄_i(s′), or r at the end; V_i → Q̄_i(s, a′); a cut bootstraps."""
    archer: ArCHer = make("archer", gamma=0.5)
    set_heads(archer, 0.1, 0.2, 0.3, 0.4)
    ended = lessons(archer, [0.25, 1.0])
    ended[1].proposed = None
    fresh = [s for i, lesson in enumerate(ended) if (s := archer.fresh(lesson, i))]
    found = archer.targets(ended, fresh)
    assert found[0].tolist() == pytest.approx([0.25 + 0.15, 0.25 + 0.2, 0.1, 0.2])
    assert found[1, :2].tolist() == [1.0, 1.0] and found[1, 2:].isnan().all()
    (cut,) = archer.targets(lessons(archer, [0.25], cut=True), [])
    assert cut[:2].tolist() == pytest.approx([0.25 + 0.15, 0.25 + 0.2])


def test_a_state_that_is_too_long_gives_no_target() -> None:
    archer: ArCHer = make("archer", max_prompt_length=4)
    (cut,) = archer.targets(lessons(archer, [0.25], cut=True), [])
    assert cut.isnan().all()


def test_losses_are_those_of_the_authors_code() -> None:
    """The sum of four mean squared errors without 1/2, and −mean A Σ log π, with A = min Q − min V = 0.3."""
    archer: ArCHer = make("archer", critic_coef=2.0, policy_coef=3.0)
    set_heads(archer, 0.1, 0.2, -0.2, 0.4)
    taught = lessons(archer, [0.0, 1.0])
    fresh = [s for i, lesson in enumerate(taught) if (s := archer.fresh(lesson, i))]
    critic = [s for i, lesson in enumerate(taught) if (s := archer.encoder.played(lesson, i))]
    policy = archer.advantages(fresh)
    assert [s.weight for s in policy] == pytest.approx([0.3, 0.3])
    targets_N4 = archer.targets(taught, fresh)
    found = archer.learner.forward_backward(
        pack([*critic, *policy], 64), archer_loss(archer.config, critic, policy, targets_N4)
    )
    values_4, mse = torch.tensor([0.1, 0.2, -0.2, 0.4]), torch.nn.MSELoss()
    errors = [float(mse(values_4[k].expand(2), targets_N4[:, k])) for k in range(4)]
    logprobs = sum(sum(archer.learner.text_logprobs(s.ids, 3)) for s in policy)
    assert found["q_loss"] == pytest.approx(sum(errors[:2])) and found["v_loss"] == pytest.approx(
        sum(errors[2:])
    )
    assert found["policy_loss"] == pytest.approx(-0.3 * logprobs / 2, rel=1e-4)
    assert found["importance"] == pytest.approx(1, rel=1e-4)
    assert found["loss"] == pytest.approx(2 * sum(errors) + 3 * found["policy_loss"], rel=1e-4)


def sampled(archer: ArCHer, ids: list[int], mask: list[float], weight: float, number: int) -> TokenSequence:
    """A sequence that the present weights sampled."""
    old = [0.0, 0.0, 0.0, *archer.learner.text_logprobs(ids, 3)]
    return TokenSequence(ids, mask, weight=weight, group_id=number, old_logprobs=old)


def test_a_constant_advantage_has_no_gradient_though_the_weights_have_changed() -> None:
    """The actions are all tokens of the vocabulary, with the weights −π_old: the sum is an expectation."""
    archer: ArCHer = make("archer", kl_coef=0.0)
    count, mask = len(signal_env.tokenizer()), [0.0, 0.0, 0.0, 1.0]
    old = [sampled(archer, [5, 6, 7, a], mask, 0.0, a) for a in range(count)]
    old = [replace(s, weight=-math.exp(last(s))) for s in old]
    with torch.no_grad():
        noise = torch.Generator().manual_seed(0)
        for parameter in archer.learner.model.parameters():
            parameter.add_(0.005 * torch.randn(parameter.shape, generator=noise))
    now = [sampled(archer, list(s.ids), mask, s.weight, s.group_id) for s in old]
    ratios = [math.exp(last(n) - last(s)) for n, s in zip(now, old, strict=True)]
    assert min(ratios) < 0.9 and 1.1 < max(ratios) < losses.IMPORTANCE_CAP
    norms = []
    for policy in (old, now):
        loss = archer_loss(archer.config, [], policy, torch.zeros(count, 4))
        archer.learner.forward_backward(pack(policy, 64), loss)
        norms.append(float(gradient(archer.learner).norm()))
        archer.learner.optimizer.zero_grad()
    weighted, unweighted = norms
    assert unweighted > 0.01 and weighted < 1e-4 * unweighted


def last(sequence: TokenSequence) -> float:
    """The log-probability of the last token when it was sampled."""
    assert sequence.old_logprobs is not None
    return sequence.old_logprobs[-1]


@pytest.mark.parametrize(("older", "factor"), [(0.0, 1.0), (0.5, math.exp(-1.0)), (-9.0, 2.0)])
def test_actions_are_weighted_by_their_capped_importance(older: float, factor: float) -> None:
    """``older`` is the difference of a token's log-probability when it was sampled; an action has two."""
    archer: ArCHer = make("archer")
    set_heads(archer, 0.1, 0.2, -0.2, 0.4)
    (lesson,) = lessons(archer, [1.0])
    fresh = archer.fresh(lesson, 0)
    assert fresh is not None and fresh.old_logprobs is not None
    total = sum(fresh.old_logprobs)
    old = [x + older * m for x, m in zip(fresh.old_logprobs, fresh.loss_mask, strict=True)]
    policy = archer.advantages([replace(fresh, old_logprobs=old)])
    loss = archer_loss(archer.config, [], policy, torch.zeros(1, 4))
    found = archer.learner.forward_backward(pack(policy, 64), loss)
    assert found["importance"] == pytest.approx(factor, rel=1e-4)
    assert found["policy_loss"] == pytest.approx(-0.3 * factor * total, rel=1e-4)


def test_an_engine_without_log_probabilities_is_an_error() -> None:
    archer: ArCHer = make("archer")
    (lesson,) = lessons(archer, [1.0])
    assert lesson.proposed is not None
    lesson.proposed = replace(lesson.proposed, sample=replace(lesson.proposed.sample, logprobs=None))
    with pytest.raises(NlacBenchError, match="log-probabilities"):
        archer.fresh(lesson, 0)


def test_with_true_returns_the_policys_gradient_is_that_of_grpo() -> None:
    """Q is the return and V the mean of the task's returns; actions of two tokens, of which GRPO takes the
    mean."""
    advantages, ids = [0.75, -0.25, -0.25, -0.25], [[5, 6, 7, 8 + i, 9 + i] for i in range(4)]
    archer: ArCHer = make("archer", kl_coef=0.0)
    grpo: GRPO = make("grpo", kl_coef=0.0, scale_by_std=False)
    mask = [0.0, 0.0, 0.0, 1.0, 1.0]
    pairs = zip(ids, advantages, strict=True)
    policy = [sampled(archer, row, mask, a, i) for i, (row, a) in enumerate(pairs)]
    archer.learner.forward_backward(
        pack(policy, 64), archer_loss(archer.config, [], policy, torch.zeros(4, 4))
    )
    compared = [s for p in policy for s in grpo.weighed([replace(p, weight=1.0)], p.weight)]
    batch = pack(compared, 64)
    batch = replace(batch, old_logprobs=grpo.learner.logprobs(batch))
    grpo.learner.forward_backward(batch, grpo.loss(batch))
    expected = 2 * gradient(grpo.learner)
    found = gradient(archer.learner)[: len(expected)]
    assert expected.norm() > 0.01
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "pppp"),
        ({"critic_steps": 1}, "cpcp"),
        ({"critic_warmup": 2}, "ccpp"),
        ({"critic_warmup": 1, "critic_steps": 1}, "ccpc"),
    ],
)
def test_the_critic_may_take_more_steps_than_the_policy(settings: dict[str, int], expected: str) -> None:
    archer: ArCHer = make("archer", mini_batch_size=1, **settings)
    taught = lessons(archer, [0.0, 1.0])
    rows = [archer.step([lesson]) for lesson in (*taught, *taught)]
    assert "".join("p" if row and "policy_loss" in row else "c" for row in rows) == expected


def test_metrics_of_the_policy_are_means_over_its_own_steps() -> None:
    archer: ArCHer = make("archer", mini_batch_size=1, critic_steps=1)
    rows: list[Metrics] = []

    def step(drawn: Sequence[Lesson]) -> Metrics | None:
        rows.append(archer.step(drawn) or {})
        return rows[-1]

    taught = lessons(archer, [0.0, 1.0])
    metrics = archer.steps([*taught, *taught], step)
    policy = [row for row in rows if "policy_loss" in row]
    assert (metrics["gradient_steps"], len(policy)) == (4, 2)
    for name, own in (
        ("policy_loss", policy),
        ("advantage", policy),
        ("importance", policy),
        ("q_loss", rows),
        ("loss", rows),
    ):
        assert metrics[name] == pytest.approx(sum(row[name] for row in own) / len(own)), name
    assert mean_of_steps([]) == {"gradient_steps": 0}


def test_answers_that_cannot_be_parsed_are_actions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    archer: ArCHer = make("archer")
    (lesson,) = lessons(archer, [1.0])
    lesson.proposed = None

    async def sample(request: SampleRequest) -> list[Sample]:
        return [Sample("red-0 red-0", "length", ids=[8, 8], logprobs=[-1.0, -1.0])]

    monkeypatch.setattr(archer.resources.engine, "sample", sample)
    asyncio.run(archer.ask([lesson]))
    fresh = archer.fresh(lesson, 0)
    assert fresh is not None and list(fresh.ids) == [5, 6, 7, 8, 8]


def test_values_travel_back_through_an_episode() -> None:
    """A chain of two turns with the reward 1 at its end, where the policy always acts alike."""
    archer: ArCHer = make("archer", gamma=0.5, lr=2e-3, ema_tau=0.5, policy_coef=0.0, kl_probe=False)
    taught = lessons(archer, [0.0, 1.0])
    for lesson, prompt in zip(taught, ([5, 6, 7], [5, 6, 7, 9, 11]), strict=True):
        lesson.transition.state = replace(lesson.transition.state, prompt_ids=prompt)
    taught[0].transition.next_state = taught[1].transition.state
    for _ in range(60):
        archer.step(taught)
    found = archer.values([s for i, lesson in enumerate(taught) if (s := archer.fresh(lesson, i))])
    assert found[1].tolist() == pytest.approx([1.0] * 4, abs=0.25)
    assert found[0].tolist() == pytest.approx([0.5] * 4, abs=0.25)


class TabularArcher:
    """ArCHer's targets and advantages in the grid of ``nlac-bench theory``, with tables for heads and policy.

    There is a lesson for each action in each cell, whose a′ is that action. With the weights π(a′ | s), their
    means are the expectations of which a gradient step takes samples.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, gamma: float) -> None:
        self.archer: ArCHer = make("archer", gamma=gamma, kl_probe=False)
        self.grid, self.moves = Grid(("...#.", ".#..G", "..o..")), list(MOVES)
        cells = self.grid.cells
        self.q_CA4, self.logits_CA = np.zeros((len(cells), 4, 4)), np.zeros((len(cells), 4))
        self.target_CA4 = self.q_CA4
        self.lessons = []
        for c, cell in enumerate(cells):
            for a, move in enumerate(self.moves):
                there, ends, won = self.grid.move(cell, move)
                state, following = (State("grid", "", (), (), prompt_ids=[n]) for n in (c, 0))
                if not ends:
                    following = replace(following, prompt_ids=[cells.index(there)])
                place = ("grid", 0, 0, 0)  # task, seed, step and version of the weights
                t = Transition(state, move, float(won), None if ends else following, ends, won, *place)
                action = Action(move, Sample(move, "stop", ids=[a], logprobs=[0.0]))
                self.lessons.append(Lesson(t, 1.0, self.archer.speaking.speaker(c, a), proposed=action))
        monkeypatch.setattr(self.archer.encoder, "_prompts", _Unread)
        monkeypatch.setattr(self.archer, "values", self.values)
        monkeypatch.setattr(self.archer.learner, "averaged", self.averaged)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Let ``values`` read the tables of the target."""
        self.q_CA4, self.target_CA4 = self.target_CA4, self.q_CA4
        yield
        self.q_CA4, self.target_CA4 = self.target_CA4, self.q_CA4

    def values(self, sequences: Sequence[TokenSequence]) -> dict[int, torch.Tensor]:
        """Return Q₁, Q₂, V₁ and V₂ of (cell, action); the V of a cell is stored with each of its actions."""
        found = {s.group_id: (s.ids[0], s.ids[1] if s.loss == "policy" else 0) for s in sequences}
        return {n: torch.tensor(self.q_CA4[c, a]) for n, (c, a) in found.items()}

    @property
    def policy_CA(self) -> np.ndarray[Any, Any]:
        """π(a | s)."""
        odds_CA = np.exp(self.logits_CA - self.logits_CA.max(1, keepdims=True))
        policy: np.ndarray[Any, Any] = odds_CA / odds_CA.sum(1, keepdims=True)
        return policy

    def iterate(self, lr: float) -> None:
        """Set the heads to their mean targets and θ̄ to θ, then take a step of REINFORCE on the policy."""
        fresh = [s for n, lesson in enumerate(self.lessons) if (s := self.archer.fresh(lesson, n))]
        targets_CA4 = self.archer.targets(self.lessons, fresh).double().numpy().reshape(-1, 4, 4)
        assert not np.isnan(targets_CA4).any()
        self.q_CA4 = targets_CA4.copy()
        mean_C2 = (self.policy_CA[..., None] * targets_CA4[..., 2:]).sum(1)
        self.q_CA4[..., 2:] = mean_C2[:, None]
        self.target_CA4 = self.q_CA4
        advantages_CA = np.array([s.weight for s in self.archer.advantages(fresh)]).reshape(-1, 4)
        weighed_CA = self.policy_CA * advantages_CA
        self.logits_CA = self.logits_CA + lr * (
            weighed_CA - self.policy_CA * weighed_CA.sum(1, keepdims=True)
        )


class _Unread:
    """Prompts of which no text is needed, because all tokens are known."""

    policy = staticmethod(lambda state: None)


def test_q_becomes_that_of_the_policy_in_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact solution is Q = r + γ P π Q, for a uniformly random policy."""
    tables, gamma = TabularArcher(monkeypatch, gamma=0.5), 0.5
    for _ in range(50):
        tables.iterate(lr=0.0)
    cells, count = tables.grid.cells, len(tables.lessons)
    system, rewards = np.eye(count), np.zeros(count)
    for n, (cell, move) in enumerate((cell, move) for cell in cells for move in MOVES):
        there, ends, won = tables.grid.move(cell, move)
        rewards[n] = won
        if not ends:
            system[n, 4 * cells.index(there) : 4 * cells.index(there) + 4] -= gamma / 4
    exact = np.linalg.solve(system, rewards)
    np.testing.assert_allclose(tables.q_CA4[..., 0].flatten(), exact, atol=1e-6)
    np.testing.assert_allclose(tables.q_CA4[:, 0, 3], exact.reshape(-1, 4).mean(1), atol=1e-6)


def test_the_policy_becomes_optimal_in_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """REINFORCE on A = min Q − min V, from a random policy, ends with actions that are optimal by Q*."""
    tables = TabularArcher(monkeypatch, gamma=0.9)
    best = tables.grid.optimal_values()
    best_CA = np.array([[best[cell, move] for move in MOVES] for cell in tables.grid.cells])
    optimal_CA = best_CA >= best_CA.max(1, keepdims=True) - 1e-9
    shares = []
    for _ in range(120):
        shares.append(float((tables.policy_CA * optimal_CA).sum(1).mean()))
        tables.iterate(lr=20.0)
    assert shares[0] < 0.5 and shares[-1] > 0.95
    chosen_C = tables.logits_CA.argmax(1)
    assert optimal_CA[np.arange(len(chosen_C)), chosen_C].all()
