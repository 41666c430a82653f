"""Tries what runs need from an OpenAI-compatible server, in about ten short requests."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Sampling
from nlac_bench.rollout.engines.openai.engine import OpenAIEngine

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather", "description": "Returns the weather in a city.",
        "parameters": {
            "type": "object", "properties": {"city": {"type": "string", "description": "Name of the city."}},
            "required": ["city"],
        },
    },
}  # fmt: skip
_SYSTEM = {"role": "system", "content": "Answer briefly."}
_HELLO = {"role": "user", "content": "Answer with the word yes."}
_ASK = {"role": "user", "content": "What is the weather in Paris? Use the tool."}
_ROOM = 512
"""Tokens of an answer, so that a model that thinks can reach it."""
_LONGEST = 300_000
"""Characters of the longest prompt that is sent to learn what happens when the context is full."""


@dataclass
class Examined:
    """What was found about a server.

    Args:
        ok: whether it answered a plain question, which agents that describe tools in the prompt need.
        adapted: what was changed in requests because the server refused it.
        problems: what does not work, and what to do about it.
        context: length of the context in tokens, if the server states it.
        usage: whether replies state their tokens.
        tools: whether the model called a tool and read its result.
        streaming: whether a streamed reply arrived whole.
        overflow: whether the refusal of a prompt that is too long was understood; None if not tried.
        models: names of the server's models, the first ones.
    """

    ok: bool = False
    adapted: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    context: int | None = None
    usage: bool = False
    tools: bool = False
    streaming: bool = False
    overflow: bool | None = None
    models: list[str] = field(default_factory=list)


async def examine(make: Callable[[dict[str, object]], OpenAIEngine]) -> Examined:
    """Return what works on a server.

    Args:
        make: makes an engine for it, with further fields of each request.
    """
    engine, result = make({}), Examined()
    try:
        sample = await _tried(result, "a plain question", lambda: _ask(engine, [_SYSTEM, _HELLO]))
        names, result.context = await engine.client.models()  # at the address that was found to be right
        result.models = names[:20]
        if names and engine.model not in names and f"models/{engine.model}" not in names:
            result.problems.append(
                f"its list of models lacks {engine.model!r}; it has {', '.join(names[:5])}"
                + (" …" if len(names) > 5 else "")
            )
        if sample is not None:
            result.ok = True
            result.usage = sample.usage.prompt_tokens > 0
            if not result.usage:
                result.problems.append(
                    "its replies do not state their tokens (usage); costs are counted as 0"
                )
            if sample.finish == "length" and not sample.text.strip():
                result.problems.append(
                    f"the model spent {_ROOM} tokens on thoughts; increase --max-tokens in runs"
                )
            await _tools(engine, result)
            await _streams(make, engine, result)
            await _overflow(engine, result)
    finally:
        result.adapted = engine.adapted
    return result


async def _ask(engine: OpenAIEngine, messages: list[dict[str, Any]], tools: tuple[Any, ...] = ()) -> Sample:
    sampling = Sampling(temperature=0.0, max_tokens=_ROOM)
    (sample,) = await engine.sample(SampleRequest(messages=messages, sampling=sampling, seed=1, tools=tools))
    return sample


async def _tried(result: Examined, what: str, ask: Callable[[], Awaitable[Sample]]) -> Sample | None:
    """Return the sample, or None after listing why there is none."""
    try:
        return await ask()
    except (EngineError, NlacBenchError) as error:
        result.problems.append(f"{what}: {error}")
        return None


async def _tools(engine: OpenAIEngine, result: Examined) -> None:
    asked = [_SYSTEM, _ASK]
    sample = await _tried(result, "tools (--agent tool_calling)", lambda: _ask(engine, asked, (_TOOL,)))
    if sample is None:
        return
    if not sample.tool_calls:
        result.problems.append(
            "tools (--agent tool_calling): the model answered with text instead of a call; check the "
            "server's parser of tool calls, or use --agent react"
        )
        return
    call = sample.tool_calls[0]
    try:
        city = json.loads(call.arguments or "{}")
    except ValueError:
        city = None
    if call.name != "get_weather" or not isinstance(city, dict):
        result.problems.append(
            f"tools: the call {call.name}({call.arguments[:100]}) is not one of the offered tool"
        )
    made = {"name": call.name, "arguments": call.arguments or "{}"}
    calls = [{"id": call.id or "call00000", "type": "function", "function": made}]
    history: list[dict[str, Any]] = [
        *asked,
        {"role": "assistant", "content": sample.text, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call.id or "call00000", "content": "Sunny, 21 degrees."},
    ]
    answer = await _tried(result, "the result of a tool", lambda: _ask(engine, history, (_TOOL,)))
    result.tools = answer is not None


async def _streams(
    make: Callable[[dict[str, object]], OpenAIEngine], engine: OpenAIEngine, result: Examined
) -> None:
    if engine.adapted.get("stream"):
        result.streaming = True
        return
    streamed = make({"stream": True})
    streamed.client.adaptations.begin_as(engine.client.adaptations)
    sample = await _tried(
        result, "streaming (--request stream=true)", lambda: _ask(streamed, [_SYSTEM, _HELLO])
    )
    result.streaming = sample is not None and "stream" not in streamed.adapted


async def _overflow(engine: OpenAIEngine, result: Examined) -> None:
    """Send a prompt that is longer than the context, if that is known and short enough."""
    if result.context is None or 6 * result.context > _LONGEST:
        return
    words = " ".join(str(number) for number in range(2 * result.context))[: 6 * result.context]
    prompt = [{"role": "user", "content": words}]
    sample = await _tried(result, "a prompt longer than the context", lambda: _ask(engine, prompt))
    if sample is None:
        result.overflow = False
    elif sample.finish == "context_overflow":
        result.overflow = True
    else:
        result.overflow = False
        read = (
            f"{sample.usage.prompt_tokens:,} tokens of it"
            if sample.usage.prompt_tokens
            else "an unknown part of it"
        )
        result.problems.append(
            f"a prompt longer than its context of {result.context:,} tokens was answered: the server read "
            f"{read} and silently left out the rest; start it with a longer context, or long conversations "
            "lose their beginning"
        )
