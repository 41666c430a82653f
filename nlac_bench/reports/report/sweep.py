"""The report of a sweep, from its ``comparison.json`` and those of its run folders that are there."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nlac_bench.reports.figures.curves import method_curves
from nlac_bench.reports.figures.figure import Cell, Figure, Table, file_name
from nlac_bench.reports.figures.forest import ForestRow, forest
from nlac_bench.reports.figures.strip import strip
from nlac_bench.reports.report.answers import sweep_answer
from nlac_bench.reports.report.critic import critic_section
from nlac_bench.reports.report.outcomes import failures_section, unscored_section
from nlac_bench.reports.report.page import NumbersTable, ReportPage, Section, as_sentence, sentence
from nlac_bench.reports.report.reproduce import reproduce_section
from nlac_bench.reports.report.stored_sweep import StoredRow, StoredSweep, means_over
from nlac_bench.reports.report.subjects import Measurement
from nlac_bench.reports.report.training import cost_section, critiques_section
from nlac_bench.reports.report.typed import as_typed
from nlac_bench.reports.report.verdicts import setting
from nlac_bench.stats.estimates import Estimate
from nlac_bench.stats.tables import number, p_text
from nlac_bench.stats.verdicts import NOTHING_LEARNED, ONE_SEED, worded
from nlac_bench.training.curve import AXES
from nlac_bench.training.untrained import BASE


def sweep_report(folder: Path) -> ReportPage:
    """Return the report of the sweep in ``folder``.

    Raises:
        RunFolderError: its comparison or one of its runs is damaged.
    """
    sweep = StoredSweep.read(folder)
    runs = [
        Measurement.read(path, f"{env}/{path.name}")
        for env in sweep.envs()
        for row in sweep.rows_on(env)
        for seed in row.seeds
        if _has_run(folder, path := folder / env / f"{row.method}-{seed}")
    ]
    trained = [each for each in runs if each.trains]
    owns = [each.own for each in runs]
    typed = as_typed([folder])[folder]
    own_runs = {f"{typed}/{each.run.path.relative_to(folder).as_posix()}": each.run for each in owns}
    absent = "The folders of the sweep's runs are not here, so this report has no {}."
    sections = [
        Section("success", "Success", figures=tuple(_forest(sweep, env, runs) for env in sweep.envs())),
        _pairs_section(sweep),
        _curves_section(sweep),
        Section("tasks", "Tasks won and lost", (MEANS,), tuple(filter(None, (
            _strip(sweep, env) for env in sweep.envs())))),
        failures_section(owns, "success") if runs else Section(
            "failures", "Kinds of failure", (absent.format("kinds of failure"),)),
        _cost_section(sweep, trained),
        critic_section(trained),
        critiques_section(trained),
        reproduce_section(own_runs, [typed]) if runs else Section(
            "reproduce", "How to reproduce", (absent.format("commands"),),
            commands=(shlex.join(["nlac-bench", "sweep", "FILE.toml", "--out", typed]),)),
    ]  # fmt: skip
    title = f"Sweep of {sentence(list(dict.fromkeys(row.method for row in sweep.rows)))}"
    verdict = " ".join(_verdict(sweep, env) for env in sweep.envs())
    measured = setting([each.run for each in owns]) if owns else absent.format("model, data and level")
    counts = _denominators_section(sweep)
    shown = list(filter(None, sections))
    shown = (
        [*shown, counts] if counts.folded else [shown[0], counts, _unscored_section(sweep, runs), *shown[1:]]
    )
    return ReportPage(title, measured, verdict, _progress(sweep), tuple(shown), sweep_answer(sweep))


def _has_run(folder: Path, path: Path) -> bool:
    """Return whether a run is in ``path`` within ``folder``; names in a comparison may be somebody else's."""
    inside = path.is_relative_to(folder) and ".." not in path.relative_to(folder).parts
    return inside and (path / "manifest.json").exists()


MEANS = (
    "The share of a square that is full is the share of seeds and trials in which the method won the task."
)


