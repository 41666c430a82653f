"""Parses a server's JSON: samples, tokens, cost, and whether the context was too short."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from nlac_bench.rollout.engines.backoff import TransientFault
from nlac_bench.rollout.engines.engine import Finish, Sample, SampleRequest, ToolCall
from nlac_bench.rollout.engines.tool_calls import parse_tool_calls
from nlac_bench.types import Usage


class ContextOverflow(Exception):
    """The server reports that prompt and answer do not fit into the model's context."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def __call__(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


_OVERFLOW = re.compile(
    r"maximum context length|context[_ ]length[_ ]exceeded"
    r"|exceed\w* (?:the )?(?:available |model'?s? )?context"
    r"|context (?:window|size|length) (?:exceeded|is too|of)|longer than the (?:model's|maximum) context"
    r"|exceed_context_size|prompt is too long|input is too long",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"maximum context length (?:is|of) (\d{1,9})")
_PROMPT = re.compile(
    r"(\d{1,9}) in the (?:messages|prompt)|(?:has|contains)(?: at least)? (\d{1,9}) input tokens"
)

# Servers have many names for a normal end ("stop", "eos", …), so every reason that is not listed is "stop".
_FINISH: dict[str, Finish] = {
    "length": "length", "max_tokens": "length", "tool_calls": "tool_calls", "function_call": "tool_calls",
    "content_filter": "content_filter",
}  # fmt: skip
_BROKEN = ("abort", "error")


def says_overflow(message: str) -> bool:
    """Return whether an error message means that the context was too short; the wording varies by server."""
    return _OVERFLOW.search(message) is not None


def room_left(message: str) -> int | None:
    """Return the number of tokens that still fit, if an overflow's message gives it (OpenAI, vLLM)."""
    context, prompt = _CONTEXT.search(message), _PROMPT.search(message)
    if context is None or prompt is None:
        return None
    return int(context[1]) - int(prompt[1] or prompt[2])


def parse_reply(data: Any, request: SampleRequest, price: Price | None, seconds: float) -> list[Sample]:
    """Return the samples in a reply of the chat or completions endpoint.

    Args:
        data: the reply's JSON.
        seconds: how long the reply took, for the usage.

    Raises:
        TransientFault: there is no choice, or a choice has no text or tool call or did not end properly.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise TransientFault("the reply has no choices", "bad_reply")
    samples = [_parse_choice(choice, data, request) for choice in choices]
    usages = _split_usage(data.get("usage"), samples, price, seconds)
    finished = []
    for sample, usage in zip(samples, usages, strict=True):
        finish = sample.finish
        counted = len(samples) == 1 or sample.ids is not None
        if finish == "length" and counted and 0 < usage.completion_tokens < request.sampling.max_tokens:
            # The sample has fewer tokens than requested: some servers shorten answers to fit the context.
            finish = "context_overflow"
        finished.append(replace(sample, finish=finish, usage=usage))
    return finished


def _parse_choice(choice: Any, data: Mapping[str, Any], request: SampleRequest) -> Sample:
    if not isinstance(choice, dict):
        raise TransientFault("a choice in the reply is not a JSON object", "bad_reply")
    reason = choice.get("finish_reason")
    if not isinstance(reason, str) or reason in _BROKEN:
        raise TransientFault(f"the sample did not end normally (finish_reason {reason!r:.40})", "bad_reply")
    finish = _FINISH.get(reason, "stop")
    calls: tuple[ToolCall, ...] = ()
    if request.prompt_ids is None:
        message = choice.get("message")
        if not isinstance(message, dict):
            raise TransientFault("a choice in the reply has no message", "bad_reply")
        text = _text(message.get("content")) or _text(message.get("refusal"))
        calls = _tool_calls(message.get("tool_calls"))
    else:
        text = _text(choice.get("text"))
        if request.tools:
            text, calls = parse_tool_calls(text)
    if calls:
        finish = "tool_calls"
    elif finish == "tool_calls":
        raise TransientFault("finish_reason is 'tool_calls' but the reply has no tool call", "bad_reply")
    ids = _integers(choice.get("token_ids"))
    logprobs = _logprobs(choice.get("logprobs"))
    if ids is not None and logprobs is not None and len(ids) != len(logprobs):
        raise TransientFault(
            f"the reply has {len(ids)} token ids but {len(logprobs)} log-probabilities", "bad_reply"
        )
    prompt_ids = _integers(choice.get("prompt_token_ids")) or _integers(data.get("prompt_token_ids"))
    if prompt_ids is None and request.prompt_ids is not None:
        prompt_ids = list(request.prompt_ids)
    return Sample(text, finish, prompt_ids, ids, logprobs, tool_calls=calls)


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):  # content parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise TransientFault(f"the content of the reply is {type(content).__name__}, not text", "bad_reply")
    return content


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    if not calls:
        return ()
    parsed = []
    try:
        for call in calls:
            function = call["function"]
            name, arguments = function["name"], function.get("arguments")
            if not isinstance(name, str) or not isinstance(arguments, str | None):
                raise TypeError
            parsed.append(ToolCall(name, arguments or "", str(call.get("id") or "")))
    except (KeyError, TypeError, AttributeError):
        raise TransientFault("a tool call in the reply is not in OpenAI's format", "bad_reply") from None
    return tuple(parsed)


def _integers(values: Any) -> list[int] | None:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        return None
    return cast(list[int], values)


def _logprobs(found: Any) -> list[float] | None:
    """Parse log-probabilities: chat replies have a list of objects, completions a list of numbers."""
    if not isinstance(found, dict):
        return None
    try:
        if found.get("content") is not None:
            return [float(token["logprob"]) for token in found["content"]]
        if found.get("token_logprobs") is not None:
            return [float(value) for value in found["token_logprobs"]]
    except (KeyError, TypeError, ValueError):
        pass
    return None


def _split_usage(found: Any, samples: list[Sample], price: Price | None, seconds: float) -> list[Usage]:
    """Split a request's usage among its samples; the first one gets the prompt, the call and the wait."""
    found = found if isinstance(found, dict) else {}
    prompt, completion = _count(found.get("prompt_tokens")), _count(found.get("completion_tokens"))
    told = found.get("cost")
    if price is not None:
        cost = price(prompt, completion)
    else:
        cost = float(told) if isinstance(told, int | float) and told >= 0 else 0.0
    lengths = [len(sample.ids or ()) for sample in samples]
    if sum(lengths) != completion:
        share, rest = divmod(completion, len(samples))
        lengths = [share + (i < rest) for i in range(len(samples))]
    usages = [Usage(completion_tokens=length) for length in lengths]
    usages[0] = usages[0] + Usage(1, prompt, 0, cost, seconds)
    return usages


def _count(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0
