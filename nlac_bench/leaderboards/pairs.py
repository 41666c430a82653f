"""Compares the ranked entries of a board pair by pair.

Entries are compared in ``success_if_missing_failed``: an episode without a score counts as a failure on both
sides, so that losing episodes never helps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, repeat

import numpy as np

from nlac_bench.leaderboards.entry import Entry, RunOutcomes
from nlac_bench.leaderboards.entry_part import Bounds
from nlac_bench.leaderboards.numbers import success_table
from nlac_bench.stats.compare import compare
from nlac_bench.stats.compare_seeds import compare_algorithms
from nlac_bench.stats.distributions import t_quantile
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.outcomes import Counts, Outcomes
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.pooled import PairedTasks, PairError, pooled_errors
from nlac_bench.stats.significance import holm
from nlac_bench.stats.verdicts import ALPHA


@dataclass(frozen=True)
class Pair:
    """The comparison of two ranked entries, A minus B, in ``success_if_missing_failed``.

    For models, ``p`` is that of the exact sign-flip test. For algorithms it is the larger of two: that of
    ``compare_algorithms``, paired by world where both entries played the same worlds, and that of
    ``pooled_errors``, which is not paired. ``p_holm`` is adjusted over all pairs of the board. ``detectable``
    is the difference that this pair would have shown with a probability of 80 % on this board (None if there
    is none), and ``tasks_needed`` the number of tasks with which the present difference would be shown; None
    if the two are distinguished, or if no number of tasks is enough (equal rates, or seeds that differ too
    much).

    ``tested`` is False for models that played different worlds: their tasks differ, as ``compare`` says, so
    that there is no verdict, p is 1 and the two last numbers are None.
    """

    a: str
    b: str
    difference: float
    ci: Bounds | None
    p: float
    p_holm: float
    winner: str | None
    """``entry_id`` of the entry that is better after Holm's correction, or None."""
    winner_alone: str | None
    """``entry_id`` of the better entry if only this pair had been tested, or None."""
    detectable: float | None
    tasks_needed: int | None
    tested: bool


def all_pairs(entries: Sequence[Entry]) -> list[Pair]:
    """Compare every pair of entries of one kind, with Holm's correction over all that are tested.

    As in ``compare``, a difference counts if the test rejects and the interval excludes 0.
    """
    if len(entries) < 2:
        return []
    compared = _models(entries) if entries[0].kind == "models" else _algorithms(entries)
    pairs = list(combinations(entries, 2))
    tests = [_same_world(a, b) for a, b in pairs]
    adjusted = iter(holm([p for (p, _, _), tested in zip(compared, tests, strict=True) if tested]))
    level = ALPHA / max(sum(tests), 1)
    results = []
    for (a, b), (p, ci, shown), tested in zip(pairs, compared, tests, strict=True):
        if not tested:
            results.append(
                Pair(a.entry_id, b.entry_id, shown.difference, None, 1.0, 1.0, None, None, None, None, tested)
            )
            continue
        p_holm = next(adjusted)
        better = None
        if shown.difference != 0 and not (ci is not None and ci[0] <= 0 <= ci[1]):
            better = a.entry_id if shown.difference > 0 else b.entry_id
        winner = better if p_holm < ALPHA else None
        results.append(
            Pair(
                a=a.entry_id,
                b=b.entry_id,
                difference=shown.difference,
                ci=ci,
                p=p,
                p_holm=p_holm,
                winner=winner,
                winner_alone=better if p < ALPHA else None,
                detectable=shown.detectable(level),
                tasks_needed=shown.tasks_needed(level) if winner is None else None,
                tested=tested,
            )
        )
    return results


def _same_world(a: Entry, b: Entry) -> bool:
    """Return whether two entries can be compared; the worlds of algorithms are drawn like their seeds."""
    return a.kind == "algorithms" or a.subject.worlds == b.subject.worlds


_Compared = tuple[float, Bounds | None, PairedTasks | PairError]


def _models(entries: Sequence[Entry]) -> list[_Compared]:
    results: list[_Compared] = []
    for a, b in combinations(entries, 2):
        sides = [measured_run(entry.outcomes[0]) for entry in (a, b)]
        comparison = compare(*sides)
        single = all(side.outcomes.trials == 1 for side in sides)
        means_a, means_b = (side.outcomes.task_means("success") for side in sides)
        ci = comparison.interval
        shown = PairedTasks(means_a - means_b, single=single)
        results.append((comparison.p_value, None if ci is None else (ci.low, ci.high), shown))
    return results


def _algorithms(entries: Sequence[Entry]) -> list[_Compared]:
    rates_ST: list[Floats] = [
        np.array([measured_run(run).outcomes.task_means("success") for run in entry.outcomes])
        for entry in entries
    ]
    results: list[_Compared] = []
    for (a, b), error in zip(combinations(entries, 2), pooled_errors(rates_ST), strict=True):
        comparison = compare_algorithms(*_sides(a, b))
        half = t_quantile(1 - ALPHA / 2, error.df) * error.error
        low, high = max(error.difference - half, -1.0), min(error.difference + half, 1.0)
        if comparison.interval is not None:
            low, high = min(low, comparison.interval.low), max(high, comparison.interval.high)
        results.append((max(comparison.p_value, error.p_value), (low, high), error))
    return results


def _sides(a: Entry, b: Entry) -> Iterator[list[MeasuredRun]]:
    """Yield the runs of both entries, with their worlds if both have one run in each of the same worlds."""
    played = [entry.subject.worlds or [] for entry in (a, b)]
    paired = set(played[0]) == set(played[1]) and all(
        len(entry.outcomes) == len(worlds) == len(set(worlds))
        for entry, worlds in zip((a, b), played, strict=True)
    )
    for entry, worlds in zip((a, b), played, strict=True):
        runs = zip(entry.outcomes, worlds if paired else repeat(None), strict=False)
        yield [measured_run(run, world) for run, world in runs]


def measured_run(run: RunOutcomes, world: int | None = None) -> MeasuredRun:
    """Return a run as the comparisons read it; every planned trial without a score is a failure."""
    success = np.nan_to_num(success_table(run))
    planned = success.size
    counts = Counts(planned, planned, unscored=0, infra_errors=0, owed=0, truncated=0)
    return MeasuredRun(
        f"seed {run.seed}", {}, Outcomes(tuple(sorted(run.tasks)), success, success, counts), world
    )
