"""Parses the JSON of a server's reply: samples, tool calls, tokens and cost.

A reply without an answer is never an action of the agent: an empty one is a fault of the server, one whose
budget of tokens went into thoughts ends by ``length``, and one that a content filter stopped has no result.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from nlac_bench.rollout.engines.backoff import RATE_LIMIT, TransientFault
from nlac_bench.rollout.engines.engine import Finish, Sample, SampleRequest, ToolCall
from nlac_bench.rollout.engines.openai.meaning import MALFORMED_CALL
from nlac_bench.rollout.engines.tool_calls import sampled_calls
from nlac_bench.rollout.usage import amount
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import Usage


class ContextOverflow(Exception):
    """The server reports that prompt and answer do not fit into the model's context."""


class AnswerCut(Exception):
    """The server reports that the answer reached its limit of tokens, and does not send it."""


class PromptFiltered(Exception):
    """The server rejects the prompt because of its content filter."""


class MalformedCall(Exception):
    """The server could not read the call that the model wrote; the message is that text, or the server's."""


def malformed_call(text: str) -> Sample:
    """Return a sample that environments refuse as a call that cannot be read."""
    return Sample(f"<tool_call>{text}", "stop")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def __call__(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


# Servers have many names for a normal end ("stop", "eos", …), so every reason that is not listed is "stop".
# Gemini adds a detail ("content_filter: SAFETY"); Anthropic calls a stop by its classifiers "refusal".
_FINISH: dict[str, Finish] = {
    "length": "length", "max_tokens": "length", "max_output_tokens": "length",
    "tool_calls": "tool_calls", "function_call": "tool_calls",
    "model_length": "context_overflow",
    **dict.fromkeys(
        ("content_filter", "content_filtered", "refusal", "safety", "sensitive", "recitation", "blocklist",
         "prohibited_content", "spii"), "content_filter",
    ),
}  # fmt: skip
_CONTEXT_FULL = re.compile(r"(?:context|prompt|input).*(?:length|window|limit|long|exceed|overflow|full)")
_BROKEN = (
    "abort", "aborted", "cancel", "canceled", "cancelled", "error", "failed", "insufficient_system_resource",
    "network_error", "timeout",
)  # fmt: skip


def parse_reply(
    data: Any,
    request: SampleRequest,
    price: Price | None,
    seconds: float,
    server: str = "the server",
    asked: int | None = None,
) -> list[Sample]:
    """Return the samples in a reply of the chat or completions endpoint, at most ``request.n``.

    Args:
        data: the reply's JSON.
        seconds: how long the reply took, for the usage.
        server: the subject of warnings.
        asked: the largest length of the answer that the server was sent, in tokens; None if it was sent none.

    Raises:
        TransientFault: there is no choice, or a choice has no answer or did not end properly.
    """
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        raise TransientFault("the reply has no choices", "bad_reply")
    samples = [_parse_choice(choice, data, request, asked) for choice in choices[: request.n]]
    usages = _split_usage(reply_usage(data, price, seconds, server), samples)
    finished = []
    for sample, usage in zip(samples, usages, strict=True):
        finish = sample.finish
        counted = len(choices) == 1 or sample.ids is not None
        if finish == "length" and sample.text and counted and _shortened(usage, asked):
            # This does not apply to replies that contain only thoughts, because some servers do not count
            # thoughts.
            finish = "context_overflow"
        finished.append(replace(sample, finish=finish, usage=usage))
    return finished


def _shortened(usage: Usage, asked: int | None) -> bool:
    """Return whether a server made an answer shorter than requested so that it fits into the context.

    Of a prompt that is not even as long as the answer, it is the server's own limit of answers: a context
    that leaves less room than requested is full of the prompt.
    """
    return asked is not None and 0 < usage.completion_tokens < min(asked, usage.prompt_tokens)


def _parse_choice(
    choice: object, data: Mapping[str, object], request: SampleRequest, asked: int | None
) -> Sample:
    if not isinstance(choice, dict):
        raise TransientFault("a choice in the reply is not a JSON object", "bad_reply")
    reasons = [choice.get(name) for name in ("finish_reason", "native_finish_reason")]
    if any(map(_says_malformed_call, reasons)):
        message = choice.get("message")
        return malformed_call(_text(message.get("content")) if isinstance(message, dict) else "")
    finish = _finish(reasons[1] if reasons[0] in (None, "") else reasons[0], data, asked)
    calls: tuple[ToolCall, ...] = ()
    thoughts = False
    if request.prompt_ids is None:
        message = choice.get("message")
        if not isinstance(message, dict):
            if finish != "content_filter":
                raise TransientFault("a choice in the reply has no message", "bad_reply")
            message = {}
        text = _text(message.get("content"))
        text = sampled_calls(text, text, ())[0]  # a server may not know how its model marks thoughts
        text = request.sampling.cut(text)  # nor stop strings
        if not text.strip():
            text = _text(message.get("refusal")) or text
        thoughts = bool(message.get("reasoning_content") or message.get("reasoning"))
        calls = _tool_calls(message.get("tool_calls")) or _legacy_call(message.get("function_call"))
    else:
        text = request.sampling.cut(_text(choice.get("text")))
        text, calls = sampled_calls(text, text, request.tools)
    if calls and not request.tools:  # whoever offers no tools reads only texts
        if not drop_reasoning(text):
            called = {"name": calls[0].name, "arguments": calls[0].arguments}
            text = malformed_call(json.dumps(called, ensure_ascii=False)).text
        calls, finish = (), "stop" if finish == "tool_calls" else finish
    if finish != "content_filter":  # a filtered reply is incomplete
        if calls:
            finish = "tool_calls"
        elif finish == "tool_calls":
            raise TransientFault("finish_reason is 'tool_calls' but the reply has no tool call", "bad_reply")
        elif not drop_reasoning(text):
            text = _without_answer(finish, thoughts or bool(text.strip()), request)
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


def _says_malformed_call(reason: object) -> bool:
    """Return whether an answer ended because the server cannot read its call, as Gemini says."""
    name = str(reason).lower()
    return name == "unexpected_tool_call" or MALFORMED_CALL.search(name) is not None


def _finish(reason: object, data: Mapping[str, object], asked: int | None) -> Finish:
    if reason is None or (isinstance(reason, str) and not reason.strip()):
        # Some servers do not say why an answer ended: at its limit, or by itself.
        usage = data.get("usage")
        used = usage.get("completion_tokens") if isinstance(usage, dict) else None
        return "length" if asked is not None and type(used) is int and used >= asked else "stop"
    name = reason.lower().partition(":")[0].strip() if isinstance(reason, str) else ""
    if "rate" in name and "limit" in name:
        raise TransientFault(f"the sample did not end normally (finish_reason {reason!r:.40})", RATE_LIMIT)
    if not name or name in _BROKEN:
        raise TransientFault(f"the sample did not end normally (finish_reason {reason!r:.40})", "bad_reply")
    return _FINISH.get(name, "context_overflow" if _CONTEXT_FULL.search(name) else "stop")


def _without_answer(finish: Finish, thoughts: bool, request: SampleRequest) -> str:
    """Return the text of a sample that has no answer, which is empty.

    Raises:
        TransientFault: the sample did not reach a limit, so it should have an answer.
    """
    # The text before a stop string can be empty.
    if finish != "stop" or (request.sampling.stop and not thoughts):
        return ""
    what = "has thoughts but no answer" if thoughts else "is empty: it has no text and no tool call"
    raise TransientFault(f"the reply {what}", "bad_reply")


def _text(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        content = "".join(map(_part_text, content))
    if not isinstance(content, str):
        raise TransientFault(f"the content of the reply is {type(content).__name__}, not text", "bad_reply")
    return content


def _part_text(part: object) -> str:
    """Return the text of a content part; thoughts and pictures have none."""
    if not isinstance(part, dict) or part.get("type") in ("thinking", "reasoning"):
        return part if isinstance(part, str) else ""
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""


def _tool_calls(calls: Any) -> tuple[ToolCall, ...]:
    if not calls:
        return ()
    parsed = []
    try:
        for call in calls:
            function = call["function"]
            name, arguments = function["name"], function.get("arguments")
            if not isinstance(name, str):
                raise TypeError
            parsed.append(ToolCall(name, _arguments(arguments), str(call.get("id") or "")))
    except (KeyError, TypeError, AttributeError):
        raise TransientFault("a tool call in the reply is not in OpenAI's format", "bad_reply") from None
    return tuple(parsed)


def _legacy_call(call: Any) -> tuple[ToolCall, ...]:
    """Return the call in ``function_call``, which ``tool_calls`` has replaced."""
    return _tool_calls([{"function": call}]) if isinstance(call, dict) and call.get("name") else ()


def _arguments(arguments: Any) -> str:
    """Return the arguments as JSON text, as which most servers send them; some send the object itself."""
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):
        raise TypeError from None


def _integers(values: object) -> list[int] | None:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        return None
    return cast(list[int], values)


def _logprobs(logprobs: object) -> list[float] | None:
    """Parse log-probabilities: chat replies have a list of objects, completions a list of numbers."""
    if not isinstance(logprobs, dict):
        return None
    try:
        if logprobs.get("content") is not None:
            return [float(token["logprob"]) for token in logprobs["content"]]
        if logprobs.get("token_logprobs") is not None:
            return [float(value) for value in logprobs["token_logprobs"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    return None


def reply_usage(data: Any, price: Price | None, seconds: float, server: str = "the server") -> Usage:
    """Return the tokens and the cost that a reply states; invalid values become 0, with a warning."""
    usage = data.get("usage") if isinstance(data, dict) else None
    usage = usage if isinstance(usage, dict) else {}

    def reported(name: str) -> Any:
        return 0 if usage.get(name) is None else amount(usage[name], f"usage.{name}", server)

    prompt, completion, total = (int(reported(f"{of}_tokens")) for of in ("prompt", "completion", "total"))
    if prompt:  # xAI counts thoughts, which cost as much as an answer, only in the total
        completion = max(completion, total - prompt)
    cost = price(prompt, completion) if price is not None else float(reported("cost"))
    return Usage(1, prompt, completion, cost, seconds)


def _split_usage(whole: Usage, samples: list[Sample]) -> list[Usage]:
    """Split a request's usage among its samples; the first one gets the prompt, the call and the wait."""
    completion = whole.completion_tokens
    lengths = [len(sample.ids or ()) for sample in samples]
    if sum(lengths) != completion:
        share, rest = divmod(completion, len(samples))
        lengths = [share + (i < rest) for i in range(len(samples))]
    usages = [Usage(completion_tokens=length) for length in lengths]
    usages[0] = usages[0] + replace(whole, completion_tokens=0)
    return usages
