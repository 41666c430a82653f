"""Plays the recorded actions of a run again in its environment, and compares what the environment returns.

The rollout driver plays, so an episode ends by the same rules as the recorded one. Only the environment is
checked: a replay does not prove which model wrote the actions.
"""

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import gymnasium

from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.rollout.limits import PlayLimits
from nlac_bench.types import Episode, Turn

_BY_CLOCK = ("time_limit", "cost_limit", "token_limit")
"""End reasons that a replay cannot repeat: such an episode's turns are compared, and not how it ended."""


@dataclass(frozen=True)
class Recorded:
    """An agent that takes the recorded actions, in the episode of the same task and seed."""

    episodes: dict[tuple[str, int], Episode]
    name: str = "recorded"

    def begin(self, env: Any, seed: int) -> "_ReplayActor":
        """Return an actor, which finds its episode when it gets the first observation."""
        return _ReplayActor(self.episodes, seed)


@dataclass
class _ReplayActor:
    episodes: dict[tuple[str, int], Episode]
    seed: int
    _left: list[Turn] | None = None

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        if self._left is None:
            self._left = list(self.episodes[str(info.get("task_id")), self.seed].turns)
        if not self._left:
            return Turn("", finish="length")  # no action, so the driver ends the episode
        turn = self._left.pop(0)
        return Turn(turn.text, role=turn.role, finish=turn.finish)


def replay(run: RunFolder, make_env: Callable[[], gymnasium.Env[str, str]]) -> list[str]:
    """Play every recorded action of ``run`` again and return the differences; empty if there are none.

    Raises:
        NlacBenchError: the environment cannot be played, for instance because a simulator's reply is not in
            its recording.
    """
    recorded = {(episode.task_id, episode.trial): episode for episode in run.episodes()}
    agent = Recorded({(episode.task_id, episode.seed): episode for episode in recorded.values()})
    limits = PlayLimits(turns=run.conditions.get("max_turns"))
    driver = Driver(agent, make_env, concurrency=1, limits=limits)
    specs = [EpisodeSpec(e.env, e.task_id, e.trial, e.seed) for e in recorded.values()]

    async def play_all() -> list[Episode | Failure]:
        async with aclosing(driver.run(specs)) as results:
            return [result async for result in results]

    items = []
    for result in asyncio.run(play_all()):
        if isinstance(result, Failure):
            key = str(result.spec.task_id), result.spec.trial
            items.append(f"{_name(key)} failed ({result.error}: {result.message[:300]})")
        else:
            key = result.task_id, result.trial
            difference = first_difference(recorded[key], result)
            if difference is not None:
                items.append(f"{_name(key)}, {difference}")
    return items


def first_difference(recorded: Episode, played: Episode) -> str | None:
    """Return the first difference between what the environment returned in two episodes, or None."""
    pairs: list[tuple[str, object, object]] = [
        ("the first observation", recorded.first_observation, played.first_observation)
    ]
    for number, (old, new) in enumerate(zip(recorded.turns, played.turns, strict=False), start=1):
        pairs.append((f"turn {number}: the observation", old.observation, new.observation))
        pairs.append((f"turn {number}: the reward", old.reward, new.reward))
    if recorded.end_reason in _BY_CLOCK:
        played = dataclasses.replace(played, turns=played.turns[: len(recorded.turns)])
        endings: tuple[str, ...] = ()
    else:
        endings = ("end_reason", "success", "terminated", "truncated")
    pairs.append(("the number of turns", len(recorded.turns), len(played.turns)))
    pairs += [(name, getattr(recorded, name), getattr(played, name)) for name in endings]
    for what, before, now in pairs:
        if repr(before) != repr(now):  # NaN equals itself here
            return f"{what} is {_cut(before)} in the folder, and {_cut(now)} when played again"
    return None


def _name(key: tuple[str, int]) -> str:
    return f"task {key[0]!r:.200}, trial {key[1]}"


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:157]}…"
