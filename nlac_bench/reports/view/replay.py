"""Plays recorded actions again, to show what the conversation does not: the state behind it.

No module that a run folder names is imported, no model is called and no file is written. An episode that the
environment answers differently today is shown without its states, with the reason.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.envs import registry
from nlac_bench.envs.env_string import parse
from nlac_bench.envs.text_env import RepeatsMessages, TextEnv
from nlac_bench.errors import NlacBenchError
from nlac_bench.harness.measure.environment import Environments
from nlac_bench.harness.runs.configuration import RunConfig
from nlac_bench.harness.runs.folder import RunFolder
from nlac_bench.harness.runs.trust import to_repeat
from nlac_bench.reports.view.sides import ViewSide
from nlac_bench.types import Episode

State = Mapping[str, Any]
Change = tuple[str, str | None, str | None]
"""The place of a changed value, and its JSON text before and after; None where there was or is none."""


@dataclass
class Replayed:
    """The states of an episode: at its beginning and after each turn; none, with a reason, if unknown."""

    states: list[State] = field(default_factory=list)
    problem: str = ""


class Replayer:
    """Plays the episodes of ``side`` again."""

    def __init__(self, side: ViewSide) -> None:
        self._env: TextEnv | None = None
        self._user: RepeatsMessages | None = None
        self.problem = _why_not(side.run)
        """Why no episode can be played again; "" if they can."""
        if not self.problem:
            try:
                self._env = side.environment(_environments(side.run))
                self._user = self._env.repeat_user()
            except (NlacBenchError, ValueError, TypeError) as error:
                self.problem = f"the environment cannot be made: {error}"
        simulated = side.run.config.get("user_model") or side.run.config.get("replay")
        if simulated and self._user is None and not self.problem:
            self._env, self.problem = None, "a model plays the oracle or the judge"

    def play(self, episode: Episode) -> Replayed:
        """Return the states of ``episode``.

        The database of an environment with tools is changed by its tools; an episode in which no call had a
        result is therefore not played again.
        """
        env = self._env
        if env is None:
            return Replayed(problem=self.problem)
        if type(env).describe_state is TextEnv.describe_state:
            return Replayed()
        called = any(t.info.get("tool_name") and not t.info.get("tool_error") for t in episode.turns)
        if env.tools() and not called:
            return Replayed()
        try:
            return _played(env, self._user, episode)
        except (NlacBenchError, ValueError) as error:
            return Replayed(problem=f"the environment cannot play it: {error}")


def _played(env: TextEnv, user: RepeatsMessages | None, episode: Episode) -> Replayed:
    if user is not None:
        user.next = episode.first_observation
    observation, _ = env.reset(seed=episode.seed, options={"task_id": episode.task_id})
    if observation != episode.first_observation:
        return Replayed(problem="the environment begins it with another message today")
    states: list[State] = [env.describe_state()]
    ended = False
    for number, turn in enumerate(episode.turns, start=1):
        if user is not None:
            user.next = turn.observation
        if turn.played and not ended:
            observation, _, ended, _, _ = env.step(turn.text)
            if observation != turn.observation:
                return Replayed(problem=f"the environment answers turn {number} differently today")
        states.append(env.describe_state())
    return Replayed(states)


def _why_not(run: RunFolder) -> str:
    config = run.config
    env = str(config.get("env"))
    if parse(env)[0] not in registry.BUILTIN or to_repeat({"env": env}):
        return "its environment belongs to another package, or writes to a file that the run names"
    return ""


def _environments(run: RunFolder) -> Environments:
    names = ("env", "split", "data", "seed")  # not the user, whose messages are repeated
    settings = {name: run.config[name] for name in names if run.config.get(name) is not None}
    source = str(run.path / "config.json")
    return Environments(RunConfig.from_mapping({**settings, "agent": "random"}, source), None)


def changes(before: State, after: State) -> list[Change]:
    """Return the values of the database that differ, by place (``orders/#W1 status``)."""
    results: list[Change] = []
    old, new = before.get("rows", {}), after.get("rows", {})
    for name, (first, row) in new.items():
        _compare(name, old[name][1] if name in old else first, row, results.append)
    return results


def _compare(place: str, old: Any, new: Any, found: Callable[[Change], None]) -> None:
    if old == new:  # most of a row
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            _compare(f"{place} {key}", old.get(key), new.get(key), found)
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            before, after = (each[i] if i < len(each) else None for each in (old, new))
            _compare(f"{place} {i + 1}", before, after, found)
    else:
        before, after = (None if x is None else json.dumps(x, ensure_ascii=False) for x in (old, new))
        found((place, before, after))
