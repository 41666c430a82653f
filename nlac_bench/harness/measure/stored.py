"""Reads the configuration of a run that is continued, before anything that it names is imported or made."""

import shlex
import warnings
from collections.abc import Mapping
from typing import Any

from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.environment import stated_conditions
from nlac_bench.harness.runs import manifest as manifests
from nlac_bench.harness.runs.configuration import COMMAND_LINE, RunConfig, declared
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import refuse_unrepeated
from nlac_bench.harness.runs.writer import as_stored, refuse_changed


def stored_config(run: RunFolder, options: Mapping[str, Any]) -> RunConfig:
    """Return the configuration of ``run``, with the settings that the command replaces.

    Args:
        options: the options of ``resume`` by the name of their setting (see ``Resume`` in
            ``harness/runs/configuration.py``); None for those that were not given.

    Raises:
        ConfigError: a setting is invalid, a setting that acts outside of the folder is not repeated, or it is
            repeated with another value.
        RunFolderError: the configuration contradicts the manifest.
    """
    source = run.path / "config.json"
    command = shlex.join(["nlac-bench", "resume", str(run.path)])
    # A method's settings are those of its class: reading them imports the agent's module.
    refuse_unrepeated({"agent": run.config.get("agent")}, options, source, f"run: {command}")
    config = RunConfig.from_stored(run.config, str(source))
    stated = as_stored(stated_conditions(config))
    refuse_changed(
        run.path, manifests.differences({name: run.conditions.get(name) for name in stated}, stated)
    )
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if declared(RunConfig.model_fields[name])["resume"] == "repeat" and value != getattr(config, name):
            raise ConfigError(
                f"--{name.replace('_', '-')} {value}: {source} has {getattr(config, name)!r}; a run is "
                "continued with its own settings: repeat that value, or leave out the option"
            )
    refuse_unrepeated(run.config, given, source, f"run: {command}")
    if config.train is not None and config.max_cost is not None:  # of versions that did not refuse it
        warnings.warn(
            f"{source}: max_cost = {config.max_cost} is ignored, since it limits no training run; limit the "
            "cost with your provider's own limit",
            stacklevel=2,
        )
        given["max_cost"] = None
    return RunConfig.from_mapping(config.as_dict() | given, COMMAND_LINE)
