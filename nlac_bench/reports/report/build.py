"""Makes the report of a run, of a comparison of runs, or of a sweep."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.folder import folders_of
from nlac_bench.reports.figures.forest import forest
from nlac_bench.reports.report.answers import comparison_answer, run_answer
from nlac_bench.reports.report.critic import critic_section
from nlac_bench.reports.report.outcomes import (
    denominators_section,
    failures_section,
    parts_section,
    success_section,
    tasks_section,
    unscored_section,
)
from nlac_bench.reports.report.page import Answer, NumbersTable, ReportPage, Section, as_sentence, sentence
from nlac_bench.reports.report.pairs import pairs_table
from nlac_bench.reports.report.references import missing_references
from nlac_bench.reports.report.reproduce import reproduce_section
from nlac_bench.reports.report.stored_sweep import COMPARISON
from nlac_bench.reports.report.subjects import Measurement, ReportSubject, forest_row, metric_of, seeds_note
from nlac_bench.reports.report.sweep import sweep_report
from nlac_bench.reports.report.training import (
    cost_section,
    critiques_section,
    curves_section,
    equal_cost_section,
)
from nlac_bench.reports.report.typed import as_typed
from nlac_bench.reports.report.verdicts import algorithms_verdict, pairs_verdict, run_verdict, setting
from nlac_bench.stats.compare import Comparison, compare_all
from nlac_bench.stats.compare_seeds import AlgorithmComparison, compare_algorithms
from nlac_bench.stats.new_templates import NewTemplates
from nlac_bench.stats.pairing import Metric, NotComparableError, check_conditions, check_seeds


def report_of(arguments: Sequence[str]) -> ReportPage:
    """Return the report of one run or sweep folder, or the comparison of several runs.

    Args:
        arguments: folders. ``A1,A2`` are the seeds of one algorithm, as ``compare`` takes them.

    Raises:
        NlacBenchError: a folder contains no run and no sweep, or is damaged; or runs cannot be compared.
    """
    sides = [folders_of(argument) for argument in arguments]
    if len(sides) == 1 and len(sides[0]) == 1:
        folder = sides[0][0]
        if (folder / COMPARISON).exists() and not (folder / "manifest.json").exists():
            return sweep_report(folder)
        return run_report(folder)
    if any(len(side) > 1 for side in sides) and len(sides) != 2:
        raise ConfigError(f"algorithms are compared in pairs: expected two sides, got {len(sides)}")
    return comparison_report(sides)


def run_report(folder: Path) -> ReportPage:
    """Return the report of a run or of a training run, finished or not.

    Raises:
        RunFolderError: ``folder`` contains no run, or is damaged.
    """
    measurement = Measurement.read(folder)
    own, base, typed = measurement.own, measurement.base, as_typed([folder])[folder]
    subjects = measurement.subjects()
    metric = metric_of([each for each in subjects if each.kind not in ("floor", "oracle")] or subjects)
    flips = [base, own] if base is not None else [own]
    notes = [] if measurement.references else [missing_references(own.run.config)]
    if new := NewTemplates.read(folder):
        notes.append(as_sentence(new.to_text()))
    sections = [
        success_section(subjects, metric, notes),
        curves_section([measurement]) if measurement.trains else None,
        tasks_section(flips, metric),
        failures_section(flips, metric),
        parts_section(subjects),
        cost_section([measurement]),
        critic_section([measurement]),
        critiques_section([measurement]),
        reproduce_section({typed: own.run}, [typed]),
    ]
    title = f"{own.run.label} on {own.run.conditions['env']}"
    verdict = run_verdict(measurement, metric)
    return ReportPage(
        title, setting([own.run]), verdict, _progress(subjects), _with_counts(sections, subjects, metric),
        run_answer(measurement, metric), folder, shlex.join(["nlac-bench", "view", typed]),
    )  # fmt: skip


def comparison_report(sides: Sequence[Sequence[Path]]) -> ReportPage:
    """Return the report of a comparison: of runs, or of two algorithms by several seeds each.

    A run is called by its folder's name, or, if several have that name, by its relative path.

    Raises:
        NotComparableError: the conditions of the runs differ, or a run is given as two seeds.
        RunFolderError: a folder contains no run, or is damaged.
    """
    paths = [path for side in sides for path in side]
    typed = as_typed(paths)
    arguments = [",".join(typed[path] for path in side) for side in sides]
    names = [Path(typed[path]).name for path in paths]
    if len(set(names)) < len(names):
        names = [typed[path] for path in paths]
    runs = [Measurement.read(path, name) for path, name in zip(paths, names, strict=True)]
    check_conditions([each.own.measured for each in runs])
    references = runs[0].references
    subjects = [
        *(each for each in references if each.kind == "floor"),
        *(each for run in runs for each in (run.base, run.own) if each is not None),
        *(each for each in references if each.kind == "oracle"),
    ]
    owns = [each.own for each in runs]
    metric = metric_of(owns)
    by_side = [[runs[paths.index(path)].own for path in side] for side in sides]
    for side in by_side:
        check_seeds([each.measured for each in side])
    verdict, compared, answers = _compared(by_side, arguments, metric)
    sections = [
        _success(subjects, by_side, arguments, metric),
        compared,
        curves_section(runs) if any(each.trains for each in runs) else None,
        tasks_section(owns, metric),
        failures_section(owns, metric),
        parts_section(subjects),
        equal_cost_section(by_side),
        cost_section(runs),
        critic_section(runs),
        critiques_section(runs),
        reproduce_section(
            {typed[path]: run.own.run for path, run in zip(paths, runs, strict=True)}, arguments
        ),
    ]
    title = f"Comparison of {sentence(names)} on {owns[0].run.conditions['env']}"
    return ReportPage(
        title, setting([each.run for each in owns]), verdict, _progress(subjects),
        _with_counts(sections, subjects, metric), answers,
    )  # fmt: skip


def _with_counts(
    sections: Sequence[Section | None], subjects: Sequence[ReportSubject], metric: Metric
) -> tuple[Section, ...]:
    """Return ``sections`` with the counts of episodes at the end, or after the first if any has no result."""
    results = list(filter(None, sections))
    counts = denominators_section(subjects, metric)
    if counts.folded:
        return (*results, counts)
    return (results[0], counts, unscored_section(subjects, metric), *results[1:])


def _success(
    subjects: Sequence[ReportSubject],
    sides: Sequence[Sequence[ReportSubject]],
    arguments: Sequence[str],
    metric: Metric,
) -> Section:
    """Return the forest plot; algorithms with several seeds have a row for all of their seeds."""
    if all(len(side) == 1 for side in sides):
        return success_section(subjects, metric)
    rows = [each.forest_row(metric) for each in subjects]
    rows += [
        forest_row(name, "trained", [each.outcomes for each in side], metric, seeds_note(len(side)))
        for name, side in zip(arguments, sides, strict=True)
    ]
    note = "A row of several seeds has the mean over seeds; its interval speaks of these checkpoints only."
    return Section("success", metric.capitalize(), (note,), (forest(rows, metric),))


def _compared(
    sides: Sequence[Sequence[ReportSubject]], arguments: Sequence[str], metric: Metric
) -> tuple[str, Section, tuple[Answer, ...]]:
    """Return the verdict, the section of all pairs, and the figures that the report begins with."""
    if unfinished := [each for side in sides for each in side if each.progress is not None]:
        parts = "; ".join(f"{each.name}: {each.progress}" for each in unfinished)
        prefix = f"Not all runs are finished ({parts}), so what follows compares the tasks that all have. "
    else:
        prefix = ""
    result: Sequence[Comparison | AlgorithmComparison]
    measured = [[each.measured for each in side] for side in sides]
    try:
        if any(len(side) > 1 for side in sides):
            algorithms = compare_algorithms(
                *measured, name_a=arguments[0], name_b=arguments[1], metric=metric, tasks="common"
            )
            result, verdict = [algorithms], algorithms_verdict(algorithms)
        else:
            pairs = compare_all([runs[0] for runs in measured], metric=metric, tasks="common")
            result, verdict = pairs, pairs_verdict(pairs, metric)
    except NotComparableError as error:
        if not unfinished:
            raise
        section = Section("pairs", "Pairs", (str(error),))
        return f"{prefix}No difference can be computed yet: {error}.", section, ()
    if not unfinished and (left_out := max(each.left_out for each in result)):
        prefix = (
            "The runs did not play the same tasks: what follows compares those that both sides have, and "
            f"leaves out up to {left_out} others. "
        )
    notes = [note for each in result for note in each.notes]
    table = NumbersTable("pairs", f"Differences in {metric}", pairs_table(result))
    section = Section("pairs", "Pairs", tuple(dict.fromkeys(notes)), tables=(table,))
    return prefix + verdict, section, () if unfinished else comparison_answer(result, sides)


def _progress(subjects: Sequence[ReportSubject]) -> tuple[str, ...]:
    return tuple(f"{each.name}: {each.progress}" for each in subjects if each.progress is not None)
