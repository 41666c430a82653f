"""Reads a run into tables (tasks × trials) of success and reward, with counts of episodes and usage."""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from nlac_bench.harness.runs.episode_json import usage_from_row
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import RunFolderError
from nlac_bench.rollout.usage import bounded
from nlac_bench.stats.intervals import Floats, Interval, rate_interval
from nlac_bench.stats.replies import Replies
from nlac_bench.types import Episode, Usage

COUNTED = ("planned", "scored", "infra", "filtered", "truncated")
"""Headers of the episode counts that every table shows."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of episodes: ``planned = scored + unscored + infra_errors + owed``.

    ``unscored`` episodes ended without a success value from the environment, ``infra_errors`` failed for
    reasons outside the agent and have no result yet, ``owed`` were not played to the end.

    The other numbers are parts of these. ``truncated`` episodes (ended by a limit of tokens, time or cost)
    are in ``scored`` or ``unscored``; ``length`` of them ended with a reply that reached its token limit
    before it had an answer. ``content_filter`` episodes are in ``unscored``. ``recovered_errors`` counts the
    infrastructure errors of episodes that were then played again and recorded.
    """

    planned: int
    scored: int
    unscored: int
    infra_errors: int
    owed: int
    truncated: int
    content_filter: int = 0
    length: int = 0
    recovered_errors: int = 0

    @property
    def complete(self) -> bool:
        """Whether all episodes have been played."""
        return self.owed + self.infra_errors == 0

    def to_json(self) -> dict[str, int]:
        """Return a plain dict."""
        return asdict(self)

    def cells(self) -> list[str]:
        """Return the cells of a table row under the headers ``COUNTED``."""
        cells = self.planned, self.scored, self.infra_errors, self.content_filter, self.truncated
        return [str(n) for n in cells]

    def __str__(self) -> str:
        parts = [f"{self.planned} planned", f"{self.scored} scored", f"{self.infra_errors} infra errors"]
        parts += [f"{self.truncated} truncated"]
        others = {
            "unscored": self.unscored,
            "owed": self.owed,
            "stopped by a content filter": self.content_filter,
            "recovered errors": self.recovered_errors,
        }
        parts += [f"{n} {name}" for name, n in others.items() if n]
        return ", ".join(parts)


@dataclass(frozen=True)
class Outcomes:
    """The results of a run.

    ``success`` (0 or 1) and ``reward`` (undiscounted return) are ``[tasks, trials]``. ``success`` is NaN if
    an episode has no success value, ``reward`` if no episode is recorded or a content filter stopped it; a
    missing result is never 0.
    ``usage`` is by role and includes failed attempts. ``seconds`` is the sum of the episodes' wall times,
    more than that of the run, which plays many at the same time. ``unknown_rate`` is the mean over episodes
    of the share of questions to which the environment's oracle did not know the answer; None if no oracle
    answers.
    """

    tasks: tuple[str, ...]
    success: Floats
    reward: Floats
    counts: Counts
    usage: Mapping[str, Usage] = field(default_factory=dict)
    seconds: float = 0.0
    end_reasons: Mapping[str, int] = field(default_factory=dict)
    commonest_error: str | None = None
    """The most frequent reason why episodes failed for a reason outside the agent and have no result yet."""
    unknown_rate: float | None = None
    replies: Replies = field(default_factory=Replies)
    transcripts: Mapping[tuple[str, int], bytes] = field(default_factory=dict)
    """A hash of each recorded episode by (task, trial): of its seed, actions, observations and rewards."""

    @property
    def trials(self) -> int:
        """The largest number of trials of a task."""
        return self.success.shape[1]

    @property
    def generated_per_episode(self) -> dict[str, float]:
        """The mean number of tokens that each role generated for a recorded episode, with failed attempts;
        empty if no episode is recorded."""
        recorded = self.counts.planned - self.counts.owed - self.counts.infra_errors
        return {r: u.completion_tokens / recorded for r, u in sorted(self.usage.items()) if recorded}

    def task_means(self, metric: str) -> Floats:
        """Return each task's mean ``"success"`` or ``"reward"`` over scored trials, ``[tasks]``; NaN without
        any."""
        return task_means(self.success if metric == "success" else self.reward)


def task_means(table: Floats) -> Floats:
    """Return the mean over the trials of each task that are not NaN; NaN for a task without any.

    Args:
        table: ``[tasks, trials]``.
    """
    scored = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(scored, table, 0.0).sum(axis=1) / scored.sum(axis=1)
    return means


