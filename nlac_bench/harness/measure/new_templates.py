"""Measures a run's agent on the split ``test_new`` too, whose templates the training tasks do not have.

These episodes are in the run folder ``test_new/`` of the run's folder.
"""

import json
from dataclasses import replace
from pathlib import Path

from nlac_bench import tiny
from nlac_bench.envs.env_string import parse
from nlac_bench.harness.measure.model_defaults import is_tiny
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import Outline, Prepared, outline
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.rollout.driver import Driver

TEST_NEW = "test_new"
"""Name of the split, and of the folder of its episodes."""


def has_new_templates(prepared: Outline) -> bool:
    """Return whether the run plays the split ``test`` of an environment that also has ``test_new``.

    A run whose tasks are named by ``--tasks``, whose split is named in the environment string, or whose cost
    is limited plays nothing else.
    """
    env = prepared.environments.measured
    measured = env.split == "test" and TEST_NEW in env.splits
    config = prepared.config
    return (
        measured and config.tasks is None and config.max_cost is None and "split" not in parse(config.env)[1]
    )


def taught_them(prepared: Outline) -> bool:
    """Return whether the embedded model was trained on a corpus from which no template was held out.

    The field ``taught.held_out`` in the model's manifest decides.
    """
    model = str(prepared.config.model)
    if not is_tiny(model):
        return False
    own = Path(model) / "manifest.json"
    path = own if own.is_file() else tiny.path(model if model in tiny.FOLDERS else "tiny") / "manifest.json"
    held_out = json.loads(path.read_bytes()).get("taught", {}).get("held_out", {})
    return held_out.get(prepared.config.env.partition("@")[0]) != TEST_NEW


def new_outline(prepared: Outline) -> Outline | None:
    """Return the plan of the episodes of ``test_new``; None if the run plays none."""
    if not has_new_templates(prepared) or taught_them(prepared):
        return None
    config = prepared.config.changed(split=TEST_NEW, train=None, offline=None, base=None)
    return outline(config, registered=prepared.registered)


async def play_new(prepared: Prepared, folder: Path) -> Driver | None:
    """Play what is owed of ``test_new`` with the agent as it is now; None if there is nothing to play."""
    planned = new_outline(prepared)
    if planned is None:
        return None
    own = replace(
        prepared,
        config=planned.config,
        environments=planned.environments,
        plan=planned.plan,
        conditions=planned.conditions,
    )
    path = folder / TEST_NEW
    if (path / "manifest.json").exists():
        writer = RunWriter.resume(path, conditions=own.conditions, subject=own.subject, plan=own.plan)
    else:
        writer = own.new_run(path)
    with writer:
        return await play(own, writer, lambda result: None) if writer.owed() else None
