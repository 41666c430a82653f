"""Logs to the MLflow server or store that ``MLFLOW_TRACKING_URI`` names."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nlac_bench.bridges.require import require
from nlac_bench.bridges.trackers import PROJECT
from nlac_bench.harness.runs.trackers import EXTRA

TAG = "nlac_bench.run"
"""The tag by which a resumed run finds what it has logged before."""

_MOST_PARAMETERS = 100
_MOST_CHARS = 6000
"""Limits of MLflow: parameters of one request, and characters of a parameter's value."""


class MLflow:
    """The package ``mlflow-skinny`` logs to servers; other stores need ``mlflow``."""

    def start(self, config: Mapping[str, Any], run_dir: Path, resume_id: str) -> None:
        """Begin the run, or continue the one that has this id as a tag. Parameters cannot be changed."""
        require("mlflow", EXTRA)
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        self._metric, self._client = Metric, MlflowClient()
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)
        experiment = self._client.get_experiment_by_name(name)
        where = experiment.experiment_id if experiment else self._client.create_experiment(name)
        runs = self._client.search_runs([where], filter_string=f"tags.`{TAG}` = '{resume_id}'", max_results=1)
        if runs:
            self._run = runs[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        self._run = self._client.create_run(where, run_name=run_dir.name, tags={TAG: resume_id}).info.run_id
        values = [Param(key, value[:_MOST_CHARS]) for key, value in _parameters(config)]
        for first in range(0, len(values), _MOST_PARAMETERS):
            self._client.log_batch(self._run, params=values[first : first + _MOST_PARAMETERS])

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Log numbers."""
        now = int(time.time() * 1000)
        # MLflow stores a metric under its name, in which a colon is allowed on some systems only.
        values = [self._metric(name.replace(":", "."), x, now, step) for name, x in metrics.items()]
        self._client.log_batch(self._run, metrics=values)

    def text(self, key: str, markdown: str, step: int) -> None:
        """Store a text as the artifact ``KEY/STEP.md``."""
        self._client.log_text(self._run, markdown, f"{key}/{step:06d}.md")

    def finish(self, summary: Mapping[str, float], step: int) -> None:
        """Log the results as ``summary/…``, and end the run."""
        if summary:
            self.log({f"summary/{name}": value for name, value in summary.items()}, step)
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        self._client.set_terminated(self._run, "FINISHED" if summary else "KILLED")


def _parameters(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _parameters(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
