"""Markers of native tool calls, as the chat templates of known model families write them.

A server or a chat template that cannot read the calls of its model leaves them in the text. Such a text is an
attempt to call a tool; it was not meant for the person in the conversation.
"""

import re

_MARKER = re.compile(
    r"</?tool_calls?>|<\|/?tool_calls?\|>|<\|tool_calls?(?:_section)?_(?:begin|end|start)\|>|<\|?tool_call\|?>"
    r"|<function=[\w.-]+>|<function_calls?>|<\|python_(?:tag|start)\|>|\[TOOL_CALLS\]"
    r"|<｜tool▁calls?▁(?:begin|end)｜>|<｜DSML｜\w+|<(?:minimax:)?tool_call>|<invoke name=|<arg_key>"
    r"|<\|START_ACTION\|>|<\|action_start\|>|<start_function_call>|\bto=functions\.\w+|\Afunctools\["
)


def call_marker(text: str) -> str | None:
    """Return the first marker of a native tool call in ``text``, or None."""
    match = _MARKER.search(text)
    return None if match is None else match[0]
