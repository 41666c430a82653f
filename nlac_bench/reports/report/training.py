"""Sections on training: learning curves, cost by role, critiques."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from nlac_bench.agents.nlac.records import CritiqueRecord
from nlac_bench.harness.runs.critiques import read_critiques
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.figures.costs import costs
from nlac_bench.reports.figures.curves import MethodCurves, Reference, method_curves
from nlac_bench.reports.figures.figure import Table
from nlac_bench.reports.figures.training_curve import curve
from nlac_bench.reports.report.page import NumbersTable, Section, Texts, as_sentence
from nlac_bench.reports.report.references import stored_references
from nlac_bench.reports.report.subjects import Measurement, ReportSubject
from nlac_bench.rollout.meter import spent_from_row
from nlac_bench.stats.outcomes import success_rate
from nlac_bench.training.costs import CostComparison, RunCost
from nlac_bench.training.curve import AXES, learned, rows_of
from nlac_bench.types import Usage

DRAWN = 5
"""Critiques that a report shows."""
_PURPOSES = {"learning": "training", "validation": "validation", "probe": "probes of the critic"}


def references_of(subjects: Sequence[ReportSubject]) -> list[Reference]:
    """Return the success of the floors and the oracle among ``subjects``."""
    results = {s.name: success_rate(s.outcomes.success)[0] for s in subjects if s.kind in ("floor", "oracle")}
    return [Reference(name, success) for name, success in results.items() if success is not None]


def stored_reference_lines(folder: Path) -> list[Reference]:
    """Return the floors and the oracle that were played for the run in ``folder``.

    Raises:
        RunFolderError: a folder is damaged.
    """
    result = stored_references(RunFolder.open(folder)).items()
    return references_of([ReportSubject.read(name, "floor", run) for name, run in result])


def curves_section(measurements: Sequence[Measurement]) -> Section:
    """Return the learning curves of the training runs among ``measurements``, against each cost."""
    trained = [each for each in measurements if each.trains]
    references = references_of(measurements[0].references)
    note = (
        "Success on the validation tasks during training. The diamond is the test, drawn at the cost at "
        "which training reached the tested checkpoint, with its 95 % interval."
    )
    title = "Learning curves"
    optimistic = tuple(filter(None, map(_optimism, trained)))
    if len(trained) == 1:
        figure = curve(trained[0].own.run.path, references)
        band = " The band is the 95 % interval of a validation."
        return Section("curves", title, (note + band, *optimistic), (figure,))
    methods = [MethodCurves(m.name, m.name, [learned(m.own.run.path, m.name)]) for m in trained]
    figures = tuple(method_curves(methods, references, key, name) for key, name in AXES.items())
    return Section("curves", title, (note, *optimistic), figures)


def _optimism(measurement: Measurement) -> str:
    """Return a warning about the validation result that the tested checkpoint was chosen by; "" without one.

    The largest of several noisy results is too large on average.
    """
    rows = rows_of(measurement.own.run, "validation")
    chosen = [row for row in rows if row["best"]]
    if len(rows) < 2 or not chosen:
        return ""
    on = f" on {chosen[-1]['tasks']:,} tasks" if isinstance(chosen[-1].get("tasks"), int) else ""
    return (
        f"{measurement.name}: gradient step {chosen[-1]['gradient_steps_total']:,} had the best of "
        f"{len(rows)} validations{on}, so its validation result is optimistic; the test is not."
    )


def cost_section(measurements: Sequence[Measurement]) -> Section:
    """Return calls and tokens by role of the untrained model's episodes, of training and of the test."""
    usage: dict[tuple[str, str], Usage] = {}
    for each in measurements:
        before = f"{each.name}, " if len(measurements) > 1 else ""
        parts: list[tuple[str, Mapping[str, Usage]]] = []
        if each.base is not None:
            parts.append(("untrained", each.base.outcomes.usage))
        if each.trains:
            rows = rows_of(each.own.run, "iteration")
            during = spent_from_row(rows[-1].get("usage", {})) if rows else {}
            parts += [
                (part, {role: spent for (of, role), spent in during.items() if of == purpose})
                for purpose, part in _PURPOSES.items()
            ]
        parts.append(("test" if each.trains else "episodes", each.own.outcomes.usage))
        for part, by_role in parts:
            for role, spent in by_role.items():
                usage[f"{before}{part}", role] = spent
    if not any(spent.prompt_tokens + spent.completion_tokens for spent in usage.values()):
        return Section("cost", "Cost by role", ("No model was called, so no tokens were spent.",))
    total = sum(usage.values(), Usage())
    note = (
        f"{total.completion_tokens:,} tokens were generated and {total.prompt_tokens:,} read, in "
        f"{total.calls:,} calls. A dash under US$ means that no price was given."
    )
    return Section("cost", "Cost by role", (note,), (costs(usage),))


