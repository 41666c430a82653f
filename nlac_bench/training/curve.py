"""Reads the learning curve of a training run: success by steps, environment steps, tokens and seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.stats.outcomes import Outcomes, outcomes_of, success_rate
from nlac_bench.training.metrics_row import fault_of

AXES = {
    "gradient_steps_total": "gradient steps",
    "env_steps": "environment steps",
    "tokens": "generated tokens",
    "seconds": "training seconds",
}


TESTED = "tested"
"""The kind of the row of ``metrics.jsonl`` with the hash of the tested weights."""


@dataclass(frozen=True)
class Tested:
    """The test result of a checkpoint, with the costs at which training reached that checkpoint."""

    at: Mapping[str, float]
    success: float
    low: float
    high: float


@dataclass(frozen=True)
class TrainedSeed:
    """One seed of a method: its rows of validation by cost, and the test of its checkpoint if it has one."""

    name: str
    validations: Sequence[Mapping[str, Any]]
    tested: Tested | None = None


def latest(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind by iteration, without those of iterations that a crash lost.

    An iteration is logged before its validation. A row that would come earlier in this order than the rows
    before it is of a resumed training, so those rows were lost, even if it does not repeat all of them.
    """
    kept: list[tuple[int, bool, dict[str, Any]]] = []
    for row in rows:
        if row["kind"] != TESTED:
            at = row["iteration"], row["kind"] == "validation"
            while kept and kept[-1][:2] >= at:
                kept.pop()
            kept.append((*at, row))
    return [row for _, _, row in kept if row["kind"] == kind]


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


def tested_weights(run: RunFolder) -> str | None:
    """Return the hash of the weights that play the test; None before the test, and of runs without it."""
    rows = [row for row in run.metrics() if row.get("kind") == TESTED]
    return rows[-1].get("weights_sha256") if rows else None


def start_is_best(run: RunFolder) -> bool:
    """Return whether the best validation was that before training, so that the untrained model is tested."""
    chosen = chosen_of(rows_of(run, "validation"))
    return chosen is not None and not chosen["gradient_steps_total"]


def chosen_of(validations: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the validation whose checkpoint is tested: the last one that was the best so far."""
    return next((row for row in reversed(validations) if row["best"]), None)


def success_of_planned(validation: Mapping[str, Any]) -> float:
    """Return the share of the planned tasks that succeeded in a validation; it chooses the checkpoint.

    Tasks that a content filter stopped count as failures.
    """
    played = validation.get("tasks", 1)
    return float(validation["success"]) * played / validation.get("planned", played)


def _damaged(run: RunFolder, fault: str) -> str:
    return f"{run.path / 'metrics.jsonl'} is damaged ({fault}); restore the file"


def learned(folder: Path, name: str = "") -> TrainedSeed:
    """Return the validations of the training run in ``folder``, and its test if it is finished.

    The tested checkpoint is that of the last validation that was the best so far.
    """
    run = RunFolder.open(folder)
    validations = rows_of(run, "validation")
    chosen = chosen_of(validations)
    if chosen is None or run.owed():
        return TrainedSeed(name, validations)
    return TrainedSeed(name, validations, tested(chosen, outcomes_of(run)))


def tested(checkpoint: dict[str, Any], outcomes: Outcomes) -> Tested | None:
    """Return the test result of the checkpoint of a row of validation; None if no episode has a score."""
    success, interval = success_rate(outcomes.success)
    if success is None or interval is None:
        return None
    at = {key: checkpoint[key] for key in AXES}
    return Tested(at, success, interval.low, interval.high)
