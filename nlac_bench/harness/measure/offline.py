"""Reads the episodes of an earlier run for offline training."""

from collections.abc import Collection, Sequence
from pathlib import Path

from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.registry import find
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.measure.training_tasks import split_tasks, validates_apart
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.episode_json import episode_from_row
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.lines import read_lines
from nlac_bench.harness.runs.seeds import Planned
from nlac_bench.types import Episode

ROLLOUTS = "rollouts.jsonl"
"""File of a training run's training episodes."""


def offline_episodes(
    folder: Path, environments: Environments, config: RunConfig, plan: Sequence[Planned]
) -> list[Episode]:
    """Return the training episodes of the run in ``folder``; if it has none, its test episodes.

    Token ids and log-probabilities are removed, because they may be those of another model.

    Args:
        folder: of the earlier run.
        environments: of the run that will be trained. Episodes of tasks that are held out of the training
            split for validation are left out.
        config: its configuration.
        plan: its test episodes.

    Raises:
        ConfigError: there is no episode to train on, or an episode plays another environment or world, was
            played with other rules, or plays a task of ``plan``, of the test split or of the validation
            split.
    """
    assert config.train is not None  # the configuration is that of a training run
    results = [episode_from_row(row) for row, _ in read_lines(folder / ROLLOUTS)]
    # An episode that was repeated after a crash is recorded twice; the second is kept.
    results = list({(e.task_id, e.trial, e.seed): e for e in results}.values())
    origin = RunFolder.open(folder) if not results or (folder / "manifest.json").exists() else None
    measured = None
    if not results and origin is not None:
        results = [episode for episode in origin.episodes() if not episode.filtered]
        measured = origin.conditions.get("split")
    if not results:
        raise ConfigError(f"--offline: {folder} contains no episodes; name the folder of a run that has some")
    env, validation_env = environments.training, environments.validation
    written = parse(config.env)[0]
    entry = find(written)
    names = {written, entry.name, entry.env_id, env.name}
    others = sorted({e.env for e in results if e.env.partition("@")[0] not in names})
    if others:
        raise ConfigError(
            f"--offline: {folder} contains episodes of the environment {others[0]!r}, and this run trains on "
            f"{config.env!r}; use a run of the same environment"
        )
    if origin is not None and origin.world != env.played_world:
        raise ConfigError(
            f"--offline: {folder} contains episodes of world {origin.world}, and this run trains in world "
            f"{env.played_world}; use a run of the same world"
        )
    rules = env.conditions().get("rules")
    if origin is not None and (theirs := origin.conditions.get("rules", rules)) != rules:
        raise ConfigError(
            f"--offline: {folder} contains episodes with rules {theirs!r}, and this run trains with rules "
            f"{rules!r}; use a run with the same rules"
        )
    played = {episode.task_id for episode in results if episode.task_id is not None}
    if leaked := sorted(played & {item.task_id for item in plan}):
        raise ConfigError(
            f"--offline: {folder} contains episodes of task {leaked[0]!r}, on which this run is measured; "
            "use a run with --split train"
        )
    if measured in ("test", "validation"):  # the task may be of another level, which is not listed here
        never = dict.fromkeys(played, str(measured))
    else:
        never = _never_trained_on(config, environments, played)
    if leaked := sorted(played & never.keys()):
        raise ConfigError(
            f"--offline: {folder} contains episodes of task {leaked[0]!r} of the {never[leaked[0]]} split, "
            "which must not be trained on; use a run with --split train"
        )
    validation, _ = split_tasks(env.task_ids, validation_env.task_ids, config.train.val_tasks, config.seed)
    kept = [episode for episode in results if episode.task_id not in validation]
    if not kept:
        raise ConfigError(
            f"--offline: all {len(results)} episodes in {folder} belong to the {len(validation)} validation "
            "tasks; set --train val_tasks=N to fewer tasks, or use a run with more tasks"
        )
    for episode in kept:
        for turn in episode.turns:
            turn.prompt_ids = turn.output_ids = turn.logprobs = None
    return kept


def _never_trained_on(
    config: RunConfig, environments: Environments, played: Collection[str]
) -> dict[str, str]:
    """Return the tasks that must not be trained on, each with the name of its split.

    They are those of the validation split, of the test split, and of the measured split unless it is the
    training split.

    The measured episodes may be a part of them (``limit``, ``tasks``). A plain environment has no list of all
    test tasks; the tasks in ``played`` without the name of a training task are returned instead.
    """
    env, validation_env = environments.training, environments.validation
    if isinstance(env, PlainEnv):
        return {task_id: "test" for task_id in played if not task_id.startswith("train-")}
    results: dict[str, str] = {}
    if validates_apart(env.task_ids, validation_env.task_ids):
        results = dict.fromkeys(validation_env.task_ids, "validation")
    measured = config.split or parse(config.env)[1].get("split") or "test"
    for split in {"test", measured} - {"train"}:
        whole = config.changed(
            split=split, limit=None, tasks=None, train=None, offline=None, base=None, agent="silent"
        )
        same = split == measured and config.tasks != "clean"
        tested = environments if same else Environments(whole, environments.chat)
        results |= dict.fromkeys(tested.measured.task_ids, split)
    return results
