"""Sections on the results of the episodes: success, denominators, tasks, failures, missing scores."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from nlac_bench.reports.figures.figure import Cell, Table
from nlac_bench.reports.figures.forest import forest
from nlac_bench.reports.figures.strip import strip
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.reports.report.page import NumbersTable, Section, sentence, shown
from nlac_bench.reports.report.subjects import ReportSubject, means_of
from nlac_bench.stats.pairing import Metric
from nlac_bench.stats.score import PartMeans
from nlac_bench.types import CONTENT_FILTER

REWARD_ONLY = "The environment reports no success, so its results are rewards."
"""The note of a report by reward in place of success rates."""


def success_section(subjects: Sequence[ReportSubject], metric: Metric, notes: Sequence[str] = ()) -> Section:
    """Return the forest plot of ``subjects``."""
    figure = forest([each.forest_row(metric) for each in subjects], metric)
    return Section("success", metric.capitalize(), tuple(notes), (figure,))


def denominators_section(subjects: Sequence[ReportSubject], metric: Metric) -> Section:
    """Return how many episodes of each subject were planned, scored, lost and cut.

    It is folded under one sentence if every planned episode has its result and none was cut.
    """
    header = ("", "tasks", "planned", "scored", "infra errors", "not played", "content filter",
              "without a score", "truncated", "recovered errors")  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    failed = False
    for each in subjects:
        c = each.outcomes.counts
        silent = c.unscored if metric == "success" else c.content_filter
        failed |= bool(silent or c.infra_errors or c.owed or c.truncated)
        rows.append((
            each.name, len(each.outcomes.tasks), c.planned, c.scored, c.infra_errors, c.owed,
            c.content_filter, c.unscored - c.content_filter, c.truncated, c.recovered_errors,
        ))  # fmt: skip
    table = NumbersTable("denominators", "Episodes by what came of them", Table(header, tuple(rows)))
    note = (
        "Planned episodes are scored, failed for a reason outside the agent (infra errors), were not played, "
        "were stopped by a content filter, or ended without a score. Truncated episodes were cut by a limit "
        "of turns, tokens, time, cost or context, and are counted among those that ended."
    )
    of_replies = (
        "Replies that were cut reached their limit of tokens (--max-tokens). The last column is a share of "
        "the replies whose prompt asks for ReAct's form."
    )
    notes = (note, of_replies) if metric == "success" else (note, of_replies, REWARD_ONLY)
    tables = (table, replies_table(subjects))
    if failed:
        return Section("denominators", "Denominators", notes, tables=tables)
    return Section(
        "denominators", "Denominators", (_all_scored(subjects), *notes[2:]), tables=tables, folded=True
    )


def _all_scored(subjects: Sequence[ReportSubject]) -> str:
    """Return how many episodes are scored, where all are."""
    planned = [each.outcomes.counts.planned for each in subjects]
    if len(set(planned)) == 1:
        each = f" for each of {len(subjects)} agents" if len(subjects) > 1 else ""
        return f"{planned[0]:,} of {planned[0]:,} episodes are scored{each}."
    parts = [f"{s.name} {n:,} of {n:,}" for s, n in zip(subjects, planned, strict=True)]
    return f"All episodes are scored: {sentence(parts)}."


def replies_table(subjects: Sequence[ReportSubject]) -> NumbersTable:
    """Return the shares of replies that were cut, were invalid actions, or followed the prompt's form."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.name, each.outcomes.replies.count, *each.outcomes.replies.shares().values())
        for each in subjects
    )
    header = ("", "replies", "cut", "invalid actions", "in the form of the prompt")
    return NumbersTable("replies", "Replies, and shares of them", Table(header, rows))


def parts_section(subjects: Sequence[ReportSubject]) -> Section | None:
    """Return the means of the parts of the rewards; None if no episode has parts.

    Raises:
        NlacBenchError: a part is not a finite number.
        RunFolderError: the folder is damaged.
    """
    means = [PartMeans.read(each.run).means for each in subjects]
    names = list(dict.fromkeys(name for each in means for name in each))
    if not names:
        return None
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (subject.name, *(each.get(name) for name in names))
        for subject, each in zip(subjects, means, strict=True)
    )
    header = ("", *(shown(name.replace("_", " "), 40) for name in names))
    table = NumbersTable("parts", "Means of the parts of the reward", Table(header, rows))
    note = (
        "Means over tasks of what the environment reports of each end; episodes without a part are left out."
    )
    return Section("parts", "Parts of the reward", (note,), tables=(table,))


