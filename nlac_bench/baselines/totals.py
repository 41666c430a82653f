"""Gradient steps on objectives of totals: sums of log-ratios over a turn, an episode or a side of a pair.

Let S_g be the sum of log π − log π_old over the own tokens of group g. The gradient of any F(S_1 … S_G) is
Σ_g (∂F/∂S_g) Σ_{t∈g} ∇ log π_t. A pass without gradient gives S, autograd on this small vector gives the
slopes ∂F/∂S_g, and a step on the log-likelihood with these as weights has the gradient of F. This holds for
any packing, any micro-batches and any number of ranks. A loss sees one micro-batch at a time, and could not
compute F.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from nlac_bench.agents.initial_policy import with_kl
from nlac_bench.baselines.on_policy import OnPolicy
from nlac_bench.learner import losses, share
from nlac_bench.learner.batch import TokenBatch, TokenSequence
from nlac_bench.learner.outputs import LossFn, Metrics, Outputs, mean_of_steps
from nlac_bench.rollout.engines.engine import derive_seed


@dataclass(frozen=True)
class ObjectiveUnit:
    """Groups of sequences with a common objective, such as the episodes of a task; it is never divided.

    Args:
        groups: the sequences of each group; an episode's are its turns.
        objective: called with the totals of the groups, ``[G]``; returns a scalar to minimise.
    """

    groups: Sequence[Sequence[TokenSequence]]
    objective: Callable[[Tensor], Tensor]


def steps_on_totals(
    trainer: OnPolicy[Any],
    units: Sequence[ObjectiveUnit],
    max_steps: int | None,
    old: Literal["policy", "reference"] = "policy",
) -> Metrics:
    """Take one gradient step for each mini-batch of ``units``, on the mean of their objectives; return means.

    A mini-batch has ``mini_batch_size`` units. The metric ``objective`` is the mean before the step, and
    ``total`` the mean absolute total: an objective with a sigmoid is saturated where totals are large.

    Args:
        old: the log-probabilities that totals are relative to: those of the policy before the first step, or
            of the initial model, which must be kept (``TrainConfig.needs_reference``).
    """
    pairs = [(part, _packed(trainer, part)) for part in _mini_batches(trainer, units)][:max_steps]
    started = [trainer.learner.logprobs(batch, old) for _, batch in pairs]
    taken: list[Metrics] = []
    for (part, batch), old_BT in zip(pairs, started, strict=True):
        now_BT = trainer.learner.logprobs(batch) if taken or old == "reference" else old_BT
        value, totals_G, slopes_G = _slopes(part, batch, now_BT - old_BT)
        weighted = replace(batch, advantages=-slopes_G[batch.group_id])
        metrics = trainer.learner.forward_backward(weighted, _loss(trainer, batch))
        metrics |= {"objective": value, "total": float(totals_G.abs().mean())}
        taken.append(metrics | trainer.learner.optim_step())
    return mean_of_steps(taken)


def _mini_batches(trainer: OnPolicy[Any], units: Sequence[ObjectiveUnit]) -> Iterator[list[ObjectiveUnit]]:
    rng = np.random.default_rng(derive_seed(trainer.resources.seed, trainer.version, "units"))
    order, size = rng.permutation(len(units)), trainer.config.mini_batch_size or max(1, len(units))
    trainer.learned = [s for unit in units for group in unit.groups for s in group]
    for start in range(0, len(order), size):
        yield [units[i] for i in order[start : start + size]]


def _packed(trainer: OnPolicy[Any], part: Sequence[ObjectiveUnit]) -> TokenBatch:
    """Pack the sequences of ``part``; their ``group_id`` is the number of their group in it."""
    groups = [group for unit in part for group in unit.groups]
    numbered = [replace(s, group_id=number) for number, group in enumerate(groups) for s in group]
    return share.packed(numbered, trainer.config.row_tokens)


def _slopes(
    part: Sequence[ObjectiveUnit], batch: TokenBatch, ratios_BT: Tensor
) -> tuple[float, Tensor, Tensor]:
    """Return the mean objective of ``part``, its groups' totals and the slopes of the mean, ``[G]`` each."""
    sizes = [len(unit.groups) for unit in part]
    own_BT = ratios_BT * batch.loss_mask
    totals_G = torch.zeros(sum(sizes)).index_add(0, batch.group_id.flatten(), own_BT.flatten().float())

    def mean(totals_G: Tensor) -> Tensor:
        values = [u.objective(s) for u, s in zip(part, totals_G.split(sizes), strict=True)]
        return torch.stack(values).mean()

    value, slopes_G = losses.slopes(totals_G, mean)
    return value, totals_G, slopes_G


def _loss(trainer: OnPolicy[Any], whole: TokenBatch) -> LossFn:
    """Return the loss Σ slope · log π, whose gradient is that of the objective, plus the KL penalty."""
    mean, config = trainer.token_mean(whole), trainer.config

    def compute(outputs: Outputs, micro: TokenBatch) -> tuple[Tensor, dict[str, Tensor]]:
        assert micro.advantages is not None
        metrics: dict[str, Tensor] = {}
        total = -(micro.advantages * outputs.logprobs_BT * micro.loss_mask).sum()
        return with_kl(total, config, outputs, micro.loss_mask, mean, metrics), metrics

    return compute