def equal_cost_section(sides: Sequence[Sequence[ReportSubject]]) -> Section | None:
    """Return the mean costs of two sides beside each other, and what holds at equal cost; None for other
    numbers of sides, or if no side cost anything.

    Raises:
        RunFolderError: the metrics of a run are damaged.
    """
    if len(sides) != 2:
        return None
    a, b = ([RunCost.read(each.run, each.outcomes) for each in side] for side in sides)
    both = CostComparison(a, b)
    if not (rows := both.table()):
        return None
    table = Table(("cost", "A", "B", "A / B"), tuple(map(tuple, rows)))
    numbers = NumbersTable(
        "equal_cost", "Cost of training, or of the episodes of agents that are not trained", table
    )
    return Section(
        "equal_cost", "Cost of both sides", tuple(map(as_sentence, both.notes())), tables=(numbers,)
    )


def critiques_section(measurements: Sequence[Measurement]) -> Section | None:
    """Return ``DRAWN`` critiques of each run, drawn with the run's seed; None if no run has any.

    Raises:
        RunFolderError: a file of critiques is damaged.
    """
    texts: list[Texts] = []
    notes = []
    for each in measurements:
        path, seed = each.own.run.path, _seed(each.own.run)
        drawn, known = draw_critiques(path, seed)
        if not known:
            continue
        subject = f"{each.name}: " if len(measurements) > 1 else ""
        texts += [_texts(record, subject) for record in drawn]
        notes.append(
            f"{subject}{len(drawn)} of {known:,} critiques, drawn with the seed {seed} of the run and "
            "not chosen."
        )
    if not texts:
        return None
    notes.append(
        "The prediction is about the proposed action; what happened followed the action that was played, "
        "which may be another one."
    )
    return Section("critiques", "What the critic said", tuple(notes), texts=tuple(texts))


def _seed(run: RunFolder) -> int:
    seed = run.config.get("seed") or 0
    if not isinstance(seed, int):
        raise RunFolderError(
            f"{run.path / 'config.json'} is damaged (seed {seed!r:.80} is not an integer); restore the file"
        )
    return seed


def draw_critiques(folder: Path, seed: int) -> tuple[list[CritiqueRecord], int]:
    """Return ``DRAWN`` critiques of the training run in ``folder`` in their order, and how many it has.

    They are drawn in one pass (Vitter's algorithm R, 1985), because the file may be larger than the memory.
    """
    rng, drawn, known = random.Random(seed), dict[int, CritiqueRecord](), 0
    for record in read_critiques(folder):
        if record.critique is None:
            continue
        place = known if known < DRAWN else rng.randrange(known + 1)
        known += 1
        if place < DRAWN:
            drawn[place] = record
    return sorted(drawn.values(), key=lambda r: (r.iteration, r.lesson)), known


def _texts(record: CritiqueRecord, subject: str) -> Texts:
    words = {True: "yes", False: "no", None: "not stated"}
    ended = {True: "success", False: "failure", None: "no success value"}
    same = record.proposed == record.played
    predicted = [
        ("proposed action", "the played action" if same else record.proposed),
        ("predicted future", record.future),
        ("predicted outcome", record.predicted),
        ("critique", record.critique),
        ("optimal, it said", words[record.optimal]),
        ("refined action", record.refined),
    ]
    happened = [
        ("played action", record.played),
        ("answer of the environment", record.answered),
        ("outcome of the episode", ended[record.success]),
    ]
    return Texts(
        f"{subject}task {record.task}, step {record.step}, iteration {record.iteration}",
        record.heard,
        tuple((k, v) for k, v in predicted if v),
        tuple((k, v) for k, v in happened if v),
    )
