"""ArCHer on figures worked by hand: targets, both losses, when the policy is trained, values of a chain."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from nlac_bench.agents.nlac.lesson import Lesson
from nlac_bench.agents.roles.speaker import Action
from nlac_bench.baselines.archer import HEADS, ArCHer, archer_loss
from nlac_bench.baselines.grpo import GRPO
from nlac_bench.learner.batch import TokenSequence, pack
from nlac_bench.rollout.engines.engine import Sample, SampleRequest
from tests.baselines.test_parts import episode, make
from tests.baselines.test_totals import gradient


def lessons(archer: ArCHer, rewards: Sequence[float], cut: bool = False) -> list[Lesson]:
    """Those about the turns of an episode; each proposes the tokens that were played."""
    found = archer.transitions(episode("t", rewards, cut=cut))
    archer.replay.add(found)
    made = []
    for i, t in enumerate(found):
        proposed = Action(t.action, Sample(t.action, "stop", ids=list(t.action_ids or ())))
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
    assert found["loss"] == pytest.approx(2 * sum(errors) + 3 * found["policy_loss"], rel=1e-4)


def test_with_true_returns_the_policys_gradient_is_that_of_grpo() -> None:
    """Q is the return and V the mean of the task's returns; actions of two tokens, of which GRPO takes the
    mean."""
    advantages, ids = [0.75, -0.25, -0.25, -0.25], [[5, 6, 7, 8 + i, 9 + i] for i in range(4)]
    archer: ArCHer = make("archer", kl_coef=0.0)
    grpo: GRPO = make("grpo", kl_coef=0.0, scale_by_std=False)
    mask = [0.0, 0.0, 0.0, 1.0, 1.0]
    pairs = zip(ids, advantages, strict=True)
    policy = [TokenSequence(row, mask, weight=a, group_id=i) for i, (row, a) in enumerate(pairs)]
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


def test_answers_that_cannot_be_parsed_are_actions_too(monkeypatch: pytest.MonkeyPatch) -> None:
    archer: ArCHer = make("archer")
    (lesson,) = lessons(archer, [1.0])
    lesson.proposed = None

    async def sample(request: SampleRequest) -> list[Sample]:
        return [Sample("red-0 red-0", "length", ids=[8, 8])]

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
