"""Reads the configuration of a run that is continued, before anything that it names is imported or made."""

import shlex
from collections.abc import Mapping

from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.environment import stated_conditions
from nlac_bench.harness.runs import manifest as manifests
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import REPLACEABLE, refuse_unrepeated
from nlac_bench.harness.runs.writer import as_stored, refuse_changed


def stored_config(run: RunFolder, repeated: Mapping[str, str | None]) -> RunConfig:
    """Return the configuration of ``run``.

    Args:
        repeated: the settings that the command repeats (see ``harness/runs/trust.py``), None for the others.

    Raises:
        ConfigError: a setting is invalid, a setting that acts outside of the folder is not repeated, or it is
            repeated with another value.
        RunFolderError: the configuration contradicts the manifest.
    """
    source = run.path / "config.json"
    config = RunConfig.from_mapping(run.config, str(source))
    stated = as_stored(stated_conditions(config))
    refuse_changed(
        run.path, manifests.differences({name: run.conditions.get(name) for name in stated}, stated)
    )
    for name, value in repeated.items():
        if value is not None and value != getattr(config, name) and name not in REPLACEABLE:
            raise ConfigError(
                f"--{name.replace('_', '-')} {value}: {source} has {getattr(config, name)!r}; a run is "
                "continued with its own settings: repeat that value, or leave out the option"
            )
    command = shlex.join(["nlac-bench", "resume", str(run.path)])
    refuse_unrepeated(run.config, repeated, source, f"run: {command}")
    return config
