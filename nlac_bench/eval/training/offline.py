"""Reads the episodes of an earlier run for offline training."""

from collections.abc import Collection, Sequence
from pathlib import Path

from nlac_bench.envs.registry import find, parse
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError
from nlac_bench.eval.runs.episode_json import episode_from_row
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.lines import read_lines
from nlac_bench.eval.runs.seeds import Planned
from nlac_bench.types import Episode

ROLLOUTS = "rollouts.jsonl"
"""File of a training run's training episodes."""


def offline_episodes(
    folder: Path, env: TextEnv, env_text: str, plan: Sequence[Planned], validation: Collection[str | None]
) -> list[Episode]:
    """Return the training episodes of the run in ``folder``; if it has none, its test episodes.

    Token ids and log-probabilities are removed, because they may be those of another model.

    Args:
        folder: of the earlier run.
        env, env_text: the environment of the run that will be trained, and how the user wrote it.
        plan: the test episodes of the run that will be trained.
        validation: the validation tasks of that run; episodes of these tasks are left out.

    Raises:
        ConfigError: there is no episode to train on, or an episode plays another environment or a task of
            ``plan``.
    """
    found = [episode_from_row(row) for row, _ in read_lines(folder / ROLLOUTS)]
    # An episode that was repeated after a crash is recorded twice; the second is kept.
    found = list({(e.task_id, e.trial, e.seed): e for e in found}.values())
    if not found:
        found = [episode for episode in RunFolder.open(folder).episodes() if not episode.filtered]
    if not found:
        raise ConfigError(f"--offline: {folder} contains no episodes; name the folder of a run that has some")
    written = parse(env_text)[0]
    entry = find(written)
    names = {written, entry.name, entry.env_id, env.name}
    others = sorted({e.env for e in found if e.env.partition("@")[0] not in names})
    if others:
        raise ConfigError(
            f"--offline: {folder} contains episodes of the environment {others[0]!r}, and this run trains on "
            f"{env_text!r}; use a run of the same environment"
        )
    leaked = sorted({e.task_id for e in found} & {item.task_id for item in plan})
    if leaked:
        raise ConfigError(
            f"--offline: {folder} contains episodes of task {leaked[0]!r}, on which this run is measured; "
            "use a run with --split train"
        )
    kept = [episode for episode in found if episode.task_id not in validation]
    if not kept:
        raise ConfigError(
            f"--offline: all {len(found)} episodes in {folder} belong to the {len(validation)} validation "
            "tasks; set --train val_tasks=N to fewer tasks, or use a run with more tasks"
        )
    for episode in kept:
        for turn in episode.turns:
            turn.prompt_ids = turn.output_ids = turn.logprobs = None
    return kept
