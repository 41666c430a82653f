"""Losses, advantages and targets as pure functions of tensors, independent of the algorithm.

Axes: B rows, T tokens, V vocabulary, N transitions. A mask is 1.0 on tokens that the policy itself sampled
(or on distillation targets) and 0.0 on prompts, observations and padding. Values at masked positions do not
influence a result, but must be finite if a gradient is taken (0 · ∞ is NaN). Losses are per token and
reduced by ``aggregate`` with a *global* denominator: if means per rank were averaged over ranks, a token's
weight would depend on the number of tokens on its rank.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

IMPORTANCE_CAP = 2.0
"""Largest importance weight of an advantage."""


class _SelectiveLogSoftmax(torch.autograd.Function):
    """log p(id) with the gradient 1[id] − softmax; the backward pass allocates one ``[B, T, V]`` array."""

    @staticmethod
    def forward(ctx: Any, logits_BTV: Tensor, ids_BT: Tensor) -> Tensor:
        normalizer_BT = logits_BTV.logsumexp(-1)
        ctx.save_for_backward(logits_BTV, ids_BT, normalizer_BT)
        return logits_BTV.gather(-1, ids_BT[..., None])[..., 0] - normalizer_BT

    @staticmethod
    def backward(ctx: Any, grad_BT: Tensor) -> tuple[Tensor, None]:
        logits_BTV, ids_BT, normalizer_BT = ctx.saved_tensors
        grad_BTV = (logits_BTV - normalizer_BT[..., None]).exp_().mul_(-grad_BT[..., None])
        return grad_BTV.scatter_add_(-1, ids_BT[..., None], grad_BT[..., None]), None


def selective_log_softmax(logits_BTV: Tensor, ids_BT: Tensor) -> Tensor:
    """Return the log-probabilities of ``ids_BT`` under ``logits_BTV``, ``[B, T]`` (or ``[M]``).

    They are computed in float32, or in float64 if the logits are.
    """
    wide_BTV = logits_BTV if logits_BTV.dtype == torch.float64 else logits_BTV.float()
    logprobs_BT: Tensor = _SelectiveLogSoftmax.apply(wide_BTV, ids_BT)  # type: ignore[no-untyped-call] # of torch
    return logprobs_BT


def restricted_log_softmax(logits_MV: Tensor, ids_M: Tensor, allowed_MA: Tensor) -> Tensor:
    """Return the log-probabilities of ``ids_M``, ``[M]``, restricted to the tokens of ``allowed_MA``.

    Rows of ``allowed_MA`` are padded with -1; one that begins with -1 does not restrict its token.
    """
    logprobs_M = selective_log_softmax(logits_MV, ids_M)
    (few_R,) = (allowed_MA[:, 0] >= 0).nonzero(as_tuple=True)
    if not len(few_R):
        return logprobs_M
    wide_RV = logits_MV[few_R] if logits_MV.dtype == torch.float64 else logits_MV[few_R].float()
    allowed_RA = allowed_MA[few_R]
    logits_RA = wide_RV.gather(1, allowed_RA.clamp(min=0)).masked_fill(allowed_RA < 0, -torch.inf)
    own_R = wide_RV.gather(1, ids_M[few_R][:, None])[:, 0]
    return logprobs_M.index_put((few_R,), own_R - logits_RA.logsumexp(1))


def entropy(logits_BTV: Tensor) -> Tensor:
    """Return the entropy of each next-token distribution in nats, ``[B, T]``."""
    logprobs_BTV = logits_BTV.log_softmax(-1)
    return -(logprobs_BTV.exp() * logprobs_BTV).sum(-1)


# --- advantages -----------------------------------------------------------------------------------


def gae(
    rewards_BT: Tensor,
    values_BT: Tensor,
    mask_BT: Tensor,
    *,
    gamma: float,
    lam: float,
    bootstrap_B: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return generalized advantage estimates over the policy's tokens (Schulman et al. 2016, eq. 16).

    Each row is one episode. Only the policy's tokens are time steps: the step after a turn's last token is
    the next turn's first token, and the observation tokens between them have no reward, value or discount.

    Args:
        rewards_BT: 0 wherever ``mask_BT`` is 0; the reward of an outcome is at the last action token.
        values_BT: the critic's value of the state in which each token was sampled.
        bootstrap_B: value of the state after each row's last token: the critic's value for truncated
            episodes, 0 (the default) for terminated ones.

    Returns:
        ``advantages_BT`` and ``returns_BT`` (advantage + value), both 0 where the mask is 0.

    Raises:
        ValueError: a reward is at a masked token.
    """
    if torch.any((rewards_BT != 0) & (mask_BT == 0)):
        raise ValueError(
            "rewards_BT has a reward at a masked token; move it to the last token that the policy sampled"
        )
    next_value_B = torch.zeros_like(values_BT[:, 0]) if bootstrap_B is None else bootstrap_B
    advantage_B = torch.zeros_like(next_value_B)
    columns = []
    for t in reversed(range(rewards_BT.shape[1])):
        own_B = mask_BT[:, t] != 0
        delta_B = rewards_BT[:, t] + gamma * next_value_B - values_BT[:, t]
        advantage_B = torch.where(own_B, delta_B + gamma * lam * advantage_B, advantage_B)
        next_value_B = torch.where(own_B, values_BT[:, t], next_value_B)
        columns.append(torch.where(own_B, advantage_B, torch.zeros_like(advantage_B)))
    advantages_BT = torch.stack(columns[::-1], dim=1)
    returns_BT = torch.where(mask_BT != 0, advantages_BT + values_BT, torch.zeros_like(values_BT))
    return advantages_BT, returns_BT


