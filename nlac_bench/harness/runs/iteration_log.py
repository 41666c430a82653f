"""A file of a training run whose lines belong to iterations; it is kept in step with the checkpoints."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from nlac_bench.harness.runs.episode_json import dump_line
from nlac_bench.harness.runs.lines import Appender, RunFolderError, read_lines
from nlac_bench.redaction import redactor


class IterationLog:
    """Appends JSON lines with a field ``iteration`` to ``path``; the file is created with the first line.

    Hold the run's ``FolderLock``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: Appender | None = None

    def restart_after(self, iteration: int) -> None:
        """Remove the lines of iterations after ``iteration``, which will be repeated, and an incomplete line.

        Call it before the first line is appended.

        Raises:
            RunFolderError: a line is damaged or has no iteration; the file is unchanged.
        """
        end = 0
        for row, line_end in read_lines(self.path):
            result = row.get("iteration")
            if type(result) is not int:
                raise RunFolderError(
                    f"{self.path} has a line whose iteration is {result!r:.80}; expected a whole number: "
                    "restore the file, or remove it"
                )
            if result > iteration:
                break
            end = line_end
        if self.path.exists():
            self._file = Appender(self.path, end)

    def append(self, rows: Iterable[Mapping[str, object]]) -> None:
        """Append ``rows``, without secrets.

        Raises:
            RunFolderError: the disk is full or fails; all earlier lines are intact.
        """
        for row in rows:
            if self._file is None:
                self._file = Appender(self.path, max((end for _, end in read_lines(self.path)), default=0))
            self._file.append(redactor().json(dump_line(row)))

    def sync(self) -> None:
        """Call fsync, so that a checkpoint that is written next is not newer than the lines."""
        if self._file is not None:
            self._file.sync()

    def close(self) -> None:
        """Call fsync and close the file.

        Raises:
            RunFolderError: fsync failed, so lines may be lost.
        """
        file, self._file = self._file, None
        if file is not None:
            file.close()
