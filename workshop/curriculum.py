"""Defines the mediocre player and the teacher of an environment, and implements them for τ-bench."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from nlac_bench.envs.tau.actions import CallAction, parse_action
from nlac_bench.envs.text_env import TextEnv
from workshop import mistakes
from workshop.mistakes import ServiceSituation, Skill
from workshop.rule_player import next_action, play_on

History = Sequence[tuple[str, str]]
"""Pairs of an action and the observation that followed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The teacher's verdict on an action, its reason, and the action that the teacher would take instead."""

    optimal: bool
    why: str
    instead: str


class Teaching(Protocol):
    """The mediocre player and the teacher of an environment."""

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """Return the mediocre player's next action in ``env``, which is not changed."""

    def slip(self, env: TextEnv, first: str, history: History, rng: random.Random) -> str:
        """Return an action that is probably a mistake."""

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """Return the teacher's verdict on ``action``; None if the teacher has no action in this situation."""

    def describe(self, action: str) -> str:
        """Return a short description of ``action`` for the advice in a critique."""


class TauTeaching:
    """τ-bench: the player is a rule agent with mistakes; the teacher judges by playing on to the end.

    An action is optimal if the teacher, continuing after it, succeeds in no more steps than without it. If
    the episode can no longer succeed, only the teacher's own action is optimal.
    """

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """Return the teacher's action, or a habit or slip with the probabilities of ``skill``."""
        now = self._situation(env, first, history)[1]
        return mistakes.act(now, skill, rng) if now else mistakes.HANDOVER

    def slip(self, env: TextEnv, first: str, history: History, rng: random.Random) -> str:
        """Return a slip, or with probability 0.5 the action of an agent that follows every habit."""
        now = self._situation(env, first, history)[1]
        if now is None:
            return mistakes.REFUSAL
        if rng.random() < 0.5:
            return mistakes.act(now, mistakes.Skill("worst", 1.0, 0.0), rng)
        return mistakes.slip(now, rng)

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """Return the verdict of the rule that the class describes."""
        wins, now = self._situation(env, first, history)
        if now is None:
            return None
        same = parse_action(action) == parse_action(now.due)
        optimal = same or (wins and self._keeps(env, first, history, action, len(now.plan)))
        why = (mistakes.why_right if optimal else mistakes.why_wrong)(now, action)
        return Verdict(optimal, why, now.due)

    def describe(self, action: str) -> str:
        """Return a call's name and values, or the beginning of a message."""
        parsed = parse_action(action)
        if isinstance(parsed, CallAction):
            return ", ".join([parsed.name, *_values(parsed.arguments)])
        return " ".join(action.replace(";", ",").split()[:12])

    @staticmethod
    def _situation(env: TextEnv, first: str, history: History) -> tuple[bool, ServiceSituation | None]:
        if next_action(env.name, history, first) is None:
            return False, None
        wins, plan = play_on(env.fork(), history, first)
        text = "\n".join([first, *(part for turn in history for part in turn)])
        return wins, ServiceSituation(env.name, plan, text)

    @staticmethod
    def _keeps(env: TextEnv, first: str, history: History, action: str, steps: int) -> bool:
        """Return whether the episode still succeeds after ``action``, in at most ``steps`` steps including
        it."""
        trial = env.fork()
        observation, _, ended, _, info = trial.step(action)
        if ended:
            return bool(info["success"])
        wins, plan = play_on(trial, [*history, (action, observation)], first)
        return wins and 1 + len(plan) <= steps


def _values(value: object) -> list[str]:
    """Return the scalars in ``value`` as texts, in order."""
    if isinstance(value, Mapping):
        return [text for part in value.values() for text in _values(part)]
    if isinstance(value, list):
        return [text for part in value for text in _values(part)]
    return [str(value)] if value != "" else []
