"""Compares two training algorithms by runs with several training seeds each.

Comparing one run of each algorithm shows which *model* is better. A statement about algorithms must also hold
for new seeds and new tasks, so both are resampled: a bootstrap over seeds (separately for each algorithm) and
tasks (the same for all runs). Where the runs hardly differ, the paired interval of the tasks is wider and is
used instead (``algorithm_error``).

If each run played a world of its environment, runs of the same world are paired, and worlds are resampled for
both algorithms together (``world_error``).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.eval.statistics.compare import (
    ALPHA,
    Measured,
    Metric,
    NotComparableError,
    TaskChoice,
    Verdict,
    check_conditions,
    matched_means,
    missing_notes,
    note_lines,
)
from nlac_bench.eval.statistics.distributions import normal_quantile, t_cdf, t_quantile
from nlac_bench.eval.statistics.intervals import ROUNDING, Floats, Interval, paired_moments, paired_sums
from nlac_bench.eval.statistics.outcomes import COUNTED, Counts
from nlac_bench.eval.statistics.power import POWER
from nlac_bench.eval.statistics.tables import bracket, number, p_text, render_table

RESAMPLES = 4_000
_BLOCK = 500
RESAMPLED = "bootstrap over seeds and tasks, t"
"""Name of the interval of ``hierarchical_error``."""
RESAMPLED_WORLDS = "bootstrap over worlds and tasks, t"
"""Name of the interval of ``world_error``."""


@dataclass(frozen=True)
class AlgorithmComparison:
    """The comparison of two algorithms, A minus B. ``seeds_a`` and ``seeds_b`` contain each seed's result.

    ``df`` is the number of degrees of freedom of the t quantile. With three seeds per algorithm it is about
    4, so that few seeds rarely distinguish two algorithms. ``interval`` and ``detectable`` are None if
    rewards are compared that do not vary at all, because their spread is then unknown.
    """

    metric: Metric
    name_a: str
    name_b: str
    seeds_a: tuple[tuple[str, float, Counts], ...]
    seeds_b: tuple[tuple[str, float, Counts], ...]
    tasks: int
    left_out: int
    difference: float
    interval: Interval | None
    p_value: float
    df: float
    detectable: float | None
    notes: tuple[str, ...]
    worlds: tuple[int, ...] = ()
    """The worlds of the seeds of both sides, in their order; empty if they are not paired by world."""

    @property
    def verdict(self) -> Verdict:
        """``A better`` or ``B better`` only if the interval excludes 0."""
        if self.p_value >= ALPHA:  # the interval is of the same error and quantile
            return "not distinguishable"
        return "A better" if self.difference > 0 else "B better"

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        sides = {
            key: {
                "name": name,
                "mean": float(np.mean([mean for _, mean, _ in seeds])),
                "seeds": [{"name": n, "mean": mean, **counts.to_json()} for n, mean, counts in seeds],
            }
            for key, name, seeds in (("a", self.name_a, self.seeds_a), ("b", self.name_b, self.seeds_b))
        }
        return {
            "metric": self.metric,
            "verdict": self.verdict,
            "difference": self.difference,
            "ci": None if self.interval is None else [self.interval.low, self.interval.high],
            "ci_method": None if self.interval is None else self.interval.method,
            "p_value": self.p_value,
            "df": self.df,
            "detectable_difference": self.detectable,
            "tasks": self.tasks,
            "tasks_left_out": self.left_out,
            **({"worlds": list(self.worlds)} if self.worlds else {}),
            **sides,
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """Return the comparison as text, with one line per seed."""
        rows = [
            [f"{side} {name}", number(mean), *counts.cells()]
            for side, seeds in (("A", self.seeds_a), ("B", self.seeds_b))
            for name, mean, counts in seeds
        ]
        lines = [
            f"A = {self.name_a} ({len(self.seeds_a)} seeds), B = {self.name_b} ({len(self.seeds_b)} seeds)",
            render_table(["seed", self.metric, *COUNTED], rows),
            f"A − B = {number(self.difference, sign=True)} {bracket(self.interval, sign=True)} "
            f"on {self.tasks} tasks, p = {p_text(self.p_value)} (t with {self.df:.1f} degrees of freedom)",
            f"verdict: {self.verdict}",
        ]
        if self.worlds:
            lines.insert(1, f"the seeds are paired by world: {', '.join(map(str, self.worlds))}")
        if self.detectable is not None:
            lines.append(
                f"differences of {number(self.detectable)} or more are detected with about {POWER:.0%} power"
            )
        return "\n".join([*lines, *note_lines(self.left_out, self.notes)])


def compare_algorithms(
    a: Sequence[Measured],
    b: Sequence[Measured],
    *,
    name_a: str = "A",
    name_b: str = "B",
    metric: Metric = "success",
    tasks: TaskChoice = "all",
    seed: int = 0,
) -> AlgorithmComparison:
    """Compare two algorithms, each by at least two runs that differ only in the training seed.

    Args:
        a, b: one run per training seed. Runs of several worlds are paired by world, in any order.
        metric, tasks: as for ``compare``.
        name_a, name_b: names of the algorithms.
        seed: random seed of the resampling.

    Raises:
        NotComparableError: an algorithm has fewer than two seeds, conditions, worlds or tasks differ, two
            seeds of an algorithm played the same world, or there are fewer than two tasks.
    """
    for name, runs in ((name_a, a), (name_b, b)):
        if len(runs) < 2:
            raise NotComparableError(
                f"{name} has {len(runs)} seed; a comparison of algorithms needs at least two seeds of each. "
                "To compare single models, compare two runs"
            )
    check_conditions([*a, *b])
    a, b, worlds = _by_world(a, b, name_a, name_b)
    means, left_out = matched_means([*a, *b], metric, tasks)
    if len(means[0]) < 2:
        raise NotComparableError(f"a comparison of algorithms needs at least two tasks, got {len(means[0])}")
    means_a, means_b = np.array(means[: len(a)]), np.array(means[len(a) :])
    difference = float(means_a.mean() - means_b.mean())
    rng = np.random.default_rng(seed)
    if metric == "success":
        error, df, method = algorithm_error(means_a, means_b, rng, paired=bool(worlds))
        farthest = 1.0  # a difference of two rates is between -1 and 1
    else:
        error, df, method = _resampled(means_a, means_b, rng, RESAMPLES, bool(worlds))
        farthest = math.inf
    interval = detectable = None
    p_value = 1.0  # without any spread the test cannot reject
    if error > ROUNDING * max(np.abs(means_a).max(), np.abs(means_b).max()):
        quantile = t_quantile(0.975, df)
        half = quantile * error
        interval = Interval(max(difference - half, -farthest), min(difference + half, farthest), method)
        p_value = 2 * (1 - t_cdf(abs(difference) / error, df))
        detectable = min((quantile + normal_quantile(POWER)) * error, farthest)
    return AlgorithmComparison(
        metric=metric,
        name_a=name_a,
        name_b=name_b,
        seeds_a=_seeds(a, means_a),
        seeds_b=_seeds(b, means_b),
        tasks=means_a.shape[1],
        left_out=left_out,
        difference=difference,
        interval=interval,
        p_value=p_value,
        df=df,
        detectable=detectable,
        notes=(*_few_seeds(a, b), *missing_notes([*a, *b])),
        worlds=worlds,
    )


def algorithm_error(
    means_a: Floats,
    means_b: Floats,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    *,
    paired: bool = False,
) -> tuple[float, float, str]:
    """Return the standard error of the difference of two algorithms' success rates.

    Also return its degrees of freedom and its method.

    Of two standard errors the one with the wider interval is used:

    - ``hierarchical_error``, the bootstrap over seeds and tasks, or ``world_error`` for ``paired`` seeds;
    - the error of a single paired comparison (``paired_moments``, clustered by task), in which the seeds of a
      side are the trials of a task. It says how well the tasks determine the difference between *these* runs.

    The difference between two algorithms is less certain than the difference between their runs, because
    further seeds may differ too. An interval for algorithms that is narrower than the one for the runs is
    therefore wrong. The bootstrap can become so narrow, because it reflects only the spread in the sample:
    two seeds a side with equal results have an error of 0, although at a success rate of .05 and 20 tasks a
    third of all samples are all zeros. The paired interval (Bonett and Price 2012) adds a pseudo-task for
    each side, so it has a width without any observed spread.

    Args:
        means_a, means_b: ``[seeds, tasks]`` success rates of the same tasks.
        rng: draws the resamples.
        resamples: number of resamples.
        paired: whether the seeds of both sides are the same worlds, in the same order.
    """
    tasks = means_a.shape[1]
    sums = paired_sums(means_a.mean(axis=0) - means_b.mean(axis=0))
    by_task = float(paired_moments(*sums, tasks, single=False)[1])
    error, df, method = _resampled(means_a, means_b, rng, resamples, paired)
    if t_quantile(0.975, df) * error > t_quantile(0.975, tasks - 1) * by_task:
        return error, df, method
    return by_task, tasks - 1, "Bonett-Price over the mean of seeds, clustered by task"


def _resampled(
    means_a: Floats, means_b: Floats, rng: np.random.Generator, resamples: int, paired: bool
) -> tuple[float, float, str]:
    """Return the error by resampling, its degrees of freedom and its method."""
    if paired:
        return *world_error(means_a - means_b, rng, resamples), RESAMPLED_WORLDS
    return *hierarchical_error(means_a, means_b, rng, resamples), RESAMPLED


def hierarchical_error(
    means_a: Floats, means_b: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the standard error of the difference of two algorithms' means, and its degrees of freedom.

    Seeds and tasks are drawn with replacement, S − 1 of S seeds and n − 1 of n tasks (Rao and Wu 1988:
    drawing all S would underestimate the variance between three seeds by a third). Drawing along both axes
    counts the noise in each cell of the table three times (Owen 2007), so twice its estimate is subtracted,
    but the result is at least the variance from seeds alone and from tasks alone. The degrees of freedom are
    Satterthwaite's, from the variance between seeds on each side and between tasks.

    Args:
        means_a, means_b: ``[seeds, tasks]`` of the same tasks.
        rng: draws the resamples.
        resamples: number of resamples.
    """
    return _two_way_error([(means_a, 1.0), (means_b, -1.0)], rng, resamples)


