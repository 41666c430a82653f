"""The forms of the roles' answers in the chat style."""

from nlac_bench.rollout.engines.forms import Choice, Fixed, Form, Free
from nlac_bench.rollout.engines.tokenizer import Tokenizer

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


def thinks(tokenizer: Tokenizer | None) -> bool:
    """Return whether a model writes ``<think>…</think>`` before its answer, as its chat template says."""
    return "</think>" in str(getattr(tokenizer, "chat_template", None) or "")


def policy(thinks: bool) -> Form:
    """Return the form of the policy's answers: without fixed words, but they end after the first action.

    Args:
        thinks: a thought, which may contain any of the stop strings, comes first.
    """
    thought = (Free(stop=("</think>",)),) if thinks else ()
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
