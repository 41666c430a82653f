"""Finds out why a server refused a request, where its message does not say so, with a few short requests.

The same conversation with each text cut to a few characters shows whether its form is accepted. One with
texts of the same lengths and other words shows whether its length is refused. Where short requests are
refused too, fields are left out one after the other.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

from nlac_bench.rollout.engines.openai.adapting import KEPT

Finding: TypeAlias = Literal["too long", "content", "form", "everything"]
Accepts: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[bool]]
"""Sends a body and returns whether the server answered it."""

_SHORT, _WORD = 12, "word "
_NEAR = 0.9
"""Share of the context from which a refused prompt is taken to be too long: texts are counted, not tokens."""


async def why_refused(
    body: Mapping[str, Any], accepts: Accepts, tokens: float, context: int | None, answered: bool
) -> Finding | str:
    """Return why ``body`` was refused, or the name of the field without which it is accepted.

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
    fields = [name for name in body if name not in ("model", "messages")]
    least = {name: short[name] for name in body if name in KEPT and name != "tools"}
    if not await accepts(least):
        return "everything"
    for name in sorted(fields, key=lambda name: ("stream", name, "tools").index(name)):
        if await accepts({key: value for key, value in short.items() if key != name}):
            return name
    return "form"


def _texts(message: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the message with its text changed; what refers to a call, and arguments, stay as they are."""
    content = message.get("content")
    return {**message, "content": change(content) or content} if isinstance(content, str) else dict(message)
