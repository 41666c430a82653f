"""Floors and ceiling: policies without a model, which every board shows beside the real ones.

A score means little below what a policy earns that hands over at once, says nothing or acts at random.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import UnknownIdError
from nlac_bench.rollout.agent import Actor
from nlac_bench.types import Turn

TRANSFER = '{"name": "transfer_to_human_agents", "arguments": {"summary": "handed over"}}'


@dataclass(frozen=True)
class Constant:
    """Always takes the same action."""

    action: str
    name: str = "constant"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Itself: it has no history."""
        return self

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        """The constant action."""
        return Turn(text=self.action)


SILENT = Constant("", name="silent")
"""Says nothing until the task's own limit."""


@dataclass(frozen=True)
class RandomAgent:
    """Takes random well-formed actions, as the environment draws them."""

    name: str = "random"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """An actor with a random stream of its own."""
        return _RandomActor(env, np.random.default_rng(seed))


@dataclass(frozen=True)
class _RandomActor:
    env: TextEnv
    rng: np.random.Generator

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        return Turn(text=self.env.random_action(self.rng))


@dataclass(frozen=True)
class OracleAgent:
    """Takes the environment's oracle action: the ceiling, and a check that every task can be solved."""

    name: str = "oracle"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """An actor that asks the environment itself."""
        return _OracleActor(env)


@dataclass(frozen=True)
class _OracleActor:
    env: TextEnv

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        return Turn(text=self.env.oracle_action())


def search_constant(train_env: TextEnv, tasks: int = 100, seed: int = 0) -> Constant:
    """The constant action that earns most on the training split.

    Every candidate of ``train_env.constant_actions()`` is played on the same ``tasks`` training tasks,
    drawn by ``seed``; of equal ones the first wins.

    Raises:
        UnknownIdError: when the environment names no candidates.
    """
    candidates: Sequence[str] = train_env.constant_actions()
    if not candidates:
        raise UnknownIdError(f"{train_env.name} names no constant actions, so it has no constant policy")
    rng = np.random.default_rng(seed)
    count = min(tasks, len(train_env.task_ids))
    drawn = [train_env.task_ids[i] for i in sorted(rng.permutation(len(train_env.task_ids))[:count])]
    totals = [sum(_play(train_env, action, task_id) for task_id in drawn) for action in candidates]
    return Constant(candidates[int(np.argmax(totals))])


def _play(env: TextEnv, action: str, task_id: str) -> float:
    env.reset(seed=0, options={"task_id": task_id})
    total, ended = 0.0, False
    while not ended:
        _, reward, terminated, truncated, _ = env.step(action)
        total += reward
        ended = terminated or truncated
    return total


def floor_agent(name: str, make_train_env: Callable[[], TextEnv]) -> Any:
    """The floor agent called ``name``: silent, random, constant, transfer or oracle.

    ``make_train_env`` is called for ``constant`` alone, which is searched for on the training split.

    Raises:
        UnknownIdError: when there is none of that name.
    """
    match name:
        case "silent":
            return SILENT
        case "random":
            return RandomAgent()
        case "transfer":
            return Constant(TRANSFER, name="transfer")
        case "oracle":
            return OracleAgent()
        case "constant":
            return search_constant(make_train_env())
    raise UnknownIdError(
        f"unknown floor agent {name!r}; there are silent, random, constant, transfer, oracle"
    )
