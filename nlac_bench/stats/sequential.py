"""Decides after each group of training seeds whether two algorithms differ.

It is a group-sequential permutation test that follows AdaStop (Mathieu et al. 2023). Under the null
hypothesis the labels of the seeds of one group can be exchanged, so the boundary of each look is a quantile
of the statistic over all exchanges. The error that the looks spend sums to the level, so looking often does
not raise the family-wise error. Several comparisons are tested by Holm's method (Ye et al. 2013), which needs
no assumption about their dependence; AdaStop tests the maximum of their statistics instead.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from nlac_bench.stats.distributions import normal_cdf, t_quantile
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.verdicts import ALPHA, Verdict

GROUP = 3
"""Seeds of each algorithm that are added at once."""
FEWEST_LOOKS = 2
"""Looks from which a comparison can be decided: one group of three seeds has only 20 exchanges."""
HOPELESS = 0.1
"""Probability of a later verdict, if the observed difference is the true one, below which it is out of
reach."""

_ALL_PATHS = 10_000
_DRAWN_PATHS = 10_000
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Decision:
    """The state of a comparison, A minus B.

    ``verdict`` is None while more seeds are needed. ``out_of_reach`` says that it was given up as not
    distinguishable before its last look. ``seeds`` is the number of seeds of B that the test has used.
    """

    verdict: Verdict | None
    seeds: int
    out_of_reach: bool = False

    def __str__(self) -> str:
        verdict = "undecided" if self.verdict is None else self.verdict
        why = ", another verdict is out of reach" if self.out_of_reach else ""
        return f"{verdict} after {self.seeds} seeds{why}"

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return {"verdict": self.verdict, "seeds": self.seeds, "out_of_reach": self.out_of_reach}


def decide(
    a: Sequence[float], others: Mapping[str, Sequence[float]], looks: int, level: float = ALPHA
) -> dict[str, Decision]:
    """Return the decision of A against each of ``others``, replaying all looks from the first.

    Args:
        a: the success rate of each seed, in the order in which they were added; seeds beyond the last whole
            group are not used.
        others: the same of the algorithms that A is compared with.
        looks: planned number of looks, each after ``GROUP`` further seeds.
        level: the family-wise error probability.
    """
    decisions: dict[str, Decision] = {}
    undecided = dict(others)
    for look in range(1, looks + 1):
        seeds = look * GROUP
        at_hand = {name: b for name, b in undecided.items() if len(b) >= seeds <= len(a)}
        while at_hand:
            share = level / (len(others) - _rejections(decisions))
            rejected = [
                name for name, b in at_hand.items() if rejects(a[:seeds], b[:seeds], look, looks, share)
            ]
            if not rejected:
                break
            for name in rejected:
                b = at_hand.pop(name)[:seeds]
                better: Verdict = "A better" if sum(a[:seeds]) > sum(b) else "B better"
                decisions[name] = Decision(better, seeds)
                del undecided[name]
        for name, b in at_hand.items():
            share = level / (len(others) - _rejections(decisions))
            last = look == looks
            hopeless = look >= FEWEST_LOOKS and (
                later_verdict(a[:seeds], b[:seeds], look, looks, share) < HOPELESS
            )
            if last or hopeless:
                decisions[name] = Decision("not distinguishable", seeds, out_of_reach=not last)
                del undecided[name]
    for name, b in undecided.items():
        decisions[name] = Decision(None, min(len(a), len(b)) // GROUP * GROUP)
    return {name: decisions[name] for name in others}


def rejects(a: Sequence[float], b: Sequence[float], look: int, looks: int, level: float) -> bool:
    """Return whether the test of A and B rejects at ``look`` or before.

    The statistic is the absolute difference of the sums over all seeds so far. After look j of K the test has
    spent at most j / K of ``level``.

    Args:
        a, b: ``look`` groups of success rates.
        look, looks: number of groups so far, and planned.
        level: two-sided error probability of this comparison.
    """
    labels_EG = _exchanges()
    paths = len(labels_EG) ** look
    choice = None
    if paths > _ALL_PATHS:
        paths = _DRAWN_PATHS
        choice = np.random.default_rng(0).integers(0, len(labels_EG), (look, paths))
        choice[:, 0] = 0  # the first path is the observed one
    sums, alive, spent = np.zeros(1 if choice is None else paths), np.ones(paths, dtype=bool), 0
    for j in range(look):
        group = slice(j * GROUP, (j + 1) * GROUP)
        moves = labels_EG @ np.array([*a[group], *b[group]])
        if choice is None:
            sums = (sums[:, None] + moves).ravel()
            statistic = np.abs(np.repeat(sums, len(labels_EG) ** (look - 1 - j)))
        else:
            sums = sums + moves[choice[j]]
            statistic = np.abs(sums)
        allowed = math.floor(level * (j + 1) / looks * paths + _TIE) - spent
        left = np.sort(statistic[alive])[::-1]
        # the smallest boundary that at most ``allowed`` paths exceed, ties included
        boundary = left[allowed] if allowed < len(left) else -math.inf
        beyond = alive & (statistic > boundary + _TIE)
        if beyond[0]:
            return True
        spent += int(beyond.sum())
        alive &= ~beyond
    return False


def later_verdict(a: Sequence[float], b: Sequence[float], look: int, looks: int, level: float) -> float:
    """Return the probability of a rejection at the last look, if the observed difference is the true one.

    It is a normal approximation with the observed spread between seeds. Stopping by it cannot raise the error
    of the test, because it only turns rejections into acceptances.
    """
    difference = abs(float(np.mean(a)) - float(np.mean(b)))
    spread = math.sqrt((float(np.var(a, ddof=1)) + float(np.var(b, ddof=1))) / 2)
    if look == looks or spread < _TIE:
        return float(difference > _TIE)
    last = looks * GROUP
    least = t_quantile(1 - level / 2, 2 * last - 2) * spread * math.sqrt(2 / last)
    uncertain = spread * math.sqrt(2 * (looks - look) / GROUP) / looks
    return normal_cdf((difference - least) / uncertain)


def _rejections(decisions: Mapping[str, Decision]) -> int:
    return sum(decision.verdict in ("A better", "B better") for decision in decisions.values())


@lru_cache(maxsize=1)
def _exchanges() -> Floats:
    """``[exchanges, 2 GROUP]`` signs of the seeds of a group; the first row are the labels that they have."""
    rows = [
        [1.0 if i in chosen else -1.0 for i in range(2 * GROUP)]
        for chosen in combinations(range(2 * GROUP), GROUP)
    ]
    return np.array(rows)
