"""Makes and plays the environments that are checked."""

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from nlac_bench.envs.returned import check_action
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.json_values import json_value
from nlac_bench.types import Info

MakeEnv = Callable[..., gymnasium.Env[str, str]]


SAMPLED_TASKS = 5


MAX_EPISODE_STEPS = 200


class NotApplicableError(Exception):
    """Raised if a check does not apply to the environment."""


@dataclass(slots=True)
class CheckedEnv:
    """The environment under test: how to make it, its Gymnasium id (None without one) and its arguments."""

    make: MakeEnv
    env_id: str | None
    kwargs: Mapping[str, Any]

    @contextmanager
    def env(self, **kwargs: object) -> Iterator[gymnasium.Env[str, str]]:
        """Make an environment; it is closed at the end."""
        env = self.make(**kwargs)
        try:
            yield env
        finally:
            env.close()

    @contextmanager
    def text_env(self, **kwargs: object) -> Iterator[TextEnv]:
        """Make an environment and return it without its wrappers.

        Raises:
            NotApplicableError: the environment is not a ``TextEnv``.
        """
        with self.env(**kwargs) as env:
            if not isinstance(env.unwrapped, TextEnv):
                raise NotApplicableError("applies to a TextEnv only")
            yield env.unwrapped


Check = Callable[[CheckedEnv], str]


CHECKS: dict[str, Check] = {}
"""Checks by name. A check returns a remark, and raises an exception where the contract is violated."""


def named(name: str) -> Callable[[Check], Check]:
    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register


def require(condition: object, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def sampled_tasks(env: TextEnv) -> list[str]:
    """Return a few tasks, spread over the list, including the first and the last."""
    last = len(env.task_ids) - 1
    return [
        env.task_ids[i] for i in sorted({round(last * k / (SAMPLED_TASKS - 1)) for k in range(SAMPLED_TASKS)})
    ]


def comparable(info: Info) -> str:
    """Return ``info`` as text, without the durations of model calls, which differ between runs."""
    info = copy.deepcopy(dict(info))
    usages = info.get("usage")
    for usage in usages.values() if isinstance(usages, dict) else ():
        if isinstance(usage, dict):
            usage.pop("seconds", None)
    try:
        return json.dumps(info, sort_keys=True, default=repr)
    except TypeError:  # other keys than texts, of which a run stores the text
        return json.dumps(_text_keys(info), sort_keys=True, default=repr)
    except ValueError:  # an integer that is too long, or a dict that contains itself
        return json.dumps(json_value(info, "info"))


def _text_keys(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _text_keys(each) for key, each in value.items()}
    return [_text_keys(each) for each in value] if isinstance(value, list | tuple) else value


def oracle_action(env: TextEnv) -> str:
    """Return the oracle's action."""
    return check_action(env.oracle_action(), "oracle_action", env.name)


def next_action(env: gymnasium.Env[str, str], rng: np.random.Generator) -> str:
    """Return a well-formed action, drawn only with ``rng``."""
    inner = env.unwrapped
    if isinstance(inner, TextEnv):
        return check_action(inner.random_action(rng), "random_action", inner.name)
    inner.action_space.seed(int(rng.integers(2**31)))
    return inner.action_space.sample()


def play(env: gymnasium.Env[str, str], rng: np.random.Generator, most: int = 30) -> list[tuple[object, ...]]:
    """Step with random actions until the end, at most ``most`` times; return the result of each step."""
    steps: list[tuple[object, ...]] = []
    for _ in range(most):
        action = next_action(env, rng)
        observation, reward, terminated, truncated, info = env.step(action)
        steps.append((action, observation, float(reward), terminated, truncated, comparable(info)))
        if terminated or truncated:
            break
    return steps


def episode(env: gymnasium.Env[str, str], seed: int) -> list[tuple[object, ...]]:
    """Play a whole seeded episode; return its first observation and the result of each step."""
    observation, info = env.reset(seed=seed)
    return [(observation, comparable(info)), *play(env, np.random.default_rng(seed))]


def same(first: list[tuple[object, ...]], second: list[tuple[object, ...]], what: str) -> None:
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        require(one == other, f"{what}: step {number} returned {one!r:.150} and {other!r:.150}")
    require(len(first) == len(second), f"{what}: {len(first)} and {len(second)} steps")
