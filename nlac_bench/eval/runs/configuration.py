"""The configuration of a run: flags of `nlac-bench run`, a TOML file, or an earlier run's config.json."""

import json
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Self

from nlac_bench.errors import NlacBenchError

EngineKind: typing.TypeAlias = Literal["auto", "openai", "hf", "vllm"]


class ConfigError(NlacBenchError):
    """A configuration has an unknown name or a value of the wrong kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Everything that decides what a run does. Written to ``config.json``, which ``--config`` takes again.

    API keys are no part of it: they come from the environment (``OPENAI_API_KEY`` for OpenAI,
    ``NLAC_BENCH_API_KEY`` for other servers).

    Args:
        env: CLI name, Gymnasium id, plug-in, or one of these with arguments, ``Name@{json}``.
        agent: react, act, tool_calling, a floor (silent, random, constant, transfer), oracle, a plug-in.
        split, data: handed to the environment; None leaves its default.
        tasks: task ids separated by commas, or ``clean`` where the environment knows that selection.
        limit: only the first so many tasks.
        trials: episodes of each task.
        seed: episode seeds are a hash of this, the task and the trial.
        model: a Hugging Face id or folder, or the name of a model on a server.
        engine: ``auto`` takes a server where ``base_url`` is set, transformers for a folder or a name with a
            slash, and OpenAI's API for any other name.
        max_tokens: longest reply of the policy, in tokens.
        price, user_price: US dollars per million tokens in and out, as ``0.25,2``.
        user, user_model, user_base_url: who plays the environment's user (or oracle or judge).
        user_max_tokens: its longest reply, thoughts included.
        max_turns, max_seconds: administrative limits of each episode.
        max_cost: US dollars that the whole run may spend.
        record, replay: file of the calls of user, oracle and judge.
        train: settings of the training (a table in TOML); None only measures.
        offline: an earlier run's folder; training learns from its episodes alone.
        base: folder of a finished run of the untrained model, with which the trained one is compared; None
            plays it.
    """

    env: str
    agent: str
    split: str | None = None
    data: str | None = None
    tasks: str | None = None
    limit: int | None = None
    trials: int = 1
    seed: int = 0
    concurrency: int = 16
    model: str | None = None
    base_url: str | None = None
    engine: EngineKind = "auto"
    temperature: float = 0.0
    max_tokens: int = 1024
    price: str | None = None
    user: str | None = None
    user_model: str | None = None
    user_base_url: str | None = None
    user_temperature: float = 0.0
    user_max_tokens: int = 1024
    user_price: str | None = None
    max_turns: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    record: str | None = None
    replay: str | None = None
    train: dict | None = None
    offline: str | None = None
    base: str | None = None

    def __post_init__(self) -> None:
        if self.record is not None and self.replay is not None:
            raise ConfigError(
                "record and replay exclude each other: a run either asks a model or a recording"
            )
        for name in ("limit", "trials", "concurrency", "max_tokens", "user_max_tokens", "max_turns"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name} must be at least 1, got {value}")
        if self.max_cost is not None and self.prices("price") is None and self.prices("user_price") is None:
            raise ConfigError(
                "max_cost needs to know what tokens cost: set price (and user_price) as '0.25,2'"
            )

    def prices(self, name: Literal["price", "user_price"]) -> tuple[float, float] | None:
        """US dollars per million tokens (in, out), or None where they are not set.

        Raises:
            ConfigError: when they are not two numbers.
        """
        text = getattr(self, name)
        if text is None:
            return None
        try:
            into, out = (float(part) for part in text.split(","))
        except ValueError:
            raise ConfigError(f"{name} must be two numbers such as '0.25,2', got {text!r}") from None
        return into, out

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], source: str) -> Self:
        """The configuration that ``values`` describe.

        Raises:
            ConfigError: naming ``source`` and the value that is unknown, missing or of the wrong kind.
        """
        hints = typing.get_type_hints(cls)
        unknown = sorted(set(values) - set(hints))
        if unknown:
            raise ConfigError(f"{source}: unknown setting {unknown[0]!r}; there are {', '.join(hints)}")
        missing = [name for name in ("env", "agent") if not values.get(name)]
        if missing:
            raise ConfigError(
                f"{source}: {missing[0]} is not set; pass --{missing[0]}, or set it in --config"
            )
        return cls(
            **{name: _checked(value, hints[name], f"{source}: {name}") for name, value in values.items()}
        )


def read_config(path: Path) -> dict[str, Any]:
    """The settings of a TOML file, or of a run's ``config.json``.

    Raises:
        ConfigError: when it cannot be read.
    """
    try:
        raw = path.read_bytes()
        values = json.loads(raw) if path.suffix == ".json" else tomllib.loads(raw.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the configuration {path}: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{path} must hold settings by name, not a {type(values).__name__}")
    known = {field.name for field in fields(RunConfig)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ConfigError(f"{path}: unknown setting {unknown[0]!r}; there are {', '.join(sorted(known))}")
    return values


def _checked(value: Any, hint: Any, where: str) -> Any:
    """``value`` if it is what ``hint`` says; whole numbers pass as floats."""
    if typing.get_origin(hint) is Literal:
        if value not in typing.get_args(hint):
            raise ConfigError(f"{where} must be one of {', '.join(typing.get_args(hint))}, got {value!r}")
        return value
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, tuple(kinds)):
        names = " or ".join(kind.__name__ for kind in kinds if kind is not types.NoneType)
        if value is None and types.NoneType in kinds:
            return None
        raise ConfigError(f"{where} must be {names}, got {value!r}")
    return value