def _forest(sweep: StoredSweep, env: str, runs: Sequence[Measurement]) -> Figure:
    """Return the forest plot of ``env``; the oracle is that of the first of ``runs`` that has one."""
    rows = [
        ForestRow(name.removeprefix("floor-"), "floor", Estimate(success))
        for name, success in sweep.rows_on(env)[0].floors.items()
    ]
    rows.append(sweep.forest_row(env, BASE, "base"))
    rows += [sweep.forest_row(env, row.method, "trained", row.note) for row in reversed(sweep.rows_on(env))]
    played = (ref for run in runs if run.name.startswith(f"{env}/") for ref in run.references)
    rows += [ref.forest_row("success") for ref in played if ref.kind == "oracle"][:1]
    return forest(rows, "success", env, file_name("forest", env))


def _strip(sweep: StoredSweep, env: str) -> Figure | None:
    """Return the strip of the tasks of ``env``; None if no run on it is finished."""
    names = [BASE, *(row.method for row in reversed(sweep.rows_on(env)))]
    runs = {name: list(sweep.runs_of(env, name).values()) for name in names}
    tasks = list(dict.fromkeys(task for each in runs.values() for run in each for task in run.success))
    shown = [name for name in names if runs[name]]
    if not shown:
        return None
    means_RT = np.array([means_over(runs[name], tasks) for name in shown]).reshape(len(shown), len(tasks))
    figure = strip(shown, tasks, means_RT, env)
    return Figure(file_name("tasks", env), figure.title, figure.table, figure.draw)


def _curves_section(sweep: StoredSweep) -> Section:
    figures = [
        method_curves(sweep.methods(env), sweep.references(env), key, name, env)
        for env in sweep.envs()
        if any(seed.validations for method in sweep.methods(env) for seed in method.seeds)
        for key, name in AXES.items()
    ]
    note = (
        "Each panel emphasises one method: the mean of its seeds and their range. The diamonds are the tests "
        "of its seeds, each at the cost at which training reached the tested checkpoint, with 95 % intervals."
    )
    return Section("curves", "Learning curves", (note,), tuple(figures))


def _pairs_section(sweep: StoredSweep) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for row in sweep.rows:
        for name, difference, p in (
            (f"{row.method} − untrained", row.gain, None),
            (f"{sweep.against} − {row.method}", row.versus, row.p_holm),
        ):
            if difference is not None:
                a, b = name.split(" − ")[:2]
                rows.append((
                    row.env, name, number(difference.mean, sign=True), number(difference.low, sign=True),
                    number(difference.high, sign=True), p_text(p),
                    difference.why_not or worded(difference.verdict, f"{a} better", f"{b} better"),
                ))  # fmt: skip
    header = ("environment", "difference", "mean", "95 % low", "95 % high", "p (Holm)", "verdict")
    table = NumbersTable(
        "pairs",
        "Gains and differences, over tasks and, if there are several, seeds",
        Table(header, tuple(rows)),
    )
    return Section("pairs", "Pairs", tables=(table,))


def _denominators_section(sweep: StoredSweep) -> Section:
    names = ("planned", "scored", "infra_errors", "owed", "content_filter", "unscored", "truncated")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row.env,
            row.method,
            f"{row.finished} of {len(row.seeds)}",
            *((row.episodes or {}).get(n) for n in names),
        )
        for row in sweep.rows
    )
    header = ("environment", "method", "seeds", "planned", "scored", "infra errors", "not played",
              "content filter", "without a score", "truncated")  # fmt: skip
    table = NumbersTable("denominators", "Test episodes of all finished seeds", Table(header, rows))
    known = [row.episodes or {} for row in sweep.rows]
    planned, scored, cut = (sum(each.get(n, 0) for each in known) for n in ("planned", "scored", "truncated"))
    if _progress(sweep) or planned != scored or cut:
        return Section("denominators", "Denominators", tables=(table,))
    said = f"{scored:,} of {planned:,} test episodes are scored."
    return Section("denominators", "Denominators", (said,), tables=(table,), folded=True)


