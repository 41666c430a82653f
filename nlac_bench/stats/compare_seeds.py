"""Compares two training algorithms by runs with several training seeds each.

The runs of an algorithm are a sample of its seeds; ``seed_errors`` estimates the error of their difference.
If each run played a world of its environment, runs of the same world are paired.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nlac_bench.stats.distributions import t_cdf, t_quantile
from nlac_bench.stats.intervals import ROUNDING, Floats, Interval
from nlac_bench.stats.outcomes import COUNTED, Counts
from nlac_bench.stats.pairing import (
    MeasuredRun,
    Metric,
    NotComparableError,
    TaskChoice,
    check_conditions,
    check_seeds,
    matched_means,
    missing_notes,
    note_lines,
)
from nlac_bench.stats.power import POWER, least_over_tasks
from nlac_bench.stats.seed_errors import (
    RESAMPLES,
    algorithm_error,
    approximate_note,
    is_approximate,
    resampled_error,
)
from nlac_bench.stats.tables import bracket, number, p_text, render_table
from nlac_bench.stats.verdicts import ALPHA, Verdict, decided
from nlac_bench.visible import one_line


@dataclass(frozen=True)
class AlgorithmComparison:
    """The comparison of two algorithms, A minus B. ``seeds_a`` and ``seeds_b`` contain each seed's result.

    ``df`` is the number of degrees of freedom of the t quantile. With three seeds per algorithm it is about
    4, so that few seeds rarely distinguish two algorithms. ``interval`` and ``detectable`` are None if
    rewards are compared that do not vary at all, because their spread is then unknown. ``detectable`` is also
    None if the seeds differ so much that no difference of two rates would be found.
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
    def approximate(self) -> bool:
        """Whether a side has so few seeds that the interval is only approximate."""
        return is_approximate(min(len(self.seeds_a), len(self.seeds_b)))

    @property
    def verdict(self) -> Verdict:
        """``A better`` or ``B better`` only if the interval excludes 0."""
        # the p-value and the interval use the same error and quantile
        return decided(self.p_value, self.difference, self.difference)

    def to_json(self) -> dict[str, object]:
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
            "approximate": self.approximate,
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
            one_line(
                f"A = {self.name_a} ({len(self.seeds_a)} seeds), "
                f"B = {self.name_b} ({len(self.seeds_b)} seeds)"
            ),
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
        elif self.metric == "success":
            lines.append(f"no difference is detected with {POWER:.0%} power with so few tasks and seeds")
        return "\n".join([*lines, *map(one_line, note_lines(self.left_out, self.notes))])


def compare_algorithms(
    a: Sequence[MeasuredRun],
    b: Sequence[MeasuredRun],
    *,
    name_a: str = "A",
    name_b: str = "B",
    metric: Metric = "success",
    tasks: TaskChoice = "all",
    seed: int = 0,
    comparisons: int = 1,
) -> AlgorithmComparison:
    """Compare two algorithms, each by at least two runs that differ only in the training seed.

    Args:
        a, b: one run per training seed. Runs of several worlds are paired by world, in any order.
        metric, tasks, comparisons: as for ``compare``.
        name_a, name_b: names of the algorithms.
        seed: random seed of the resampling.

    Raises:
        NotComparableError: an algorithm has fewer than two seeds, or one of them twice (``check_seeds``);
            conditions, worlds or tasks differ; two seeds of an algorithm played the same world; or there are
            fewer than two tasks.
    """
    for name, runs in ((name_a, a), (name_b, b)):
        if len(runs) < 2:
            raise NotComparableError(
                f"{name} has {len(runs)} seed; a comparison of algorithms needs at least two seeds of each. "
                "To compare single models, compare two runs"
            )
        check_seeds(runs)
    check_conditions([*a, *b], tasks)
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
        error, df, method = resampled_error(means_a, means_b, rng, RESAMPLES, bool(worlds))
        farthest = math.inf
    interval = detectable = None
    p_value = 1.0  # without any spread the test cannot reject
    if error > ROUNDING * max(np.abs(means_a).max(), np.abs(means_b).max()):
        quantile = t_quantile(0.975, df)
        half = quantile * error
        interval = Interval(max(difference - half, -farthest), min(difference + half, farthest), method)
        p_value = 2 * (1 - t_cdf(abs(difference) / error, df))
        level = ALPHA / comparisons
        least = (t_quantile(1 - level / 2, df) + t_quantile(POWER, df)) * error
        if metric == "success":
            least = max(least, least_over_tasks(means_a, means_b, level))
        detectable = None if least > farthest else least
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


def _by_world(
    a: Sequence[MeasuredRun], b: Sequence[MeasuredRun], name_a: str, name_b: str
) -> tuple[Sequence[MeasuredRun], Sequence[MeasuredRun], tuple[int, ...]]:
    """Return the runs of both sides in the order of their worlds, and the worlds.

    If all runs played the same world, or the environment has no worlds, they are returned unchanged.

    Raises:
        NotComparableError: a world has no run, or more than one, on one of the sides.
    """
    if len({run.world for run in (*a, *b)}) == 1:
        return a, b, ()
    results = [{run.world: run for run in runs} for runs in (a, b)]
    worlds = [world for world in results[0] if world is not None]
    if not (len(worlds) == len(a) == len(b) and results[0].keys() == results[1].keys()):
        parts = [
            f"{name} played {', '.join(str(run.world) for run in runs)}"
            for name, runs in ((name_a, a), (name_b, b))
        ]
        raise NotComparableError(
            "algorithms are compared world by world, so each side needs one run in each of the same worlds, "
            f"but {' and '.join(parts)}"
        )
    worlds.sort()
    return [results[0][world] for world in worlds], [results[1][world] for world in worlds], tuple(worlds)


def _seeds(runs: Sequence[MeasuredRun], means: Floats) -> tuple[tuple[str, float, Counts], ...]:
    return tuple((run.name, float(m.mean()), run.outcomes.counts) for run, m in zip(runs, means, strict=True))


def _few_seeds(a: Sequence[MeasuredRun], b: Sequence[MeasuredRun]) -> list[str]:
    few = min(len(a), len(b))
    if is_approximate(few):
        return [approximate_note(few)]
    if few >= 5:
        return []
    return [f"with {few} seeds a side the estimate of the spread between seeds is unreliable"]
