"""The strip of tasks in a board's row: one square for each task, in the order of the task ids."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nlac_bench.leaderboards.entry import RunOutcomes

_LINE, _CELL, _SIDE = 60, 10, 8
"""Squares in a line, and their distance and side in units of the drawing."""
_LABELS = {
    "won": "Succeeded in every trial",
    "part": "In some trials",
    "lost": "In none",
    "unscored": "Without a score",
}


@dataclass(frozen=True)
class Strip:
    """The squares as one SVG path for each kind, their summary in words, and the tasks of each kind."""

    paths: dict[str, str]
    height: int
    summary: str
    lists: list[tuple[str, list[str]]]


def strip(outcomes: Sequence[RunOutcomes]) -> Strip:
    """Return the strip of an entry. The trials of all runs count; one without a score counts as failed."""
    kinds: dict[str, list[str]] = {kind: [] for kind in _LABELS}
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
    summary = (
        f"{len(kinds['won'])} of {len(tasks)} tasks succeeded in every trial, {len(kinds['part'])} in some, "
        f"{len(kinds['lost'])} in none, {len(kinds['unscored'])} without a score"
    )
    return Strip(
        {kind: path for kind, path in paths.items() if path},
        math.ceil(len(tasks) / _LINE) * _CELL,
        summary,
        [(label, kinds[kind]) for kind, label in _LABELS.items()],
    )
