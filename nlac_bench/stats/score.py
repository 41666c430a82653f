"""Scores recorded episodes by another rule without playing them again."""

from dataclasses import replace

import numpy as np

from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.stats.outcomes import Outcomes, outcomes_of
from nlac_bench.types import Episode


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
