"""Simulates the coverage of the interval of the difference between two algorithms, paired by world."""

from itertools import product

import numpy as np

from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.seed_errors import algorithm_error

WORLDS = (2, 4, 8)
TASKS = ((50, 1), (120, 2))
"""Numbers of tasks and trials."""
SPREAD = 1.5
"""Standard deviation of the worlds' difficulty, the same for both algorithms, on the logit scale."""
LUCKS = (0.0, 0.2, 0.6)
"""Standard deviations of an algorithm's luck in a world: that of its seed, and of how the world suits it."""
_RESAMPLES = 500


def worlds_report(draws: int) -> str:
    """The table of the coverage for two equal algorithms, with that of the interval that does not pair."""
    rng = np.random.default_rng(10)
    lines = [
        "| worlds | tasks | trials | luck | coverage | half width | unpaired: coverage | half width |",
        "|---" * 8 + "|",
    ]
    repeats = max(1, draws // 10)
    for worlds, (tasks, trials), luck in product(WORLDS, TASKS, LUCKS):
        covered, width = np.zeros(2), np.zeros(2)
        for _ in range(repeats):
            a, b = sides(rng, worlds, tasks, trials, luck)
            for place, paired in enumerate((True, False)):
                error, df, _ = algorithm_error(a, b, rng, _RESAMPLES, paired=paired)
                half = t_quantile(0.975, df) * error
                covered[place] += abs(a.mean() - b.mean()) <= half
                width[place] += half
        (used, unpaired), (half, wide) = covered / repeats, width / repeats
        lines.append(
            f"| {worlds} | {tasks} | {trials} | {luck:g} | {used:.1%} | {half:.3f} | {unpaired:.1%} "
            f"| {wide:.3f} |"
        )
    return "\n".join(lines)


def sides(rng: np.random.Generator, worlds: int, tasks: int, trials: int, luck: float) -> list[Floats]:
    """``[worlds, tasks]`` success rates of two equal algorithms in the same worlds.

    On the logit scale a rate is the sum of the difficulty of the task, that of the world and that of the task
    in the world, which both share; and of how task, world, and task in the world suit the algorithm.
    """
    difficulty_WT = (
        rng.normal(0, 1.5, tasks) + rng.normal(0, SPREAD, (worlds, 1)) + rng.normal(0, 0.5, (worlds, tasks))
    )
    found = []
    for _ in range(2):
        suits_WT = (
            rng.normal(0, 0.5, tasks) + rng.normal(0, luck, (worlds, 1)) + rng.normal(0, 0.5, (worlds, tasks))
        )
        rates_WT = 1 / (1 + np.exp(-(difficulty_WT + suits_WT)))
        found.append(rng.binomial(trials, rates_WT) / trials)
    return found
