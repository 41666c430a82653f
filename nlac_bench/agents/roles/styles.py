"""Chooses the prompt style for a model by its tokenizer."""

from typing import Literal

from nlac_bench.agents.prompts import PACKAGED, PromptFiles
from nlac_bench.agents.roles.chat import ChatPrompts, ChatStyle
from nlac_bench.agents.roles.chat_forms import thinking
from nlac_bench.agents.roles.compact import MARKS, CompactPrompts
from nlac_bench.agents.roles.role_prompts import ComparingPrompts
from nlac_bench.rollout.engines.tokenizer import Tokenizer

EXPLAINS = "explains_endings"
"""The key of ``tokenizer_config.json`` that says that a model with compact prompts explains outcomes."""


def with_forms(
    prompts: ComparingPrompts, forms: Literal["filled", "free"], one_line: bool = False
) -> ComparingPrompts:
    """Return ``prompts`` with or without forms; the style ``compact`` has none.

    Args:
        one_line: see ``TextEnv.one_line``.
    """
    if not isinstance(prompts, ChatPrompts):
        return prompts
    return prompts.with_forms(forms == "filled", one_line)


def prompts_for(
    tokenizer: Tokenizer | None, files: PromptFiles = PACKAGED, style: ChatStyle = "react"
) -> ComparingPrompts:
    """Return the style ``compact`` if the tokenizer has its marks, else ``chat``.

    Args:
        tokenizer: the model's tokenizer; None for a model on a server.
        files: the prompt files of ``chat``.
        style: of the policy in ``chat``.
    """
    if tokenizer is not None and set(MARKS) <= set(tokenizer.get_vocab()):
        return CompactPrompts(explains=bool(tokenizer.init_kwargs.get(EXPLAINS)))
    return chat_prompts_for(tokenizer, files, style)


def chat_prompts_for(tokenizer: Tokenizer | None, files: PromptFiles, style: ChatStyle) -> ChatPrompts:
    """Return the style ``chat``, whatever the model was taught; see ``prompts_for``."""
    return ChatPrompts(thinking(tokenizer), files, style=style)