def world_error(
    differences_WT: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the standard error of the mean difference of two algorithms, and its degrees of freedom.

    Both algorithms have a run in each world, so that what a world adds to both does not count. Worlds and
    tasks are drawn with replacement as seeds and tasks are in ``hierarchical_error``, each world for both
    algorithms together.

    Args:
        differences_WT: ``[worlds, tasks]`` of A minus B in the same world and task.
        rng: draws the resamples.
        resamples: number of resamples.
    """
    return _two_way_error([(differences_WT, 1.0)], rng, resamples)


def _two_way_error(
    sides: Sequence[tuple[Floats, float]], rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Return the error of the sum of the means of ``sides``, each ``[seeds, tasks]`` with its sign."""
    variances = []
    noise = 0.0
    draws = np.zeros(resamples)
    n = sides[0][0].shape[1]
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        weights_t = rng.multinomial(n - 1, np.full(n, 1 / n), size) / (n - 1)
        for means, sign in sides:
            seeds = len(means)
            weights_s = rng.multinomial(seeds - 1, np.full(seeds, 1 / seeds), size) / (seeds - 1)
            draws[start : start + size] += sign * ((weights_s @ means) * weights_t).sum(axis=1)
    for means, _ in sides:
        seeds = len(means)
        by_seed, by_task = means.mean(axis=1), means.mean(axis=0)
        variances.append((float(by_seed.var(ddof=1)) / seeds, seeds - 1))
        residual = means - by_seed[:, None] - by_task[None, :] + means.mean()
        noise += float((residual**2).sum()) / ((seeds - 1) * (n - 1)) / (seeds * n)
    over_seeds = sum(variance for variance, _ in variances)
    over_tasks = float(sum(sign * means.mean(axis=0) for means, sign in sides).var(ddof=1)) / n
    variance = max(float(draws.var()) - 2 * noise, over_seeds, over_tasks)
    variances.append((over_tasks, n - 1))
    total = sum(v for v, _ in variances)
    spread = sum(v * v / df for v, df in variances)
    return math.sqrt(variance), max(1.0, total * total / spread) if spread > 0 else 1.0


def _by_world(
    a: Sequence[Measured], b: Sequence[Measured], name_a: str, name_b: str
) -> tuple[Sequence[Measured], Sequence[Measured], tuple[int, ...]]:
    """Return the runs of both sides in the order of their worlds, and the worlds.

    If all runs played the same world, or the environment has no worlds, they are returned as they are.

    Raises:
        NotComparableError: a world has no run, or more than one, on one of the sides.
    """
    if len({run.world for run in (*a, *b)}) == 1:
        return a, b, ()
    found = [{run.world: run for run in runs} for runs in (a, b)]
    worlds = [world for world in found[0] if world is not None]
    if not (len(worlds) == len(a) == len(b) and found[0].keys() == found[1].keys()):
        said = [
            f"{name} played {', '.join(str(run.world) for run in runs)}"
            for name, runs in ((name_a, a), (name_b, b))
        ]
        raise NotComparableError(
            "algorithms are compared world by world, so each side needs one run in each of the same worlds, "
            f"but {' and '.join(said)}"
        )
    worlds.sort()
    return [found[0][world] for world in worlds], [found[1][world] for world in worlds], tuple(worlds)


def _seeds(runs: Sequence[Measured], means: Floats) -> tuple[tuple[str, float, Counts], ...]:
    return tuple((run.name, float(m.mean()), run.outcomes.counts) for run, m in zip(runs, means, strict=True))


def _few_seeds(a: Sequence[Measured], b: Sequence[Measured]) -> list[str]:
    few = min(len(a), len(b))
    if few >= 5:
        return []
    return [f"with {few} seeds a side the estimate of the spread between seeds is unreliable"]
