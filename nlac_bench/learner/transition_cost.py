"""What a training method computes for each transition that it learns from, as its settings predict it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from nlac_bench.types import Role

Counts: TypeAlias = Mapping[Role, float]
"""Mean numbers by role."""


def _one() -> Counts:
    return {"policy": 1.0}


@dataclass(frozen=True, kw_only=True)
class TransitionCost:
    """Mean numbers for each transition that a method learns from; a turn of an episode is a transition.

    Args:
        played: turns of training episodes.
        further_steps: environment steps beside them, in forks and on the way to their states.
        answers: sampled answers, ``played`` included.
        backward: sequences (the prompt and an answer of a role) that the learner computes with a gradient.
        forward: sequences that it computes without one.
        items: places in mini-batches, of which a gradient step has ``mini_batch_size``.
    """

    played: float = 1.0
    further_steps: float = 0.0
    answers: Counts = field(default_factory=_one)
    backward: Counts = field(default_factory=_one)
    forward: Counts = field(default_factory=dict)
    items: float = 1.0

    @property
    def env_steps(self) -> float:
        """All environment steps."""
        return self.played + self.further_steps

    def offline(self) -> "TransitionCost":
        """Return the cost if recorded episodes are learned from and none are played (``--offline``)."""
        own = self.answers.get("policy", 0.0) - self.played
        return replace(self, played=0.0, answers={**self.answers, "policy": own})


def tokens(counts: Counts, lengths: Counts) -> float:
    """Return the tokens of ``counts`` answers or sequences, which have ``lengths`` tokens."""
    return sum(count * lengths[role] for role, count in counts.items() if count)
