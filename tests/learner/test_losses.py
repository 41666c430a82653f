"""Losses, advantages and targets by hand, and what must hold of them; see also ``test_losses_naive.py``."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from nlac_bench.learner import losses

TOLERANCE: Any = {"rtol": 0.0, "atol": 1e-10}


def ragged(seed: int, rows: int = 6, length: int = 23) -> tuple[Tensor, Tensor, Tensor]:
    """Random multi-turn rows: turns of the policy between observations, padding at the end."""
    generator = torch.Generator().manual_seed(seed)
    mask_BT = torch.zeros(rows, length, dtype=torch.float64)
    for row in mask_BT:
        t = int(torch.randint(0, 4, (1,), generator=generator))
        end = int(torch.randint(length // 2, length, (1,), generator=generator))
        while t < end:
            turn = int(torch.randint(1, 5, (1,), generator=generator))
            row[t : min(t + turn, end)] = 1
            t += turn + int(torch.randint(1, 4, (1,), generator=generator))
    rewards_BT = torch.randn(rows, length, generator=generator, dtype=torch.float64) * mask_BT
    values_BT = torch.randn(rows, length, generator=generator, dtype=torch.float64)
    return mask_BT, rewards_BT, values_BT


def naive_gae(
    rewards: list[float], values: list[float], gamma: float, lam: float, bootstrap: float
) -> list[float]:
    """The definition: Σ (γλ)^l δ over one row's own tokens."""
    n = len(rewards)
    following = [*values[1:], bootstrap]
    deltas = [rewards[t] + gamma * following[t] - values[t] for t in range(n)]
    return [sum((gamma * lam) ** (k - t) * deltas[k] for k in range(t, n)) for t in range(n)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.99, 0.95), (0.9, 0.0)])
def test_gae_equals_the_definition_on_own_tokens(seed: int, gamma: float, lam: float) -> None:
    mask_BT, rewards_BT, values_BT = ragged(seed)
    bootstrap_B = torch.randn(len(mask_BT), dtype=torch.float64)
    advantages_BT, returns_BT = losses.gae(
        rewards_BT, values_BT, mask_BT, gamma=gamma, lam=lam, bootstrap_B=bootstrap_B
    )
    for b in range(len(mask_BT)):
        own = mask_BT[b].nonzero()[:, 0].tolist()
        expected = naive_gae(
            rewards_BT[b, own].tolist(), values_BT[b, own].tolist(), gamma, lam, float(bootstrap_B[b])
        )
        torch.testing.assert_close(advantages_BT[b, own].tolist(), expected, **TOLERANCE)
    torch.testing.assert_close(returns_BT, (advantages_BT + values_BT) * mask_BT, **TOLERANCE)
    assert not advantages_BT[mask_BT == 0].any()


def test_gae_by_hand() -> None:
    # Two turns of one token with an observation between; γ = 0.5, λ = 0.5, reward 1 at the end.
    # δ₂ = 1 − 0.4 = 0.6; δ₁ = 0.5·0.4 − 0.2 = 0; A₁ = 0 + 0.25·0.6 = 0.15
    rewards_BT = torch.tensor([[0.0, 0.0, 1.0, 0.0]])
    values_BT = torch.tensor([[0.2, 9.0, 0.4, 9.0]])
    mask_BT = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    advantages_BT, returns_BT = losses.gae(rewards_BT, values_BT, mask_BT, gamma=0.5, lam=0.5)
    torch.testing.assert_close(advantages_BT, torch.tensor([[0.15, 0.0, 0.6, 0.0]]))
    torch.testing.assert_close(returns_BT, torch.tensor([[0.35, 0.0, 1.0, 0.0]]))
    # A cut row bootstraps: δ₂ = 1 + 0.5·2 − 0.4 = 1.6; A₁ = 0.4
    advantages_BT, _ = losses.gae(
        rewards_BT, values_BT, mask_BT, gamma=0.5, lam=0.5, bootstrap_B=torch.tensor([2.0])
    )
    torch.testing.assert_close(advantages_BT, torch.tensor([[0.4, 0.0, 1.6, 0.0]]))


def test_gae_does_not_depend_on_observations() -> None:
    mask_BT, rewards_BT, values_BT = ragged(3)
    noisy_BT = torch.where(mask_BT != 0, values_BT, torch.full_like(values_BT, math.nan))
    for left, right in zip(
        losses.gae(rewards_BT, values_BT, mask_BT, gamma=0.99, lam=0.95),
        losses.gae(rewards_BT, noisy_BT, mask_BT, gamma=0.99, lam=0.95),
        strict=True,
    ):
        assert torch.equal(left, right)


