"""Computes the rule agents' next action in any conversation, for the teacher of the critic's roles.

The rule agents (``retail_rules``, ``airline_rules``) are written as one conversation from start to end. An
agent is run on the messages and calls that are already in the conversation, until it requests something new;
that is its next action. The conversation may be that of another player and may contain mistakes.
"""

import json
from collections.abc import Mapping, Sequence

from nlac_bench.envs.tau.actions import CallAction, parse_action, render_call, render_message
from nlac_bench.envs.text_env import TextEnv
from workshop.airline_rules import AirlineAgent
from workshop.retail_rules import RetailAgent
from workshop.service_agent import TalkingAgent

AGENTS: Mapping[str, type[TalkingAgent]] = {"tau_retail": RetailAgent, "tau_airline": AirlineAgent}
CONFIRM = "Do you confirm (yes/no)?"
_READS = ("get_", "find_", "search_", "list_", "calculate", "think")


class _Decided(Exception):
    """Raised to return the next action."""


class _Heard:
    """Answers the rule agent's messages and calls from a conversation; raises ``_Decided`` at a new one."""

    def __init__(self, turns: Sequence[tuple[str, str]]) -> None:
        self._said: list[tuple[str, str]] = []
        self._called: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._next = 0
        for action, observation in turns:
            parsed = parse_action(action)
            if isinstance(parsed, CallAction):
                self._called[_key(parsed.name, parsed.arguments)] = observation
                if is_write(parsed.name) and not observation.startswith("Error"):
                    self._written[parsed.name] = observation
            else:
                self._said.append((action, observation))

    def say(self, text: str) -> str:
        """Return the recorded reply to ``text``; messages that the rule agent would not have sent are
        skipped."""
        action = render_message(text)
        for i in range(self._next, len(self._said)):
            if self._said[i][0] == action:
                self._next = i + 1
                return self._said[i][1]
        if CONFIRM in text and self._written:
            return "Yes"  # the change was already made, with or without asking
        raise _Decided(action)

    def call(self, name: str, **arguments: object) -> str:
        """Return the recorded result of a call; a write call counts as made even if its arguments
        differed."""
        known = self._called.get(_key(name, arguments), self._written.get(name))
        if known is None:
            raise _Decided(render_call(name, arguments))
        return known


def next_action(env: str, turns: Sequence[tuple[str, str]], first: str) -> str | None:
    """Return the rule agent's action in ``env`` after the message ``first`` and ``turns`` of (action,
    observation).

    None if the conversation is over, or is one that the rules do not cover.
    """
    listener = _Heard(turns)
    agent = AGENTS[env](say=listener.say, call=listener.call)
    try:
        agent.play(first)
    except _Decided as decided:
        return str(decided)
    except (AssertionError, AttributeError, KeyError, IndexError, StopIteration, TypeError, ValueError):
        return None  # the conversation has an error message in place of a record
    return None


def play_on(
    env: TextEnv, turns: Sequence[tuple[str, str]], first: str, limit: int = 12
) -> tuple[bool, list[str]]:
    """Play ``env``, which is changed, to the end as the teacher; returns success and actions."""
    history, actions = list(turns), []
    for _ in range(limit):
        action = next_action(env.name, history, first)
        if action is None:
            break
        actions.append(action)
        observation, _, terminated, _, info = env.step(action)
        if terminated:
            return bool(info["success"]), actions
        history.append((action, observation))
    return False, actions


def is_write(name: str) -> bool:
    """Return whether the tool ``name`` changes the database; a transfer to a human does not."""
    return not name.startswith(_READS) and name != "transfer_to_human_agents"


def _key(name: str, arguments: Mapping[str, object]) -> str:
    return json.dumps([name, dict(arguments)], sort_keys=True, default=str)
