"""Places on a board as intervals, from the significant differences among all pairs of its entries.

"Shares a place where the difference is not significant" is not transitive: A and B, and B and C, may not be
told apart although A is better than C. An interval of places for each entry is. If the pairs' tests together
make an error with a probability of at most 5 % (Holm over all pairs), then all intervals hold at once with at
least 95 % (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024). docs/statistics.md shows
how often they hold in simulations.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from nlac_bench.eval.statistics.distributions import t_cdf
from nlac_bench.eval.statistics.intervals import Floats


@dataclass(frozen=True, slots=True)
class Place:
    """An interval of places, from ``best`` to ``worst``; 1 is the first place."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def places(entries: int, better: Iterable[tuple[int, int]]) -> list[Place]:
    """Return the place of each of ``entries``: from 1 + (entries that are better) to m − (entries that are
    worse).

    With the true differences in place of the significant ones, this is the true place: entries that are
    equal share an interval.

    Args:
        entries: number of entries m.
        better: pairs (winner, loser) of indices from 0, one for every pair that differs significantly.
    """
    best, worst = [1] * entries, [entries] * entries
    for winner, loser in better:
        best[loser] += 1
        worst[winner] -= 1
    return [Place(low, high) for low, high in zip(best, worst, strict=True)]


def pooled_p(means_ST: Sequence[Floats]) -> list[float]:
    """Return the p-value of each pair of algorithms, with the spread between seeds pooled over all of them.

    ``compare_algorithms`` estimates this spread from the seeds of two algorithms. With two seeds each that
    is two numbers, which are too small by luck now and then; among the many pairs of a board one such pair is
    almost certain. All algorithms of a board together have more seeds. As in an analysis of variance, the
    spread is taken to be the same for all of them; the error of a pair has the degrees of freedom of this
    spread, as if only seeds mattered. Boards use the larger of this p-value and that of
    ``compare_algorithms``.

    Args:
        means_ST: for each algorithm ``[seeds, tasks]`` success rates of the same tasks, at least two seeds.

    Returns:
        One p-value per pair, in the order of ``itertools.combinations``.
    """
    n = means_ST[0].shape[1]
    df = sum(len(means) - 1 for means in means_ST)
    between = sum(float(((m.mean(axis=1) - m.mean()) ** 2).sum()) for m in means_ST) / df
    noise = [_cell_noise(means) for means in means_ST]
    found = []
    for i, j in combinations(range(len(means_ST)), 2):
        a, b = means_ST[i], means_ST[j]
        by_task = a.mean(axis=0) - b.mean(axis=0)
        over_seeds = between * (1 / len(a) + 1 / len(b))
        over_tasks = float(by_task.var(ddof=1)) / n if n > 1 else math.inf
        # The noise of single episodes is in both, so it is subtracted once.
        variance = max(over_seeds + over_tasks - noise[i] - noise[j], over_seeds, over_tasks)
        difference = abs(float(by_task.mean()))
        p = 2 * (1 - t_cdf(difference / math.sqrt(variance), max(1, min(df, n - 1)))) if variance > 0 else 1.0
        found.append(p)
    return found


def _cell_noise(means: Floats) -> float:
    """Return the variance that single cells of ``[seeds, tasks]`` add to their mean."""
    seeds, n = means.shape
    if n < 2:
        return 0.0
    residual = means - means.mean(axis=1)[:, None] - means.mean(axis=0) + means.mean()
    return float(np.square(residual).sum()) / ((seeds - 1) * (n - 1)) / (seeds * n)
