"""Turns episodes into what the page's script reads: a summary for the grid, and a transcript.

Every string is passed through ``visible``. The keys are short because an episode has many of them; the
script ``transcript.js`` reads them.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.agents.nlac.records import CritiqueRecord, ProbeRecord
from nlac_bench.envs.tau.actions import CallAction, parse_action
from nlac_bench.reports.report.ends import end_in_words
from nlac_bench.reports.view.formulas import formulas
from nlac_bench.reports.view.replay import Replayed, changes
from nlac_bench.reports.view.sides import Reading
from nlac_bench.types import Episode, Turn, Usage
from nlac_bench.visible import visible

TRUNCATED, TOOL_ERROR, INVALID, UNKNOWN, CRITIC = 1, 2, 4, 8, 16
"""Flags of an episode, which the filters of the page select by."""


def flags_of(episode: Episode, criticised: bool) -> int:
    """Return the flags of ``episode``."""
    infos = [turn.info for turn in episode.turns]
    return (
        TRUNCATED * episode.truncated
        | TOOL_ERROR * any(info.get("tool_error") for info in infos)
        | INVALID * any(info.get("action_kind") == "invalid" for info in infos)
        | UNKNOWN * any(info.get("known") is False for info in infos)
        | CRITIC * criticised
    )


def transcript(
    episode: Episode, replayed: Replayed, readings: Mapping[int, Sequence[Reading]], *, mathematics: bool
) -> dict[str, Any]:
    """Return the transcript of ``episode``.

    Args:
        replayed: its states.
        readings: the critic's texts by step.
        mathematics: whether formulas between dollar signs are rendered.
    """
    states = replayed.states
    turns = []
    for number, turn in enumerate(episode.turns):
        made = _turn(turn, mathematics)
        if states:
            before, after = states[number], states[number + 1]
            if found := changes(before, after):
                made["db"] = [[None if x is None else visible(x) for x in change] for change in found]
            if "candidates" in after:
                made["left"] = len(after["candidates"])
                made["gone"] = sorted(set(before["candidates"]) - set(after["candidates"]))
                made["back"] = sorted(set(after["candidates"]) - set(before["candidates"]))
        if number in readings:
            made["read"] = [reading_of(each, turn.observation) for each in readings[number]]
        turns.append(made)
    result: dict[str, Any] = {
        "first": _text(episode.first_observation, mathematics),
        "turns": turns,
        "end": end_in_words(visible(episode.end_reason)),
        "parts": _reward_parts(episode.info),
        "usage": {visible(role): _spent(spent) for role, spent in episode.usage.items()},
    }
    if replayed.problem:
        result["problem"] = visible(replayed.problem)
    if states:
        result["candidates"] = states[0].get("candidates", [])
        facts = {k: v for k, v in states[-1].items() if isinstance(v, str)}
        result["facts"] = {
            k: _text(f"${v}$" if k == "gold answer" else v, mathematics) for k, v in facts.items()
        }
    return result


def _turn(turn: Turn, mathematics: bool) -> dict[str, Any]:
    info = turn.info
    made: dict[str, Any] = {
        "t": _text(turn.text, mathematics),
        "o": _text(turn.observation, mathematics),
        "k": visible(str(info.get("action_kind") or "message")),
    }
    if turn.reward:
        made["r"] = finite(turn.reward)
    if spent := _spent(turn.usage):
        made["u"] = spent
    if made["k"] == "tool":
        made["call"] = visible(_call_line(turn.text, str(info.get("tool_name"))))
    if info.get("tool_error"):
        made["e"] = 1
    if turn.finish not in ("stop", "eos", "tool_calls"):
        made["f"] = visible(turn.finish)
    if info.get("known") is False:
        made["x"] = 1
    if isinstance(info.get("ungraded"), str):
        made["ungraded"] = visible(info["ungraded"])
    return made


def _call_line(text: str, name: str) -> str:
    """Return a tool call as one line: ``name(argument=value, …)``."""
    action = parse_action(text)
    if not isinstance(action, CallAction):
        return name
    arguments = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in action.arguments.items())
    return f"{action.name}({', '.join(arguments)})"


def _text(text: str, mathematics: bool) -> Any:
    """Return ``text``, or with formulas a list of texts and MathML trees (see ``formulas``)."""
    shown = visible(text)
    return formulas(shown) if mathematics else shown


def _spent(usage: Usage) -> list[float]:
    """Return tokens read, tokens generated and seconds; nothing if no model was called."""
    if not usage.calls:
        return []
    return [usage.prompt_tokens, usage.completion_tokens, round(usage.seconds, 3)]


def finite(value: float) -> float | str:
    """Return ``value``, or the text of a number that JSON does not have."""
    return value if math.isfinite(value) else str(value)


def _reward_parts(info: Mapping[str, Any]) -> dict[str, float | str]:
    parts = info.get("reward_parts")
    if not isinstance(parts, dict):
        return {}
    return {
        visible(str(name)): finite(value) for name, value in parts.items() if isinstance(value, int | float)
    }


def reading_of(reading: Reading, heard: str | None = None) -> dict[str, Any]:
    """Return a text of the critic, without what it has in common with its turn."""
    fields: dict[str, Any] = {
        "i": reading.iteration,
        "future": reading.future,
        "predicted": reading.predicted,
        "critique": reading.critique,
        "optimal": reading.optimal,
        "refined": reading.refined,
        "success": reading.success,
    }
    if isinstance(reading, CritiqueRecord):
        fields["proposed"] = reading.proposed
    elif isinstance(reading, ProbeRecord) and reading.played_on and reading.refined_on:
        fields["tried"] = [[each.success, each.turns] for each in (reading.played_on, reading.refined_on)]
    if heard is None:
        fields |= {"heard": reading.heard, "played": reading.played, "answered": reading.answered}
    return {
        k: visible(v) if isinstance(v, str) else v
        for k, v in fields.items()
        if v is not None or k == "success"
    }
