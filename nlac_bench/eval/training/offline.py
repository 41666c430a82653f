"""Episodes of an earlier run, to learn from without playing."""

from collections.abc import Collection, Sequence
from pathlib import Path

from nlac_bench.errors import ConfigError
from nlac_bench.eval.runs.episode_json import episode_from_row
from nlac_bench.eval.runs.folder import RunFolder
from nlac_bench.eval.runs.lines import read_lines
from nlac_bench.eval.runs.seeds import Planned
from nlac_bench.types import Episode

ROLLOUTS = "rollouts.jsonl"
"""The training episodes of a training run."""


def offline_episodes(
    folder: Path, plan: Sequence[Planned], validation: Collection[str | None]
) -> list[Episode]:
    """The episodes that the run in ``folder`` learned from, or else those that it measured.

    Their token ids and log-probabilities are dropped: they may be another model's.

    Args:
        plan: the test episodes of the run that will learn.
        validation: its validation tasks; episodes of these are left out.

    Raises:
        ConfigError: there is no episode to learn from, or one plays a task of ``plan``.
    """
    found = [episode_from_row(row) for row, _ in read_lines(folder / ROLLOUTS)]
    # An episode that was repeated after a crash is there twice.
    found = list({(e.task_id, e.trial, e.seed): e for e in found}.values())
    if not found:
        found = list(RunFolder.open(folder).episodes())
    if not found:
        raise ConfigError(f"--offline: {folder} holds no episodes")
    leaked = sorted({e.task_id for e in found} & {item.task_id for item in plan})
    if leaked:
        raise ConfigError(
            f"--offline: {folder} plays task {leaked[0]!r}, on which this run is measured; take a run with "
            "--split train"
        )
    kept = [episode for episode in found if episode.task_id not in validation]
    if not kept:
        raise ConfigError(
            f"--offline: all {len(found)} episodes in {folder} play one of the {len(validation)} validation "
            "tasks; set --train val_tasks=N to fewer, or take a run of more tasks"
        )
    for episode in kept:
        for turn in episode.turns:
            turn.prompt_ids = turn.output_ids = turn.logprobs = None
    return kept
