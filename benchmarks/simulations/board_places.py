"""Simulates boards with ties among their entries: how often all intervals of places hold at once.

The true place of an entry under ties is the interval from 1 + (entries that are strictly better) to m −
(entries that are strictly worse). An interval of places contains it exactly if no pair is told apart that is
equal, or in the wrong direction.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from nlac_bench.stats.distributions import t_cdf
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.places import Place, places
from nlac_bench.stats.pooled import pooled_errors
from nlac_bench.stats.seed_errors import algorithm_error
from nlac_bench.stats.significance import holm, sign_flip_p
from nlac_bench.stats.verdicts import ALPHA

BOARDS = (3, 8, 15)
TIES = ("all equal", "two groups", "ladder of twos")
"""Abilities: one for all; the better half is 1.5 above the other; steps of 0.5, each taken by two entries."""
TASKS = 120
SPREADS = {
    "0": (0.0,),
    "0.2": (0.2,),
    "0.6": (0.6,),
    "0.6, 0.2 in turn": (0.6, 0.2),
    "one 0.6, others 0": (0.6, *[0.0] * 14),
}
"""Standard deviations between the seeds of each algorithm, on the logit scale; repeated over the board."""
_RESAMPLES = 200


@dataclass(frozen=True)
class Held:
    """How often all intervals of a board held, and the share of unequal pairs that were told apart."""

    boards: int
    held: int
    told_apart: float

    def cells(self) -> str:
        """Return the cells of a table row: coverage with its Monte Carlo error, and the share."""
        rate = self.held / self.boards
        error = 1.96 * math.sqrt(max(rate * (1 - rate), 1 / self.boards**2) / self.boards)
        share = "–" if math.isnan(self.told_apart) else f"{self.told_apart:.0%}"
        return f"{rate:.1%} ± {100 * error:.1f} | {share}"


def models_report(draws: int) -> str:
    """The table of boards of models, by the exact sign-flip test of each pair."""
    rng = np.random.default_rng(7)
    lines = ["| entries | trials | ties | all intervals hold | unequal pairs told apart |", "|---" * 5 + "|"]
    for entries, trials, ties in product(BOARDS, (1, 4), TIES):
        boards = max(2, draws // (40 if trials > 1 and entries > 3 else 5 if entries == 3 else 10))
        held = simulate_models(rng, boards, entries, trials, ties)
        lines.append(f"| {entries} | {trials} | {ties} | {held.cells()} |")
    return "\n".join(lines)


def algorithms_report(draws: int) -> str:
    """The table of boards of algorithms, and a few cells by ``compare_algorithms`` alone."""
    rng = np.random.default_rng(8)
    lines = [
        "| entries | seeds | spread of seeds | ties | all intervals hold | unequal pairs told apart |",
        "|---" * 6 + "|",
    ]
    equal, groups = TIES[:2]
    for entries, seeds in product(BOARDS, (2, 3)):
        boards = max(2, draws // {3: 10, 8: 16, 15: 25}[entries])
        for spread, spreads in SPREADS.items():
            held = simulate_algorithms(rng, boards, entries, seeds, spreads, equal)
            lines.append(f"| {entries} | {seeds} | {spread} | {equal} | {held.cells()} |")
        held = simulate_algorithms(rng, max(2, boards // 5), entries, seeds, SPREADS["0.2"], groups)
        lines.append(f"| {entries} | {seeds} | 0.2 | {groups} | {held.cells()} |")
    lines += ["", "| `compare_algorithms` alone: entries | seeds | spread of seeds | all intervals hold |"]
    lines.append("|---" * 4 + "|")
    for entries, boards in ((3, draws // 20), (8, draws // 100)):
        held = simulate_algorithms(rng, max(2, boards), entries, 2, SPREADS["0.6"], equal, pool=False)
        lines.append(f"| {entries} | 2 | 0.6 | {held.cells().partition(' | ')[0]} |")
    return "\n".join(lines)


def simulate_models(rng: np.random.Generator, boards: int, entries: int, trials: int, ties: str) -> Held:
    """Play ``boards`` boards of models on ``TASKS`` tasks."""
    abilities = _abilities(entries, ties)

    def draw() -> list[tuple[float, float]]:
        difficulty = rng.normal(0, 1.5, TASKS)
        rates = [
            rng.binomial(trials, _logistic(difficulty + ability + rng.normal(0, 0.7, TASKS))) / trials
            for ability in abilities
        ]
        return [(float((a - b).mean()), _sign_flips(a - b, trials)) for a, b in combinations(rates, 2)]

    return _held(abilities, (draw() for _ in range(boards)))


def simulate_algorithms(
    rng: np.random.Generator,
    boards: int,
    entries: int,
    seeds: int,
    spreads: Sequence[float],
    ties: str,
    *,
    pool: bool = True,
) -> Held:
    """Play ``boards`` boards of algorithms; ``pool=False`` leaves the pooled spread out."""
    abilities = _abilities(entries, ties)

    def draw() -> list[tuple[float, float]]:
        difficulty = rng.normal(0, 1.5, TASKS)
        sides = []
        for i, ability in enumerate(abilities):
            likes = rng.normal(0, 0.5, TASKS)
            luck = rng.normal(0, spreads[i % len(spreads)], seeds)[:, None] + rng.normal(
                0, 0.5, (seeds, TASKS)
            )
            sides.append(rng.binomial(1, _logistic(difficulty + ability + likes + luck)).astype(float))
        found = []
        for (a, b), error in zip(combinations(sides, 2), pooled_errors(sides), strict=True):
            p = error.p_value if pool else 0.0
            if p < ALPHA:  # a larger p-value is never rejected, so the slow one is not needed
                alone, df, _ = algorithm_error(a, b, rng, _RESAMPLES)
                p = max(p, 2 * (1 - t_cdf(abs(error.difference) / alone, df)))
            found.append((error.difference, p))
        return found

    return _held(abilities, (draw() for _ in range(boards)))


def true_places(abilities: Floats) -> list[Place]:
    """Return the true places: entries with the same ability share an interval."""
    m = len(abilities)
    return places(m, [(i, j) for i in range(m) for j in range(m) if abilities[i] > abilities[j]])


def _held(abilities: Floats, draws: Iterator[list[tuple[float, float]]]) -> Held:
    truth, pairs = true_places(abilities), list(combinations(range(len(abilities)), 2))
    unequal = [k for k, (i, j) in enumerate(pairs) if abilities[i] != abilities[j]]
    boards = held = 0
    told = 0.0
    for differences in draws:
        adjusted = holm([p for _, p in differences])
        won = [
            pair if difference > 0 else pair[::-1]
            for pair, (difference, _), p in zip(pairs, differences, adjusted, strict=True)
            if p < ALPHA
        ]
        found = places(len(abilities), won)
        held += all(f.best <= t.best and t.worst <= f.worst for f, t in zip(found, truth, strict=True))
        told += sum(adjusted[k] < ALPHA for k in unequal) / max(1, len(unequal))
        boards += 1
    return Held(boards, held, told / boards if unequal else math.nan)


def _abilities(entries: int, ties: str) -> Floats:
    index: Floats = np.arange(entries, dtype=np.float64)
    if ties == "two groups":
        return np.where(index < entries // 2, 1.5, 0.0)
    return -0.5 * np.floor(index / 2) if ties == "ladder of twos" else np.zeros(entries)


def _logistic(x: Floats) -> Floats:
    rates: Floats = 1 / (1 + np.exp(-x))
    return rates


def _sign_flips(differences: Floats, trials: int) -> float:
    """The p-value depends only on the sizes of the differences and on their sum, so it is remembered."""
    steps = np.rint(differences * trials).astype(int)
    key = (*map(int, np.bincount(np.abs(steps), minlength=trials + 1)[1:]), abs(int(steps.sum())), trials)
    if key not in _REMEMBERED:
        _REMEMBERED[key] = sign_flip_p(differences)
    return _REMEMBERED[key]


_REMEMBERED: dict[tuple[int, ...], float] = {}
