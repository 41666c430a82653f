"""Simulates the group-sequential test of ``sweep --seeds auto``: family-wise error, power, and seeds trained.

For comparison, Welch's t-test with Holm's correction is made after every group until it rejects: adding seeds
until the difference is significant.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from nlac_bench.stats.distributions import t_cdf
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.sequential import GROUP, decide
from nlac_bench.stats.significance import holm
from nlac_bench.stats.verdicts import ALPHA

FAMILIES = ((1, 2), (1, 5), (3, 5), (7, 5))
"""Numbers of comparisons and of looks."""
EFFECTS = (1.0, 1.5, 2.0, 3.0)
"""True differences in standard deviations between seeds."""
TASKS = 120
SPREAD = 0.6
"""Standard deviation between seeds on the logit scale, where rates are drawn."""

Draw = Callable[[np.random.Generator, int], Floats]
"""(generator, seeds) → success rates of seeds of one algorithm."""


def normal(rng: np.random.Generator, seeds: int) -> Floats:
    """Normal success rates."""
    return rng.normal(0.5, 0.1, seeds)


def counted(rng: np.random.Generator, seeds: int) -> Floats:
    """Success rates on ``TASKS`` tasks near 0.9: skewed, and with ties."""
    return rng.binomial(TASKS, 1 / (1 + np.exp(-rng.normal(2.2, SPREAD, seeds)))) / TASKS


def outliers(rng: np.random.Generator, seeds: int) -> Floats:
    """Success rates of which every fifth training collapses."""
    return np.where(rng.random(seeds) < 0.2, 0.0, rng.normal(0.5, 0.03, seeds))


POPULATIONS: dict[str, Draw] = {
    "normal": normal,
    "near 0.9, with ties": counted,
    "one in five fails": outliers,
}


@dataclass(frozen=True)
class Found:
    """Shares of families with a wrong verdict, by this test and by repeated t-tests; and mean seeds."""

    wrong: float
    repeated: float
    right: float
    seeds: float
    families: int

    def cells(self) -> str:
        """Return the cells of a table row, with the Monte Carlo error of the first."""
        error = 1.96 * math.sqrt(max(self.wrong * (1 - self.wrong), 1 / self.families) / self.families)
        share = "–" if math.isnan(self.right) else f"{self.right:.0%}"
        return f"{self.wrong:.1%} ± {100 * error:.1f} | {self.repeated:.1%} | {share} | {self.seeds:.1f}"


def simulate(
    rng: np.random.Generator,
    families: int,
    comparisons: int,
    looks: int,
    draw: Draw,
    effects: Sequence[float],
) -> Found:
    """Play ``families`` families, in which the first of the other algorithms are worse by ``effects`` sd."""
    spread = float(draw(np.random.default_rng(0), 20_000).std())
    wrong = repeated = right = seeds = 0.0
    for _ in range(families):
        a = draw(rng, looks * GROUP)
        others = [draw(rng, looks * GROUP) - spread * effect for effect in (*effects, *[0.0] * comparisons)]
        others = others[:comparisons]
        found = decide(list(a), {str(i): list(b) for i, b in enumerate(others)}, looks)
        told = {int(i) for i, each in found.items() if each.verdict != "not distinguishable"}
        wrong += any(i >= len(effects) for i in told)
        right += sum(i < len(effects) for i in told) / max(1, len(effects))
        seeds += float(np.mean([each.seeds for each in found.values()]))
        repeated += any(i >= len(effects) for i in _repeated_t(a, others, looks))
    n = families
    return Found(wrong / n, repeated / n, right / n if effects else math.nan, seeds / n, n)


def sequential_report(draws: int) -> str:
    """The tables of the family-wise error, and of the power with the seeds that were trained."""
    rng = np.random.default_rng(13)
    families = max(2, draws // 5)
    lines = [
        "| comparisons | looks | success rates | different pairs | wrong verdict | by repeated t-tests "
        "| different pairs found | seeds |",
        "|---" * 8 + "|",
    ]
    for (comparisons, looks), (name, draw) in product(FAMILIES, POPULATIONS.items()):
        for different in (0, 1) if comparisons > 1 and draw is normal else (0,):
            found = simulate(rng, families, comparisons, looks, draw, [2.0] * different)
            lines.append(f"| {comparisons} | {looks} | {name} | {different} | {found.cells()} |")
    lines += ["", "| difference, in sd between seeds | found within 15 seeds | seeds |", "|---" * 3 + "|"]
    for effect in EFFECTS:
        found = simulate(rng, families, 1, 5, normal, [effect])
        lines.append(f"| {effect:g} | {found.right:.0%} | {found.seeds:.1f} |")
    return "\n".join(lines)


def _repeated_t(a: Floats, others: Sequence[Floats], looks: int) -> set[int]:
    """Return the comparisons that Welch's test rejects after any group, with Holm's correction."""
    rejected: set[int] = set()
    for look in range(1, looks + 1):
        p_values = holm([_welch(a[: look * GROUP], b[: look * GROUP]) for b in others])
        rejected |= {i for i, p in enumerate(p_values) if p < ALPHA}
    return rejected


def _welch(a: Floats, b: Floats) -> float:
    """Return the two-sided p-value of Welch's t-test."""
    parts = [float(x.var(ddof=1)) / len(x) for x in (a, b)]
    variance = sum(parts)
    if variance == 0:
        return 1.0
    df = variance**2 / sum(part**2 / (len(a) - 1) for part in parts)
    return 2 * (1 - t_cdf(abs(float(a.mean() - b.mean())) / math.sqrt(variance), df))
