"""Reads and checks a sweep's TOML file before any run starts."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from nlac_bench.agents import methods as known_methods
from nlac_bench.envs.seed_world import world_of_seed
from nlac_bench.errors import ConfigError, NlacBenchError
from nlac_bench.harness.measure.prepare import outline
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import LARGEST_SEED, RunConfig
from nlac_bench.harness.runs.secrets import refuse_known_secrets
from nlac_bench.learner.config import TrainConfig
from nlac_bench.settings import Settings
from nlac_bench.sweep.plan import TUNING, Cell, Sweep
from nlac_bench.training.untrained import BASE
from nlac_bench.untrusted import read_toml

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9_]{1,40}")  # it becomes the name of a folder


class Tuning(Settings):
    """The table ``[tuning]``: how each method's learning rate is chosen."""

    lr: list[float] = Field(
        [],
        description="learning rates to try, and one more beyond the best if that is the smallest or the "
        "largest; if empty, nothing is tuned",
    )
    seed: int = Field(
        100, ge=0, le=LARGEST_SEED,
        description="seed of the tuning runs; must differ from the compared seeds",
    )  # fmt: skip
    env: str | None = Field(None, description="environment of the tuning runs; default: the first in [seeds]")
    train: dict[str, Any] = Field(
        {}, description="training settings of the tuning runs that differ, such as the budget"
    )

    @field_validator("lr")
    @classmethod
    def _differ(cls, rates: list[float]) -> list[float]:
        if len({f"{rate:g}" for rate in rates}) < len(rates):
            raise ConfigError(
                f"tuning.lr = {rates}: two rates are the same in six digits; remove one of them"
            )
        return rates

    @field_validator("train")
    @classmethod
    def _without_rate(cls, train: dict[str, Any]) -> dict[str, Any]:
        if "lr" in train:
            raise ConfigError("tuning.train.lr: the rates that are tried are those of tuning.lr; remove it")
        return train


class SweepFile(Settings):
    """The contents of a sweep's TOML file."""

    methods: list[str] = Field(
        [], description="training algorithms, by name or module:object, or variants to compare"
    )
    seeds: dict[str, list[int]] = Field({}, description="seeds of each environment's runs")
    run: dict[str, Any] = Field({}, description="settings of every run, as `nlac-bench run` takes them")
    train: dict[str, Any] = Field({}, description="training settings of every method")
    methods_train: dict[str, dict[str, Any]] = Field({}, description="training settings of one method")
    variants: dict[str, str] = Field(
        {}, description="names for algorithms with the settings that methods_train has for that name"
    )
    transfer: dict[str, str] = Field(
        {}, description="environments on which checkpoints of another environment are measured"
    )
    tuning: Tuning = Field(Tuning(), description="how learning rates are chosen")

    @field_validator("seeds", mode="before")
    @classmethod
    def _by_environment(cls, seeds: object) -> object:
        if not isinstance(seeds, dict):
            raise ConfigError(
                "seeds must be a table that names each environment's seeds, such as `[seeds]` with the line "
                f"tau_retail = [0, 1]; got {seeds!r:.80}"
            )
        return seeds

    @model_validator(mode="after")
    def _check(self) -> Self:
        _each_once(self.methods, "methods")
        known = known_methods.names()
        for name in self.variants:
            if name in (*known, BASE) or not _NAME.fullmatch(name):
                raise ConfigError(
                    f"variants.{name}: a variant needs a name of its own, of letters, digits and underscores"
                )
            if name not in self.methods:
                raise ConfigError(f"variants.{name}: no run uses it; add {name!r} to methods")
        for name in self.methods_train:
            if name not in self.methods:
                raise ConfigError(
                    f"methods_train.{name}: no run uses it; add {name!r} to methods, or remove it"
                )
        for method in self.methods:
            algorithm = self.variants.get(method, method)
            if named_agents.module_of(algorithm):
                named_agents.method(algorithm)
            elif algorithm not in known:
                raise ConfigError(f"unknown method {algorithm!r}; the methods are {', '.join(known)}")
        for env, seeds in self.seeds.items():
            _each_once(seeds, f"seeds.{env}")
            if not seeds or min(seeds) < 0 or max(seeds) > LARGEST_SEED:
                raise ConfigError(
                    f"seeds.{env} must be one or more integers from 0 on, up to {LARGEST_SEED}, got {seeds}"
                )
        if not self.methods or not self.seeds:
            raise ConfigError(
                "set `methods = [...]` and add a table `[seeds]` with a line such as tau_retail = [0]"
            )
        for to, source in self.transfer.items():
            if source not in self.seeds:
                raise ConfigError(
                    f"transfer.{to} = {source!r}: no run trains on {source!r}; add it to [seeds]"
                )
            if to in self.seeds:
                raise ConfigError(
                    f"transfer.{to}: {to!r} is also in [seeds], and its runs would be in the same folder"
                )
        for env in (*self.seeds, *self.transfer):
            if PurePath(env).is_absolute() or ".." in PurePath(env).parts or env == TUNING:
                raise ConfigError(f"environment {env!r} cannot be used as the name of a folder in --out")
        for name in ("env", "agent", "seed", "train", "base"):
            if name in self.run:
                raise ConfigError(f"run.{name}: the sweep sets {name} for each run; remove it")
        if self.tuning.lr and self.tuning.seed in self.seeds.get(self.tuning_env, ()):
            raise ConfigError(
                f"tuning.seed = {self.tuning.seed} is also a seed of {self.tuning_env}; choose another, "
                "because runs that choose the learning rate must not be compared"
            )
        return self

    @property
    def tuning_env(self) -> str:
        """The environment of the tuning runs."""
        return self.tuning.env if self.tuning.env is not None else next(iter(self.seeds))

    def sweep(self) -> Sweep:
        """Return the sweep that this file describes."""
        return Sweep(
            methods=tuple(self.methods),
            seeds={env: tuple(seeds) for env, seeds in self.seeds.items()},
            run=self.run,
            train=self.train,
            method_train=self.methods_train,
            variants=self.variants,
            transfer=self.transfer,
            learning_rates=tuple(self.tuning.lr),
            tuning_seed=self.tuning.seed,
            tuning_env=self.tuning_env,
            tuning_train=self.tuning.train,
        )


