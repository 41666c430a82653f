"""Places on a board as intervals, from the significant differences among all pairs of its entries.

"Shares a place where the difference is not significant" is not transitive: A and B, and B and C, may not be
distinguished although A is better than C. An interval of places for each entry is. If the pairs' tests
together make an error with a probability of at most 5 % (Holm over all pairs), then all intervals hold at
once with at least 95 % (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024).
docs/statistics.md shows how often they hold in simulations.
"""

from collections.abc import Iterable
from dataclasses import dataclass


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

    If ``better`` has the true differences instead of the significant ones, the result is the true place;
    equal entries then have the same interval.

    Args:
        entries: number of entries m.
        better: pairs (winner, loser) of indices from 0, one for every pair that differs significantly.
    """
    best, worst = [1] * entries, [entries] * entries
    for winner, loser in better:
        best[loser] += 1
        worst[winner] -= 1
    return [Place(low, high) for low, high in zip(best, worst, strict=True)]
