"""Finds the settings of a stored configuration that have effects outside of the run's folder.

A run folder may come from somebody else. Its ``config.json`` alone must therefore not decide which code is
imported, which server gets an API key, or which file is written to: the command that uses the configuration
repeats these settings. The commands that this package prints and starts contain them.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import gymnasium

from nlac_bench.envs import registry as envs
from nlac_bench.errors import ConfigError
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import RunConfig, declared

_SENT = ("NLAC_BENCH_API_KEY", "OPENAI_CUSTOM_HEADERS", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Environment variables that are sent to the server of ``base_url``; the last three by OpenAI's SDK."""

_OUTSIDE = {"recording", "verifier", "sandbox", "url"}
"""Arguments of environments: a file to which answers are appended, and servers that actions are sent to."""

_EFFECTS: Mapping[str, str] = {
    name: effect
    for name, field in RunConfig.model_fields.items()
    if (effect := declared(field).get("effect"))
}
"""The effect outside of the run's folder of each setting that a command must repeat."""


def to_repeat(config: Mapping[str, object]) -> dict[str, str]:
    """Return the settings of ``config``, by name, that a command must repeat."""
    repeated = {name: value for name in _EFFECTS if (value := config.get(name)) and isinstance(value, str)}
    if not _acts_outside(repeated.get("env", "")):
        repeated.pop("env", None)
    if not named_agents.module_of(repeated.get("agent", "")):
        repeated.pop("agent", None)
    return repeated


def as_options(settings: Mapping[str, str]) -> list[str]:
    """Return ``settings`` as arguments of a command line."""
    return [part for name, value in settings.items() for part in (f"--{name.replace('_', '-')}", value)]


def refuse_unrepeated(
    config: Mapping[str, object], given: Mapping[str, str | None], source: Path, advice: str
) -> None:
    """Check that the command repeats the settings of a stored configuration that have effects outside.

    The URL of a server needs to be repeated only if a key is set that would be sent to it.

    Args:
        config: the content of ``source``.
        given: the options of the command; None for an option that was not given.
        advice: what to do with the missing options, which follow it in the message.

    Raises:
        ConfigError: the module of the environment lies in the folder of the run; or a setting was not
            repeated, and the message has all that the command must repeat.
    """
    needed = to_repeat(config)
    if not any(os.environ.get(name) for name in _SENT):
        needed = {name: value for name, value in needed.items() if not name.endswith("base_url")}
    env, agent = (given.get(name) or needed.get(name, "") for name in ("env", "agent"))
    for what, module in (("environment", envs.module_of(env)), ("agent", named_agents.module_of(agent))):
        if module and (source.parent / "manifest.json").exists() and _lies_in(module, source.parent):
            raise ConfigError(
                f"{source}: the module {module!r:.500} of the {what} lies in the run's folder, from which "
                "no code is imported; if it is yours, move it to another folder"
            )
    if missing := [name for name in needed if given.get(name) is None]:
        reasons = "; ".join(f"{name} = {needed[name]!r:.500} {_EFFECTS[name]}" for name in missing)
        if not all(map(str.isprintable, needed.values())):
            raise ConfigError(f"{source}: {reasons}; a value contains characters that cannot be printed")
        raise ConfigError(
            f"{source}: {reasons}. A run's folder may come from somebody else, so its configuration alone "
            f"does not decide this. If you trust these settings, {advice} {shlex.join(as_options(needed))}"
        )


def _acts_outside(env: str) -> bool:
    """Return whether making the environment imports a module by name, or lets it write to a file or send."""
    try:
        name, arguments = envs.parse(env)
    except ValueError:  # reported when the environment is made
        return False
    if envs.is_known(name):
        return not _OUTSIDE.isdisjoint(arguments)
    return ":" in name or name in gymnasium.registry


def _lies_in(module: str, folder: Path) -> bool:
    """Return whether the import of ``module`` could execute a file in ``folder``; imports nothing."""
    folder = folder.resolve()
    for entry in {*sys.path, str(Path.cwd())}:
        place = Path(entry or ".")
        for part in module.split("."):
            files = [*place.iterdir()] if place.is_dir() else []
            if any(f.name.split(".")[0] == part and f.resolve().is_relative_to(folder) for f in files):
                return True
            place /= part
    return False