def whiten(x_BT: Tensor, mask_BT: Tensor, eps: float = 1e-8) -> Tensor:
    """Normalise ``x_BT`` to mean 0 and variance 1 over the mask; 0 where the mask is 0."""
    mask_BT = mask_BT.to(x_BT.dtype)
    kept_BT = torch.where(mask_BT != 0, x_BT, torch.zeros_like(x_BT))
    count = mask_BT.sum().clamp(min=1)
    mean = (kept_BT * mask_BT).sum() / count
    # Two passes, since a difference of large sums loses the variance of nearly equal advantages.
    variance = (((kept_BT - mean) ** 2) * mask_BT).sum() / count
    return (kept_BT - mean) * torch.rsqrt(variance + eps) * mask_BT


def group_advantages(rewards_N: Tensor, groups_N: Tensor, *, eps: float = 1e-6, scale: bool = True) -> Tensor:
    """Return GRPO's advantages, ``[N]``: (reward − mean of its group) / standard deviation of its group.

    Shao et al. 2024, section 4.1.2. The standard deviation is that of a sample (n - 1), as in public
    trainers. Advantages are 0 in a group of one episode and in a group with equal rewards. (Some trainers
    keep the raw reward of a single episode, which reinforces every success.)

    Args:
        rewards_N: the return of each episode.
        groups_N: the index of each episode's prompt; any integers.
        eps: added to the standard deviation.
        scale: False omits the division (Liu et al. 2025).
    """
    _, index_N, counts_G = groups_N.unique(return_inverse=True, return_counts=True)
    zeros_G = torch.zeros(len(counts_G), dtype=rewards_N.dtype, device=rewards_N.device)
    mean_G = zeros_G.index_add(0, index_N, rewards_N) / counts_G
    centred_N = rewards_N - mean_G[index_N]
    largest_G = zeros_G.scatter_reduce(0, index_N, rewards_N, "amax", include_self=False)
    smallest_G = zeros_G.scatter_reduce(0, index_N, rewards_N, "amin", include_self=False)
    informative_N = (largest_G > smallest_G)[index_N]  # rounding must not turn equal rewards into advantages
    if scale:
        squares_G = zeros_G.index_add(0, index_N, centred_N**2)
        std_G = (squares_G / (counts_G - 1).clamp(min=1)).sqrt()
        centred_N = centred_N / (std_G[index_N] + eps)
    return torch.where(informative_N, centred_N, torch.zeros_like(centred_N))


# --- losses per token -----------------------------------------------------------------------------