def tasks_section(subjects: Sequence[ReportSubject], metric: Metric) -> Section:
    """Return the strip of tasks; with two subjects, the tasks that flipped from the first to the last."""
    tasks = list(dict.fromkeys(task for each in subjects for task in each.outcomes.tasks))
    means_RT = np.array([means_of([each.outcomes], metric, tasks) for each in subjects])
    if metric != "success":
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (task, *(None if np.isnan(m) else float(m) for m in means_RT[:, i]))
            for i, task in enumerate(tasks)
        )
        table = Table(("task", *(each.name for each in subjects)), rows)
        each = NumbersTable("tasks", "Mean reward of each task", table)
        return Section("tasks", "Tasks", (REWARD_ONLY,), tables=(each,))
    first, last = means_RT[0], means_RT[-1]
    scored = ~np.isnan(first) & ~np.isnan(last)
    won, lost = int((last > first)[scored].sum()), int((last < first)[scored].sum())
    if len(subjects) == 2:
        note = (
            f"From {subjects[0].name} to {subjects[1].name}, of {int(scored.sum())} tasks that have both "
            f"scores: won {won}, lost {lost}, the same {int(scored.sum()) - won - lost}."
        )
    else:
        note = (
            f"A task that was won in some of its trials has a square that is partly full; {len(tasks)} tasks."
        )
    return Section(
        "tasks", "Tasks won and lost", (note,), (strip([s.name for s in subjects], tasks, means_RT),)
    )


def failures_section(subjects: Sequence[ReportSubject], metric: Metric) -> Section:
    """Return how the lost episodes of each subject ended, and how many had invalid actions or tool errors.

    If no success is reported, all episodes are counted.

    Raises:
        RunFolderError: an episode is damaged.
    """
    rows: list[tuple[Cell, ...]] = []
    for each in subjects:
        ends: dict[str, Counter[str]] = {}
        for row in each.run.rows():
            if row.get("success") is True or row.get("end_reason") == CONTENT_FILTER:
                continue
            infos = [turn.get("info") or {} for turn in row.get("turns") or []]
            result = ends.setdefault(str(row.get("end_reason")), Counter())
            result["episodes"] += 1
            result["truncated"] += bool(row.get("truncated") and not row.get("terminated"))
            result["invalid"] += any(info.get("action_kind") == "invalid" for info in infos)
            result["tool"] += any(info.get("tool_error") for info in infos)
        rows += [
            (
                each.name,
                shown(end_in_words(reason), 100),
                n["episodes"],
                n["truncated"],
                n["invalid"],
                n["tool"],
            )
            for reason, n in sorted(ends.items(), key=lambda item: (-item[1]["episodes"], item[0]))
        ]
    title, caption = (
        ("Kinds of failure", "Episodes that were not won, by how they ended")
        if metric == "success"
        else ("Ends of episodes", "Episodes by how they ended")
    )
    if not rows:
        return Section("failures", title, ("No episode was lost.",))
    header = (
        "",
        "how the episode ended",
        "episodes",
        "truncated",
        "with an invalid action",
        "with a tool error",
    )
    table = NumbersTable("failures", caption, Table(header, tuple(rows)))
    note = "The last three columns count episodes among those of their line; one may be in several."
    return Section("failures", title, (note,), tables=(table,))


def unscored_section(subjects: Sequence[ReportSubject], metric: Metric) -> Section:
    """Return every episode without a score and the reason.

    Raises:
        RunFolderError: the folder is damaged.
    """
    rows: list[tuple[Cell, ...]] = []
    notes = []
    for each in subjects:
        recorded = set()
        for row in each.run.rows():
            recorded.add((row["task_id"], row["trial"]))
            if row.get("end_reason") == CONTENT_FILTER and row.get("success") is None:
                rows.append((each.name, row["task_id"], row["trial"], "stopped by a content filter", ""))
        failed = {(error["task_id"], error["trial"]): error for error in each.run.errors()}
        rows += [
            (each.name, *key, f"{error.get('error')}", shown(str(error.get("message"))))
            for key, error in failed.items()
            if key not in recorded
        ]
        counts = each.outcomes.counts
        if counts.owed:
            notes.append(
                f"{each.name}: {counts.owed} of {counts.planned} episodes were not played to the end."
            )
        if silent := counts.unscored - counts.content_filter:
            counted = "so they have no score" if metric == "success" else "so only their reward counts"
            notes.append(f"{each.name}: {silent} episodes ended without info['success'], {counted}.")
    if not rows and not notes:
        return Section("unscored", "What could not be scored", ("Every planned episode has a score.",))
    table = Table(("", "task", "trial", "reason", "message"), tuple(rows))
    tables = (NumbersTable("unscored", "Episodes without a score", table),) if rows else ()
    return Section("unscored", "What could not be scored", tuple(notes), tables=tables)
