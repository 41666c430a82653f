"""Tells how far the runs of a sweep are: the success of each, what the running ones do, and the time left."""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nlac_bench.harness.measure.training_estimate import duration
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.stats.pairing import MeasuredRun
from nlac_bench.stats.tables import number
from nlac_bench.sweep.rows import mean_success
from nlac_bench.sweep.status import one_line

EVERY_S = 30.0
LOG_TAIL = 4 * 1024


@dataclass
class SweepProgress:
    """The progress of some runs that are played side by side; its methods may be called in any thread.

    Args:
        planned: number of runs.
        say: called with each line of text.
    """

    planned: int
    say: Callable[[str], None]
    ended: int = 0
    running: dict[Path, Path] = field(default_factory=dict)
    """The log of each running run, by its folder."""

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self._over = threading.Event()
        self._saying = threading.Lock()  # what is said of a running run is said before its end
        self._thread = threading.Thread(target=self._tell, name="nlac-bench-sweep", daemon=True)

    def __enter__(self) -> "SweepProgress":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()

    def begin(self, folder: Path, log: Path) -> None:
        """Note that a run has begun."""
        self.running[folder] = log

    def end(self, folder: Path, *, finished: bool) -> None:
        """Note that a run has ended; if it is finished, say its success and the time left."""
        with self._saying:
            self.running.pop(folder, None)
            self.ended += 1
            if finished:
                self.say(f"done: {folder}{_success(folder)}; {self.left()}")

    def left(self) -> str:
        """Return how many runs have ended, and the time left if the others take as long."""
        counted = f"{self.ended} of {self.planned} have ended"
        if not self.ended or self.ended == self.planned:
            return counted
        seconds = (time.monotonic() - self._began) / self.ended * (self.planned - self.ended)
        return f"{counted}, {duration(seconds)} left"

    def lines(self) -> list[str]:
        """Return a line for each running run, with the newest line of its log, and one with the time left."""
        return [*(f"{folder}: {_newest(log)}" for folder, log in list(self.running.items())), self.left()]

    def _tell(self) -> None:
        while not self._over.wait(EVERY_S):
            with self._saying:
                for line in self.lines() if self.running else ():
                    self.say(line)


def _success(folder: Path) -> str:
    try:
        return f", success {number(mean_success(MeasuredRun.read(folder, folder.name)))}"
    except RunFolderError as error:
        return f" ({error})"


def _newest(log: Path) -> str:
    """Return the last line of a log, as far as it has been written."""
    try:
        with log.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LOG_TAIL))
            lines = stream.read().decode("utf-8", "replace").split("\n")
    except OSError:
        lines = []
    return one_line(next((line for line in reversed(lines) if line.strip()), "has begun"))