def _cost_section(sweep: StoredSweep, trained: list[Measurement]) -> Section:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            row.env,
            row.method,
            *(round(row.cost[name]) if name in row.cost else None for name in AXES.values()),
            *(
                (None,) * 3
                if row.budget is None
                else (
                    f"{row.budget.planned:,.0f} {row.budget.kind}",
                    round(row.budget.spent),
                    round(row.budget.overshoot),
                )
            ),
        )
        for row in sweep.rows
    )
    header = ("environment", "method", *AXES.values(), "budget", "spent", "overshoot")
    table = NumbersTable("training_cost", "Cost of training, mean over seeds", Table(header, rows))
    unequal = tuple(
        as_sentence(f"{row.env}, {sweep.against} and {row.method}: {note}")
        for row in sweep.rows
        for note in row.cost_notes
    )
    if not trained:
        roles = sorted({role for row in sweep.rows for role in row.generated})
        tokens = Table(
            ("environment", "method", *roles),
            tuple(
                (
                    row.env,
                    row.method,
                    *(round(n) if (n := row.generated.get(r)) is not None else None for r in roles),
                )
                for row in sweep.rows
            ),
        )
        by_role = NumbersTable("tokens_by_role", "Generated tokens by role, mean over seeds", tokens)
        return Section("cost", "Cost by role", unequal, tables=(table, *([by_role] if roles else [])))
    section = cost_section(trained)
    return Section("cost", section.title, (*section.notes, *unequal), section.figures, (table,))


def _unscored_section(sweep: StoredSweep, runs: list[Measurement]) -> Section:
    result = unscored_section([each.own for each in runs], "success")
    missing = tuple(
        f"{row.method} on {row.env}, seed {seed}: {status.get('state')}"
        + (f" ({status['reason']})" if status.get("reason") else "")
        for row in sweep.rows
        for seed, status in row.status.items()
        if status.get("state") != "finished"
    )
    if missing and not result.tables:
        return Section(result.id, result.title, missing)
    return Section(result.id, result.title, (*missing, *result.notes), tables=result.tables)


def _verdict(sweep: StoredSweep, env: str) -> str:
    """Return the result on ``env`` of the method with which the others are compared."""
    rows = {row.method: row for row in sweep.rows_on(env)}
    leader = rows.get(sweep.against)
    if leader is None or leader.success is None:
        return f"On {env}, {sweep.against} has no result, so nothing is compared with it."
    parts = [f"On {env}, {sweep.against} has a success of {number(leader.success)}{_gain(leader)}."]
    if any(row.finished < len(row.seeds) for row in rows.values()):
        parts.insert(0, "Not all runs are finished, so what follows is preliminary.")
    kinds: dict[str, list[str]] = {}
    not_compared = "It could not be compared with"
    for row in rows.values():
        if row.versus is not None:
            words = _VERDICTS.get(row.versus.verdict, not_compared)
            kinds.setdefault(words, []).append(f"{row.method} ({number(row.success)})")
    said = (*_VERDICTS.values(), not_compared)
    return " ".join([*parts, *(f"{words} {sentence(kinds[words])}." for words in said if words in kinds)])


_VERDICTS = {
    "A better": "It is better than",
    "B better": "It is worse than",
    "not distinguishable": "It cannot be told apart from",
    NOTHING_LEARNED: "It cannot be told apart from the following, which learned nothing:",
    ONE_SEED: "One seed compares two checkpoints, so there is no verdict on",
}


def _gain(row: StoredRow) -> str:
    if row.gain.mean is None:
        return ""
    otherwise = "one seed against" if row.gain.verdict == ONE_SEED else "not told apart from"
    words = worded(row.gain.verdict, "better than", "worse than", otherwise)
    return f", {words} the untrained model ({number(row.gain.mean, sign=True)})"


def _progress(sweep: StoredSweep) -> tuple[str, ...]:
    return tuple(
        f"{row.method} on {row.env}: {row.finished} of {len(row.seeds)} seeds are finished"
        for row in sweep.rows
        if row.finished < len(row.seeds)
    )
