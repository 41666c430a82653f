"""How a run is going: a live line in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from nlac_bench.cli.output import errors
from nlac_bench.eval.runs.configuration import RunConfig
from nlac_bench.eval.statistics.distributions import Z95
from nlac_bench.eval.statistics.intervals import wilson_bounds
from nlac_bench.rollout.driver import Failure
from nlac_bench.train.config import Budget
from nlac_bench.types import Episode

_PLAIN_EVERY_S = 10.0


class RunProgress:
    """Done/planned, success so far with its interval, generated tokens a second, time left.

    The interval shown on the way is Wilson's over episodes; the final table's is clustered by task.
    """

    def __init__(self, planned: int, done: int) -> None:
        self._planned, self._done, self._before = planned, done, done
        self._scored = self._won = self._failed = self._tokens = 0
        self._began = self._said = time.monotonic()
        columns = (
            TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._live = sys.stderr.isatty()
        self._bar = Progress(*columns, console=errors, disable=not self._live, transient=True)
        self._task = self._bar.add_task("", total=planned, completed=done)

    def __enter__(self) -> "RunProgress":
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()

    def __call__(self, result: Episode | Failure) -> None:
        """Take one result into account."""
        self._tokens += sum(usage.completion_tokens for usage in result.usage.values())
        if isinstance(result, Failure):
            self._failed += 1
        else:
            self._done += 1
            if result.success is not None:
                self._scored += 1
                self._won += result.success
        self._bar.update(self._task, completed=self._done, description=self._status())
        now = time.monotonic()
        if not self._live and (now - self._said > _PLAIN_EVERY_S or self._done == self._planned):
            self._said = now
            played = self._done - self._before
            left = (self._planned - self._done) * (now - self._began) / played if played else None
            eta = "time left unknown" if left is None else f"{left:.0f} s left"
            errors.print(f"{self._done}/{self._planned} episodes, {self._status()}, {eta}", soft_wrap=True)

    def _status(self) -> str:
        parts = []
        if self._scored:
            rate = self._won / self._scored
            low, high = (float(bound) for bound in wilson_bounds(np.asarray(rate), self._scored, Z95))
            parts.append(f"success {rate:.3f} ({low:.3f} to {high:.3f})")
        parts.append(f"{self._tokens / max(1e-9, time.monotonic() - self._began):.0f} tokens/s")
        if self._failed:
            parts.append(f"{self._failed} infrastructure errors")
        return ", ".join(parts)


class TrainProgress:
    """How a training run is going: a line an iteration; a ``RunProgress`` for base and test."""

    def __init__(self, config: RunConfig) -> None:
        assert config.train is not None
        self._budget = Budget.parse(config.train.budget)
        self._playing: RunProgress | None = None

    def __enter__(self) -> "TrainProgress":
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()

    def phase(self, name: str, owed: int) -> Callable[[Episode | Failure], None]:
        """Begin to show the episodes of ``name`` (base or test)."""
        self._end()
        errors.print(f"{name}: {owed} episodes")
        self._playing = RunProgress(owed, 0)
        return self._playing.__enter__()

    def metrics(self, row: Mapping[str, Any]) -> None:
        """Say what an iteration or a validation brought."""
        self._end()
        if row["kind"] == "validation":
            low, high = row["ci"]
            best = ", the best so far" if row["best"] else ""
            errors.print(f"  validation: success {row['success']:.3f} ({low:.3f} to {high:.3f}){best}")
            return
        spent = {"steps": row["gradient_steps_total"], "env_steps": row["env_steps"], "tokens": row["tokens"]}
        done = spent[self._budget.unit] / self._budget.amount
        left = row["seconds"] * (1 - done) / done if done else None
        shown = ("train_success", "l1", "l2", "share_optimal", "evaluator_auc", "successor_accuracy")
        figures = "".join(f", {name} {row[name]:.3f}" for name in shown if name in row)
        eta = "" if left is None else f", {max(0.0, left):.0f} s left"
        errors.print(
            f"iteration {row['iteration']}: {spent[self._budget.unit]:,} of {self._budget.amount:,} "
            f"{self._budget.unit}{figures}{eta}",
            soft_wrap=True,
        )

    def _end(self) -> None:
        if self._playing is not None:
            self._playing.__exit__()
            self._playing = None
