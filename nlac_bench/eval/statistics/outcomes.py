"""Reads a run into tables (tasks × trials) of success and reward, with counts of episodes and usage."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from nlac_bench.eval.runs.episode_json import usage_from_row
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.lines import RunFolderError
from nlac_bench.eval.statistics.intervals import Floats
from nlac_bench.types import Episode, Usage

COUNTED = ("planned", "scored", "infra", "truncated")
"""Headers of the episode counts that every table shows."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of episodes: ``planned = scored + unscored + infra_errors + owed``.

    ``unscored`` episodes ended without a success value from the environment, ``infra_errors`` failed for
    reasons outside the agent and have no result yet, ``owed`` were not played to the end. ``truncated``
    episodes (ended by a limit of tokens, time or cost) were recorded and are counted in ``scored`` or
    ``unscored`` as well.
    """

    planned: int
    scored: int
    unscored: int
    infra_errors: int
    owed: int
    truncated: int

    def to_json(self) -> dict[str, int]:
        """As a plain dict."""
        return asdict(self)

    def cells(self) -> list[str]:
        """The cells of a table row under the headers ``COUNTED``."""
        return [str(n) for n in (self.planned, self.scored, self.infra_errors, self.truncated)]

    def __str__(self) -> str:
        parts = [f"{self.planned} planned", f"{self.scored} scored", f"{self.infra_errors} infra errors"]
        parts += [f"{self.truncated} truncated"]
        parts += [f"{n} {name}" for n, name in ((self.unscored, "unscored"), (self.owed, "owed")) if n]
        return ", ".join(parts)


@dataclass(frozen=True)
class Outcomes:
    """The results of a run.

    ``success`` (0 or 1) and ``reward`` (undiscounted return) are ``[tasks, trials]``. ``success`` is NaN if
    an episode has no success value, ``reward`` if no episode is recorded; a missing result is never 0.
    ``usage`` is by role and includes failed attempts. ``seconds`` is the sum over episodes. ``unknown_rate``
    is the mean over episodes of the share of questions to which the environment's oracle did not know the
    answer; None if no oracle answers.
    """

    tasks: tuple[str, ...]
    success: Floats
    reward: Floats
    counts: Counts
    usage: Mapping[str, Usage] = field(default_factory=dict)
    seconds: float = 0.0
    end_reasons: Mapping[str, int] = field(default_factory=dict)
    unknown_rate: float | None = None

    @property
    def trials(self) -> int:
        """The largest number of trials of a task."""
        return self.success.shape[1]

    def task_means(self, metric: str) -> Floats:
        """Each task's mean ``"success"`` or ``"reward"`` over scored trials, ``[tasks]``; NaN without any."""
        table = self.success if metric == "success" else self.reward
        scored = ~np.isnan(table)
        with np.errstate(invalid="ignore"):
            means: Floats = np.where(scored, table, 0.0).sum(axis=1) / scored.sum(axis=1)
        return means


def outcomes_of(run: RunFolder) -> Outcomes:
    """Read a run's episodes, one at a time, into tables.

    Raises:
        RunFolderError: the folder is damaged, or the return of an episode is not a finite number.
    """
    tasks = tuple(dict.fromkeys(item.task_id for item in run.plan))
    row_of = {task: i for i, task in enumerate(tasks)}
    trials = sorted({item.trial for item in run.plan})
    column_of = {trial: i for i, trial in enumerate(trials)}
    success = np.full((len(tasks), len(trials)), np.nan)
    reward = success.copy()
    recorded: set[tuple[str, int]] = set()
    truncated = 0
    usage: dict[str, Usage] = {}
    seconds = 0.0
    end_reasons: dict[str, int] = {}
    unknown_rates: list[float] = []
    for episode in run.episodes():
        key = episode.task_id, episode.trial
        recorded.add(key)
        truncated += episode.truncated
        seconds += episode.seconds
        _add(usage, episode.usage)
        end_reasons[episode.end_reason] = end_reasons.get(episode.end_reason, 0) + 1
        cell = row_of[episode.task_id], column_of[episode.trial]
        reward[cell] = finite_return(episode)
        if episode.turns and "unknown_rate" in episode.turns[-1].info:
            unknown_rates.append(float(episode.turns[-1].info["unknown_rate"]))
        if episode.success is not None:
            success[cell] = episode.success
    failed = set()
    for error in run.errors():
        failed.add((error.get("task_id"), error.get("trial")))
        _add(usage, usage_from_row(error.get("usage", {})))
    missing = {item.key for item in run.plan} - recorded
    scored = int(np.count_nonzero(~np.isnan(success)))
    counts = Counts(
        planned=len(run.plan),
        scored=scored,
        unscored=len(recorded) - scored,
        infra_errors=len(missing & failed),
        owed=len(missing - failed),
        truncated=truncated,
    )
    unknown_rate = float(np.mean(unknown_rates)) if unknown_rates else None
    return Outcomes(tasks, success, reward, counts, usage, seconds, end_reasons, unknown_rate)


def finite_return(episode: Episode) -> float:
    """The episode's return.

    Raises:
        RunFolderError: it is NaN or infinite.
    """
    value = episode.total_reward
    if not math.isfinite(value):
        raise RunFolderError(
            f"the return of episode {(episode.task_id, episode.trial)} is {value}, which is not a finite "
            "number; fix the rewards of its environment"
        )
    return value


def _add(total: dict[str, Usage], more: Mapping[str, Any]) -> None:
    for role, spent in more.items():
        total[role] = total.get(role, Usage()) + spent
