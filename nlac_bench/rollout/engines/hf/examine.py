"""Finds out what works with the files of a model: weights, vocabulary, chat template, tools, end token."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.hf.loading import (
    check_layers,
    check_vocabulary,
    context_of,
    end_ids,
    load_model,
    load_tokenizer,
)
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.rollout.engines.tool_support import (
    INSTEAD,
    after_a_reply,
    chat_problem,
    has_system_role,
    tool_problem,
)


@dataclass
class ExaminedModel:
    """What was found about a model.

    Args:
        ok: whether it can play, with agents that describe tools in the prompt.
        problems: what does not work, and what to do about it.
        chat_template: whether system text, replies and further turns reach the prompt.
        system_role: whether the template has one; if not, a system text is put before the first user turn.
        tools: whether tools, calls and results reach the prompt, and calls can be read back.
        end_tokens: the tokens that end an answer.
        context: largest number of tokens of prompt and answer together.
        tokens: number of tokens that the tokenizer knows.
        embeddings: number of tokens that the model has embeddings for.
    """

    ok: bool = False
    problems: list[str] = field(default_factory=list)
    chat_template: bool = False
    system_role: bool = False
    tools: bool = False
    end_tokens: list[str] = field(default_factory=list)
    context: int | None = None
    tokens: int | None = None
    embeddings: int | None = None


def examine(folder: str) -> ExaminedModel:
    """Return what works with the model in ``folder``; it is loaded, and samples nothing."""
    result = ExaminedModel()
    with _listed(result):
        tokenizer = load_tokenizer(folder)
        result.tokens = len(tokenizer.get_vocab())
        chat = _template(result, tokenizer)
        with _listed(result):
            model = load_model(folder, "auto")
            _model(result, model, tokenizer, chat)
        result.ok = not result.problems
        if chat is not None:
            _tools(result, tokenizer)
    return result


def _template(result: ExaminedModel, tokenizer: Tokenizer) -> ChatFormat | None:
    with _listed(result):
        chat = ChatFormat(tokenizer)
        if problem := chat_problem(chat):
            result.problems.append(
                f"the chat template: {problem}; correct the template, or use another model"
            )
        else:
            result.chat_template, result.system_role = True, has_system_role(chat)
            return chat
    return None


def _tools(result: ExaminedModel, tokenizer: Tokenizer) -> None:
    problem = tool_problem(tokenizer)
    result.tools = problem is None
    if problem is not None:
        result.problems.append(f"tools (--agent tool_calling): {problem}; {INSTEAD}")


def _model(result: ExaminedModel, model: Any, tokenizer: Tokenizer, chat: ChatFormat | None) -> None:
    result.embeddings = int(model.get_input_embeddings().weight.shape[0])
    for check in (lambda: check_layers(model), lambda: check_vocabulary(model, tokenizer)):
        with _listed(result):
            check()
    with _listed(result):
        result.context = context_of(model)
    ends = end_ids(model, tokenizer) & set(tokenizer.get_vocab().values())
    result.end_tokens = tokenizer.convert_ids_to_tokens(sorted(ends))
    if not ends:
        result.problems.append("no end token: name it as eos_token_id in generation_config.json")
    elif chat is not None and (marks := _marks(chat, tokenizer)) and not ends & set(marks):
        ended = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(marks)))
        result.problems.append(
            f"the chat template ends a reply with {ended:.200}, but the model's end tokens are "
            f"{', '.join(result.end_tokens)}, so replies would run to --max-tokens; add the token to "
            "eos_token_id in generation_config.json"
        )


def _marks(chat: ChatFormat, tokenizer: Tokenizer) -> list[int]:
    """Return the special tokens that the template writes after a reply."""
    ids = tokenizer(after_a_reply(chat), add_special_tokens=False)["input_ids"]
    return [i for i in dict.fromkeys(ids) if not tokenizer.decode([i], skip_special_tokens=True)]


@contextmanager
def _listed(result: ExaminedModel) -> Iterator[None]:
    """List an error of a check among the problems."""
    try:
        yield
    except NlacBenchError as error:
        result.problems.append(str(error))
