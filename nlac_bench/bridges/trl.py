"""Environments of this package for TRL's ``GRPOTrainer(environment_factory=…)`` (TRL 1.16).

::

    trainer = GRPOTrainer(
        model, args=GRPOConfig(…), train_dataset=Dataset.from_list(rows("tau_retail")),
        environment_factory=environment("tau_retail"),
    )
"""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from nlac_bench.agents.tool_calling import action_of
from nlac_bench.bridges.playable import playable
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import ConfigError, EnvInfraError
from nlac_bench.harness.runs.seeds import plan_episodes

_HOW = """\
# How you act
Act by calling tools, one in each turn, and wait for what it returns. To say something, to the user or as
your answer, call the tool respond. A turn without a tool call ends the conversation."""
_TYPES: Mapping[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}


class TrlEpisode:
    """A rollout of TRL: ``reset`` and ``get_reward``, which TRL calls, and the tools of the model.

    A subclass has a method for each tool of its environment. Each call is an action of the environment.
    """

    _make: ClassVar[partial[TextEnv]]

    def __init__(self) -> None:
        self._env = type(self)._make()
        self._reward, self._failed, self._ended = 0.0, False, True

    def reset(self, task_id: str | None = None, seed: int | None = None, **columns: object) -> str:
        """Begin the episode of a row of ``rows``, and return the environment's first message.

        Raises:
            ConfigError: the row has no task, so that the rollouts of a group would play different ones.
        """
        if task_id is None:
            raise ConfigError(
                "the data set has no column task_id; pass train_dataset=Dataset.from_list(rows(ENV)) "
                "(nlac_bench.bridges.trl)"
            )
        self._reward, self._failed, self._ended = 0.0, False, False
        try:
            return self._env.reset(seed=seed, options={"task_id": task_id})[0]
        except EnvInfraError as error:
            self._failed = self._ended = True
            return f"The environment cannot be reached: {error}"

    def get_reward(self) -> float | None:
        """Return the sum of the rewards; None after an infrastructure error, which TRL leaves unscored."""
        return None if self._failed else self._reward

    def respond(self, content: str) -> str:
        """Say something to the user, or give an answer. It returns what is said to you next.

        Args:
            content: What to say.
        """
        return self._play(content)

    def _play(self, action: str) -> str:
        if self._ended:
            return "The conversation has ended."
        try:
            observation, reward, terminated, truncated, _ = self._env.step(action)
        except EnvInfraError:
            self._failed = self._ended = True
            raise
        self._reward += reward
        self._ended = terminated or truncated
        return observation


def environment(name: str, **args: Any) -> type[TrlEpisode]:
    """Return a class whose instances play episodes of an environment: an ``environment_factory`` for TRL.

    Args:
        name: of the environment, or ``Name@{json}``.
        args: of its constructor. The split is ``train`` unless another is given.

    Raises:
        ConfigError: a tool of the environment has the name of a method that this class has already.
        UnknownIdError, NlacBenchError: the environment cannot be made, or a model has to play its user.
    """
    make = partial(playable, name, **_arguments(name, args))
    env = make()
    tools = [tool["function"] for tool in env.tools()]
    if taken := sorted({tool["name"] for tool in tools} & set(dir(TrlEpisode))):
        raise ConfigError(f"{name}: its tool {taken[0]} has the name of a method of the bridge; rename it")
    methods = {tool["name"]: _method(tool) for tool in tools}
    return type(env.name, (TrlEpisode,), {**methods, "_make": make, "__doc__": TrlEpisode.__doc__})


def rows(name: str, **args: Any) -> list[dict[str, Any]]:
    """Return a row for each task: ``prompt``, ``task_id``, ``seed``. TRL adds what ``reset`` returns to it.

    The arguments are those of ``environment``; the seeds are those of ``nlac-bench run --seed 0``.

    Raises:
        UnknownIdError, NlacBenchError: as ``environment``.
    """
    env = playable(name, **_arguments(name, args))
    results = []
    for item in plan_episodes(env.task_ids, 1, base_seed=0):
        _, info = env.reset(seed=item.seed, options={"task_id": item.task_id})
        spoken = {"user": "You hear", "assistant": "You call respond with"}
        examples = [f"{spoken[m['role']]}: {m['content']}" for m in info.get("examples", ())]
        system = "\n\n".join([info["policy"], _HOW, *examples]).strip()
        prompt = [{"role": "system", "content": system}, {"role": "user", "content": ""}]
        results.append({"prompt": prompt, "task_id": item.task_id, "seed": item.seed})
    return results


def _arguments(name: str, args: Mapping[str, Any]) -> dict[str, Any]:
    return {"split": "train", **parse(name)[1], **args}


def _method(tool: Mapping[str, Any]) -> Callable[..., str]:
    """Return a method that calls a tool; transformers makes a schema of its signature and docstring."""
    schema = tool.get("parameters", {})
    required = schema.get("required", [])
    parameters, described = [], []
    for name, value in sorted(schema.get("properties", {}).items(), key=lambda each: each[0] not in required):
        kind, default = _annotation(value), {}
        if name not in required:
            kind, default = kind | None, {"default": None}
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, **default)
        )
        text = " ".join(str(value.get("description", name)).split())
        items = value.get("items", value)
        if fields := items.get("properties"):  # annotations cannot say which keys an object has
            text += f" {'Each is an object' if items is not value else 'An object'} with {json.dumps(fields)}"
        described.append(f"    {name}: {text}\n")

    def call(self: TrlEpisode, **arguments: Any) -> str:
        given = {name: value for name, value in arguments.items() if name in required or value is not None}
        return self._play(action_of(tool["name"], json.dumps(given)))

    call.__name__ = tool["name"]
    call.__qualname__ = f"TrlEpisode.{tool['name']}"
    call.__doc__ = " ".join(tool["description"].split())
    if described:
        call.__doc__ += "\n\nArgs:\n" + "".join(described)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    call.__signature__ = inspect.Signature([itself, *parameters], return_annotation=str)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
        "return": str
    }
    return call


def _annotation(schema: Mapping[str, Any]) -> Any:
    """Return the type of an argument from its JSON schema."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array":
        items = _annotation(schema.get("items", {}))
        return list[items]  # type: ignore[valid-type]
    return _TYPES.get(schema.get("type", ""), Any)
