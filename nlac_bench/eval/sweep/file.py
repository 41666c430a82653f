"""A sweep's TOML file: what is unknown, of the wrong kind or in conflict is named before it is played."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from nlac_bench.agents import methods as known_methods
from nlac_bench.errors import NlacBenchError
from nlac_bench.eval.measure.runner import outline
from nlac_bench.eval.runs.configuration import ConfigError, RunConfig
from nlac_bench.eval.sweep.plan import TUNING, Cell, Sweep

_TABLES = {"seeds", "run", "train", "methods_train", "transfer", "tuning"}
_TUNING = {"lr", "seed", "env", "budget"}
_SET_HERE = {"env", "agent", "seed", "train", "base"}


def read_sweep(path: Path) -> Sweep:
    """The sweep that a TOML file describes; ``check_sweep`` then makes sure that each of its runs can begin.

    Raises:
        ConfigError: naming what is unknown, missing, of the wrong kind or in conflict.
    """
    try:
        return _sweep(tomllib.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read as TOML: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def check_sweep(sweep: Sweep) -> None:
    """Whether every run can begin: environments are made, settings read; no model is loaded, nothing played.

    Raises:
        ConfigError: naming the method or environment whose run could not.
    """
    for method in sweep.methods:
        for lr in sweep.learning_rates or (None,):
            cell = Cell(method, sweep.tuning_env, sweep.tuning_seed, lr)
            try:
                known_methods.find(method).config(sweep.settings(cell, lr)["train"])
            except NlacBenchError as error:
                raise ConfigError(f"{method}: {error}") from error
    for env in (*sweep.seeds, *sweep.transfer, sweep.tuning_env):
        try:
            outline(RunConfig.from_mapping(sweep.base(env), "[run]"))
        except (NlacBenchError, ValueError) as error:
            raise ConfigError(f"{env}: {error}") from error


def _sweep(found: Mapping[str, Any]) -> Sweep:
    _known(found, {"methods", *_TABLES}, "entry")
    for name in _TABLES:
        if not isinstance(found.get(name, {}), dict):
            raise ConfigError(f"{name} must be a table, [{name}], got {found[name]!r}")
    methods = _list(found.get("methods", []), str, "methods")
    of_methods = found.get("methods_train", {})
    for method in (*methods, *of_methods):
        if method not in known_methods.names():
            raise ConfigError(f"unknown method {method!r}; there are {', '.join(known_methods.names())}")
    for method, settings in of_methods.items():
        if not isinstance(settings, dict):
            raise ConfigError(f"methods_train.{method} must be a table of settings, got {settings!r}")
    seeds = {env: _seeds(values, f"seeds.{env}") for env, values in found.get("seeds", {}).items()}
    if not methods or not seeds:
        raise ConfigError("give `methods = [...]` and a table `[seeds]` such as tau_retail = [0]")
    transfer = _transfer(found.get("transfer", {}), seeds)
    for env in (*seeds, *transfer):
        if PurePath(env).is_absolute() or ".." in PurePath(env).parts or env == TUNING:
            raise ConfigError(f"environment {env!r} cannot be the name of a folder in --out")
    run = found.get("run", {})
    if wrong := sorted(_SET_HERE & set(run)):
        raise ConfigError(f"run.{wrong[0]}: the sweep itself sets it for each run; leave it out")
    return Sweep(
        methods, seeds, run, found.get("train", {}), of_methods, transfer,
        **_tuning(found.get("tuning", {}), seeds),
    )  # fmt: skip


def _transfer(found: Mapping[str, Any], seeds: Mapping[str, Sequence[int]]) -> dict[str, str]:
    for to, source in found.items():
        if not isinstance(source, str) or source not in seeds:
            raise ConfigError(f"transfer {to!r} is from {source!r}, which is not trained on")
        if to in seeds:
            raise ConfigError(f"transfer {to!r}: it is trained on, and its runs would be in the same folder")
    return dict(found)


def _tuning(found: Mapping[str, Any], seeds: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    _known(found, _TUNING, "[tuning]")
    rates = _list(found.get("lr", []), (int, float), "tuning.lr")
    if len({f"{rate:g}" for rate in rates}) < len(rates):
        raise ConfigError(f"tuning.lr = {list(rates)}: some are the same in six digits")
    (seed,) = _seeds([found.get("seed", 100)], "tuning.seed")
    env, budget = found.get("env", next(iter(seeds))), found.get("budget")
    for name, value in (("env", env), ("budget", budget)):
        if not isinstance(value, str | None):
            raise ConfigError(f"tuning.{name} must be text, got {value!r}")
    if rates and seed in seeds.get(env, ()):
        raise ConfigError(
            f"tuning.seed = {seed} is also a seed of {env}; what is compared must not be what was tuned on"
        )
    return {
        "learning_rates": tuple(map(float, rates)),
        "tuning_seed": seed, "tuning_env": env, "tuning_budget": budget,
    }  # fmt: skip


def _known(found: Mapping[str, Any], known: set[str], where: str) -> None:
    if unknown := sorted(set(found) - known):
        raise ConfigError(f"{where} {unknown[0]!r} is unknown; there are {', '.join(sorted(known))}")


def _list(found: Any, kind: type | tuple[type, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(found, list) or any(isinstance(x, bool) or not isinstance(x, kind) for x in found):
        what = "texts" if kind is str else "numbers"
        raise ConfigError(f"{where} must be a list of {what}, got {found!r}")
    if twice := [x for i, x in enumerate(found) if x in found[:i]]:
        raise ConfigError(f"{where} has {twice[0]!r} twice")
    return tuple(found)


def _seeds(found: Any, where: str) -> tuple[int, ...]:
    seeds = _list(found, int, where)
    if not seeds or min(seeds) < 0:
        raise ConfigError(f"{where} must be one or more whole numbers from 0 on, got {found!r}")
    return seeds
