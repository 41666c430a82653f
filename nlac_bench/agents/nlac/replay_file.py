"""Writes and reads the file of a replay buffer: gzipped JSON lines, each episode once.

The first line has the buffer's state, the others an episode each: its messages, the tokens of its prompts,
and its transitions, which refer to both by numbers. Policies and tools, which are the same in most episodes,
are in the first line.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from nlac_bench.agents.roles.shared import Beginning, tokens
from nlac_bench.agents.roles.transition import State, Transition, link
from nlac_bench.errors import DataError
from nlac_bench.files import replace_file
from nlac_bench.redaction import redactor
from nlac_bench.untrusted import each_once

FORMAT = 2
"""Files of format 1 contain the whole conversation in each transition. They belong to other methods."""
MAX_LINE = 256 * 2**20
"""Maximum number of characters of a line; the first one has two numbers a transition."""
_PLAIN = tuple(
    f.name for f in fields(Transition) if f.name not in ("state", "next_state", "action", "action_ids", "end")
)


def write(path: Path, header: Mapping[str, object], items: Sequence[Transition]) -> None:
    """Write ``header``, an object for JSON, and the transitions of the buffer."""
    worlds: list[tuple[str, str, str]] = []
    rows = [_row(group, worlds) for group in _episodes(items)]
    first = json.dumps({"format": FORMAT, **header, "worlds": worlds})
    clean = redactor().json(first)
    partial = path.with_name(path.name + ".partial")
    with gzip.open(partial, "wt", encoding="utf-8", compresslevel=1) as stream:
        stream.write(clean + "\n")
        for row in rows:
            stream.write(_line(row, secret=clean != first) + "\n")
    replace_file(partial, path)


def read(path: Path) -> tuple[dict[str, Any], list[Transition]]:
    """Return the header and the transitions that ``write`` wrote.

    Raises:
        DataError: the file cannot be read, or has another format.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            lines = _lines(stream)
            header = json.loads(next(lines, ""), object_pairs_hook=each_once)
            if (stored := header.get("format", 1)) != FORMAT:
                raise ValueError(f"it has format {stored}, and this version reads format {FORMAT}")
            worlds = [
                State(env, policy, tuple(json.loads(tools)), ()) for env, policy, tools in header["worlds"]
            ]
            items: list[Transition] = []
            for line in lines:
                episode = list(_from_row(json.loads(line, object_pairs_hook=each_once), worlds))
                link(episode)
                items += episode
                if len(items) > len(header["losses"]):
                    raise ValueError("it has more transitions than losses")
            return header, items
    except (
        OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, ArithmeticError,
        RecursionError,
    ) as error:  # fmt: skip
        raise DataError(f"{path} cannot be read as a replay buffer: {error}") from error


def _lines(stream: TextIO) -> Iterator[str]:
    """Yield the lines of ``stream``; raise ValueError for a line that is longer than any of a buffer."""
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ValueError(f"a line has more than {MAX_LINE:,} characters")
        yield line


def _episodes(items: Sequence[Transition]) -> Iterator[list[Transition]]:
    """Yield the transitions in groups of neighbours that share their conversation."""

    def conversation(t: Transition) -> int:
        return id(t.state.messages.whole if isinstance(t.state.messages, Beginning) else t)

    for _, group in groupby(items, key=conversation):
        yield list(group)


def _row(group: Sequence[Transition], worlds: list[tuple[str, str, str]]) -> dict[str, object]:
    """Return an episode as JSON; ``worlds`` gets its policy and tools if it lacks them."""
    states = [state for t in group for state in (t.state, t.next_state) if state is not None]
    messages = max((state.messages for state in states), key=len)
    world = (states[0].env, states[0].policy, json.dumps(states[0].tools))
    if world not in worlds:
        worlds.append(world)
    prompts: dict[int, Sequence[int]] = {}

    def reference(state: State | None) -> list[int | None] | None:
        """Return the number of messages, the index of the prompt's tokens, and the number of tokens."""
        if state is None or state.prompt_ids is None:
            return None if state is None else [len(state.messages), None, None]
        ids = state.prompt_ids
        whole = ids.whole if isinstance(ids, Beginning) else ids
        prompts[id(whole)] = whole
        return [len(state.messages), list(prompts).index(id(whole)), len(ids)]

    rows = [
        {
            **{name: getattr(t, name) for name in _PLAIN},
            # In most cases this is the message after the state.
            "action": None if _next_content(messages, t.state) == t.action else t.action,
            "action_ids": None if t.action_ids is None else list(t.action_ids),
            "state": reference(t.state),
            "next_state": reference(t.next_state),
        }
        for t in group
    ]
    prompt_ids = [list(ids) for ids in prompts.values()]
    return {
        "world": worlds.index(world),
        "messages": list(messages),
        "prompts": prompt_ids,
        "transitions": rows,
    }


def _next_content(messages: Sequence[Mapping[str, object]], state: State) -> object:
    """Return the message of ``messages`` that follows ``state``; None if it is not there."""
    return messages[len(state.messages)]["content"] if len(state.messages) < len(messages) else None


def _line(row: dict[str, Any], secret: bool) -> str:
    """Return ``row`` as JSON without secrets; without token ids if it had one, or if ``secret``."""
    line = json.dumps(row)
    clean = redactor().json(line)
    if clean == line and not secret:
        return line
    for each in row["transitions"]:
        each["action_ids"] = None
        for name in ("state", "next_state"):
            each[name] = each[name] and [each[name][0], None, None]
    return redactor().json(json.dumps({**row, "prompts": []}))


def _from_row(row: dict[str, Any], worlds: Sequence[State]) -> Iterator[Transition]:
    """Yield the transitions of an episode; they share its messages and tokens."""
    world, messages = worlds[row["world"]], tuple(row["messages"])
    prompts = [tokens(ids) for ids in row["prompts"]]
    states: dict[tuple[int, ...], State] = {}

    def state(reference: list[int]) -> State:
        count, prompt, length = reference
        if tuple(reference) not in states:
            ids = None if prompt is None else Beginning(prompts[prompt].whole, length)
            beginning = Beginning(messages, count)
            states[tuple(reference)] = State(world.env, world.policy, world.tools, beginning, ids)
        return states[tuple(reference)]

    for each in row["transitions"]:
        here, following = state(each["state"]), each["next_state"]
        ids = each["action_ids"]
        yield Transition(
            **{
                **each,
                "state": here,
                "next_state": None if following is None else state(following),
                "action": _next_content(messages, here) if each["action"] is None else each["action"],
                "action_ids": None if ids is None else tokens(ids),
            }
        )
