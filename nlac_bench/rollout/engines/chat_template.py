"""Converts chats to tokens with a tokenizer's chat template, for engines that run the model themselves."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import SampleRequest
from nlac_bench.rollout.engines.template_check import check_template
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.types import Message, Messages, ToolSchema

_MARK = "\u2063assistant-text\u2063"


class ChatFormat:
    """Applies a tokenizer's chat template.

    The policy's own earlier text is not tokenised again: a request's ``prefix_ids`` are kept as they are and
    only the text that the template adds after them is tokenised. Templates that drop thoughts from the
    history (everything up to ``</think>``) therefore cannot change the tokens that the policy has sampled.

    Raises:
        NlacBenchError: the tokenizer has no chat template, or ``check_template`` refuses it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise NlacBenchError(
                f"the tokenizer of {getattr(tokenizer, 'name_or_path', '?')!r} has no chat template, so "
                "chats cannot be converted to tokens; use an instruction-tuned model"
            )
        check_template(tokenizer)
        self.tokenizer = tokenizer
        self._apart: dict[tuple[object, ...], bool] = {}
        """Whether the template writes messages of these roles, with tools or without, after a mere reply."""

    def prompt_ids(self, request: SampleRequest) -> list[int]:
        """Return the tokens of the prompt.

        Raises:
            NlacBenchError: the template raised an error for the messages.
        """
        if request.messages is None:
            return list(request.prompt_ids or ())
        if request.prefix_ids:
            tail = self.later(request.messages, request.tools)
            if tail is not None:
                ids = self._tokenize(tail)
                ended = bool(ids) and request.prefix_ids[-1] == ids[0]  # the sample includes its end token
                return [*request.prefix_ids, *ids[ended:]]
        return self._tokenize(self.render(request.messages, request.tools))

    def render(
        self,
        messages: Messages,
        tools: Sequence[ToolSchema],
        *,
        add_generation_prompt: bool = True,
        enable_thinking: bool | None = None,
    ) -> str:
        """Return the text of a conversation.

        Args:
            enable_thinking: a variable that some templates read; None leaves it undefined.

        Raises:
            NlacBenchError: the template raised an error for the messages.
        """
        adapted = list(map(_for_template, messages))
        if self.has_channels:
            adapted = list(map(_for_channels, adapted))
        variables = {} if enable_thinking is None else {"enable_thinking": enable_thinking}
        return self._render(adapted, tools, add_generation_prompt, **variables)

    @property
    def has_channels(self) -> bool:
        """Whether the model thinks in a channel of its own, as gpt-oss does."""
        return "<|channel|>analysis" in str(self.tokenizer.chat_template)

    def later(self, messages: Messages, tools: Sequence[ToolSchema]) -> str | None:
        """Return the text that follows ``prefix_ids`` in a prompt: the messages after the last assistant's.

        None if the template does not write them by themselves; the whole conversation is then rendered. Some
        templates write the result of a call only after the call, which is among the ``prefix_ids``.
        """
        last = max((i for i, m in enumerate(messages) if m.get("role") == "assistant"), default=None)
        if last is None or last == len(messages) - 1:
            return None
        added = list(map(_for_template, messages[last + 1 :]))
        kind = (bool(tools), *(message.get("role") for message in added))
        if kind not in self._apart:  # not decided by the contents: a short one can be in the text by chance
            words = [{**message, "content": f"later-text-{i}."} for i, message in enumerate(added)]
            text = self._after_a_reply(words, tools)
            self._apart[kind] = text is not None and all(word["content"] in text for word in words)
        return self._after_a_reply(added, tools) if self._apart[kind] else None

    def _after_a_reply(self, added: Sequence[Message], tools: Sequence[ToolSchema]) -> str | None:
        reply = [{"role": "user", "content": "."}, {"role": "assistant", "content": _MARK}]
        try:
            text = self._render([*reply, *added], tools)
        except NlacBenchError:  # for example, a template requires a call before a tool result
            return None
        return text.partition(_MARK)[2] if text.count(_MARK) == 1 else None

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        answers: bool = True,
        **variables: bool,
    ) -> str:
        try:
            return self._apply(messages, tools, answers, **variables)
        except Exception as error:  # a template can raise any exception
            if any(message.get("tool_calls") for message in messages):
                with contextlib.suppress(
                    Exception
                ):  # DeepSeek's join the JSON text of arguments to other text
                    return self._apply(list(map(_with_text_arguments, messages)), tools, answers, **variables)
            if messages and messages[0].get("role") == "system":
                with contextlib.suppress(Exception):  # some templates, such as Gemma's, have no system role
                    return self._apply(_without_system(messages), tools, answers, **variables)
            raise NlacBenchError(
                f"the chat template of {self.tokenizer.name_or_path!r} failed on messages with roles "
                f"{[m.get('role') for m in messages]}: {type(error).__name__}: {error}"
            ) from None

    def _apply(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], answers: bool, **variables: bool
    ) -> str:
        text = self.tokenizer.apply_chat_template(
            list(messages),
            tools=[dict(tool) for tool in tools] or None,
            tokenize=False,
            add_generation_prompt=answers,
            **variables,
        )
        return str(text)

    def _tokenize(self, text: str) -> list[int]:
        ids = self.tokenizer(text, add_special_tokens=False)["input_ids"]  # the template has added them
        return [int(i) for i in ids]


def _for_template(message: Mapping[str, Any]) -> Message:
    """Return ``message`` with tool-call arguments as objects: templates expect these instead of JSON text."""
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


def _for_channels(message: Message) -> Message:
    """Return ``message`` without thoughts in tags, for gpt-oss's template.

    It writes the content of a call into the channel of the analysis, and that of a reply into the final one.
    """
    if message.get("role") != "assistant":
        return message
    thoughts, _, said = str(message.get("content") or "").rpartition("</think>")
    analysis = thoughts.strip().removeprefix("<think>").strip() if message.get("tool_calls") else ""
    return {**message, "content": f"{analysis}\n\n{said.strip()}".strip()}


def _with_text_arguments(message: Message) -> Message:
    """Return ``message`` with the arguments of its tool calls as JSON text."""
    calls = [
        {**call, "function": {**call["function"], "arguments": _as_text(call["function"].get("arguments"))}}
        for call in message.get("tool_calls") or ()
    ]
    return {**message, "tool_calls": calls} if calls else message


def _as_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _without_system(messages: Messages) -> list[Message]:
    """Return the messages with the system message prepended to the first user message."""
    system, *rest = [dict(message) for message in messages]
    for message in rest:
        if message["role"] == "user":
            message["content"] = f"{system['content']}\n\n{message['content']}"
            return rest
    return [{"role": "user", "content": system["content"]}, *rest]
