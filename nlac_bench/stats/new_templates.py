"""Compares a run's success on the split ``test`` with that on ``test_new``, whose templates are held out."""

from dataclasses import dataclass
from math import hypot
from pathlib import Path

from nlac_bench.harness.measure.new_templates import TEST_NEW
from nlac_bench.stats.intervals import Interval
from nlac_bench.stats.summary import Summary, summarise
from nlac_bench.stats.tables import bracket, number


@dataclass(frozen=True)
class NewTemplates:
    """The success on known and on new templates. ``gap`` is that on known ones minus that on new ones."""

    known: Summary
    new: Summary

    @classmethod
    def read(cls, folder: Path) -> "NewTemplates | None":
        """Read the run in ``folder``; None if it has no complete episodes of ``test_new``.

        Raises:
            RunFolderError: a run folder is damaged.
        """
        if not (folder / TEST_NEW / "manifest.json").exists():
            return None
        result = cls(summarise(folder), summarise(folder / TEST_NEW))
        return result if result.known.success is not None and result.new.outcomes.counts.complete else None

    @property
    def gap(self) -> float | None:
        """How much lower the success on new templates is."""
        if self.known.success is None or self.new.success is None:
            return None
        return self.known.success - self.new.success

    @property
    def interval(self) -> Interval | None:
        """The interval of the gap between two independent rates (Newcombe 1998, method 10)."""
        gap, known, new = self.gap, self.known, self.new
        if gap is None or known.interval is None or new.interval is None:
            return None
        assert known.success is not None and new.success is not None
        below = hypot(known.success - known.interval.low, new.interval.high - new.success)
        above = hypot(known.interval.high - known.success, new.success - new.interval.low)
        return Interval(gap - below, gap + above, "Newcombe")

    def to_json(self) -> dict[str, object]:
        """Return the object ``test_new`` that ``run --json`` prints."""
        ci, gap = self.new.interval, self.interval
        return {
            "success": self.new.success,
            "ci": None if ci is None else [ci.low, ci.high],
            "tasks": self.new.tasks,
            "gap": self.gap,
            "gap_ci": None if gap is None else [gap.low, gap.high],
        }

    def to_text(self) -> str:
        """Return both rates and the gap in one line."""
        return (
            f"new templates ({TEST_NEW}): success {number(self.new.success)} {bracket(self.new.interval)} on "
            f"{self.new.tasks} tasks; gap to known templates {number(self.gap)} {bracket(self.interval)}"
        )


NOT_MEASURED = {"success": None, "ci": None, "tasks": 0, "gap": None, "gap_ci": None}
"""What ``run --json`` prints as ``test_new`` where the split exists and was not measured."""
