"""Compares runs, or algorithms by several seeds each: what ``nlac-bench compare`` prints and more."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.reports.figures.figure import Table, canvas
from nlac_bench.reports.figures.forest import forest
from nlac_bench.reports.pages.notebook import html_text
from nlac_bench.reports.report.pairs import pairs_table
from nlac_bench.reports.report.subjects import forest_row, kind_of
from nlac_bench.reports.report.verdicts import pairs_verdict
from nlac_bench.stats.compare import Comparison, compare_all, comparison_table
from nlac_bench.stats.compare_seeds import AlgorithmComparison, compare_algorithms
from nlac_bench.stats.pairing import MeasuredRun, Metric, TaskChoice
from nlac_bench.training.costs import CostComparison, RunCost

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class RunsComparison:
    """The comparison of all pairs of ``sides``, each a run, or the runs of an algorithm's seeds."""

    metric: Metric
    sides: Sequence[tuple[str, Sequence[MeasuredRun]]]
    """Names and runs."""
    results: Sequence[Comparison | AlgorithmComparison]
    costs: CostComparison | None
    """Of two sides."""

    @property
    def verdict(self) -> str:
        """``A better``, ``B better`` or ``not distinguishable``; for more than two runs, a sentence."""
        first, *others = self.results
        if others:
            return pairs_verdict([each for each in self.results if isinstance(each, Comparison)], self.metric)
        return first.verdict

    @property
    def table(self) -> Table:
        """A row for each pair: the difference with its 95 % interval, p-values and the verdict."""
        return pairs_table(self.results)

    def plot(self) -> "Canvas":
        """Return a matplotlib figure: each side's mean with its 95 % interval.

        Raises:
            MissingError: matplotlib is not installed.
        """
        rows = [
            forest_row(name, kind_of(_folder(runs[0])), [run.outcomes for run in runs], self.metric)
            for name, runs in self.sides
        ]
        with canvas() as new:

            class NotebookFigure(new):  # type: ignore[misc, valid-type]
                """A figure that a notebook shows, also where pyplot was not imported."""

                def _repr_png_(self) -> bytes:
                    image = io.BytesIO()
                    self.savefig(image, format="png")
                    return image.getvalue()

            return forest(rows, self.metric).draw(NotebookFigure)

    def to_json(self) -> dict[str, object]:
        """Return the object that ``nlac-bench compare --json`` prints."""
        if self.costs is None:
            return {"comparisons": [each.to_json() for each in self.results]}
        return {**self.results[0].to_json(), **self.costs.to_json()}

    def to_text(self) -> str:
        """Return the comparison as text."""
        if self.costs is None:
            return comparison_table([each for each in self.results if isinstance(each, Comparison)])
        return f"{self.results[0].to_text()}\n\n{self.costs.to_text()}"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return html_text(self.to_text())


def compare_sides(
    sides: Sequence[Sequence[str | PathLike[str]]], *, metric: str = "success", common: bool = False
) -> RunsComparison:
    """Compare the runs of ``sides``, paired by task.

    Args:
        sides: the folders of each side; several are the seeds of an algorithm.
        metric: ``success`` or ``reward``.
        common: compare the tasks that all runs have, instead of refusing runs whose tasks differ.

    Raises:
        ValueError: ``metric`` is another text, or there are fewer than two sides, or several seeds and not
            two sides.
        NotComparableError: the conditions or the tasks of the runs differ.
        RunFolderError: a folder contains no run, or is damaged.
    """
    if metric not in ("success", "reward"):
        raise ValueError(f"metric must be success or reward, got {metric!r:.80}")
    if len(sides) < 2:
        raise ValueError(f"a comparison needs at least two runs, got {len(sides)}")
    several = any(len(side) != 1 for side in sides)
    if several and len(sides) != 2:
        raise ValueError(f"algorithms are compared in pairs: expected two sides, got {len(sides)}")
    measured: Metric = "success" if metric == "success" else "reward"
    tasks: TaskChoice = "common" if common else "all"
    runs = [[MeasuredRun.read(fspath(folder)) for folder in side] for side in sides]
    names = [",".join(fspath(folder) for folder in side) for side in sides]
    results: Sequence[Comparison | AlgorithmComparison]
    if several:
        a, b = (name if len(name) < 60 else f"{name[:57]}…" for name in names)
        results = [compare_algorithms(*runs, name_a=a, name_b=b, metric=measured, tasks=tasks)]
    else:
        results = compare_all([run for (run,) in runs], metric=measured, tasks=tasks)
    costs = None
    if len(runs) == 2:
        spent = [[RunCost.read(_folder(run), run.outcomes) for run in side] for side in runs]
        costs = CostComparison(spent[0], spent[1])
    return RunsComparison(measured, list(zip(names, runs, strict=True)), results, costs)


def _folder(run: MeasuredRun) -> RunFolder:
    return RunFolder.open(run.name)
