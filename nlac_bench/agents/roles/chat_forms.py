"""The forms of the roles' answers in the chat style."""

from typing import Literal, TypeAlias

from nlac_bench.rollout.engines.chat_template import ChatFormat
from nlac_bench.rollout.engines.forms import Choice, Fixed, Form, Free
from nlac_bench.rollout.engines.tokenizer import Tokenizer
from nlac_bench.thoughts import SPECIAL_THOUGHTS, THOUGHTS
from nlac_bench.types import Message

Thinking: TypeAlias = Literal["never", "perhaps", "first", "opened", "marked"]
"""How a model thinks before its answers: in ``<think>…</think>``, ``first`` or ``perhaps``; ``opened``: the
chat template ends with ``<think>``; ``marked``: in other marks, which can be special tokens."""
_HELLO: tuple[Message, ...] = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello"},
)

LINE = 160
"""Largest number of tokens of a line of free text."""
THOUGHT = 4096
"""Largest number of tokens of a thought."""
_ACTION = ("\nAction:", "\n**Action")
ACTION_STOPS = (*_ACTION, "\nThought:", "\n**Thought", "\nObservation:", "\nUser:", "\nTool result:")
"""Strings that end an action: whatever follows is made up."""

_TEXT = Free(LINE, ("\n",))
_OUTCOME = (Fixed("\nOutcome:"), Choice((" success", " failure")))
SUCCESSOR: Form = (Fixed("Prediction:"), _TEXT, *_OUTCOME)
REASONED: Form = (Fixed("Reasoning:"), _TEXT, Fixed("\nPrediction:"), _TEXT, *_OUTCOME)
EVALUATOR: Form = (
    Fixed("Why:"),
    _TEXT,
    Fixed("\nOptimal:"),
    Choice((" yes", " no"), last=(" yes",)),
    Fixed("\nInstead:"),
    _TEXT,
)


def refiner(one_line: bool) -> Form:
    """Return the form of a refined action.

    Args:
        one_line: the action ends with its first line, which may be cut; else it must be complete.
    """
    action = Free(LINE, ("\n", *ACTION_STOPS)) if one_line else Free(stop=ACTION_STOPS)
    return (Fixed("Thought:"), _TEXT, Fixed("\nAction:"), action)


def thinking(tokenizer: Tokenizer | None) -> Thinking:
    """Return how a model thinks before its answers, as far as its chat template says."""
    template = str(getattr(tokenizer, "chat_template", None) or "")
    if tokenizer is None or not template:
        return "never"
    chat = ChatFormat(tokenizer)
    asked = chat.render(_HELLO, []).rstrip()
    for begin, end in THOUGHTS:
        if asked.endswith(end):
            return "never"
        if asked.endswith(begin):
            return "opened" if begin == "<think>" else "marked"
    if chat.has_channels or any(begin in asked for begin in SPECIAL_THOUGHTS):
        return "marked"
    if chat.render(_HELLO, [], enable_thinking=False).rstrip() != asked:
        return "first" if "</think>" in template else "marked"
    return "perhaps" if "</think>" in template else "never"


def policy(thinking: Thinking) -> Form | None:
    """Return the form of the policy's answers: without fixed words, but they end after the first action.

    None if its thoughts, which may contain any of the stop strings, have other marks than ``<think>``.
    """
    if thinking == "marked":
        return None
    begins = "" if thinking == "opened" else "<think>"
    thought = () if thinking == "never" else (Free(stop=("</think>",), begins=begins),)
    return (*thought, Free(stop=_ACTION), Free(stop=ACTION_STOPS))


def picker(candidates: int) -> Form:
    """Return the form of a choice among ``candidates``, numbered from 1."""
    return (
        Fixed("Why:"),
        _TEXT,
        Fixed("\nBest:"),
        Choice(tuple(f" {i}" for i in range(1, candidates + 1))),
    )


def after_thought(form: Form, opened: bool) -> Form:
    """Return ``form`` after a thought, for models that think first.

    Args:
        opened: whether the chat template has opened the thought.
    """
    first, *rest = form
    assert isinstance(first, Fixed)
    thought = Free(THOUGHT, ("</think>",))
    begin = () if opened else (Fixed("<think>\n"),)
    return (*begin, thought, Fixed(f"</think>\n\n{first.text}"), *rest)
