"""The floors and the oracle of a run: played on the same tasks and seeds, kept in its folder ``references/``.

Agents without a model show which success rate needs no skill, and the oracle shows the highest possible one.
"""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

from nlac_bench.agents.floors import CHEAP_FLOORS
from nlac_bench.agents.names import FLOORS
from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.harness.measure.play import play
from nlac_bench.harness.measure.prepare import Prepared, prepare
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.manifest import differences
from nlac_bench.harness.runs.trust import to_repeat
from nlac_bench.harness.runs.writer import RunWriter
from nlac_bench.training.untrained import BASE

REFERENCES = "references"
ORACLE = "oracle"


def reference_agents(config: RunConfig) -> tuple[str, ...]:
    """Return the agents that are played for a run's report; none if ``why_none`` returns a reason.

    The agent ``constant`` is left out, because its action is searched.
    """
    if why_none(config.as_dict()) is not None:
        return ()
    name, _ = parse(config.env)
    own = ("transfer",) if name.startswith("tau") else ("copy",) if name.startswith("math") else ()
    return (ORACLE, *CHEAP_FLOORS, *own)


def why_none(config: Mapping[str, object]) -> str | None:
    """Return the reason why a run with these settings has no floors and no oracle, as part of a sentence.

    Returns:
        None if it gets them: it takes seconds to play them.
    """
    name = str(config.get("env")).partition("@")[0]
    if config.get("agent") in FLOORS:
        return "its agent uses no model"
    if name in registry.BUILTIN_WITH_ARGUMENTS:
        return "its tasks depend on its arguments"
    if name not in registry.BUILTIN:
        return "its environment belongs to another package"
    if to_repeat({"env": config.get("env")}):
        return "its environment imports other code or writes to a file"
    if config.get("user_model") is not None or config.get("replay") is not None:
        return "a model plays the user, the oracle or the judge"
    return None


def missing_references(config: Mapping[str, object]) -> str:
    """Return the sentence that a report has in place of floors and oracle, for a run with these settings."""
    reason = why_none(config)
    if reason is not None:
        return f"Floors and oracle are not played for this run, because {reason}."
    return (
        "The folder of this run has no floors and no oracle. They are played when the command that makes a "
        "run ends; the command `nlac-bench report` plays nothing."
    )


def reference_config(config: RunConfig, agent: str) -> RunConfig:
    """Return the settings with which ``agent``, which uses no model, is played for a run with ``config``."""
    names = (
        "model",
        "servers",
        "train",
        "offline",
        "base",
        "prompts",
        "record",
        "refine",
        "best_of",
        "track",
    )
    without_model = dict.fromkeys(names)
    return config.changed(agent=agent, weights_by="file", weights_folder=None, **without_model)


def play_references(prepared: Prepared, folder: Path) -> None:
    """Play the floors and the oracle on the tasks of the run in ``folder``; existing runs are kept.

    Raises:
        NlacBenchError: the runs cannot be played or written.
    """
    for agent in reference_agents(prepared.config):
        config = reference_config(prepared.config, agent)
        own = prepare(config)
        path = folder / REFERENCES / agent
        measured_before = folder / BASE / REFERENCES / agent  # the run that --base names may have them
        if measured_before.is_dir() and not path.exists():
            shutil.copytree(measured_before, path)
        if (path / "manifest.json").exists():
            writer = RunWriter.resume(path, conditions=own.conditions, subject=own.subject, plan=own.plan)
        else:
            writer = own.new_run(path)
        with writer:
            asyncio.run(play(own, writer, lambda result: None))


def stored_references(run: RunFolder) -> dict[str, RunFolder]:
    """Return the floors and the oracle that were played for ``run``, by agent, the oracle last.

    Those with other conditions, such as another version of the environment, are left out.
    """
    folder = run.path / REFERENCES
    stored = {path.name: RunFolder.open(path) for path in sorted(folder.glob("*")) if path.is_dir()}
    results = {
        name: each for name, each in stored.items() if not differences(run.conditions, each.conditions)
    }
    return {name: results[name] for name in sorted(results, key=lambda name: (name == ORACLE, name))}
