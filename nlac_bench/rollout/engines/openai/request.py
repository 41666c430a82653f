"""Writes the JSON of a request to a server, so that no text of a model makes the server reject it."""

import json
import re
from collections.abc import Container, Mapping
from typing import Any, Literal, TypeAlias

from nlac_bench.rollout.engines.engine import SampleRequest
from nlac_bench.rollout.engines.openai.echo import Echo

TokenData: TypeAlias = Literal["none", "logprobs", "ids"]


def request_body(
    request: SampleRequest,
    model: str,
    host: str,
    max_tokens: int,
    token_data: TokenData,
    echo: Echo,
    extra: Mapping[str, object],
) -> dict[str, Any]:
    """Return the body for the chat endpoint, or for the completions endpoint if there are ``prompt_ids``.

    Args:
        echo: what this server sent beside the texts of the conversation.
        extra: further fields, which replace those of the same name.
    """
    sampling = request.sampling
    body: dict[str, Any] = {"model": model, "temperature": sampling.temperature}
    # OpenAI's reasoning models accept only the new name; other servers may accept only the old one.
    body["max_completion_tokens" if host == "api.openai.com" else "max_tokens"] = max_tokens
    if sampling.top_p < 1:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if request.seed is not None:
        body["seed"] = request.seed & 0x7FFFFFFF  # llama.cpp reads 32 bits
    if request.n > 1:
        body["n"] = request.n
    if token_data == "ids":
        body["return_token_ids"] = True
    if request.prompt_ids is not None:
        body["prompt"] = list(request.prompt_ids)
        if token_data != "none":
            body["logprobs"] = 1
        return body | dict(extra)
    offered = {tool.get("function", {}).get("name") for tool in request.tools}
    body["messages"] = [_message(message, offered) for message in echo.restore(request.messages or ())]
    if token_data != "none":
        body["logprobs"] = True
    if request.tools:
        body["tools"] = [dict(tool) for tool in request.tools]
    return body | dict(extra)


def most_tokens(body: Mapping[str, Any]) -> int | None:
    """Return the largest length of an answer that ``body`` asks for."""
    value = body.get("max_tokens", body.get("max_completion_tokens"))
    return value if type(value) is int else None


def _message(message: Mapping[str, Any], offered: Container[object]) -> dict[str, Any]:
    """Return a message of the conversation in a form that servers accept.

    Servers answer 400 to a conversation in which the arguments of an earlier tool call are no JSON object
    (vLLM parses them for the chat template), or in which its name, which a model can make up, is none of a
    function. The environment has told the model so; the server reads ``{}``, and ``_`` for other characters.

    Args:
        offered: the names of the request's tools, which stay as they are.
    """
    sent: dict[str, Any] = _encodable(message)
    for call in sent.get("tool_calls") or ():
        function = call.get("function", {})
        if isinstance(function.get("arguments"), str) and not _is_object(function["arguments"]):
            function["arguments"] = "{}"
        _rename(function, offered)
    if sent.get("role") == "tool":
        _rename(sent, offered)
    return sent


def _rename(named: dict[str, Any], offered: Container[object]) -> None:
    if isinstance(name := named.get("name"), str) and name not in offered:
        named["name"] = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unknown"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _encodable(value: object) -> Any:
    """Return ``value`` with each lone surrogate, which models write and UTF-8 lacks, replaced by U+FFFD."""
    if isinstance(value, str):
        # UTF-16 joins two surrogates that are one character.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {key: _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list | tuple) else value
