"""Makes the configuration of a run from the settings of a command or of a call."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.agents import methods
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.model_defaults import with_defaults
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.stored_settings import read_config
from nlac_bench.harness.runs.trust import refuse_unrepeated


def gathered(
    options: Mapping[str, Any],
    *,
    config: Path | None,
    train: Mapping[str, Any] | None,
    request: Mapping[str, Any] | None,
    **shorthands: Any,
) -> dict[str, Any]:
    """Return the settings of the file ``config``, overridden by those that were given.

    Args:
        options: settings by name; None for those that were not given.
        config: a TOML file or a run's ``config.json``.
        train: training settings by name.
        request: further fields of each request to the server of the model.
        shorthands: training settings that are options of their own; None for those that were not given.

    Raises:
        ConfigError: ``config`` cannot be read, or is of a run that may come from somebody else and has
            settings that must be repeated.
    """
    settings: dict[str, Any] = read_config(config) if config else {}
    if config and config.suffix == ".json":  # the configuration of a run may come from somebody else
        refuse_unrepeated(settings, options, config, "add to the command:")
    settings |= {name: value for name, value in options.items() if value is not None}
    assigned = {**(train or {}), **{name: x for name, x in shorthands.items() if x is not None}}
    if assigned:
        given = settings.get("train") or {}
        settings["train"] = {**given, **assigned} if isinstance(given, dict) else given  # refused below
    if request:
        settings["request"] = {**(settings.get("request") or {}), **request}
    return settings


def completed(settings: dict[str, Any], measure_only: bool, source: str) -> RunConfig:
    """Return ``settings`` with the defaults that depend on other settings.

    Args:
        measure_only: do not train an agent that is trained.
        source: where the settings come from, for error messages.

    Raises:
        ConfigError: a setting is unknown, missing or invalid.
    """
    if isinstance(agent := settings.get("agent"), str) and named_agents.is_method(agent):
        settings.setdefault("model", "tiny")
        if measure_only:
            settings |= {"train": None, "offline": None, "base": None}
        elif settings.get("train") is None:
            settings["train"] = {}
    elif settings.get("train") or settings.get("offline") or settings.get("base"):
        raise ConfigError(
            f"agent {settings.get('agent')!r} is not trained, so it has no training settings; "
            f"agents that are trained: {', '.join(methods.names())}"
        )
    return RunConfig.from_mapping(with_defaults(settings), source)
