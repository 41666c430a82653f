"""The section on how well a language critic tells successful episodes from failed ones."""

import math
from collections.abc import Sequence

from nlac_bench.agents.nlac.records import ProbeRecord
from nlac_bench.agents.roles.auc import auc, auc_interval
from nlac_bench.harness.runs.critiques import read_probes
from nlac_bench.reports.figures.figure import Cell, Table
from nlac_bench.reports.report.page import NumbersTable, Section
from nlac_bench.reports.report.subjects import Measurement
from nlac_bench.training.curve import rows_of

_COLUMNS = (
    "run",
    "gradient steps",
    "states",
    "evaluator AUC",
    "95 % interval",
    "successor AUC",
    "95 % interval",
)
_NOTE = (
    "At each validation the critic reads the same states, which are drawn from the first validation and not "
    "trained on. AUC: area under the ROC curve of the evaluator's P(yes) and the successor's P(success), or "
    "of their words, for the outcome of the state's episode; 0.5 is chance. A verdict is about one action "
    "and the outcome about the whole episode, so an AUC of 1 cannot be expected. Intervals resample tasks. "
    "Answers that could not be read are left out."
)
_REAL = "Self-distillation is given the real future instead of a prediction, so its successor AUC is 1."


def critic_section(measurements: Sequence[Measurement]) -> Section | None:
    """Return the AUCs of the critic on its fixed probe set; None if no run has such readings.

    All validations of one run are shown, and the first and the last one of several runs.

    Raises:
        RunFolderError: the probes or the metrics of a run are damaged.
    """
    rows: list[tuple[Cell, ...]] = []
    for each in measurements:
        by_iteration: dict[int, list[ProbeRecord]] = {}
        for reading in read_probes(each.own.run.path):
            by_iteration.setdefault(reading.iteration, []).append(reading)
        steps = {row["iteration"]: row["gradient_steps_total"] for row in rows_of(each.own.run, "validation")}
        shown = [iteration for iteration in by_iteration if iteration in steps]
        if len(measurements) > 1:
            shown = list(dict.fromkeys([*shown[:1], *shown[-1:]]))
        rows += [(each.name, steps[i], *_areas(by_iteration[i])) for i in shown]
    if not rows:
        return None
    table = NumbersTable(
        "critic", "What the critic knows about the outcomes of fixed states", Table(_COLUMNS, tuple(rows))
    )
    given = any(each.own.run.subject.get("agent") == "self_distillation" for each in measurements)
    return Section("critic", "What the critic knows", (_NOTE, *([_REAL] if given else [])), tables=(table,))


def _areas(readings: Sequence[ProbeRecord]) -> tuple[Cell, ...]:
    known = [reading for reading in readings if reading.success is not None]
    verdicts = [_graded(r.optimal_probability, r.optimal) for r in known]
    predictions = [
        _graded(r.success_probability, None if r.predicted is None else r.predicted == "success")
        for r in known
    ]
    return len(known), *_area(known, verdicts), *_area(known, predictions)


def _graded(probability: float | None, said: bool | None) -> float | None:
    """Return the probability of a yes, or the word as a number where the model wrote it freely."""
    return probability if probability is not None or said is None else float(said)


def _area(readings: Sequence[ProbeRecord], graded: Sequence[float | None]) -> tuple[Cell, Cell]:
    scored = [
        (score, reading)
        for score, reading in zip(graded, readings, strict=True)
        if score is not None and math.isfinite(score)
    ]
    scores, labels = [score for score, _ in scored], [bool(r.success) for _, r in scored]
    interval = auc_interval(scores, labels, [r.task for _, r in scored])
    return auc(scores, labels), None if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"