def ppo_policy_loss(
    logprobs_BT: Tensor,
    old_logprobs_BT: Tensor,
    advantages_BT: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
) -> Tensor:
    """Return PPO's clipped surrogate as a loss per token (Schulman et al. 2017, eq. 7), ``[B, T]``.

    The log-ratio is clamped to ±20 before the exponential, so that one wrong log-probability does not make
    the whole step infinite.
    """
    ratio_BT = (logprobs_BT - old_logprobs_BT).clamp(-20, 20).exp()
    clipped_BT = ratio_BT.clamp(1 - clip_low, 1 + clip_high)
    return -torch.minimum(ratio_BT * advantages_BT, clipped_BT * advantages_BT)


def importance(logprobs: Tensor, old_logprobs: Tensor) -> Tensor:
    """Return π / π_old without gradient, but at most ``IMPORTANCE_CAP``, for the weights of advantages.

    Truncated importance sampling (Ionides 2008), for tokens or, by their sums, for whole actions.
    """
    return (logprobs - old_logprobs).detach().exp().clamp(max=IMPORTANCE_CAP)


def value_loss(values_BT: Tensor, old_values_BT: Tensor, returns_BT: Tensor, *, clip: float) -> Tensor:
    """Return half the squared error, clipped around old values as in PPO's reference code, ``[B, T]``."""
    near_BT = old_values_BT + (values_BT - old_values_BT).clamp(-clip, clip)
    return 0.5 * torch.maximum((values_BT - returns_BT) ** 2, (near_BT - returns_BT) ** 2)


def full_kl(logits_BTV: Tensor, ref_logits_BTV: Tensor) -> Tensor:
    """Return KL(π ‖ π_ref) of each next-token distribution, over the whole vocabulary, in nats, ``[B, T]``.

    It is exact in every state, so it can be used on tokens that another policy sampled.
    """
    logprobs_BTV, ref_BTV = logits_BTV.log_softmax(-1), ref_logits_BTV.log_softmax(-1)
    return (logprobs_BTV.exp() * (logprobs_BTV - ref_BTV)).sum(-1)


# --- soft actor-critic at the turn level ----------------------------------------------------------


def sac_target(
    rewards_N: Tensor,
    terminated_N: Tensor,
    next_q1_N: Tensor,
    next_q2_N: Tensor,
    next_logprobs_N: Tensor,
    *,
    gamma: float,
    alpha: float,
) -> Tensor:
    """Return SAC's target (Haarnoja et al. 2018), ``[N]``.

    y = r + γ (1 − terminated) [min(Q̄₁, Q̄₂)(s′, a′) − α log π(a′ | s′)]

    ``next_logprobs_N`` are sums over an action's tokens. They grow with its length, so α = 0 is a sensible
    choice if actions are whole turns. No gradient flows through the target. Truncated episodes are not
    terminated and therefore bootstrap.
    """
    soft_N = torch.minimum(next_q1_N, next_q2_N) - alpha * next_logprobs_N
    return (rewards_N + gamma * (1 - terminated_N.to(soft_N.dtype)) * soft_N).detach()


def twin_q_loss(q1_N: Tensor, q2_N: Tensor, target_N: Tensor) -> Tensor:
    """Return half the sum of the squared errors of both heads, ``[N]``."""
    return 0.5 * ((q1_N - target_N) ** 2 + (q2_N - target_N) ** 2)


# --- objectives of totals ---------------------------------------------------------------------------


def slopes(totals_G: Tensor, objective: Callable[[Tensor], Tensor]) -> tuple[float, Tensor]:
    """Return ``objective(totals_G)``, a scalar, and its derivative by each total, ``[G]``."""
    free_G = totals_G.detach().clone().requires_grad_()
    with torch.enable_grad():
        value = objective(free_G)
    (slopes_G,) = torch.autograd.grad(value, free_G)
    return float(value.detach()), slopes_G


# --- reduction ------------------------------------------------------------------------------------


def aggregate(loss_BT: Tensor, mask_BT: Tensor, tokens: Tensor | float) -> Tensor:
    """Return this shard's part of the mean over tokens; the parts of all shards *sum* to the batch's loss.

    Masked positions are set to 0 before the sum, so that an infinity or NaN there has no effect.

    Args:
        tokens: number of tokens with mask 1 in the whole batch, at least 1.
    """
    loss_BT = torch.where(mask_BT != 0, loss_BT, torch.zeros_like(loss_BT)) * mask_BT
    return loss_BT.sum() / tokens
