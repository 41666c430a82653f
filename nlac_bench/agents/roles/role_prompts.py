"""The roles that one model plays, as prompts and as parsers of what it answers.

Two styles implement ``RolePrompts``: ``chat`` (instructions in words, for real models) and ``compact`` (marks
that a small model was taught, with numbered identifiers). An algorithm never sees which.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.types import Messages

Outcome: TypeAlias = Literal["success", "failure"]


class Codec(Protocol):
    """A lossless translation of identifiers, fixed by what the prompt mentions."""

    def encode(self, text: str) -> str:
        """``text`` as the model writes it after this prompt."""

    def decode(self, text: str) -> str:
        """What the model wrote, in the environment's words."""


class Plain:
    """No translation: real models copy identifiers themselves."""

    def encode(self, text: str) -> str:
        """``text`` as it is."""
        return text

    def decode(self, text: str) -> str:
        """``text`` as it is."""
        return text


@dataclass(frozen=True, slots=True)
class Prompt:
    """Chat messages for the model, and the translation of what it answers."""

    messages: Messages
    codec: Codec = field(default_factory=Plain)
    opening: str = ""
    """What the chat template writes of the answer, such as ``<think>``; it is part of the prompt."""


@dataclass(frozen=True, slots=True)
class Critique:
    """What the evaluator thinks of an action."""

    optimal: bool
    text: str
    """Its whole answer, which the refiner reads."""


class RolePrompts(Protocol):
    """One prompt a role. Prompts end where the model's answer begins."""

    grows: bool
    """Whether a policy prompt begins with the one before and its answer, so that its tokens may be kept."""

    def policy(self, state: State) -> Prompt:
        """Act: the answer is an action."""

    def successor(self, state: State, action: str) -> Prompt:
        """M(d | s, a): the answer describes the future of ``action`` and its outcome."""

    def backup(self, transition: Transition, next_action: str, next_future: str) -> Prompt:
        """B: the answer is what a successor model should have said of ``transition``, given a sampled
        ``next_future`` of ``next_action`` taken in its next state."""

    def hindsight(self, heard: Sequence[str], success: bool) -> str:
        """What a successor model should have said, told from what really happened; needs no model.

        Args:
            heard: what the environment said to the action and to those after it.
        """

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """E: the answer says whether ``action`` is optimal, why, and what to do instead."""

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """π_r: the answer is a better action."""

    def parse_action(self, written: str) -> str | None:
        """The action in the policy's answer; None where there is none."""

    def parse_refined(self, written: str) -> str | None:
        """The refiner's action as the policy would have written it."""

    def heard(self, action: str, state: State) -> str:
        """What of the policy's words goes to the environment."""

    def parse_future(self, written: str) -> str | None:
        """A successor's or backup's answer, cleaned; None where it names no outcome or is cut short."""

    def parse_critique(self, written: str) -> Critique | None:
        """An evaluator's answer; None where it says neither optimal nor not."""

    def outcome(self, future: str) -> Outcome | None:
        """Which outcome a future claims."""

    def hashes(self) -> dict[str, str]:
        """sha256 of everything the prompts are made of, for the manifest."""


class ComparingPrompts(RolePrompts, Protocol):
    """Two more roles, which NLRL has instead of evaluator and refiner."""

    def aggregator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """One value in words from K futures of one action; it reads like a future."""

    def picker(self, state: State, candidates: Sequence[tuple[str, str]]) -> Prompt:
        """The answer is the number of the best of several (action, value) pairs."""

    def parse_pick(self, written: str, candidates: int) -> int | None:
        """A picker's answer as an index from 0; None where it names none of the ``candidates``."""
