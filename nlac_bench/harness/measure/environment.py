"""The environments that a configuration names, the tasks that it selects and the conditions of its run."""

import inspect
from functools import cached_property
from typing import Any

import gymnasium

from nlac_bench.envs import registry as envs
from nlac_bench.envs.adapter import PlainEnv, check_trainable
from nlac_bench.envs.foreign import named
from nlac_bench.envs.seed_world import world_of_seed
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError
from nlac_bench.harness.measure.simulator import simulator_settings
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.types import ChatFn


class Environments:
    """The environments of a run.

    ``measured``, ``training`` and ``validation`` are each made once, when they are first used, because a
    constructor may be expensive. They answer all questions about tasks, rules, tools, versions and data, and
    ``training`` and ``validation`` are forked for algorithms. If the environment string names several worlds,
    all environments are in the world of ``config.seed``. ``arguments`` are the constructor arguments that the
    configuration adds to those in the environment string.

    Args:
        config: of the run.
        chat: calls the model behind the environment's user, oracle or judge.

    Raises:
        NlacBenchError: the run trains an agent, and the environment does not support training; or there is
            no world for the seed.
    """

    def __init__(self, config: RunConfig, chat: ChatFn | None) -> None:
        self.chat, self._env, self._episodes = chat, config.env, config.limit
        self._unplayed: list[gymnasium.Env[str, str]] = []
        arguments: dict[str, object] = {
            name: value
            for name in ("split", "data", "val", "user")
            if (value := getattr(config, name)) is not None
        }
        if config.tasks == "clean":
            arguments["tasks"] = "clean"
        if chat is not None:
            arguments["chat"] = chat
        arguments |= world_of_seed(config.env, config.seed)
        self.arguments = arguments
        # ``tasks`` selects tasks of the test split only.
        self._training = {name: value for name, value in arguments.items() if name != "tasks"}
        if config.train is not None and config.train.levels == "all":
            if "level" not in inspect.signature(type(self.measured).__init__).parameters:
                raise ConfigError(
                    f"train.levels = 'all': {config.env} has no argument 'level'; leave out levels"
                )
            self._training["level"] = None
        if config.train is not None and isinstance(self.training, PlainEnv):
            with named(f"{config.env}: an episode of random actions"):
                check_trainable(self.training)

    @cached_property
    def measured(self) -> TextEnv:
        """The environment that is measured, without wrappers."""
        env = self._make_env()
        self._unplayed.append(env)
        unwrapped: TextEnv = env.unwrapped  # type: ignore[assignment]
        return unwrapped

    @cached_property
    def training(self) -> TextEnv:
        """Its training split."""
        return self.make_training_env()

    @cached_property
    def validation(self) -> TextEnv:
        """The environment with the validation tasks; ``training`` if it has no split ``validation``."""
        return self.make_validation_env() if "validation" in self.training.splits else self.training

    def make_env(self) -> gymnasium.Env[str, str]:
        """Return an environment to measure in. The first one is ``measured``, the others are made."""
        return self._unplayed.pop() if self._unplayed else self._make_env()

    def make_training_env(self) -> TextEnv:
        """Make the training split."""
        return envs.make_training_env(self._env, **self._training)

    def make_validation_env(self) -> TextEnv:
        """Make the environment with the validation tasks."""
        return envs.make_validation_env(self._env, self.training.splits, **self._training)

    def _make_env(self) -> gymnasium.Env[str, str]:
        try:
            return envs.make_playable(self._env, episodes=self._episodes, **self.arguments)
        except TypeError as error:
            given = ", ".join(self.arguments) or "(none)"
            raise ConfigError(f"{self._env} cannot be made with the arguments {given}: {error}") from error


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
