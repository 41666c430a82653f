"""Default settings for models of known size: the embedded ones, with easy tasks, and ``smollm2``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlac_bench import tiny
from nlac_bench.agents.names import FLOORS
from nlac_bench.envs import registry as envs
from nlac_bench.envs.env_string import join
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.engines import engine_kind, local_model
from nlac_bench.harness.measure.replicas import replica_count
from nlac_bench.harness.runs import named_agents
from nlac_bench.harness.runs.configuration import MOST_REPLICAS
from nlac_bench.settings import Settings

EASY: Mapping[str, Mapping[str, Any]] = {
    "tau_retail": {"level": "easy"},
    "tau_airline": {"level": "easy"},
    "shop_worlds": {"level": "easy"},
    "twenty_questions": {"level": "easy", "reward": "binary", "unknowns": "no"},
    "math500_hard": {"level": 1},
}
TRAINING: Mapping[str, Any] = {
    "budget": "steps=40",
    "train_batch_size": 32,
    "mini_batch_size": 32,
    "lr": 1e-4,
    "warmup_steps": 5,
    "max_prompt_length": 3072,
    "max_response_length": 160,
    "row_tokens": 1024,
    "micro_rows": 4,
    "val_tasks": 64,
    "test_freq": 8,
    "save_freq": 16,
    "ema_tau": 0.05,
    "num_futures": 3,  # the aggregator was taught three; of two against two it mostly writes failure
    "improvement_temperature": 0.0,  # at temperature 1 a model this small often writes malformed critiques
}
SMOLLM2: Mapping[str, Any] = {
    "budget": "steps=20",
    "lr": 2e-5,
    "max_response_length": 160,  # an answer that never ends keeps all others waiting
    "row_tokens": 1024,  # with 4,096, activations take more memory than everything else together
}
SMOLLM2_CRITIC: Mapping[str, Any] = {"activation_checkpointing": True}
"""Settings of methods with a language critic, which learn from long texts."""
SMOLLM2_TOKENS = 64
"""Largest number of tokens of an answer of ``smollm2``."""

CONCURRENCY = 64
"""Number of concurrent episodes for each process that runs the model: a step of 64 rows takes hardly longer
than one of 32, so processes that share 64 rows would not be much faster than one."""


def is_tiny(model: object) -> bool:
    """Return whether ``model`` is an embedded model or a checkpoint of one, which has the same tokenizer."""
    if str(model) in tiny.FOLDERS:
        return True
    own, theirs = tiny.path() / "tokenizer.json", Path(str(model)) / "tokenizer.json"
    return theirs.is_file() and theirs.read_bytes() == own.read_bytes()


def default_tasks(config: Mapping[str, Any]) -> str | None:
    """Return a sentence on the tasks of a run that plays the default ones of the embedded model; else None.

    Args:
        config: of the run. It may come from somebody else.
    """
    try:
        name, arguments = envs.parse(str(config.get("env", "")))
    except NlacBenchError:
        return None
    if config.get("data") not in (None, "embedded") or arguments != EASY.get(name):
        return None
    if str(config.get("model")) not in tiny.FOLDERS:
        return None
    level = json.dumps({"level": None})
    return (
        f"the tasks are those of level {arguments['level']}, the default with --model {config['model']}; "
        f"--env '{name}@{level}' plays all levels"
    )


def with_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``settings`` of a run; defaults for its model complete those that are not given.

    With an embedded model, the embedded environments are played at the level that it was trained on, unless
    the environment string has its own arguments or the data are not embedded.
    """
    if settings.get("model") == "smollm2":
        return _trained({"max_tokens": SMOLLM2_TOKENS, **settings}, SMOLLM2, SMOLLM2_CRITIC)
    if not is_tiny(settings.get("model")):
        return dict(settings)
    completed: dict[str, Any] = {"max_tokens": TRAINING["max_response_length"], **settings}
    if "concurrency" not in completed:
        completed["concurrency"] = CONCURRENCY * _replicas(settings)
    name, arguments = envs.parse(str(settings.get("env", "")))
    if not arguments and name in EASY and settings.get("data") in (None, "embedded"):
        completed["env"] = join(name, EASY[name])
    return _trained(completed, TRAINING, {})


def _trained(
    settings: dict[str, Any], training: Mapping[str, Any], of_critics: Mapping[str, Any]
) -> dict[str, Any]:
    """Return ``settings`` with the defaults of ``training`` that the method has.

    Args:
        of_critics: further defaults of methods with a language critic.
    """
    if not isinstance(settings.get("train"), Mapping):  # other values are reported by ``RunConfig``
        return settings
    method = named_agents.method(str(settings.get("agent")))
    config = method.config_class
    if method.keeps_critiques:
        training = {**training, **of_critics}
    # A shared setting that the method declares again has a default of the method's own.
    shared = [base.model_fields for base in config.__mro__[1:] if issubclass(base, Settings)]
    own = {name for name in config.__annotations__ if any(name in fields for fields in shared)}
    known = config.model_fields.keys() - own
    defaults = {name: value for name, value in training.items() if name in known}
    return {**settings, "train": {**defaults, **settings["train"]}}


def _replicas(settings: Mapping[str, Any]) -> int:
    """Return the number of processes that run the model; 1 for an invalid setting (reported later)."""
    wanted = settings.get("replicas", "auto")
    if (
        settings.get("agent") in FLOORS
        or settings.get("servers")
        or not (wanted == "auto" or wanted in range(1, MOST_REPLICAS + 1))
    ):
        return 1
    model = str(settings.get("model"))
    kind = engine_kind(model, settings.get("base_url"), settings.get("engine", "auto"))
    return replica_count(wanted, kind, local_model(model))
