"""Makes the environments that a configuration names, selects tasks and records the conditions of a run."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv
from nlac_bench.envs.seed_world import world_of_seed
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.simulator import simulator_settings
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.types import ChatFn

MakeEnv = Callable[[], gymnasium.Env[str, str]]


def environment_factories(
    config: RunConfig, chat: ChatFn | None
) -> tuple[MakeEnv, Callable[[], TextEnv], Callable[[], TextEnv]]:
    """Return three functions: the first makes the environment that is measured, the second its training
    split, the third the environment with the validation tasks (see ``registry.make_validation_env``).

    If the environment string names several worlds, all make the world of ``config.seed``.

    Args:
        chat: calls the model behind the environment's user, oracle or judge.

    Raises:
        NlacBenchError: the run trains an agent, and the environment does not support training; or there is
            no world for the seed.
    """
    arguments: dict[str, object] = {
        name: value for name in ("split", "data", "user") if (value := getattr(config, name)) is not None
    }
    if config.tasks == "clean":
        arguments["tasks"] = "clean"
    if chat is not None:
        arguments["chat"] = chat
    arguments |= world_of_seed(config.env, config.seed, **arguments)

    def make_env() -> gymnasium.Env[str, str]:
        try:
            return envs.make_playable(config.env, episodes=config.limit, **arguments)
        except TypeError as error:
            raise ConfigError(
                f"{config.env} cannot be made with the arguments {', '.join(arguments) or '(none)'}: {error}"
            ) from error

    # ``tasks`` selects tasks of the test split only.
    training = {name: value for name, value in arguments.items() if name != "tasks"}
    if config.train is not None and config.train.levels == "all":
        training |= _all_levels(config.env, training)
    if config.train is not None:
        envs.check_training(config.env, **training)

    def make_training_env() -> TextEnv:
        return envs.make_training_env(config.env, **training)

    def make_validation_env() -> TextEnv:
        return envs.make_validation_env(config.env, **training)

    return make_env, make_training_env, make_validation_env


def _all_levels(env: str, arguments: Mapping[str, Any]) -> dict[str, None]:
    """Return the constructor argument with which ``env`` has the tasks of all its levels.

    Raises:
        ConfigError: its constructor has no argument ``level``.
    """
    made = envs.make_playable(env, **arguments).unwrapped
    if "level" not in inspect.signature(type(made).__init__).parameters:
        raise ConfigError(f"train.levels = 'all': {env} has no argument 'level'; leave out levels")
    return {"level": None}


def chosen_tasks(config: RunConfig, env: TextEnv) -> list[str]:
    """Return the tasks of ``env`` that ``config`` selects, in order.

    Raises:
        ConfigError: ``config.tasks`` names a task that ``env`` does not have.
    """
    ids = list(env.task_ids)
    if config.tasks not in (None, "clean"):
        chosen = [name.strip() for name in str(config.tasks).split(",") if name.strip()]
        unknown = sorted(set(chosen) - set(ids))
        if unknown:
            raise ConfigError(
                f"--tasks: {config.env} has no task {unknown[0]!r} in split {env.split!r}; "
                f"the first tasks are {', '.join(ids[:3])}"
            )
        ids = chosen
    return ids[: config.limit]


def stated_conditions(config: RunConfig) -> dict[str, object]:
    """Return the conditions that the configuration alone determines; nothing is imported or made for them."""
    name, arguments = envs.parse(config.env)
    return {
        "env": envs.canonical_name(name),
        "env_args": arguments,
        "max_turns": config.max_turns,
        "max_seconds": config.max_seconds,
    }


def conditions(config: RunConfig, env: Any) -> dict[str, object]:
    """The conditions of the run. Two runs can be compared only if their conditions are equal."""
    result = stated_conditions(config)
    if not isinstance(env, PlainEnv):  # a plain environment has no version, split or data
        result |= {
            "env_version": env.env_version,
            "split": env.split,
            "data_source": env.source.kind,
            "data_sha256": env.source.sha256,
            **env.conditions(),
        }
    if config.user_model is not None or config.replay is not None:
        result["simulator"] = simulator_settings(config)
    return result
