"""Logs to Trackio, whose SQLite files are in ``TRACKIO_DIR``; view them with ``trackio show``."""

import functools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.bridges.require import require
from nlac_bench.bridges.trackers import PROJECT
from nlac_bench.harness.runs.trackers import EXTRA


class Trackio:
    """The variables ``TRACKIO_SPACE_ID``, ``TRACKIO_SERVER_URL`` and others of the package apply."""

    def start(self, config: Mapping[str, Any], run_dir: Path, resume_id: str) -> None:
        """Begin the run, or continue the one whose name has this id."""
        trackio: Any = require("trackio", EXTRA)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "trackio":  # standard output belongs to the command
                vars(module)["print"] = functools.partial(print, file=sys.stderr)
        self._trackio = trackio
        self._run = trackio.init(
            PROJECT, name=resume_id, config=dict(config), resume="allow", embed=False,
            auto_log_gpu=False, auto_log_cpu=False,
        )  # fmt: skip

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Log numbers."""
        self._run.log(dict(metrics), step=step)

    def text(self, key: str, markdown: str, step: int) -> None:
        """Log a text as Markdown."""
        self._run.log({key: self._trackio.Markdown(markdown)}, step=step)

    def finish(self, summary: Mapping[str, float], step: int) -> None:
        """Log the results as ``summary/…``, and wait until everything is stored."""
        if summary:
            self.log({f"summary/{name}": value for name, value in summary.items()}, step)
        self._run.finish()