def success_rate(success: Floats) -> tuple[float | None, Interval | None]:
    """Return the mean over tasks of each task's success rate, and its interval; None if no trial is scored.

    Args:
        success: ``[tasks, trials]``, NaN if not scored.
    """
    rates = task_means(success)
    rates = rates[~np.isnan(rates)]
    return (float(rates.mean()) if len(rates) else None), rate_interval(rates, success.shape[1])


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
    recorded: dict[tuple[str, int], bytes] = {}
    truncated = filtered = 0
    usage: dict[str, Usage] = {}
    seconds = 0.0
    end_reasons: dict[str, int] = {}
    unknown_rates: list[float] = []
    replies = Replies()
    for episode in run.episodes():
        key = episode.task_id, episode.trial
        recorded[key] = _transcript(episode)
        truncated += episode.truncated
        seconds += episode.seconds
        replies.add(episode.turns)
        _add(usage, episode.usage, run)
        end_reasons[episode.end_reason] = end_reasons.get(episode.end_reason, 0) + 1
        if episode.filtered:
            filtered += 1
            continue
        cell = row_of[episode.task_id], column_of[episode.trial]
        reward[cell] = finite_return(episode)
        if (rate := unknown_rate_of(episode)) is not None:
            unknown_rates.append(rate)
        if episode.success is not None:
            success[cell] = episode.success
    failed: dict[tuple[object, object], str] = {}
    recovered = 0
    for error in run.errors():
        of = error.get("task_id"), error.get("trial")
        failed[of] = f"{error.get('error')}: {error.get('message')}"
        recovered += of in recorded
        _add(usage, usage_from_row(error.get("usage", {})), run)
    missing = {item.key for item in run.plan} - recorded.keys()
    reasons = [reason for key, reason in failed.items() if key in missing]
    scored = int(np.count_nonzero(~np.isnan(success)))
    counts = Counts(
        planned=len(run.plan),
        scored=scored,
        unscored=len(recorded) - scored,
        infra_errors=len(reasons),
        owed=len(missing) - len(reasons),
        truncated=truncated,
        content_filter=filtered,
        length=end_reasons.get("length", 0),
        recovered_errors=recovered,
    )
    unknown_rate = float(np.mean(unknown_rates)) if unknown_rates else None
    return Outcomes(
        tasks,
        success,
        reward,
        counts,
        usage,
        seconds,
        end_reasons,
        commonest(reasons),
        unknown_rate,
        replies,
        recorded,
    )


def _transcript(episode: Episode) -> bytes:
    turns = [[turn.text, turn.observation, repr(turn.reward)] for turn in episode.turns]
    transcript = json.dumps([episode.task_id, episode.trial, episode.seed, episode.first_observation, turns])
    return hashlib.sha256(transcript.encode()).digest()[:16]


def unknown_rate_of(episode: Episode) -> float | None:
    """Return the share of an episode's answers that the oracle did not know; None if it is not reported."""
    rate = episode.turns[-1].info.get("unknown_rate") if episode.turns else None
    return rate if isinstance(rate, float) and 0 <= rate <= 1 else None


def commonest(reasons: Sequence[str]) -> str | None:
    """Return the most frequent of ``reasons`` on one line of at most 300 characters; None if there are none.

    Reasons that differ only in numbers, such as the number of attempts or a port, count as the same.
    """
    groups: dict[str, list[str]] = {}
    for reason in reasons:
        line = " ".join(reason.split())[:300]
        groups.setdefault(re.sub(r"\d+", "0", line), []).append(line)
    return max(groups.values(), key=len)[0] if groups else None


def finite_return(episode: Episode) -> float:
    """Return the episode's return.

    Raises:
        RunFolderError: the return is NaN or infinite.
    """
    value = episode.total_reward
    if not math.isfinite(value):
        raise RunFolderError(
            f"the return of episode {(episode.task_id, episode.trial)} is {value}, which is not a finite "
            "number; fix the rewards of its environment"
        )
    return value


def _add(total: dict[str, Usage], more: Mapping[str, Usage], run: RunFolder) -> None:
    for role, spent in more.items():
        # Runs of earlier versions may have recorded infinite costs and numbers of 400 digits.
        total[role] = total.get(role, Usage()) + bounded(spent, f"{run.path}, role {role},")
