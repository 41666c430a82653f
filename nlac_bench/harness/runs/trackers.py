"""Experiment trackers, to which a run's measurements are also sent: their names, packages and protocol."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from nlac_bench.errors import ConfigError

EXTRA = "track"
"""The extra of this package that installs the packages of all trackers."""

TRACKERS = {
    "tensorboard": "nlac_bench.bridges.trackers.tensorboard:TensorBoard",
    "wandb": "nlac_bench.bridges.trackers.wandb:WeightsAndBiases",
    "trackio": "nlac_bench.bridges.trackers.trackio:Trackio",
    "mlflow": "nlac_bench.bridges.trackers.mlflow:MLflow",
}
"""Name, which is also that of the Python package, → the class that implements ``Tracker``."""


class Tracker(Protocol):
    """Sends a run's measurements to another program. One thread calls all methods, ``start`` first.

    Methods may raise any exception and may be slow: the caller reports the first error and goes on.
    """

    def start(self, config: Mapping[str, Any], run_dir: Path, resume_id: str) -> None:
        """Begin to track the run, or continue it if the tracker knows ``resume_id``.

        Args:
            config: the settings of the run, as plain JSON without secrets.
            run_dir: the folder of the run; its name is that of the run.
            resume_id: identifies the run, and is the same after ``nlac-bench resume``.
        """

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Record finite numbers at ``step``, the iteration of the training."""

    def text(self, key: str, markdown: str, step: int) -> None:
        """Record a text."""

    def finish(self, summary: Mapping[str, float], step: int) -> None:
        """Record the results at ``step`` and wait until everything is stored.

        Args:
            summary: empty if the run was interrupted.
            step: the last iteration of the training; 0 without one.
        """


def tracker_names(track: str | None) -> tuple[str, ...]:
    """Return the trackers that the setting ``track`` names, each once.

    Raises:
        ConfigError: a name is unknown.
    """
    names = tuple(dict.fromkeys(name.strip() for name in (track or "").split(",") if name.strip()))
    for name in names:
        if name not in TRACKERS:
            raise ConfigError(f"track has no tracker {name!r:.80}; the trackers are {', '.join(TRACKERS)}")
    return names


def make_tracker(name: str) -> Tracker:
    """Return a new tracker. Its package is imported when it starts."""
    module, _, attribute = TRACKERS[name].partition(":")
    tracker: Tracker = getattr(importlib.import_module(module), attribute)()
    return tracker
