"""Writes an episode as one line of JSON and reads it back, without pickle and without loss."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from typing import Any

from nlac_bench.errors import EpisodeFormatError
from nlac_bench.json_values import json_value
from nlac_bench.redaction import Redactor
from nlac_bench.rollout.usage import amount
from nlac_bench.types import Episode, Turn, Usage
from nlac_bench.untrusted import parse_json

MAX_LINE_BYTES = 64 * 2**20
"""Maximum length of a line; forty turns of 128k-token prompts with their ids are shorter."""

_USAGE_FIELDS = tuple(f.name for f in fields(Usage))
_TURN_FIELDS = tuple(f.name for f in fields(Turn))
_EPISODE_FIELDS = tuple(f.name for f in fields(Episode) if f.name != "beginning")


def dump_line(row: Mapping[str, Any]) -> str:
    """Return ``row`` as one line of ASCII JSON without its newline.

    ASCII keeps lone surrogates, which models do emit, as escapes, and no byte of it can be mistaken for a
    line end. Values that JSON does not have are converted by ``json_value``.

    Raises:
        EpisodeFormatError: JSON has no type for a value (the message says where it is), or the line would
            be longer than ``MAX_LINE_BYTES``.
    """
    try:
        line = json.dumps(row, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # Rows without such values are written directly; only the others are converted, value by value.
        line = json.dumps(json_value(row, ""), allow_nan=False, separators=(",", ":"))
    if len(line) >= MAX_LINE_BYTES:
        raise EpisodeFormatError(
            f"a record of {len(line):,} bytes is too long (limit {MAX_LINE_BYTES:,}); store less in info"
        )
    return line


def parse_line(line: bytes) -> dict[str, Any]:
    """Return the JSON object on one line.

    Raises:
        ValueError: the line is not a JSON object, has a key twice, or is too long or nested too deeply.
    """
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"line of {len(line):,} bytes; the maximum is {MAX_LINE_BYTES:,}")
    row = parse_json(line)
    if not isinstance(row, dict):
        raise ValueError(f"expected a JSON object, got {type(row).__name__}")
    return row


def episode_to_row(episode: Episode) -> dict[str, Any]:
    """Return ``episode`` as plain dicts and lists, without ``beginning`` and with all fields of its turns."""
    row = {name: getattr(episode, name) for name in _EPISODE_FIELDS}
    row["turns"] = [_turn_to_row(turn) for turn in episode.turns]
    row["usage"] = usage_to_row(episode.usage)
    return row


def episode_line(episode: Episode, redactor: Redactor) -> str:
    """``episode`` as one line of JSON without secrets.

    If a secret was in any of its texts, no token ids and log-probabilities are kept: the ids of a prompt
    encode all earlier turns.

    Raises:
        EpisodeFormatError: as ``dump_line``.
    """
    row = episode_to_row(episode)
    line = dump_line(row)
    clean = redactor.json(line)
    if clean == line:
        return line
    row["turns"] = [
        {**turn, "prompt_ids": None, "output_ids": None, "logprobs": None} for turn in row["turns"]
    ]
    return redactor.json(dump_line(row))


def usage_to_row(usage: Mapping[str, Usage]) -> dict[str, Any]:
    """Return the usage by role as plain dicts."""
    return {role: asdict(spent) for role, spent in usage.items()}


def usage_from_row(row: Any) -> dict[str, Usage]:
    """Read what ``usage_to_row`` wrote.

    Raises:
        EpisodeFormatError: a field is missing, unknown or of the wrong type; the message names it.
    """
    try:
        return {role: _usage_from_row(spent) for role, spent in _is(row, dict, "usage").items()}
    except KeyError as error:
        raise EpisodeFormatError(f"usage lacks the field {error}") from None


def _turn_to_row(turn: Turn) -> dict[str, Any]:
    row = {name: getattr(turn, name) for name in _TURN_FIELDS}
    row["usage"] = asdict(turn.usage)
    others = usage_to_row(row.pop("other_usage"))
    return {**row, "other_usage": others} if others else row


def episode_from_row(row: Mapping[str, Any]) -> Episode:
    """Read what ``episode_to_row`` wrote.

    Raises:
        EpisodeFormatError: a field is missing, unknown or of the wrong type; the message names it.
    """
    _known(row, _EPISODE_FIELDS, "episode")
    try:
        return Episode(
            env=_is(row["env"], str, "env"),
            task_id=_is(row["task_id"], str, "task_id"),
            trial=_is(row["trial"], int, "trial"),
            seed=_is(row["seed"], int, "seed"),
            first_observation=_is(row["first_observation"], str, "first_observation"),
            turns=[_turn_from_row(turn) for turn in _is(row["turns"], list, "turns")],
            terminated=_is(row["terminated"], bool, "terminated"),
            truncated=_is(row["truncated"], bool, "truncated"),
            success=None if row["success"] is None else _is(row["success"], bool, "success"),
            end_reason=_is(row["end_reason"], str, "end_reason"),
            info=_is(row["info"], dict, "info"),
            usage=usage_from_row(row["usage"]),
            seconds=_number(row["seconds"], "seconds"),
        )
    except KeyError as error:
        raise EpisodeFormatError(f"an episode lacks the field {error}") from None


def _turn_from_row(row: Any) -> Turn:
    _known(_is(row, dict, "turn"), _TURN_FIELDS, "turn")
    return Turn(
        text=_is(row["text"], str, "turn.text"),
        observation=_is(row["observation"], str, "turn.observation"),
        reward=_number(row["reward"], "turn.reward"),
        role=_is(row["role"], str, "turn.role"),
        prompt_ids=_ids(row["prompt_ids"], "turn.prompt_ids"),
        output_ids=_ids(row["output_ids"], "turn.output_ids"),
        logprobs=_floats(row["logprobs"], "turn.logprobs"),
        finish=_is(row["finish"], str, "turn.finish"),
        weight_version=_is(row["weight_version"], int, "turn.weight_version"),
        usage=_usage_from_row(row["usage"]),
        info=_is(row["info"], dict, "turn.info"),
        other_usage=usage_from_row(row.get("other_usage", {})),  # type: ignore[arg-type]  # as of episodes
    )


def _usage_from_row(row: Any) -> Usage:
    _known(_is(row, dict, "usage"), _USAGE_FIELDS, "usage")
    return Usage(
        calls=_spent(row["calls"], int, "usage.calls"),
        prompt_tokens=_spent(row["prompt_tokens"], int, "usage.prompt_tokens"),
        completion_tokens=_spent(row["completion_tokens"], int, "usage.completion_tokens"),
        cost=_spent(row["cost"], float, "usage.cost"),
        seconds=_spent(row["seconds"], float, "usage.seconds"),
    )


def _known(row: Mapping[str, Any], names: Collection[str], what: str) -> None:
    unknown = set(row) - set(names)
    if unknown:
        raise EpisodeFormatError(
            f"{what} has unknown fields {sorted(unknown)}; it may have been written by a newer version"
        )


def _is(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise EpisodeFormatError(f"{name} must be {kind.__name__}, got {value!r:.80}")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EpisodeFormatError(f"{name} must be a number, got {value!r:.80}")
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _spent(value: Any, kind: type[int] | type[float], name: str) -> Any:
    """Read a number of ``Usage``. Servers report it, so a value that is not a number does not make an episode
    unreadable: it is read as 0, with a warning."""
    try:
        return _is(value, int, name) if kind is int else _number(value, name)
    except EpisodeFormatError:
        return kind(amount(value, name, "a recorded episode"))


def _ids(value: Any, name: str) -> list[int] | None:
    if value is None:
        return None
    if not set(map(type, _is(value, list, name))) <= {int}:  # lists of 100,000 entries are common
        raise EpisodeFormatError(f"{name} must be a list of int, got {value!r:.80}")
    return list(value)


def _floats(value: Any, name: str) -> list[float] | None:
    if value is None:
        return None
    if set(map(type, _is(value, list, name))) <= {float}:
        return list(value)
    return [_number(x, name) for x in value]
