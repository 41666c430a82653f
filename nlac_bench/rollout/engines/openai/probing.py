"""Finds out why a server refused a request, where its message does not say so, with a few short requests.

The same conversation with each text cut to a few characters shows whether its form is accepted. One with
texts of the same lengths and other words shows whether its length is refused. Where short requests are
refused too, the least request is tried, also streamed and without a system message, and the other fields are
added to it one after the other.
"""

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from nlac_bench.rollout.engines.openai.adapting import KEPT, merged

Finding: TypeAlias = Literal["too long", "content", "form", "everything", "tools"]
Accepts: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[bool]]
"""Sends a body and returns whether the server answered it."""

_SHORT, _WORD = 12, "word "
_STREAM = {"stream": True}
_NEAR = 0.9
"""Share of the context from which a refused prompt is taken to be too long: texts are counted, not tokens."""


@dataclass(frozen=True)
class Accepted:
    """How the server accepts a request: what was changed in it.

    Args:
        left_out: the fields that were left out.
        streams: whether a streamed reply was asked for.
        no_system: whether the system's text was put into the first user message.
    """

    left_out: tuple[str, ...] = ()
    streams: bool = False
    no_system: bool = False


async def why_refused(
    body: Mapping[str, Any], accepts: Accepts, tokens: float, context: int | None, answered: bool
) -> Finding | Accepted:
    """Return why ``body`` was refused, or with what changes it is accepted.

    Args:
        tokens: estimated length of the prompt.
        context: the model's context in tokens, if known.
        answered: whether the server has answered any request of the run, with tools if ``body`` has tools.
    """
    if context is not None and tokens >= _NEAR * context:
        return "too long"
    short = {
        **body,
        "messages": [_texts(message, lambda text: text[:_SHORT]) for message in body["messages"]],
    }
    if short != body and await accepts(short):
        filler = [
            _texts(m, lambda text: (_WORD * (len(text) // len(_WORD) + 1))[: len(text)])
            for m in body["messages"]
        ]
        return "content" if await accepts({**body, "messages": filler}) else "too long"
    if answered:
        return "form"
    least = {name: short[name] for name in short if name in KEPT and name != "tools"}
    least["messages"] = [_texts(message, lambda _text: _WORD.strip()) for message in short["messages"]]
    systems = [least["messages"], merged(least["messages"])]
    for messages, stream in itertools.product(systems[: 1 + (systems[1] != systems[0])], ({}, _STREAM)):
        form = {**least, "messages": messages, **stream}
        if await accepts(form):
            break
    else:
        return "everything"
    whole, left_out = {**short, **form}, []
    if (stream or messages != systems[0]) and await accepts(whole):
        form = whole
    # The limit of tokens comes first, so that later probes are cheap; some fields need tools.
    for name in sorted(short, key=lambda name: ("max_" not in name, name != "tools")):
        if name in form:
            continue
        if await accepts({**form, name: short[name]}):
            form[name] = short[name]
        elif name == "tools":
            return "tools"
        else:
            left_out.append(name)
    streams = bool(stream) and not body.get("stream")
    changed = Accepted(tuple(left_out), streams, messages != systems[0])
    return "form" if changed == Accepted() else changed


def _texts(message: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the message with its text changed; what refers to a call, and arguments, stay as they are."""
    content = message.get("content")
    return {**message, "content": change(content) or content} if isinstance(content, str) else dict(message)