def test_gae_refuses_a_reward_that_would_be_lost() -> None:
    with pytest.raises(ValueError, match="reward at a masked token"):
        losses.gae(torch.ones(1, 2), torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), gamma=1.0, lam=1.0)


@pytest.mark.parametrize("seed", range(3))
def test_whiten(seed: int) -> None:
    mask_BT, _, x_BT = ragged(seed)
    x_BT = torch.where(mask_BT != 0, 1e6 + x_BT, torch.full_like(x_BT, math.inf))
    whole_BT = losses.whiten(x_BT, mask_BT)
    own = whole_BT[mask_BT != 0]
    torch.testing.assert_close(own.mean().item(), 0.0, rtol=0, atol=1e-6)
    torch.testing.assert_close(own.var(unbiased=False).item(), 1.0, rtol=0, atol=1e-6)
    assert not whole_BT[mask_BT == 0].any()


def test_whiten_by_hand() -> None:
    x_BT = torch.tensor([[1.0, 9.0], [3.0, 5.0]], dtype=torch.float64)
    mask_BT = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    # 1, 3, 5: mean 3, variance 8/3
    expected_BT = torch.tensor([[-math.sqrt(1.5), 0.0], [0.0, math.sqrt(1.5)]], dtype=torch.float64)
    torch.testing.assert_close(losses.whiten(x_BT, mask_BT, eps=0.0), expected_BT, **TOLERANCE)


def test_group_advantages_by_hand() -> None:
    rewards_N = torch.tensor([1.0, 0.0, 1.0, 1.0, 7.0, 0.1, 0.1, 0.1], dtype=torch.float64)
    groups_N = torch.tensor([4, 4, 4, 4, 9, 2, 2, 2])
    advantages_N = losses.group_advantages(rewards_N, groups_N, eps=0.0)
    # Group 4: mean 0.75, sample deviation 0.5. Group 9 is alone, group 2 has nothing to compare.
    torch.testing.assert_close(
        advantages_N, torch.tensor([0.5, -1.5, 0.5, 0.5, 0, 0, 0, 0], dtype=torch.float64), **TOLERANCE
    )
    unscaled_N = losses.group_advantages(rewards_N, groups_N, scale=False)
    torch.testing.assert_close(unscaled_N[:4].tolist(), [0.25, -0.75, 0.25, 0.25], **TOLERANCE)


