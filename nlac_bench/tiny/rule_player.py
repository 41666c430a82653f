"""What the rule agents would do next in any conversation: the teacher of the critic's roles.

The rule agents (``retail_rules``, ``airline_rules``) are written as one conversation from start to end.
Played against what was already said and looked up, one of them goes on by itself until it wants something
new: that is its next action. The conversation may be another player's, mistakes included.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.envs.tau.actions import Call, parse_action, render_call, render_message
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.tiny.airline_rules import AirlineAgent
from nlac_bench.tiny.retail_rules import RetailAgent
from nlac_bench.tiny.service_agent import TalkingAgent

AGENTS: Mapping[str, type[TalkingAgent]] = {"tau_retail": RetailAgent, "tau_airline": AirlineAgent}
CONFIRM = "Do you confirm (yes/no)?"
_READS = ("get_", "find_", "search_", "list_", "calculate", "think")


class _Decided(Exception):
    """Carries the next action."""


class _Heard:
    """A conversation as the rule agent's ears: what it asks for is answered from there, or it has decided."""

    def __init__(self, turns: Sequence[tuple[str, str]]) -> None:
        self._said: list[tuple[str, str]] = []
        self._called: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._next = 0
        for action, observation in turns:
            parsed = parse_action(action)
            if isinstance(parsed, Call):
                self._called[_key(parsed.name, parsed.arguments)] = observation
                if is_write(parsed.name) and not observation.startswith("Error"):
                    self._written[parsed.name] = observation
            else:
                self._said.append((action, observation))

    def say(self, text: str) -> str:
        """The reply to ``text`` when it was said; what the agent itself would not have said is passed."""
        action = render_message(text)
        for i in range(self._next, len(self._said)):
            if self._said[i][0] == action:
                self._next = i + 1
                return self._said[i][1]
        if CONFIRM in text and self._written:
            return "Yes"  # it is done already, with or without asking
        raise _Decided(action)

    def call(self, name: str, **arguments: Any) -> str:
        """The result of a call that was made. What was written, rightly or not, is written."""
        known = self._called.get(_key(name, arguments), self._written.get(name))
        if known is None:
            raise _Decided(render_call(name, arguments))
        return known


def next_action(env: str, turns: Sequence[tuple[str, str]], first: str) -> str | None:
    """What the rule agent of ``env`` does after ``first`` and then ``turns`` (action, observation).

    None where it does not know: the conversation is over, or nothing that it was written for.
    """
    heard = _Heard(turns)
    agent = AGENTS[env](say=heard.say, call=heard.call)
    try:
        agent.play(first)
    except _Decided as decided:
        return str(decided)
    except (AssertionError, AttributeError, KeyError, IndexError, StopIteration, TypeError, ValueError):
        return None  # an error message stands where it expects a record
    return None


def play_on(
    env: TextEnv, turns: Sequence[tuple[str, str]], first: str, limit: int = 12
) -> tuple[bool, list[str]]:
    """Play ``env`` (consumed) to its end as the teacher: whether it succeeds, and its actions."""
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
    """Whether the tool ``name`` changes the database (a transfer does not)."""
    return not name.startswith(_READS) and name != "transfer_to_human_agents"


def _key(name: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([name, dict(arguments)], sort_keys=True, default=str)
