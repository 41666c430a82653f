"""The strip of tasks in a board's row: one square for each task, in the order of the task ids."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nlac_bench.leaderboards.entry import RunOutcomes

_LINE, _CELL, _SIDE = 60, 10, 8
"""Squares in a line, and their distance and side in units of the drawing."""


@dataclass(frozen=True)
class Strip:
    """The squares as one SVG path for each kind, their summary in words, and the tasks of each kind."""

    paths: dict[str, str]
    height: int
    summary: str
    legend: str
    lists: list[tuple[str, list[str]]]


def strip(outcomes: Sequence[RunOutcomes]) -> Strip:
    """Return the strip of an entry. The trials of all runs count; one without a score counts as failed."""
    kinds: dict[str, list[str]] = {kind: [] for kind in ("won", "part", "lost", "unscored")}
    paths = dict.fromkeys(("lost", "part", "partly", "unscored", "won"), "")
    tasks = sorted(outcomes[0].tasks)
    for i, task in enumerate(tasks):
        trials = [won for run in outcomes for won in run.tasks[task].success]
        won = sum(each is True for each in trials)
        scored = any(each is not None for each in trials)
        kind = "won" if won == len(trials) else "part" if won else "lost" if scored else "unscored"
        kinds[kind].append(f"{task} ({won}/{len(trials)})" if kind == "part" else task)
        x, y = i % _LINE * _CELL + 1, i // _LINE * _CELL + 1
        paths[kind] += f"M{x} {y}h{_SIDE}v{_SIDE}h-{_SIDE}z"
        if kind == "part":
            paths["partly"] += f"M{x} {y + _SIDE // 2}h{_SIDE}v{_SIDE // 2}h-{_SIDE}z"
        if kind == "unscored":
            paths[kind] += f"l{_SIDE} {_SIDE}M{x + _SIDE} {y}l-{_SIDE} {_SIDE}"
    labels = _labels(len(outcomes), len(outcomes[0].tasks[tasks[0]].success))
    counts = (f"{len(kinds[kind])} {label}" for kind, label in labels.items())
    marks = {"won": "full", "part": "half", "lost": "empty", "unscored": "crossed out"}
    return Strip(
        {kind: path for kind, path in paths.items() if path},
        math.ceil(len(tasks) / _LINE) * _CELL,
        f"Of {len(tasks)} tasks: {', '.join(counts)}",
        "; ".join(f"{marks[kind]}: {label}" for kind, label in labels.items()).capitalize(),
        [(label.capitalize(), kinds[kind]) for kind, label in labels.items()],
    )


def _labels(seeds: int, trials: int) -> dict[str, str]:
    """Return the meaning of each kind of square; a task that was played once cannot succeed in part."""
    if seeds * trials == 1:
        return {"won": "succeeded", "lost": "did not succeed", "unscored": "without a score"}
    unit = "trial" if seeds == 1 else "seed" if trials == 1 else "trial of every seed"
    some = "some trials" if trials > 1 else "some seeds"
    won = f"succeeded in every {unit}"
    return {"won": won, "part": f"in {some}", "lost": "in none", "unscored": "without a score"}
