"""Reads and checks settings that are stored in a TOML file or in an earlier run's config.json."""

import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench.agents import methods
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.secrets import refuse_known_secrets
from nlac_bench.settings import explain_unknown, kinds
from nlac_bench.untrusted import MAX_SETTINGS_BYTES, read_json, read_toml


def wrong_setting(stored: Mapping[str, object]) -> str | None:
    """Return which setting of a stored configuration has a wrong type, or None.

    Settings that this version does not know, and bounds, are not checked: the run can still be read.
    """
    for name, field in RunConfig.model_fields.items():
        value = stored.get(name)
        wanted = (dict,) if name == "train" else tuple(map(_plain_kind, kinds(field.annotation)))
        right = isinstance(value, (*wanted, int) if float in wanted else wanted)
        if value is not None and (not right or (isinstance(value, bool) and bool not in wanted)):
            words = " or ".join(dict.fromkeys(_KINDS[kind] for kind in wanted))
            return f"{name} must be {words}, got {value!r:.80}"
    return None


_KINDS = {str: "text", int: "a whole number", float: "a number", dict: "an object", bool: "true or false"}


def _plain_kind(kind: Any) -> Any:
    """Return the type of the values of ``kind``: a type, a table, or a ``Literal`` of texts."""
    return dict if typing.get_origin(kind) is dict else kind if isinstance(kind, type) else str


def read_content(path: Path) -> Any:
    """Return the content of a TOML or JSON file.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        return read_json(path, MAX_SETTINGS_BYTES) if path.suffix == ".json" else read_toml(path)
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error}") from error


def read_config(path: Path) -> dict[str, Any]:
    """Return the settings of a TOML file, or of a run's ``config.json``, without those of no effect.

    The table ``[launch]`` of a TOML file is left out; ``cluster/launch/settings.py`` reads it.

    Raises:
        ConfigError: the file cannot be read, contains a secret, or has an unknown setting.
    """
    values = read_content(path)
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must contain an object of settings by name, not a {type(values).__name__}")
    refuse_known_secrets(values, f"{path}: ")
    if path.suffix != ".json":
        values.pop("launch", None)
    for name in values:
        if name not in RunConfig.model_fields:
            raise ConfigError(f"{path}: {explain_unknown(name, RunConfig)}")
    of_a_run = path.name == "config.json" and path.with_name("manifest.json").exists()
    return methods.effective(values) if of_a_run else values
