"""Scores recorded episodes by another rule, or part by part, without playing them again."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.outcomes import Outcomes, outcomes_of
from nlac_bench.stats.summary import Summary, summarise
from nlac_bench.stats.tables import number, render_table
from nlac_bench.types import Episode

PARTS = "parts"
"""The name of all parts at once, where a rule is asked for."""


def reward_part(episode: Episode, part: str) -> float:
    """Return the reward of ``episode`` by the rule ``part`` (τ-bench has ``original`` and ``strict``).

    A truncated episode was not graded, so its reward is 0 by every rule.

    Raises:
        NlacBenchError: the environment did not report this part of the reward.
    """
    parts = episode.info.get("reward_parts")
    if parts is None and episode.truncated:
        return 0.0
    if not isinstance(parts, dict) or not isinstance(parts.get(part), (int, float)):
        names = sorted(parts) if isinstance(parts, dict) else []
        raise NlacBenchError(
            f"episode {(episode.task_id, episode.trial)} has no reward part {part!r}; it has "
            f"{', '.join(map(repr, names)) or 'no parts, so this run cannot be scored again'}"
        )
    return float(parts[part])


def rescore(run: RunFolder, part: str) -> Outcomes:
    """Return the outcomes of ``run`` by the rule ``part``: reward is that part, success is whether it is at
    least 1.

    The run folder is not changed.

    Raises:
        NlacBenchError: an episode does not have that part.
        RunFolderError: the folder is damaged.
    """
    outcomes = outcomes_of(run)
    row_of = {task: i for i, task in enumerate(outcomes.tasks)}
    column_of = {trial: i for i, trial in enumerate(sorted({item.trial for item in run.plan}))}
    success, reward = np.full_like(outcomes.success, np.nan), np.full_like(outcomes.reward, np.nan)
    for episode in run.episodes():
        if episode.success is None:
            continue
        earned = reward_part(episode, part)
        cell = row_of[episode.task_id], column_of[episode.trial]
        reward[cell], success[cell] = earned, earned >= 1.0
    return replace(outcomes, success=success, reward=reward)


@dataclass(frozen=True)
class PartMeans:
    """The parts of the rewards of a run.

    ``means`` has, by name, the mean over tasks of each task's mean over the episodes that report the part;
    ``episodes`` is their number. Parts that an earlier version did not record are absent or have fewer.
    """

    means: Mapping[str, float]
    episodes: Mapping[str, int]

    @classmethod
    def read(cls, run: RunFolder) -> "PartMeans":
        """Read the parts of the episodes of ``run`` that have a score.

        Raises:
            NlacBenchError: a part is not a finite number.
            RunFolderError: the folder is damaged.
        """
        values: dict[str, dict[str, list[float]]] = {}
        for episode in run.episodes():
            parts = episode.info.get("reward_parts")
            if episode.success is None or not isinstance(parts, dict):
                continue
            for name, value in parts.items():
                if not isinstance(value, int | float) or not math.isfinite(value):
                    raise NlacBenchError(
                        f"the part {name!r:.80} of the reward of episode "
                        f"{(episode.task_id, episode.trial)} is {value!r:.80}, which is not a finite number"
                    )
                values.setdefault(name, {}).setdefault(episode.task_id, []).append(float(value))
        return cls(
            {name: float(np.mean([np.mean(v) for v in tasks.values()])) for name, tasks in values.items()},
            {name: sum(map(len, tasks.values())) for name, tasks in values.items()},
        )


@dataclass(frozen=True)
class ScoreByParts:
    """The summary of a run with the means of the parts of its rewards."""

    summary: Summary
    parts: PartMeans

    @classmethod
    def read(cls, run: RunFolder) -> "ScoreByParts":
        """Read ``run``; raises what :meth:`PartMeans.read` raises."""
        return cls(summarise(run), PartMeans.read(run))

    def to_json(self) -> dict[str, object]:
        """Return the object of the summary with ``parts`` (name → mean) and ``part_episodes``."""
        parts = self.parts
        return {**self.summary.to_json(), PARTS: dict(parts.means), "part_episodes": dict(parts.episodes)}

    def to_text(self) -> str:
        """Return the summary and a table of the parts as text."""
        rows = [
            [name, number(mean), str(self.parts.episodes[name])] for name, mean in self.parts.means.items()
        ]
        table = render_table(["part of the reward", "mean", "episodes"], rows)
        return f"{self.summary.to_text()}\n{table if rows else 'no episode has parts of its reward'}"
