"""Simulates how often an algorithm whose true success is that of a floor passes as above the floor.

A two-sided test at 5 % should let 2.5 % pass. For comparison, the mean of the seeds is tested as if it were a
single run, which says that these seeds are above the floor and nothing about the next one.
"""

from itertools import product

import numpy as np

from nlac_bench.leaderboards.against_floors import algorithm_p
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.significance import sign_flip_p
from nlac_bench.stats.verdicts import ALPHA

SEEDS = (2, 3, 5)
SPREADS = (0.0, 0.2, 0.6)
CENTRES = (-2.5, 0.0)
"""Mean difficulty on the logit scale: success rates near 0.15 and of 0.5."""
TASKS = 120


def floors_report(draws: int) -> str:
    """The table of the shares that pass."""
    rng = np.random.default_rng(14)
    repeats = max(1, draws // 10)
    lines = [
        "| seeds | success | spread of seeds | above the floor | by the mean of the seeds |",
        "|---" * 5 + "|",
    ]
    for seeds, centre, spread in product(SEEDS, CENTRES, SPREADS):
        passed = np.zeros(2)
        rate = 0.0
        for _ in range(repeats):
            rates_ST, floor_T = sample(rng, seeds, centre, spread)
            rate += float(floor_T.mean()) / repeats
            if rates_ST.mean() > floor_T.mean():
                p_values = algorithm_p(rates_ST, floor_T), sign_flip_p(rates_ST.mean(axis=0) - floor_T)
                passed += [p < ALPHA for p in p_values]
        tested, by_mean = passed / repeats
        lines.append(f"| {seeds} | {rate:.2f} | {spread:g} | {tested:.1%} | {by_mean:.1%} |")
    return "\n".join(lines)


def sample(rng: np.random.Generator, seeds: int, centre: float, spread: float) -> tuple[Floats, Floats]:
    """``[seeds, tasks]`` successes of an algorithm and ``[tasks]`` of a floor with the same true success.

    The rates of the floor are of the same population, but drawn for each task anew: a floor has no seed whose
    luck all of its tasks share.
    """
    difficulty = rng.normal(centre, 1.5, TASKS)
    suits = rng.normal(0, 0.5, (2, TASKS))
    luck_ST = rng.normal(0, spread, seeds)[:, None] + rng.normal(0, 0.5, (seeds, TASKS))
    floor_T = rng.normal(0, spread, TASKS) + rng.normal(0, 0.5, TASKS)
    chances = [
        1 / (1 + np.exp(-(difficulty + part + luck)))
        for part, luck in zip(suits, (luck_ST, floor_T), strict=True)
    ]
    algorithm, floor = ((rng.random(each.shape) < each).astype(float) for each in chances)
    return algorithm, floor
