"""PACS (arXiv 2509.02522; code: ritzz-ai/PACS): the policy is a classifier that tells the successes of a task
from its failures.

S_i is the sum of log π − log π_old over the policy's tokens in episode i of a task, and R_i ∈ {0, 1} its
success. For a group of G episodes:

    A_i = β S_i − mean_{j≠i} β S_j        loss = mean_i w_i · cross-entropy(σ(A_i), R_i)

w_i = G / (2 · number of episodes with the outcome R_i), or 1 if all outcomes are equal. While π = π_old, S
is 0, and with w = 1 the gradient is β times that of RLOO (Ahmadian et al. 2024), which is
−(1 / G) Σ_i (R_i − mean_{j≠i} R_j) ∇ S_i. A group with equal outcomes is learned too, because the authors'
code keeps it, with w = 1: after the steps of other groups, the loss reduces the differences between its
scores. If no group has both outcomes, all gradients are 0 and no step is taken.

Differences: an answer of the paper is an episode here, whose S is the sum over all turns. The more tokens it
has, the sooner the cross-entropy is saturated (metric ``total``: the mean of |S|), and ``beta`` should then
be smaller. Gradients are clipped to ``max_grad_norm``, which the authors' optimizer step does not do. A turn
that is too long to train on has no part in S. A task with one episode is left out.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from nlac_bench.baselines.config import PacsConfig
from nlac_bench.baselines.on_policy import OnPolicy, rewards_of
from nlac_bench.baselines.totals import ObjectiveUnit, steps_on_totals
from nlac_bench.learner.batch import TokenSequence
from nlac_bench.learner.outputs import Metrics
from nlac_bench.types import Episode


class PACS(OnPolicy[PacsConfig]):
    """Minimises the cross-entropy between an episode's success and its score within its task."""

    def learn(self, episodes: Sequence[Episode], max_steps: int | None) -> Metrics:
        """Take one gradient step for each mini-batch of tasks."""
        tasks: dict[str, list[tuple[bool, list[TokenSequence]]]] = {}
        for episode, turns in zip(episodes, self.turns(episodes), strict=True):
            own = [s for s in turns if s is not None]
            tasks.setdefault(episode.task_id, []).append((bool(episode.success), own))
        mixed = sum(len({success for success, _ in group}) > 1 for group in tasks.values())
        units = [
            ObjectiveUnit([turns for _, turns in group], self.objective([success for success, _ in group]))
            for group in tasks.values()
            if mixed and len(group) > 1 and any(turns for _, turns in group)
        ]
        metrics = steps_on_totals(self, units, max_steps)
        returns = sum(sum(rewards_of(e)) for e in episodes)
        return metrics | {"informative": mixed / len(tasks), "mean_return": returns / len(episodes)}

    def objective(self, successes: Sequence[bool]) -> Callable[[Tensor], Tensor]:
        """Return the loss of a group as a function of its episodes' totals S, ``[G]``."""
        labels_G = torch.tensor(successes, dtype=torch.float32)
        weights_G = balanced(labels_G) if self.config.class_weights else None

        def loss(totals_G: Tensor) -> Tensor:
            scores_G = self.config.beta * totals_G
            others_G = (scores_G.sum() - scores_G) / (len(scores_G) - 1)
            return binary_cross_entropy_with_logits(scores_G - others_G, labels_G, weights_G)

        return loss


def balanced(labels_G: Tensor) -> Tensor:
    """Return weights with which both outcomes of a group count the same; 1 if all are equal."""
    wins = float(labels_G.sum())
    losses = len(labels_G) - wins
    if not wins or not losses:
        return torch.ones_like(labels_G)
    return len(labels_G) / 2 / torch.where(labels_G > 0, wins, losses)
