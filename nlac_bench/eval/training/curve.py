"""The learning curve of a training run: success against steps, environment steps, tokens and seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlac_bench.eval.figures.curves import Reference, Tested, Trained, run_curve
from nlac_bench.eval.figures.figure import Figure
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.lines import RunFolderError
from nlac_bench.eval.statistics.outcomes import Outcomes, outcomes_of, success_rate
from nlac_bench.eval.training.metrics_row import fault_of
from nlac_bench.eval.training.untrained import BASE

AXES = {
    "gradient_steps_total": "gradient steps",
    "env_steps": "environment steps",
    "tokens": "generated tokens",
    "seconds": "training seconds",
}


def latest(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind by iteration; if an iteration was repeated after a crash, its last row."""
    return [row for _, row in sorted({r["iteration"]: r for r in rows if r["kind"] == kind}.items())]


def rows_of(run: RunFolder, kind: str) -> list[dict[str, Any]]:
    """Return ``latest`` of the metrics of a training run, with the fields that its curve needs.

    Raises:
        RunFolderError: a row lacks such a field, or has another type there.
    """
    try:
        rows = latest(list(run.metrics()), kind)
    except (LookupError, TypeError) as error:
        raise RunFolderError(_damaged(run, repr(error))) from error
    for row in rows:
        if fault := fault_of(row, kind):
            raise RunFolderError(_damaged(run, fault))
    return rows


def _damaged(run: RunFolder, fault: str) -> str:
    return f"{run.path / 'metrics.jsonl'} is damaged ({fault}); restore the file"


def learned(folder: Path, name: str = "") -> Trained:
    """Return the validations of the training run in ``folder``, and its test if it is finished.

    The tested checkpoint is that of the last validation that was the best so far.
    """
    run = RunFolder.open(folder)
    validations = rows_of(run, "validation")
    chosen = [row for row in validations if row["best"]]
    finished = chosen and not run.owed()
    return Trained(name, validations, tested(chosen[-1], outcomes_of(run)) if finished else None)


def tested(checkpoint: dict[str, Any], outcomes: Outcomes) -> Tested | None:
    """Return the test result of the checkpoint of a row of validation; None if no episode has a score."""
    success, interval = success_rate(outcomes.success)
    if success is None or interval is None:
        return None
    at = {key: checkpoint[key] for key in AXES}
    return Tested(at, success, interval.low, interval.high)


def curve(folder: Path, references: Sequence[Reference] = ()) -> Figure:
    """Return the learning curve of a training run, with ``references`` and the untrained model's success."""
    training = rows_of(RunFolder.open(folder), "iteration")
    shown = list(references)
    if (folder / BASE / "manifest.json").exists():
        base, _ = success_rate(outcomes_of(RunFolder.open(folder / BASE)).success)
        shown += [] if base is None else [Reference("untrained (test)", base)]
    return run_curve(learned(folder), training, shown, AXES)


def draw(folder: Path, references: Sequence[Reference] = ()) -> Path:
    """Write ``curve.svg`` to a training run's folder and return its path.

    It shows validation success with its 95 % interval (Wilson), the success of the training episodes, the
    untrained model's success, and the test success at the cost of the tested checkpoint if the run is
    finished.
    """
    path = folder / "curve.svg"
    curve(folder, references).save(path, "svg")
    return path
