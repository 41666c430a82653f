"""The records of a language critic's texts: the lines of ``critiques.jsonl`` and ``probes.jsonl``.

A line is ``dataclasses.asdict`` of a record; ``nlac_bench.harness.runs.critiques`` reads it again.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The critic's texts about an action in the state of a transition.

    The transition's key is (``task``, ``trial``, ``seed``, ``step``). A text is None if the method does not
    have it, or if the model's answer could not be parsed.
    """

    iteration: int
    """The iteration of ``metrics.jsonl`` that the texts belong to."""
    weight_version: int
    """The version of the weights that wrote the texts."""
    task: str
    trial: int
    """-1 if unknown, as in checkpoints of versions that did not store it."""
    seed: int
    step: int
    """The number of the action in its episode, from 0."""
    heard: str
    """The newest message of the environment before the action."""
    played: str
    """The action that was played in the episode."""
    answered: str
    """The environment's answer to the played action."""
    success: bool | None
    """The outcome of the episode."""
    future: str | None
    """The predicted future (the first one that the evaluator read); for NLRL the language value.

    Self-Distillation has the real future of the played action instead of a prediction.
    """
    predicted: Literal["success", "failure"] | None
    """The outcome that ``future`` names."""
    success_probability: float | None = None
    """P("success") where the outcome was a choice in a form; None if the model wrote it freely."""
    critique: str | None
    optimal: bool | None
    """The critique's verdict."""
    optimal_probability: float | None = None
    """P("yes") where the verdict was a choice in a form; None if the model wrote it freely."""
    refined: str | None
    """The action that the policy should take instead; None if the action was judged optimal."""


@dataclass(frozen=True, kw_only=True)
class CritiqueRecord(Reading):
    """A line of ``critiques.jsonl``: the texts of a lesson, which the gradient steps learned from.

    ``future`` and ``critique`` are about ``proposed``, and with more than one round of refinement about the
    last action that was refined; for NLQL, about ``refined``, the best candidate.
    """

    lesson: int
    """The number of the lesson in its iteration; a transition may be drawn for more than one."""
    played_weight_version: int
    """The version of the weights that played the transition."""
    target: str | None
    """The backup target, for the played action."""
    proposed: str | None
    """The action that was criticised; the played one if ``refine_source`` is ``replayed``."""


@dataclass(frozen=True, kw_only=True)
class Continued:
    """The continuation of an action that was taken in a fork of the transition's state."""

    success: bool
    turns: int
    """The number of actions to the end of the episode, the first one included."""
    answered: str
    """The environment's answer to the first action."""


@dataclass(frozen=True, kw_only=True)
class ProbeRecord(Reading):
    """A line of ``probes.jsonl``: the texts about the played action of a state of the fixed probe set.

    ``iteration`` is that of the validation; 0 is before the first iteration.
    """

    state: int
    """The number of the state in the probe set, from 0."""
    played_on: Continued | None
    """The continuation after the played action, by the policy of this iteration; None if not played."""
    refined_on: Continued | None
    """The continuation after the refined action; None if not played."""
