"""Derives the numbers of an entry from its outcomes; no number is entered by hand.

Numbers are rounded to twelve significant digits, so that the last bits of sums, which depend on the machine,
do not change a file.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from nlac_bench.leaderboards.entry import Entry, EpisodeCounts, Numbers, PassPowerK, RunOutcomes
from nlac_bench.leaderboards.entry_part import Bounds
from nlac_bench.stats.intervals import Floats, Interval, rate_interval
from nlac_bench.stats.outcomes import success_rate, task_means
from nlac_bench.stats.passk import pass_hat_k
from nlac_bench.stats.pooled import algorithm_interval


def success_table(run: RunOutcomes) -> Floats:
    """Return ``[tasks, trials]`` of success (1, 0, or NaN without a score); tasks are sorted by id."""
    rows = [
        [np.nan if won is None else float(won) for won in run.tasks[t].success] for t in sorted(run.tasks)
    ]
    return np.array(rows)


def failed_if_missing(run: RunOutcomes) -> Floats:
    """Return each task's success rate, ``[tasks]`` sorted by id; a trial without a score counts as failed."""
    means: Floats = np.nan_to_num(success_table(run)).mean(axis=1)
    return means


def numbers_of(outcomes: Sequence[RunOutcomes]) -> Numbers:
    """Return the numbers that follow from the outcomes of one run, or of several seeds of one algorithm."""
    tables = [success_table(run) for run in outcomes]
    rates_ST = np.array([failed_if_missing(run) for run in outcomes])
    successes = [rate for table in tables if (rate := success_rate(table)[0]) is not None]
    rewards = [mean for run in outcomes if (mean := _mean_reward(run)) is not None]
    tasks, trials = tables[0].shape
    interval = rate_interval(rates_ST[0], trials) if len(outcomes) == 1 else algorithm_interval(rates_ST)
    return Numbers(
        tasks=tasks,
        trials=trials,
        success=_rounded(float(np.mean(successes))) if successes else None,
        success_if_missing_failed=_rounded(float(rates_ST.mean())),
        ci=_bounds(interval),
        ci_method=None if interval is None else interval.method,
        mean_reward=_rounded(float(np.mean(rewards))) if rewards else None,
        by_seed=[_rounded(float(rate)) for rate in rates_ST.mean(axis=1)],
        pass_k=_pass_k(tables[0]) if len(outcomes) == 1 else [],
        counts=_counts(outcomes),
        end_reasons=dict(sorted(Counter(
            reason
            for run in outcomes for task in run.tasks.values() for reason in task.end_reason
            if reason is not None
        ).items())),
    )  # fmt: skip


def differing_numbers(entry: Entry) -> list[str]:
    """Return the numbers of ``entry`` that do not follow from its outcomes; empty for a reported entry."""
    if entry.level == "reported":
        return []
    derived, stated = numbers_of(entry.outcomes).model_dump(), entry.numbers.model_dump()
    return list(json_differences(derived, stated))


def json_differences(derived: object, stated: object, where: str = "") -> Iterator[str]:
    """Yield the places where two JSON values differ, with both values."""
    if isinstance(derived, dict) and isinstance(stated, dict):
        for key in sorted({*derived, *stated}):
            yield from json_differences(derived.get(key), stated.get(key), f"{where}.{key}"[:300])
    elif (
        isinstance(derived, list | tuple) and isinstance(stated, list | tuple) and len(derived) == len(stated)
    ):
        for i, (a, b) in enumerate(zip(derived, stated, strict=True)):
            yield from json_differences(a, b, f"{where}[{i}]")
    elif not _same(derived, stated):
        yield f"{where.lstrip('.') or 'the value'}: {stated!r:.120} is stated, {derived!r:.120} follows"


def _same(a: object, b: object) -> bool:
    """Return whether two values are equal; the last bits of sums may depend on the machine."""
    if isinstance(a, float) and isinstance(b, float | int) and not isinstance(b, bool):
        return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))
    return bool(a == b)


def stated_numbers(success: float) -> Numbers:
    """Return the numbers of a ``reported`` entry, whose source states a success rate and nothing else."""
    return Numbers(
        tasks=None,
        trials=None,
        success=success,
        success_if_missing_failed=None,
        ci=None,
        ci_method=None,
        mean_reward=None,
        by_seed=[],
        pass_k=[],
        counts=None,
        end_reasons={},
    )


def _pass_k(success: Floats) -> list[PassPowerK]:
    return [
        PassPowerK(
            k=result.k,
            value=None if result.value is None else _rounded(result.value),
            ci=_bounds(result.interval),
            why_not=result.why_not,
        )
        for result in pass_hat_k(success)
    ]


def _mean_reward(run: RunOutcomes) -> float | None:
    """Return the mean over tasks of each task's mean return; None if no return is known."""
    rows = [[np.nan if r is None else r for r in run.tasks[task].reward] for task in sorted(run.tasks)]
    means = task_means(np.array(rows))
    known = means[~np.isnan(means)]
    return float(known.mean()) if len(known) else None


def _counts(outcomes: Sequence[RunOutcomes]) -> EpisodeCounts:
    every = [task for run in outcomes for task in run.tasks.values()]
    states = Counter(state for task in every for state in task.state)
    return EpisodeCounts(
        planned=sum(states.values()),
        scored=states["scored"],
        unscored=states["unscored"] + states["content_filter"],
        infra_errors=states["infra"],
        owed=states["owed"],
        truncated=sum(sum(task.truncated) for task in every),
        content_filter=states["content_filter"],
        length=sum(task.end_reason.count("length") for task in every),
        recovered_errors=sum(run.recovered_errors for run in outcomes),
    )


def _bounds(interval: Interval | None) -> Bounds | None:
    return None if interval is None else (_rounded(interval.low), _rounded(interval.high))


def _rounded(value: float) -> float:
    return float(f"{value:.12g}")
