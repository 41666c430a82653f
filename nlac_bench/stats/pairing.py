"""Determines which runs can be compared, and pairs their results by task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.manifest import differences
from nlac_bench.stats.intervals import Floats
from nlac_bench.stats.outcomes import Outcomes, outcomes_of
from nlac_bench.stats.tables import number

Metric: TypeAlias = Literal["success", "reward"]


TaskChoice: TypeAlias = Literal["all", "common"]
SELECTS_TASKS = frozenset({"level"})
"""Arguments of environments that select tasks. A task has the same id and content whatever their value."""


class NotComparableError(NlacBenchError):
    """Raised when runs have different conditions or different tasks."""


@dataclass(frozen=True)
class MeasuredRun:
    """The conditions and outcomes of a run, as ``compare`` needs them, and the world that it played.

    ``path`` is its folder; None if the outcomes do not come from a folder. ``agent`` is what played, such as
    ``nlac + refine 2``; empty if that is not known.
    """

    name: str
    conditions: Mapping[str, Any]
    outcomes: Outcomes
    world: int | None = None
    path: Path | None = None
    agent: str = ""

    @classmethod
    def read(cls, path: str | Path, name: str | None = None) -> Self:
        """Read the run in folder ``path``.

        Raises:
            RunFolderError: the folder contains no run, or is damaged.
        """
        run = RunFolder.open(path)
        return cls(name or str(path), run.conditions, outcomes_of(run), run.world, run.path, run.label)


def check_conditions(runs: Sequence[MeasuredRun], tasks: TaskChoice = "all") -> None:
    """Check that all runs have the same conditions; with ``tasks="common"``, apart from ``SELECTS_TASKS``.

    Raises:
        NotComparableError: the conditions of a run differ from those of the first; the message lists the
            differences.
    """
    for other in runs[1:]:
        result = differences(_conditions(runs[0], tasks), _conditions(other, tasks))
        if result:
            common = differences(_conditions(runs[0], "common"), _conditions(other, "common"))
            raise NotComparableError(
                f"{runs[0].name} and {other.name} cannot be compared, because their conditions differ: "
                + "; ".join(result)
                + ("" if common else "; to compare the tasks that both played, use compare --common")
            )


def _conditions(run: MeasuredRun, tasks: TaskChoice) -> Mapping[str, Any]:
    """Return the conditions of ``run``, with ``tasks="common"`` without the arguments that select tasks."""
    arguments = run.conditions.get("env_args")
    if tasks == "all" or not isinstance(arguments, Mapping):
        return run.conditions
    kept = {name: value for name, value in arguments.items() if name not in SELECTS_TASKS}
    return {**run.conditions, "env_args": kept}


def check_seeds(runs: Sequence[MeasuredRun]) -> None:
    """Check that ``runs`` are different seeds of an algorithm.

    Raises:
        NotComparableError: two of them are the same folder, or all episodes that both have recorded are equal
            and have equal seeds: a copy of a run says nothing about another seed. Or another agent played.
    """
    for a, b in combinations(runs, 2):
        if a.agent != b.agent:
            raise NotComparableError(
                f"{a.name} and {b.name} are not seeds of one algorithm: their agents are {a.agent} and "
                f"{b.agent}; compare them as two sides"
            )
        same_folder = a.path is not None and b.path is not None and a.path.resolve() == b.path.resolve()
        if same_folder or _equal_transcripts(a.outcomes.transcripts, b.outcomes.transcripts):
            what = "are the same run" if same_folder else "have the same episodes with the same seeds"
            raise NotComparableError(
                f"{a.name} and {b.name} {what}, so they are one seed, not two; give each seed of an "
                "algorithm once"
            )


def _equal_transcripts(a: Mapping[tuple[str, int], bytes], b: Mapping[tuple[str, int], bytes]) -> bool:
    common = a.keys() & b.keys()
    return bool(common) and all(a[key] == b[key] for key in common)


def paired_means(
    runs: Sequence[MeasuredRun], metric: Metric, tasks: TaskChoice
) -> tuple[Floats, Floats, int]:
    """Return ``matched_means`` of exactly two runs."""
    (first, second), left_out = matched_means(runs, metric, tasks)
    return first, second, left_out


def matched_means(runs: Sequence[MeasuredRun], metric: Metric, tasks: TaskChoice) -> tuple[list[Floats], int]:
    """Return each run's task means ``[tasks]`` on the same tasks in the same order, and the number of other
    tasks.

    Raises:
        NotComparableError: with ``tasks="all"``, the runs' tasks differ or a task has no score; with
            ``"common"``, no task has a score in all runs.
    """
    by_task = [dict(zip(r.outcomes.tasks, r.outcomes.task_means(metric), strict=True)) for r in runs]
    everything = list(dict.fromkeys(task for means in by_task for task in means))
    common = [t for t in everything if all(not np.isnan(means.get(t, np.nan)) for means in by_task)]
    if tasks == "all" and len(common) < len(everything):
        raise NotComparableError(_mismatch(runs, by_task, everything, len(common)))
    if not common:
        *others, last = (run.name for run in runs)
        both = "both" if len(runs) == 2 else "all"
        raise NotComparableError(
            f"{', '.join(others)} and {last} cannot be compared: no task has a score in {both} runs"
        )
    return [np.array([means[t] for t in common]) for means in by_task], len(everything) - len(common)


def _mismatch(
    runs: Sequence[MeasuredRun],
    by_task: Sequence[Mapping[str, float]],
    everything: Sequence[str],
    common: int,
) -> str:
    parts = []
    for run, means in zip(runs, by_task, strict=True):
        absent = [t for t in everything if t not in means]
        unscored = [t for t in means if np.isnan(means[t])]
        if absent:
            parts.append(f"{run.name} does not have {len(absent)} of them (such as {absent[0]!r})")
        if unscored:
            why = "its episodes ended without one" if run.outcomes.counts.complete else "resume that run"
            parts.append(
                f"{run.name} has no score for {len(unscored)} of them (such as {unscored[0]!r}; {why})"
            )
    return (
        f"the runs' tasks differ: of {len(everything)} tasks in total, "
        + "; ".join(parts)
        + f". To compare the {common} tasks for which all runs have scores, use --common"
    )


def missing_notes(runs: Sequence[MeasuredRun]) -> list[str]:
    """Return a note for each of ``runs`` with unscored episodes or an oracle that did not know answers."""
    notes = [
        f"{run.name}: unknown rate {number(run.outcomes.unknown_rate)}, the oracle did not know"
        for run in runs
        if run.outcomes.unknown_rate is not None
    ]
    for run in runs:
        counts = run.outcomes.counts
        if counts.scored < counts.planned:
            filtered = f" ({counts.content_filter} by a content filter)" if counts.content_filter else ""
            notes.append(
                f"{run.name}: {counts.planned - counts.scored} of {counts.planned} episodes are not "
                f"scored{filtered}"
            )
    return notes


def common_notes(runs: Sequence[MeasuredRun], common: int) -> list[str]:
    """Return notes on the shares of the runs' tasks that are compared, if the runs played different tasks."""
    if len({frozenset(run.outcomes.tasks) for run in runs}) == 1:
        return []
    return [
        f"{run.name} played {len(run.outcomes.tasks)} tasks, of which {common} "
        f"({common / len(run.outcomes.tasks):.0%}) are compared"
        for run in runs
        if len(run.outcomes.tasks) > common
    ]


def note_lines(left_out: int, notes: Sequence[str]) -> list[str]:
    """Return the last lines of a comparison as text: how many tasks it leaves out, and its notes."""
    if left_out:
        notes = [f"{left_out} tasks are left out, because not every run has a score for them", *notes]
    return [f"note: {note}" for note in notes]
