"""Losses, advantages and targets against loops over plain floats: ragged multi-turn episodes, float64, 1e-6.

The loops know no tensor and no mask: an episode is its turns, a turn its own tokens, a token its numbers.
"""

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from nlac_bench.learner import losses
from tests.learner.test_losses import ragged

close = partial(torch.testing.assert_close, rtol=0.0, atol=1e-6)
SHARDS = [slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 9)]
GARBAGE = pytest.mark.parametrize(("seed", "garbage"), [(0, math.nan), (1, math.inf), (2, -math.inf)])

Episode = list[list[list[Any]]]
Reference = Callable[..., tuple[float, ...]]
"""A token's loss, and the slope of it along each number that is learned."""


def float64(numbers: list[float]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def batch(seed: int, garbage: float) -> tuple[Tensor, dict[str, Tensor]]:
    """Nine rows, one of them without an own token, and ``garbage`` on all that the policy did not sample."""
    mask_BT = ragged(seed, rows=9)[0]
    mask_BT[4] = 0
    generator = torch.Generator().manual_seed(seed)

    def noise(*tail: int) -> Tensor:
        return torch.randn(*mask_BT.shape, *tail, generator=generator, dtype=torch.float64)

    old_BT, gap_BT = noise() - 2, noise()
    broken_BT = noise().abs() > 1.5  # log-ratios far beyond ±20
    columns = {
        "logprob": old_BT + torch.where(broken_BT, 100 * gap_BT, 0.3 * gap_BT),
        "old_logprob": old_BT,
        "ref_logprob": old_BT + noise(),
        "logits": noise(7),
        "ref_logits": noise(7),
        "twin_q": noise(2),
    } | {name: noise() for name in ("advantage", "value", "old_value", "return", "target")}
    for x in columns.values():
        x[mask_BT == 0] = garbage
    return mask_BT, columns


def episodes(mask_BT: Tensor, *columns: Tensor) -> list[Episode]:
    numbers = [x.tolist() for x in columns]
    found: list[Episode] = []
    for b, mask in enumerate(mask_BT.tolist()):
        turns: Episode = []
        for t, own in enumerate(mask):
            if own:
                if t == 0 or not mask[t - 1]:
                    turns.append([])
                turns[-1].append([x[b][t] for x in numbers])
        found.append(turns)
    return found


def naive_ppo(
    new: float, old: float, advantage: float, clip_low: float, clip_high: float
) -> tuple[float, float]:
    ratio = math.exp(max(-20.0, min(20.0, new - old)))
    if advantage > 0 and ratio > 1 + clip_high:
        return -advantage * (1 + clip_high), 0.0
    if advantage < 0 and ratio < 1 - clip_low:
        return -advantage * (1 - clip_low), 0.0
    return -advantage * ratio, -advantage * ratio if abs(new - old) < 20 else 0.0


def naive_value(value: float, old: float, goal: float, clip: float) -> tuple[float, float]:
    bounded = old + math.copysign(clip, value - old) if abs(value - old) > clip else value
    if abs(bounded - goal) > abs(value - goal):
        return (bounded - goal) ** 2 / 2, 0.0
    return (value - goal) ** 2 / 2, value - goal


def softmax(logits: list[float]) -> list[float]:
    return [math.exp(x) / sum(math.exp(y) for y in logits) for x in logits]


def naive_full_kl(logits: list[float], ref_logits: list[float]) -> tuple[float, ...]:
    pairs = list(zip(softmax(logits), softmax(ref_logits), strict=True))
    kl = sum(p * math.log(p / q) for p, q in pairs)
    return kl, *(p * (math.log(p / q) - kl) for p, q in pairs)


def naive_twin_q(twin_q: list[float], target: float) -> tuple[float, ...]:
    return sum((q - target) ** 2 / 2 for q in twin_q), *(q - target for q in twin_q)


def twin_q_loss(twin_q_BT2: Tensor, target_BT: Tensor) -> Tensor:
    return losses.twin_q_loss(twin_q_BT2[..., 0], twin_q_BT2[..., 1], target_BT)


LOSSES: dict[str, tuple[Callable[..., Tensor], Reference, dict[str, Any], list[str]]] = {
    "value": (losses.value_loss, naive_value, {"clip": 0.5}, ["value", "old_value", "return"]),
    "full_kl": (losses.full_kl, naive_full_kl, {}, ["logits", "ref_logits"]),
    "twin_q": (twin_q_loss, naive_twin_q, {}, ["twin_q", "target"]),
}
for low, high in ((0.1, 0.3), (0.3, 0.1)):
    clips, names = {"clip_low": low, "clip_high": high}, ["logprob", "old_logprob", "advantage"]
    LOSSES[f"ppo {low} {high}"] = losses.ppo_policy_loss, naive_ppo, clips, names


@GARBAGE
@pytest.mark.parametrize("name", LOSSES)
def test_tokens_and_shards_equal_a_loop(name: str, seed: int, garbage: float) -> None:
    ours, reference, options, names = LOSSES[name]
    mask_BT, columns = batch(seed, garbage)
    inputs = [columns[n] for n in names]
    played = [[token for turn in turns for token in turn] for turns in episodes(mask_BT, *inputs) if turns]
    each, slopes, expected = [], [], 0.0
    for tokens in played:
        divisor = sum(len(other) for other in played)
        for token in tokens:
            loss, *along = reference(*token, **options)
            each.append(loss)
            expected += loss / divisor
            slopes += [slope / divisor for slope in along]
    inputs[0].requires_grad_()
    own_BT, whole = mask_BT != 0, (mask_BT != 0).sum()
    parts = [
        losses.aggregate(ours(*(x[rows] for x in inputs), **options), mask_BT[rows], whole) for rows in SHARDS
    ]
    torch.stack(parts).sum().backward()
    assert inputs[0].grad is not None
    close(ours(*inputs, **options)[own_BT], float64(each))
    close(torch.stack(parts).sum(), torch.tensor(expected, dtype=torch.float64))
    close(inputs[0].grad[own_BT].flatten(), float64(slopes))


@GARBAGE
def test_ppo_gradient_is_zero_on_masked_logprobs(seed: int, garbage: float) -> None:
    mask_BT, columns = batch(seed, garbage)
    logprobs_BT = columns["logprob"].requires_grad_()
    advantages_BT = columns["advantage"].masked_fill(mask_BT == 0, 0)  # as ``gae`` leaves them
    loss_BT = losses.ppo_policy_loss(logprobs_BT, columns["old_logprob"], advantages_BT)
    losses.aggregate(loss_BT, mask_BT, 1.0).backward()
    assert logprobs_BT.grad is not None and not logprobs_BT.grad[mask_BT == 0].any()


@pytest.mark.parametrize("seed", range(5))
def test_sac_target_equals_a_loop_over_turns(seed: int) -> None:
    """Q stands on a turn's last token. Odd rows were cut: their last turn was proposed, but not played."""
    mask_BT, rewards_BT, q1_BT = ragged(seed)
    generator = torch.Generator().manual_seed(seed)
    q2_BT, logprobs_BT = torch.randn(2, *mask_BT.shape, generator=generator, dtype=torch.float64)
    gamma, alpha, expected = 0.9, 0.2, []
    for b, turns in enumerate(episodes(mask_BT, rewards_BT, q1_BT, q2_BT, logprobs_BT)):
        for turn, following in zip(turns, [*turns[1:], None], strict=True):
            y = sum(reward for reward, *_ in turn)
            if following is not None:
                _, q1, q2, _ = following[-1]
                y += gamma * ((q1 if q1 < q2 else q2) - alpha * sum(token[3] for token in following))
            if following is not None or b % 2 == 0:
                expected.append(y)
    own_BT = mask_BT != 0
    ends_BT = own_BT & ~own_BT.roll(-1, dims=1)  # the last column is padding
    row_N = ends_BT.nonzero()[:, 0]
    last_N = row_N != row_N.roll(-1)
    played_N = ~last_N | (row_N % 2 == 0)
    turn_M = ends_BT[own_BT].cumsum(0) - ends_BT[own_BT].long()
    sums_2N = torch.zeros(2, len(row_N), dtype=torch.float64)
    sums_2N.index_add_(1, turn_M, torch.stack([rewards_BT, logprobs_BT])[:, own_BT])
    following_3N = torch.stack([q1_BT[ends_BT], q2_BT[ends_BT], sums_2N[1]]).roll(-1, dims=1).requires_grad_()
    rewards_N, (q1_N, q2_N, logprobs_N) = sums_2N[0, played_N], following_3N[:, played_N]
    target_N = losses.sac_target(
        rewards_N, last_N[played_N], q1_N, q2_N, logprobs_N, gamma=gamma, alpha=alpha
    )
    assert not target_N.requires_grad
    close(target_N, float64(expected))


@GARBAGE
def test_whiten_equals_a_loop(seed: int, garbage: float) -> None:
    mask_BT, columns = batch(seed, garbage)
    own = [x for turns in episodes(mask_BT, columns["advantage"]) for turn in turns for (x,) in turn]
    mean, deviation = statistics.fmean(own), statistics.pstdev(own)
    white_BT = losses.whiten(columns["advantage"], mask_BT)
    close(white_BT[mask_BT != 0], float64([(x - mean) / deviation for x in own]))
    assert not white_BT[mask_BT == 0].any()
