"""Draws the learning curve of a training run."""

from collections.abc import Sequence
from pathlib import Path

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.figures.curves import Reference, run_curve
from nlac_bench.reports.figures.figure import Figure
from nlac_bench.stats.outcomes import outcomes_of, success_rate
from nlac_bench.training.curve import AXES, learned, rows_of
from nlac_bench.training.untrained import BASE


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