@pytest.mark.parametrize("seed", range(5))
def test_group_advantages_equal_a_loop(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rewards_N = torch.randn(40, generator=generator, dtype=torch.float64)
    groups_N = torch.randint(0, 9, (40,), generator=generator)
    advantages_N = losses.group_advantages(rewards_N, groups_N, eps=1e-6)
    for g in range(9):
        rewards = rewards_N[groups_N == g]
        expected = (rewards - rewards.mean()) / (rewards.std() + 1e-6) if len(rewards) > 1 else rewards * 0
        torch.testing.assert_close(advantages_N[groups_N == g], expected, **TOLERANCE)


def test_ppo_policy_loss_by_hand() -> None:
    ratio_BT = torch.tensor([[1.5, 0.5, 1.5, 0.5, 1.0]], dtype=torch.float64)
    advantages_BT = torch.tensor([[2.0, 2.0, -2.0, -2.0, 3.0]], dtype=torch.float64)
    loss_BT = losses.ppo_policy_loss(ratio_BT.log(), torch.zeros(1, 5, dtype=torch.float64), advantages_BT)
    # Good and already likelier: capped at 1.2; bad and already less likely: capped at 0.8.
    torch.testing.assert_close(
        loss_BT, torch.tensor([[-2.4, -1.0, 3.0, 1.6, -3.0]], dtype=torch.float64), **TOLERANCE
    )


def test_ppo_gradient_is_the_policy_gradient_at_ratio_one() -> None:
    logprobs_BT = torch.randn(2, 5, dtype=torch.float64, requires_grad=True)
    advantages_BT = torch.randn(2, 5, dtype=torch.float64)
    losses.ppo_policy_loss(logprobs_BT, logprobs_BT.detach(), advantages_BT).sum().backward()
    torch.testing.assert_close(logprobs_BT.grad, -advantages_BT, **TOLERANCE)


def test_ppo_survives_a_broken_logprob() -> None:
    loss_BT = losses.ppo_policy_loss(torch.tensor([[0.0]]), torch.tensor([[-1e4]]), torch.tensor([[-1.0]]))
    assert torch.isfinite(loss_BT).all()


def test_value_loss_by_hand() -> None:
    # Old value 0, return 1, clip 0.5: at 0.2 unclipped; at 0.8 the clipped 0.5 is farther off.
    values_BT = torch.tensor([[0.2, 0.8, -0.8]], dtype=torch.float64)
    old_BT, returns_BT = torch.zeros(1, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    torch.testing.assert_close(
        losses.value_loss(values_BT, old_BT, returns_BT, clip=0.5),
        torch.tensor([[0.32, 0.125, 1.62]], dtype=torch.float64),
        **TOLERANCE,
    )


def test_full_kl_by_hand() -> None:
    p_V, q_V = torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.float64)  # ½ ln 2 + ½ ln ⅔
    divergence = losses.full_kl(p_V.log(), q_V.log()).item()
    torch.testing.assert_close(divergence, 0.5 * math.log(4 / 3), **TOLERANCE)
    generator = torch.Generator().manual_seed(0)
    logits_V, ref_V = torch.randn(2, 7, generator=generator, dtype=torch.float64)
    p_V, q_V = logits_V.softmax(-1), ref_V.softmax(-1)
    exact = sum(p * math.log(p / q) for p, q in zip(p_V.tolist(), q_V.tolist(), strict=True))
    torch.testing.assert_close(
        losses.full_kl(logits_V[None, None], ref_V[None, None]).item(), exact, **TOLERANCE
    )


def test_selective_log_softmax_and_entropy() -> None:
    logits_BTV = torch.randn(3, 4, 11, dtype=torch.float64)
    ids_BT = torch.randint(0, 11, (3, 4))
    ours_BT, entropy_BT = losses.selective_log_softmax(logits_BTV, ids_BT), losses.entropy(logits_BTV)
    for b in range(3):
        for t in range(4):
            exps = [math.exp(x) for x in logits_BTV[b, t].tolist()]
            probs = [x / sum(exps) for x in exps]
            assert math.isclose(ours_BT[b, t].item(), math.log(probs[ids_BT[b, t]]), abs_tol=1e-12)
            assert math.isclose(entropy_BT[b, t].item(), -sum(p * math.log(p) for p in probs), abs_tol=1e-12)
    assert losses.selective_log_softmax(logits_BTV.bfloat16(), ids_BT).dtype == torch.float32


def test_sac_target_and_loss_by_hand() -> None:
    target_N = losses.sac_target(
        rewards_N=torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64),
        terminated_N=torch.tensor([False, True, False]),
        next_q1_N=torch.tensor([0.8, 5.0, 0.3], dtype=torch.float64),
        next_q2_N=torch.tensor([0.6, 5.0, 0.9], dtype=torch.float64),
        next_logprobs_N=torch.tensor([-2.0, -2.0, -1.0], dtype=torch.float64),
        gamma=0.5,
        alpha=0.1,
    )
    # 0.5·(0.6 + 0.2); terminated: only r; 0.5·(0.3 + 0.1)
    torch.testing.assert_close(target_N, torch.tensor([0.4, 1.0, 0.2], dtype=torch.float64), **TOLERANCE)
    q_N = torch.tensor([0.0, 0.5, 0.2], dtype=torch.float64, requires_grad=True)
    loss_N = losses.twin_q_loss(q_N, q_N, target_N)
    torch.testing.assert_close(loss_N, torch.tensor([0.16, 0.25, 0.0], dtype=torch.float64), **TOLERANCE)
    loss_N.sum().backward()
    torch.testing.assert_close(q_N.grad, 2 * (q_N.detach() - target_N), **TOLERANCE)


def mean(loss_BT: Tensor, mask_BT: Tensor) -> Tensor:
    return losses.aggregate(loss_BT, mask_BT, (mask_BT != 0).sum())


def test_aggregation_by_hand() -> None:
    loss_BT = torch.tensor([[1.0, 3.0, math.nan], [8.0, math.inf, 0.0]])
    mask_BT = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    assert mean(loss_BT, mask_BT).item() == 4.0


@pytest.mark.parametrize("seed", range(3))
def test_aggregation_is_invariant_under_sharding(seed: int) -> None:
    mask_BT, _, loss_BT = ragged(seed, rows=9)
    mask_BT[4] = 0  # a row without a single own token
    parts = [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 9)]
    count = sum((mask_BT[p] != 0).sum() for p in parts)
    summed = sum(losses.aggregate(loss_BT[p], mask_BT[p], count) for p in parts)
    torch.testing.assert_close(summed, mean(loss_BT, mask_BT), **TOLERANCE)


def test_masked_positions_change_no_gradient() -> None:
    mask_BT, _, loss_BT = ragged(1)
    gradients = []
    for garbage in (0.0, 1e30):
        x_BT = torch.where(mask_BT != 0, loss_BT, torch.full_like(loss_BT, garbage)).requires_grad_()
        mean(x_BT**2, mask_BT).backward()
        assert x_BT.grad is not None
        gradients.append(x_BT.grad)
    assert torch.equal(gradients[0] * mask_BT, gradients[1] * mask_BT)
    assert not gradients[1][mask_BT == 0].any()
