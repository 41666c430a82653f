"""The tasks of an entry: the strip of a board's row, and its summary in words."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from nlac_bench.leaderboards.entry import RunOutcomes
from nlac_bench.reports.figures.figure import Figure, file_name
from nlac_bench.reports.figures.strip import strip

MAX_TASKS = 2_000
"""Of an entry with more tasks no strip is drawn, so that one entry cannot make a board too large to open."""


def strip_of(name: str, outcomes: Sequence[RunOutcomes]) -> Figure | None:
    """Return the strip of an entry. The trials of all runs count; one without a score counts as failed."""
    if len(outcomes[0].tasks) > MAX_TASKS:
        return None
    means = _means(outcomes)
    tasks = sorted(means)
    figure = strip([name], tasks, np.array([[means[task] for task in tasks]]))
    return replace(figure, name=file_name("tasks", name))


def summary_of(outcomes: Sequence[RunOutcomes]) -> str:
    """Return how many tasks succeeded in all trials of all runs, in some, in none, and have no score."""
    means = list(_means(outcomes).values())
    won, lost, unscored = means.count(1.0), means.count(0.0), int(np.isnan(means).sum())
    counts = {"won": won, "part": len(means) - won - lost - unscored, "lost": lost, "unscored": unscored}
    labels = _labels(len(outcomes), len(next(iter(outcomes[0].tasks.values())).success))
    return f"Of {len(means)} tasks: {', '.join(f'{counts[kind]} {text}' for kind, text in labels.items())}"


def _means(outcomes: Sequence[RunOutcomes]) -> dict[str, float]:
    """Return the success of each task over the trials of all runs; NaN if none of them has a score."""
    means = {}
    for task in outcomes[0].tasks:
        trials = [won for run in outcomes for won in run.tasks[task].success]
        scored = any(each is not None for each in trials)
        means[task] = sum(each is True for each in trials) / len(trials) if scored else np.nan
    return means


def _labels(seeds: int, trials: int) -> dict[str, str]:
    """Return the words for each kind of task; a task that was played once cannot succeed in part."""
    if seeds * trials == 1:
        return {"won": "succeeded", "lost": "did not succeed", "unscored": "without a score"}
    unit = "trial" if seeds == 1 else "seed" if trials == 1 else "trial of every seed"
    some = "some trials" if trials > 1 else "some seeds"
    won = f"succeeded in every {unit}"
    return {"won": won, "part": f"in {some}", "lost": "in none", "unscored": "without a score"}
