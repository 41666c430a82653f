"""Compares two runs, paired by task, and decides whether one of them is better."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nlac_bench.stats.intervals import Floats, Interval, mean_interval, paired_interval, rate_interval
from nlac_bench.stats.outcomes import COUNTED, Counts
from nlac_bench.stats.pairing import (
    MeasuredRun,
    Metric,
    NotComparableError,
    TaskChoice,
    check_conditions,
    common_notes,
    missing_notes,
    note_lines,
    paired_means,
)
from nlac_bench.stats.power import POWER, detectable_difference
from nlac_bench.stats.significance import holm, sign_flip_p
from nlac_bench.stats.tables import bracket, number, p_text, render_table
from nlac_bench.stats.verdicts import ALPHA, Verdict, decided
from nlac_bench.visible import one_line


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs of a comparison, over the compared tasks."""

    name: str
    mean: float
    interval: Interval | None
    trials: int
    counts: Counts
    unknown_rate: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return {
            "name": self.name,
            "mean": self.mean,
            "ci": None if self.interval is None else [self.interval.low, self.interval.high],
            "trials": self.trials,
            **self.counts.to_json(),
            **({} if self.unknown_rate is None else {"unknown_rate": self.unknown_rate}),
        }


@dataclass(frozen=True)
class Comparison:
    """A paired comparison. Differences are A minus B.

    ``p_adjusted`` equals ``p_value`` unless several comparisons were made at once (Holm's correction).
    ``better_only`` counts the tasks that only A and only B solved; it is None unless both have single trials.
    ``detectable`` is the smallest difference that this comparison detects with at least ``POWER``, where
    several were made at once at the first level of Holm's correction; None if there is none, or for rewards.
    """

    metric: Metric
    a: Side
    b: Side
    tasks: int
    left_out: int
    difference: float
    interval: Interval | None
    test: str
    p_value: float
    p_adjusted: float
    better_only: tuple[int, int] | None
    detectable: float | None
    notes: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """``A better`` or ``B better`` only if the test rejects *and* the interval excludes 0.

        Rewards whose differences are all the same have no interval; the test, which needs no spread, decides.
        """
        if self.interval is None:
            return decided(self.p_adjusted, self.difference, self.difference)
        return decided(self.p_adjusted, self.interval.low, self.interval.high)

    def to_json(self) -> dict[str, object]:
        """Return the object that ``--json`` prints."""
        return {
            "metric": self.metric,
            "verdict": self.verdict,
            "difference": self.difference,
            "ci": None if self.interval is None else [self.interval.low, self.interval.high],
            "ci_method": None if self.interval is None else self.interval.method,
            "test": self.test,
            "p_value": self.p_value,
            "p_adjusted": self.p_adjusted,
            "detectable_difference": self.detectable,
            "approximate": False,
            "tasks": self.tasks,
            "tasks_left_out": self.left_out,
            "only_a": None if self.better_only is None else self.better_only[0],
            "only_b": None if self.better_only is None else self.better_only[1],
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """Return the comparison as text."""
        header = ["", self.metric, "95 % interval", "trials", *COUNTED]
        lines = [one_line(f"A = {self.a.name}"), one_line(f"B = {self.b.name}")]
        lines.append(render_table(header, [_side_cells("A", self.a), _side_cells("B", self.b)]))
        lines.append(
            f"A − B = {number(self.difference, sign=True)} {bracket(self.interval, sign=True)} "
            f"on {self.tasks} tasks, p = {p_text(self.p_value)} ({self.test})"
        )
        if self.p_adjusted != self.p_value:
            lines.append(f"p after Holm's correction = {p_text(self.p_adjusted)}")
        if self.better_only is not None:
            lines.append(f"solved by A only: {self.better_only[0]}, by B only: {self.better_only[1]}")
        lines.append(f"verdict: {self.verdict}")
        if self.detectable is not None:
            lines.append(
                f"differences of {number(self.detectable)} or more are detected with at least {POWER:.0%} "
                "power"
            )
        elif self.metric == "success":
            lines.append(f"no difference is detected with {POWER:.0%} power on so few tasks")
        return "\n".join([*lines, *map(one_line, note_lines(self.left_out, self.notes))])


def compare(
    a: MeasuredRun,
    b: MeasuredRun,
    *,
    metric: Metric = "success",
    tasks: TaskChoice = "all",
    comparisons: int = 1,
) -> Comparison:
    """Compare two runs on the same tasks.

    Each task contributes the difference of its two means over scored trials. The test is the exact sign-flip
    test of these differences (with single trials, McNemar's); the interval is that of Bonett and Price
    (2012).

    Args:
        a, b: the runs.
        metric: ``success`` rates, or ``reward``, the mean return.
        tasks: ``all`` raises an error if the tasks differ or a task has no score; ``common`` compares the
            tasks for which both runs have a score, and reports how many were left out.
        comparisons: how many are made at once; the detectable difference is that of a test at 5 % /
            ``comparisons``.

    Raises:
        NotComparableError: the conditions, the worlds or the tasks of the runs differ.
    """
    check_conditions([a, b], tasks)
    if a.world != b.world:
        raise NotComparableError(
            f"{a.name} played world {a.world} and {b.name} world {b.world}; compare runs of the same world, "
            "or algorithms by several seeds each"
        )
    means_a, means_b, left_out = paired_means([a, b], metric, tasks)
    difference = means_a - means_b
    single = a.outcomes.trials == b.outcomes.trials == 1
    if metric == "success":
        interval = paired_interval(difference, single=single)
        detectable = detectable_difference(difference, single=single, level=ALPHA / comparisons)
    else:
        interval, detectable = mean_interval(difference), None
    counted = single and metric == "success"
    p_value = sign_flip_p(difference)
    return Comparison(
        metric=metric,
        a=_side(a, means_a, metric),
        b=_side(b, means_b, metric),
        tasks=len(difference),
        left_out=left_out,
        difference=float(difference.mean()),
        interval=interval,
        test="exact McNemar" if counted else "sign flips by task",
        p_value=p_value,
        p_adjusted=p_value,
        better_only=(int((difference > 0).sum()), int((difference < 0).sum())) if counted else None,
        detectable=detectable,
        notes=(*missing_notes([a, b]), *_trials_note(a, b), *common_notes([a, b], len(difference))),
    )


def compare_all(
    runs: Sequence[MeasuredRun], *, metric: Metric = "success", tasks: TaskChoice = "all"
) -> list[Comparison]:
    """Compare every pair of ``runs``; verdicts and ``p_adjusted`` use Holm's correction over all pairs.

    Raises:
        NotComparableError: there are fewer than two runs, or as ``compare``.
    """
    if len(runs) < 2:
        raise NotComparableError(f"a comparison needs at least two runs, got {len(runs)}")
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    results = [compare(a, b, metric=metric, tasks=tasks, comparisons=len(pairs)) for a, b in pairs]
    adjusted = holm([each.p_value for each in results])
    return [replace(each, p_adjusted=p) for each, p in zip(results, adjusted, strict=True)]


def comparison_table(results: Sequence[Comparison]) -> str:
    """Return several comparisons as one text table, including the denominators and the tasks left out."""
    header = ["A", "B", "A", "B", "A − B", "95 % interval", "p", "p (Holm)", "verdict", "tasks"]
    header += ["scored A", "scored B", "filtered A", "filtered B"]
    rows = []
    for c in results:
        row = [c.a.name, c.b.name, number(c.a.mean), number(c.b.mean), number(c.difference, sign=True)]
        row += [
            bracket(c.interval, sign=True),
            p_text(c.p_value),
            p_text(c.p_adjusted),
            c.verdict,
            str(c.tasks),
        ]
        row += [f"{side.counts.scored}/{side.counts.planned}" for side in (c.a, c.b)]
        row += [str(side.counts.content_filter) for side in (c.a, c.b)]
        rows.append(row)
    notes = [
        f"{c.a.name} and {c.b.name}: {line}" for c in results for line in note_lines(c.left_out, c.notes)
    ]
    return "\n".join([render_table(header, rows), *map(one_line, notes)])


def _side(run: MeasuredRun, means: Floats, metric: Metric) -> Side:
    outcomes = run.outcomes
    interval = rate_interval(means, outcomes.trials) if metric == "success" else mean_interval(means)
    return Side(
        run.name, float(means.mean()), interval, outcomes.trials, outcomes.counts, outcomes.unknown_rate
    )


def _side_cells(label: str, side: Side) -> list[str]:
    return [label, number(side.mean), bracket(side.interval), str(side.trials), *side.counts.cells()]


def _trials_note(a: MeasuredRun, b: MeasuredRun) -> list[str]:
    if a.outcomes.trials == b.outcomes.trials:
        return []
    return [
        f"A has {a.outcomes.trials} trials a task and B {b.outcomes.trials}; each task has the same weight"
    ]
