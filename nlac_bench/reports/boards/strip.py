"""The tasks of an entry: the strip of a board's row, and its summary in words."""

from collections.abc import Sequence

import numpy as np

from nlac_bench.leaderboards.entry import RunOutcomes
from nlac_bench.reports.figures.figure import Figure
from nlac_bench.reports.figures.strip import strip

MAX_TASKS = 2_000
"""Of an entry with more tasks no strip is drawn, so that one entry cannot make a board too large to open."""


def strip_of(name: str, outcomes: Sequence[RunOutcomes]) -> Figure | None:
    """Return the strip of an entry. The trials of all runs count; one without a score counts as failed."""
    tasks = sorted(outcomes[0].tasks)
    if len(tasks) > MAX_TASKS:
        return None
    means = []
    for task in tasks:
        trials = [won for run in outcomes for won in run.tasks[task].success]
        scored = any(each is not None for each in trials)
        means.append(sum(each is True for each in trials) / len(trials) if scored else np.nan)
    return strip([name], tasks, np.array([means]))


def summary_of(outcomes: Sequence[RunOutcomes]) -> str:
    """Return how many tasks succeeded in all trials of all runs, in some, in none, and have no score."""
    tasks, trials = len(outcomes[0].tasks), len(next(iter(outcomes[0].tasks.values())).success)
    counts = {"won": 0, "part": 0, "lost": 0, "unscored": 0}
    for task in outcomes[0].tasks:
        results = [won for run in outcomes for won in run.tasks[task].success]
        won = sum(each is True for each in results)
        scored = any(each is not None for each in results)
        counts["won" if won == len(results) else "part" if won else "lost" if scored else "unscored"] += 1
    labels = _labels(len(outcomes), trials)
    return f"Of {tasks} tasks: {', '.join(f'{counts[kind]} {text}' for kind, text in labels.items())}"


def _labels(seeds: int, trials: int) -> dict[str, str]:
    """Return the words for each kind of task; a task that was played once cannot succeed in part."""
    if seeds * trials == 1:
        return {"won": "succeeded", "lost": "did not succeed", "unscored": "without a score"}
    unit = "trial" if seeds == 1 else "seed" if trials == 1 else "trial of every seed"
    some = "some trials" if trials > 1 else "some seeds"
    won = f"succeeded in every {unit}"
    return {"won": won, "part": f"in {some}", "lost": "in none", "unscored": "without a score"}
