"""Logs to Weights & Biases; ``WANDB_MODE=offline`` needs no key and no network."""

import html
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.bridges.require import require
from nlac_bench.bridges.trackers import PROJECT
from nlac_bench.harness.runs.trackers import EXTRA


class WeightsAndBiases:
    """The variables ``WANDB_PROJECT``, ``WANDB_API_KEY`` and others of the package apply."""

    def start(self, config: Mapping[str, Any], run_dir: Path, resume_id: str) -> None:
        """Begin the run, or continue the one with this id.

        What wandb collects by itself is switched off, because it may contain secrets: arguments, output,
        git's remote, source files, installed packages and the machine. So is the question for a key. Its
        files are in ``WANDB_DIR``, not in the run's folder, because they contain symbolic links.
        """
        wandb: Any = require("wandb", EXTRA)
        settings = wandb.Settings(
            console="off", silent=True, disable_git=True, disable_code=True, save_code=False,
            x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True, x_save_requirements=False,
        )  # fmt: skip
        if wandb.setup().settings.mode in ("online", "shared") and not wandb.api.api_key:
            raise RuntimeError("no API key; set WANDB_API_KEY or WANDB_MODE=offline")
        self._wandb = wandb
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT), name=run_dir.name, id=resume_id, resume="allow",
            config=dict(config), settings=settings,
        )  # fmt: skip

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        """Log numbers. Those of several calls with the same step are one row."""
        self._run.log(dict(metrics), step=step)

    def text(self, key: str, markdown: str, step: int) -> None:
        """Log a text as HTML in which nothing of it is markup."""
        self._run.log({key: self._wandb.Html(f"<pre>{html.escape(markdown)}</pre>", inject=False)}, step=step)

    def finish(self, summary: Mapping[str, float], step: int) -> None:
        """Set the results in the run's summary and wait until everything is stored or uploaded."""
        self._run.summary.update({f"summary/{name}": value for name, value in summary.items()})
        self._run.finish(exit_code=0 if summary else 1)
