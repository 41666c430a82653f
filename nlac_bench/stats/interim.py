"""The success rate of a run that is being played, computed as the summary of the finished run computes it."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nlac_bench.harness.runs.folder import row_key
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.stats.intervals import Interval
from nlac_bench.stats.outcomes import success_rate
from nlac_bench.stats.tables import bracket, number


class Interim:
    """Success of the episodes that have ended so far.

    Args:
        plan: all planned episodes of the run.
        rows: the recorded episodes, as ``RunFolder.rows`` yields them.
    """

    def __init__(self, plan: Sequence[Planned], rows: Iterable[Mapping[str, object]] = ()) -> None:
        tasks, trials = {item.task_id for item in plan}, {item.trial for item in plan}
        self._row_of = {task: i for i, task in enumerate(sorted(tasks))}
        self._column_of = {trial: i for i, trial in enumerate(sorted(trials))}
        self._success = np.full((len(tasks), len(trials)), np.nan)
        self._open = np.zeros_like(self._success, dtype=bool)
        for item in plan:
            self._open[self._cell(*item.key)] = True
        self.planned = len(plan)
        for row in rows:
            success = row.get("success")
            self.add(row_key(row), success if isinstance(success, bool) else None)

    def add(self, key: tuple[str, int], success: bool | None) -> None:
        """Take the episode ``key`` (task, trial) into account; ``success`` is None if it has no score."""
        cell = self._cell(*key)
        self._open[cell] = False
        self._success[cell] = np.nan if success is None else success

    @property
    def ended(self) -> int:
        """Number of episodes that have ended."""
        return self.planned - int(self._open.sum())

    def rate(self) -> tuple[float | None, Interval | None]:
        """Return the success rate of the scored episodes and its interval, clustered by task."""
        return success_rate(self._success)

    def to_text(self) -> str:
        """Return the rate with its interval and, while episodes have not ended, with its bounds.

        Failing episodes often take longest, so the rate so far is biased upwards. The bounds are the final
        rate if all other episodes fail, and if all of them succeed.
        """
        scored, left = int(np.count_nonzero(~np.isnan(self._success))), self.planned - self.ended
        if not scored:
            what = "has a score" if self.ended else "has ended"
            return f"no episode {what} yet" if left else ""
        rate, interval = self.rate()
        text = f"success {number(rate)} {bracket(interval)} of {scored} ended"
        if not left:
            return text
        low, high = (success_rate(np.where(self._open, end, self._success))[0] for end in (0.0, 1.0))
        return f"{text} ({low:.2f} to {high:.2f} once all {scored + left} have ended)"

    def _cell(self, task_id: str, trial: int) -> tuple[int, int]:
        return self._row_of[task_id], self._column_of[trial]