def read_sweep(path: Path) -> Sweep:
    """Read a sweep from a TOML file; ``check_sweep`` then checks that each of its runs can start.

    Raises:
        ConfigError: a setting is unknown, missing, of the wrong type or in conflict with another, or contains
            a secret.
        UnknownIdError: a method of the form ``module:object`` cannot be imported, or is no ``Method``.
    """
    try:
        values = read_toml(path)
        refuse_known_secrets(values)
        return SweepFile.from_mapping(values).sweep()
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def check_sweep(sweep: Sweep) -> None:
    """Check that every run can start: make the environments and read the settings, without loading a model.

    Raises:
        ConfigError: a run cannot start; the message names its method or environment.
    """
    for method in sweep.methods:
        _check_mini_batch(sweep, method)
        for lr in (None, *sweep.learning_rates):
            cell = Cell(method, sweep.tuning_env, sweep.tuning_seed, lr)
            try:
                named_agents.method(sweep.algorithm(method)).config(sweep.settings(cell, lr)["train"])
            except NlacBenchError as error:
                raise ConfigError(f"{method}: {error}") from error
    seeds = dict(sweep.seeds_by_env())
    if sweep.learning_rates:
        seeds[sweep.tuning_env] = (*seeds.get(sweep.tuning_env, ()), sweep.tuning_seed)
    for env in (*sweep.seeds, *sweep.transfer, sweep.tuning_env):
        try:
            settings = sweep.base(env)
            if env not in sweep.transfer:
                settings = sweep.settings(Cell(sweep.methods[0], env, seeds.get(env, (0,))[0]), None)
            outline(RunConfig.from_mapping(settings, "[run]")).environments.make_env()
            for seed in seeds.get(env, ()):
                world_of_seed(env, seed)
        except (NlacBenchError, ValueError) as error:
            raise ConfigError(f"{env}: {error}") from error


def _check_mini_batch(sweep: Sweep, method: str) -> None:
    """Check that ``[train]`` does not replace a method's own ``mini_batch_size``, whose unit may be another.

    Raises:
        ConfigError: it does; the message names the unit.
    """
    name = "mini_batch_size"
    own = named_agents.method(sweep.algorithm(method)).config_class.model_fields[name]
    replaced = name in sweep.train and name not in sweep.method_train.get(method, {})
    if replaced and own.default != TrainConfig.model_fields[name].default:
        raise ConfigError(
            f"{method}: train.{name} = {sweep.train[name]} would replace its default of {own.default} "
            f"({own.description}); set methods_train.{method}.{name}, too"
        )


def _each_once(values: Sequence[T], where: str) -> None:
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ConfigError(f"{where} contains {value!r} twice; remove one")
