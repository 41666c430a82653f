"""Floor agents and the oracle: policies without a model, whose scores leaderboards show for comparison.

A score is meaningful only if it exceeds that of policies that hand over at once, say nothing or act randomly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nlac_bench.envs.returned import check_action, check_actions
from nlac_bench.envs.text_env import CopyKind, TextEnv
from nlac_bench.errors import NlacBenchError, UnknownIdError
from nlac_bench.rollout.agent import Actor, Agent
from nlac_bench.types import Info, Turn

CHEAP_FLOORS = ("random", "silent")
"""Floor agents that need no search and play every environment."""
_TRANSFER_TOOL = "transfer_to_human_agents"
TRANSFER = f'{{"name": "{_TRANSFER_TOOL}", "arguments": {{"summary": "handed over"}}}}'


@dataclass(frozen=True)
class Constant:
    """Always takes the same action."""

    action: str
    name: str = "constant"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return the agent itself, since it has no history."""
        return self

    async def act(self, observation: str, info: Info) -> Turn:
        """Return the constant action."""
        return Turn(text=self.action)


SILENT = Constant("", name="silent")
"""Sends empty actions until the task ends."""


@dataclass(frozen=True)
class RandomAgent:
    """Takes random well-formed actions, which the environment draws."""

    name: str = "random"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor with its own random generator."""
        return _RandomActor(env, np.random.default_rng(seed))


@dataclass(frozen=True)
class _RandomActor:
    env: TextEnv
    rng: np.random.Generator

    async def act(self, observation: str, info: Info) -> Turn:
        return Turn(text=check_action(self.env.random_action(self.rng), "random_action", self.env.name))


@dataclass(frozen=True)
class CopyAgent:
    """Answers with a part of the statement, without solving the task: the first one that is accepted.

    It tries the parts of one kind in copies of the episode, so its success is the share of tasks that some
    part of the statement solves.
    """

    name: str = "copy"
    kind: CopyKind = "expression"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor that tries the parts of the statement of ``env``."""
        return _CopyActor(env, self.kind)


@dataclass(frozen=True)
class _CopyActor:
    env: TextEnv
    kind: CopyKind

    async def act(self, observation: str, info: Info) -> Turn:
        actions = [action for kind, action in self.env.copied_actions() if kind == self.kind]
        for action in actions:
            _, _, ended, _, end = await self.env.fork().astep(action)
            if ended and end["success"]:
                return Turn(text=action)
        return Turn(text=actions[0] if actions else "")


def has_copies(env: TextEnv) -> bool:
    """Return whether the agent ``copy`` can play ``env``."""
    return type(env).copied_actions is not TextEnv.copied_actions


@dataclass(frozen=True)
class OracleAgent:
    """Takes the environment's oracle action. Its score is the ceiling and shows that tasks can be solved."""

    name: str = "oracle"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor that takes the oracle actions of ``env``."""
        return _OracleActor(env)


@dataclass(frozen=True)
class _OracleActor:
    env: TextEnv

    async def act(self, observation: str, info: Info) -> Turn:
        return Turn(text=check_action(self.env.oracle_action(), "oracle_action", self.env.name))


def search_constant(train_env: TextEnv, tasks: int = 100, seed: int = 0) -> Constant:
    """Find the constant action with the largest return on the training split.

    Every candidate of ``train_env.constant_actions()`` is played on the same ``tasks`` training tasks, drawn
    with ``seed``. If several candidates have the largest return, the first is chosen.

    Raises:
        UnknownIdError: the environment has no candidates.
        NlacBenchError: a candidate is not a text.
    """
    candidates = check_actions(train_env.constant_actions(), train_env.name)
    if not candidates:
        raise UnknownIdError(
            f"the agent 'constant' cannot play {train_env.name}: its constant_actions() is empty"
        )
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


def cannot_play(name: str, env: TextEnv, make_train_env: Callable[[], TextEnv]) -> str | None:
    """Return why the floor agent ``name`` cannot play ``env``, which may be reset for this; None if it can.

    Raises:
        UnknownIdError: ``name`` is not a floor agent.
        NlacBenchError: a candidate of the agent ``constant`` is not a text.
    """
    match name:
        case "oracle":
            return None if env.has_oracle else "it has no oracle"
        case "copy":
            return None if has_copies(env) else "it has no copied_actions()"
        case "transfer":
            _, info = env.reset(seed=0)
            env.close()
            names = [tool.get("function", tool).get("name") for tool in info["tools"]]
            return None if _TRANSFER_TOOL in names else f"it has no tool {_TRANSFER_TOOL}"
        case "constant":
            try:
                train_env = make_train_env()
            except (NlacBenchError, TypeError, ValueError) as error:
                return str(error)
            candidates = check_actions(train_env.constant_actions(), train_env.name)
            return None if candidates else "its constant_actions() is empty"
    floor_agent(name, make_train_env)
    return None


def floor_agent(name: str, make_train_env: Callable[[], TextEnv]) -> Agent:
    """Return the floor agent ``name``: silent, random, constant, copy, transfer or oracle.

    ``make_train_env`` is called only for ``constant``, whose action is searched on the training split.

    Raises:
        UnknownIdError: ``name`` is not a floor agent.
    """
    match name:
        case "silent":
            return SILENT
        case "random":
            return RandomAgent()
        case "copy":
            return CopyAgent()
        case "transfer":
            return Constant(TRANSFER, name="transfer")
        case "oracle":
            return OracleAgent()
        case "constant":
            return search_constant(make_train_env())
    raise UnknownIdError(
        f"unknown floor agent {name!r}; the floor agents are silent, random, constant, copy, transfer, oracle"
    )
