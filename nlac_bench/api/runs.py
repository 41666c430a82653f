"""Runs on disk as Python objects."""

import glob
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from nlac_bench.api import frames
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.reports.pages.notebook import html_text
from nlac_bench.stats.summary import Summary, summarise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A run, finished or not, in the folder ``path``. Each method reads the folder as it is then.

    The methods raise ``RunFolderError`` if the folder is damaged, and those that return a data frame
    ``MissingError`` if pandas is not installed.
    """

    path: Path

    @property
    def folder(self) -> RunFolder:
        """The run's configuration, manifest and records."""
        return RunFolder.open(self.path)

    def summary(self) -> Summary:
        """Return success, reward, pass^k, numbers of episodes and cost; ``to_json()`` has them as a dict."""
        return summarise(self.path)

    def episodes_df(self) -> "pd.DataFrame":
        """Return the recorded episodes (``frames.episodes_frame``)."""
        return frames.episodes_frame(self.folder)

    def turns_df(self) -> "pd.DataFrame":
        """Return the turns of the recorded episodes (``frames.turns_frame``)."""
        return frames.turns_frame(self.folder)

    def metrics_df(self) -> "pd.DataFrame":
        """Return the measurements of a training run (``frames.metrics_frame``)."""
        return frames.metrics_frame(self.folder)

    def critiques_df(self) -> "pd.DataFrame":
        """Return the lessons of a language critic (``frames.critiques_frame``)."""
        return frames.critiques_frame(self.folder)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.summary().to_text()

    def _repr_html_(self) -> str:
        return html_text(str(self))


def load(path: str | PathLike[str]) -> Run | list[Run]:
    """Return the run in the folder ``path``; for a pattern such as ``runs/*``, a list of all runs.

    Raises:
        RunFolderError: there is no run, or it cannot be read.
    """
    text = fspath(path)
    if Path(text).exists() or not glob.has_magic(text):
        return Run(RunFolder.open(text).path)
    manifests = glob.glob(f"{text}/manifest.json", recursive=True)  # noqa: PTH207 - the pattern may be absolute
    folders = sorted(Path(each).parent for each in manifests)
    if not folders:
        raise RunFolderError(f"no folder of a run matches {text!r}")
    return [Run(RunFolder.open(folder).path) for folder in folders]
