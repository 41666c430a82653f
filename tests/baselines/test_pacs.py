"""PACS on figures worked by hand, and against the authors' loss."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from nlac_bench.baselines.pacs import PACS
from nlac_bench.learner import losses
from tests.baselines.test_parts import episode, make


def authors_loss(totals_G: Tensor, labels: Sequence[bool], beta: float) -> Tensor:
    """compute_pacs_loss of ritzz-ai/PACS (adv_estimator rloo, weight_mode question) for one question, written
    out: scikit-learn's balanced class weights are n / (classes · count)."""
    count = len(labels)
    reward = beta * totals_G
    mean_reward = (reward.sum() - reward) / (count - 1)
    weight = [count / (len(set(labels)) * labels.count(y)) if len(set(labels)) > 1 else 1.0 for y in labels]
    probability = torch.sigmoid(reward - mean_reward)
    each = [-w * torch.log(p if y else 1 - p) for w, p, y in zip(weight, probability, labels, strict=True)]
    return torch.stack(each).mean()


@pytest.mark.parametrize("labels", [[True, False, False, True, False], [True] * 3, [False] * 4])
@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_loss_and_slopes_are_those_of_the_authors_code(labels: list[bool], beta: float) -> None:
    pacs: PACS = make("pacs", beta=beta)
    totals_G = torch.randn(len(labels), generator=torch.Generator().manual_seed(0))
    value, slopes_G = losses.slopes(totals_G, pacs.objective(labels))
    expected, expected_G = losses.slopes(totals_G, lambda s_G: authors_loss(s_G, labels, beta))
    assert value == pytest.approx(expected, rel=1e-5)
    torch.testing.assert_close(slopes_G, expected_G)


def test_the_first_step_is_beta_times_that_of_rloo() -> None:
    """−(β/G) (R_k − mean of the other R)."""
    pacs: PACS = make("pacs", beta=0.7, class_weights=False)
    labels = [True, False, False, True]
    value, slopes_G = losses.slopes(torch.zeros(4), pacs.objective(labels))
    expected = [-0.7 / 4 * (r - (sum(labels) - r) / 3) for r in map(float, labels)]
    assert value == pytest.approx(math.log(2)) and slopes_G.tolist() == pytest.approx(expected)


def test_balanced_weights_give_both_outcomes_the_same_slope() -> None:
    """∓β G² / (4 G n (G − 1)) for the n episodes with an outcome."""
    pacs: PACS = make("pacs")
    _, slopes_G = losses.slopes(torch.zeros(5), pacs.objective([True, False, False, False, False]))
    assert slopes_G.tolist() == pytest.approx([-25 / (4 * 5 * 1 * 4)] + [25 / (4 * 5 * 4 * 4)] * 4)


def test_groups_are_tasks_and_a_mini_batch_has_whole_ones() -> None:
    pacs: PACS = make("pacs", kl_probe=False)
    played = [episode(task, [float(i)]) for task in "abc" for i in range(2)]
    metrics = pacs.learn([*played, episode("alone", [1.0]), episode("b", [0.0, 0.0])], None)
    assert metrics["gradient_steps"] == 3 and metrics["informative"] == pytest.approx(3 / 4)
    assert metrics["total"] > 0, "the second and third task see the steps of the ones before"
    assert make("pacs", mini_batch_size=0).learn(played, None)["gradient_steps"] == 1
    assert make("pacs").learn(played, 2)["gradient_steps"] == 2
    assert make("pacs").config.transitions_per_step(3) == 8 * 3
    assert make("pacs", mini_batch_size=0).config.transitions_per_step(3) == 32 * 3
    assert make("pacs").learn([episode("a", [1.0])], None)["gradient_steps"] == 0
    kept = [episode("a", [1.0]), episode("a", [0.0]), *[episode("b", [1.0])] * 2]
    assert make("pacs").learn(kept, None)["gradient_steps"] == 2, "the authors keep a group of equal outcomes"
    equal = [episode(task, [float(task == "a")]) for task in "ab" for _ in range(2)]
    assert make("pacs").learn(equal, None)["gradient_steps"] == 0, "all gradients would be 0"


def test_turns_that_are_too_long_are_left_out_of_an_episode() -> None:
    pacs: PACS = make("pacs", max_response_length=2, kl_probe=False)
    played = [episode("a", [0.0, 1.0], [1, 3]), episode("a", [0.0], [3])]
    metrics: dict[str, Any] = pacs.learn(played, None)
    assert metrics["gradient_steps"] == 1 and pacs.encoder.too_long == 2
    assert make("pacs", max_response_length=2).learn([episode("a", [0.0], [3])] * 2, None) == {
        "gradient_steps": 0.0, "informative": 0.0, "mean_return": 0.0,
    }  # fmt: skip
