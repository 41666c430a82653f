"""Parses native tool calls in a model's text, in the Hermes format, which Qwen's templates use.

The format is ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``. Only engines that run the model in
this process need this parser; servers parse tool calls themselves.
"""

import json
import re

from nlac_bench.rollout.engines.engine import ToolCall

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)


def parse_tool_calls(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Return ``text`` without its tool calls, and the calls. Calls that cannot be parsed stay in the text."""
    calls: list[ToolCall] = []

    def take(match: re.Match[str]) -> str:
        call = _parse(match[1], f"call_{len(calls)}")
        if call is None:
            return match[0]
        calls.append(call)
        return ""

    rest = _CALL.sub(take, text)
    return (rest.strip(), tuple(calls)) if calls else (text, ())


def _parse(body: str, call_id: str) -> ToolCall | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    try:
        return ToolCall(value["name"], json.dumps(value.get("arguments", {}), ensure_ascii=False), call_id)
    except RecursionError:
        return None
