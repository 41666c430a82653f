"""Objectives of totals: two passes have the gradient of one graph, and objectives have known slopes."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from nlac_bench.baselines.totals import ObjectiveUnit, steps_on_totals
from nlac_bench.learner import losses
from nlac_bench.learner.batch import TokenBatch, TokenSequence, one_a_row
from nlac_bench.learner.learner import Learner
from nlac_bench.learner.learner_config import LearnerConfig
from nlac_bench.learner.outputs import Metrics, Outputs
from nlac_bench.learner.whole import full_tensor
from tests.baselines import signal_env
from tests.baselines.test_parts import make
from tests.learner.rank_steps import pacs
from tests.learner.small_model import use_sgd


def groups(count: int = 6, seed: int = 0) -> list[list[TokenSequence]]:
    """Episodes of one to three turns of random tokens."""
    generator = torch.Generator().manual_seed(seed)
    made = []
    for number in range(count):
        ids = torch.randint(3, 30, (1 + number % 3, 7), generator=generator).tolist()
        made.append([TokenSequence(row, [0.0] * 4 + [1.0] * 3) for row in ids])
    return made


def dpo(totals_2: Tensor) -> Tensor:
    return -logsigmoid(0.5 * (totals_2[0] - totals_2[1]))


def gradient(learner: Learner) -> Tensor:
    found: list[Any] = [p.grad for p in learner.parameters if p.grad is not None]
    return torch.cat([full_tensor(grad).flatten() for grad in found])


def in_one_graph(
    learner: Learner, units: Sequence[ObjectiveUnit], old_BT: Tensor, batch: TokenBatch
) -> Tensor:
    """Take a step on the mean objective by a loss that sees all rows at once; return the gradient."""
    sizes = [len(unit.groups) for unit in units]

    def loss(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        own_BT = (outputs.logprobs_BT - old_BT) * micro.loss_mask
        totals_G = torch.zeros(sum(sizes)).index_add(0, micro.group_id.flatten(), own_BT.flatten())
        parts = zip(units, totals_G.split(sizes), strict=True)
        return torch.stack([unit.objective(own_G) for unit, own_G in parts]).mean(), {}

    learner.forward_backward(batch, loss)
    found = gradient(learner)
    learner.optim_step()
    return found


@pytest.mark.parametrize("old", ["policy", "reference"])
def test_two_passes_have_the_gradient_of_one_graph(old: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after steps, where totals are not 0; each row is a micro-batch of its own."""
    made = groups()
    units = [ObjectiveUnit(made[:3], pacs([1.0, 0.0, 0.0])), ObjectiveUnit(made[3:5], dpo)]
    trainer = make("rft", row_tokens=8, micro_rows=1, lr=0.3, mini_batch_size=64, kl_coef=0.0)
    use_sgd(trainer.learner)
    whole = Learner(signal_env.random_model(), LearnerConfig(precision="fp32", micro_rows=64, lr=0.3))
    use_sgd(whole)
    numbered = [g for unit in units for g in unit.groups]
    batch = one_a_row([
        TokenSequence(s.ids, s.loss_mask, group_id=n) for n, g in enumerate(numbered) for s in g
    ])  # fmt: skip
    initial_BT = whole.logprobs(batch)
    step = trainer.learner.optim_step
    compared: list[Tensor] = []

    def compare() -> Metrics:
        compared.append(gradient(trainer.learner))
        taken: Metrics = step()
        return taken

    monkeypatch.setattr(trainer.learner, "optim_step", compare)
    # The order of units in a mini-batch does not matter to the mean of their objectives.
    for number in range(3):
        started_BT = whole.logprobs(batch) if old == "policy" else initial_BT
        expected = in_one_graph(whole, units, started_BT, batch)
        metrics = steps_on_totals(trainer, units, None, old)
        assert metrics["gradient_steps"] == 1 and expected.norm() > 0.01
        torch.testing.assert_close(compared[-1], expected, rtol=1e-4, atol=1e-6)
        assert (metrics["total"] > 0.01) == (old == "reference" and number > 0)


def test_slopes_of_pacs_are_those_of_rloo() -> None:
    """−(1/N) (R_k − mean of the other R) at totals of 0."""
    value, slopes_G = losses.slopes(torch.zeros(4), pacs([1.0, 0.0, 0.0, 1.0]))
    assert value == pytest.approx(math.log(2))
    expected = [-(1 - 1 / 3) / 4, (2 / 3) / 4, (2 / 3) / 4, -(1 - 1 / 3) / 4]
    assert slopes_G.tolist() == pytest.approx(expected)


def test_slopes_of_a_pair_at_the_initial_policy() -> None:
    value, slopes_2 = losses.slopes(torch.zeros(2), dpo)
    assert value == pytest.approx(math.log(2)) and slopes_2.tolist() == pytest.approx([-0.25, 0.25])


def test_units_are_never_divided() -> None:
    trainer, made = make("rft", mini_batch_size=2, kl_coef=0.0), groups(10)
    seen: list[int] = []

    def objective(totals_G: Tensor) -> Tensor:
        seen.append(len(totals_G))
        return totals_G.sum()

    units = [ObjectiveUnit(made[i : i + 2], objective) for i in range(0, 10, 2)]
    assert steps_on_totals(trainer, units, None)["gradient_steps"] == 3 and seen == [2] * 5
    assert steps_on_totals(trainer, units, 1)["gradient_steps"] == 1
    assert "kl_to_start" in asyncio.run(trainer.probe([], False))
    assert steps_on_totals(trainer, [], None) == {"gradient_steps": 0.0}
