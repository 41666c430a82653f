"""Writes the event files of TensorBoard into the folder ``tensorboard`` of the run."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.bridges.require import require
from nlac_bench.harness.runs.trackers import EXTRA

FOLDER = "tensorboard"


class TensorBoard:
    """Needs no TensorFlow and no torch. View the files with ``tensorboard --logdir runs``."""

    def start(self, config: Mapping[str, Any], run_dir: Path, resume_id: str) -> None:
        """Begin a new event file; a resumed run has one for each process."""
        require("tensorboard", EXTRA)
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.plugins.text.summary_v2 import text_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary, self._text = event_pb2, summary_pb2.Summary, text_pb
        folder = run_dir / FOLDER
        self._resumed = folder.is_dir()
        self._writer = EventFileWriter(str(folder))
        self.text("config", f"```json\n{json.dumps(config, indent=1)}\n```", 0)

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Write scalars; the first of a resumed run replace those of the same and later steps."""
        if self._resumed:
            start = self._event.SessionLog(status=self._event.SessionLog.START)
            self._writer.add_event(self._event.Event(wall_time=time.time(), step=step, session_log=start))
            self._resumed = False
        self._scalars(metrics, step)

    def text(self, key: str, markdown: str, step: int) -> None:
        """Write a text, which TensorBoard shows as Markdown."""
        self._write(self._text(key, markdown), step)

    def finish(self, summary: Mapping[str, float], step: int) -> None:
        """Write the results as scalars ``summary/…``, which replace no step."""
        if summary:
            self._scalars({f"summary/{name}": value for name, value in summary.items()}, step)
        self._writer.close()

    def _scalars(self, values: Mapping[str, float], step: int) -> None:
        scalars = [self._summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._write(self._summary(value=scalars), step)

    def _write(self, summary: Any, step: int) -> None:
        self._writer.add_event(self._event.Event(wall_time=time.time(), step=step, summary=summary))
        self._writer.flush()
