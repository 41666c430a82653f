"""From a chat to tokens, for engines that run the model themselves."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import SampleRequest
from nlac_bench.types import Message, Messages

_MARK = "\u2063assistant-text\u2063"


class ChatFormat:
    """A tokenizer's chat template.

    The policy's own earlier words are not tokenised again: a request's ``prefix_ids`` are kept as they
    are and only what the template writes after them is tokenised. Templates that drop thoughts from
    history (everything up to ``</think>``) therefore cannot make a prompt that the policy never saw.

    Raises:
        NlacBenchError: the tokenizer has no chat template.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise NlacBenchError(
                f"the tokenizer of {getattr(tokenizer, 'name_or_path', '?')!r} has no chat template, so "
                "chats cannot be shown to its model; take an instruction-tuned one"
            )
        self.tokenizer = tokenizer

    def prompt_ids(self, request: SampleRequest) -> list[int]:
        """The tokens that the model is to continue."""
        if request.messages is None:
            return list(request.prompt_ids or ())
        messages = [_for_template(message) for message in request.messages]
        if request.prefix_ids:
            tail = self._after_last_assistant(messages, request.tools)
            if tail is not None:
                ids = self._tokenize(tail)
                ended = bool(ids) and request.prefix_ids[-1] == ids[0]  # the sample has its end token
                return [*request.prefix_ids, *ids[ended:]]
        return self._tokenize(self._render(messages, request.tools))

    def _after_last_assistant(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]
    ) -> str | None:
        """What the template writes after the last assistant message's text; None if that cannot be told."""
        last = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=None)
        if last is None or last == len(messages) - 1:
            return None
        shortened = [
            {"role": "user", "content": "."},
            {"role": "assistant", "content": _MARK},
            *messages[last + 1 :],
        ]
        try:
            text = self._render(shortened, tools)
        except NlacBenchError:  # such as a template that ties tool results to calls
            return None
        return text.partition(_MARK)[2] if text.count(_MARK) == 1 else None

    def _render(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        try:
            return self._apply(messages, tools)
        except Exception as error:  # a template raises what it likes
            if messages and messages[0].get("role") == "system":
                with contextlib.suppress(Exception):  # some, such as Gemma's, know no system role
                    return self._apply(_without_system(messages), tools)
            raise NlacBenchError(
                f"the chat template of {self.tokenizer.name_or_path!r} refuses messages with roles "
                f"{[m.get('role') for m in messages]}: {type(error).__name__}: {error}"
            ) from None

    def _apply(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        text = self.tokenizer.apply_chat_template(
            list(messages),
            tools=[dict(tool) for tool in tools] or None,
            tokenize=False,
            add_generation_prompt=True,
        )
        return str(text)

    def _tokenize(self, text: str) -> list[int]:
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]  # the template has written them
        return [int(i) for i in ids]


def _for_template(message: Mapping[str, Any]) -> Message:
    """Templates want a call's arguments as an object where the protocol has JSON text."""
    if not message.get("tool_calls"):
        return dict(message)
    calls = []
    for call in message["tool_calls"]:
        function = dict(call["function"])
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except (ValueError, RecursionError):
            arguments = function.get("arguments")
        calls.append({**call, "function": {**function, "arguments": arguments}})
    return {**message, "tool_calls": calls}


def _without_system(messages: Messages) -> list[Message]:
    """The system message put before the first user message."""
    system, *rest = [dict(message) for message in messages]
    for message in rest:
        if message["role"] == "user":
            message["content"] = f"{system['content']}\n\n{message['content']}"
            return rest
    return [{"role": "user", "content": system["content"]}, *rest]
