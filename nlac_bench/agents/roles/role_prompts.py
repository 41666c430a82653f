"""The protocol of role prompts: a prompt for each role of the model, and parsers of its answers.

Two styles implement ``RolePrompts``: ``chat`` (instructions in natural language, for real models) and
``compact`` (marks and numbered identifiers, for small models that were trained on them). Algorithms do not
depend on the style.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from nlac_bench.agents.roles.transition import State, Transition
from nlac_bench.envs import react
from nlac_bench.rollout.engines.forms import Form
from nlac_bench.types import Episode, Messages

Outcome: TypeAlias = Literal["success", "failure"]


class Codec(Protocol):
    """A lossless translation of identifiers, determined by the text of a prompt."""

    def encode(self, text: str) -> str:
        """Return ``text`` in the form in which the model writes it after this prompt."""

    def decode(self, text: str) -> str:
        """Return the model's ``text`` with the environment's identifiers."""


class Plain:
    """A codec without translation, for models that copy identifiers themselves."""

    def encode(self, text: str) -> str:
        """Return ``text`` unchanged."""
        return text

    def decode(self, text: str) -> str:
        """Return ``text`` unchanged."""
        return text


@dataclass(frozen=True, slots=True)
class Prompt:
    """Chat messages for the model, and the codec that translates its answer."""

    messages: Messages
    codec: Codec = field(default_factory=Plain)
    opening: str = ""
    """The beginning of the answer that the chat template adds to the prompt, such as ``<think>``."""
    form: Form | None = None
    """The form of the answer; None if the model writes the whole answer."""


@dataclass(frozen=True, slots=True)
class Critique:
    """The evaluator's verdict on an action."""

    optimal: bool
    text: str
    """The evaluator's whole answer, which the refiner reads."""
    probability: float | None = None
    """P("yes") where the verdict was a choice between yes and no; None if the model wrote it freely."""

    @property
    def score(self) -> float:
        """How good the action is, from 0 to 1: P("yes"), or the verdict."""
        return float(self.optimal) if self.probability is None else self.probability


class RolePrompts(Protocol):
    """The prompts of all roles, and parsers of the answers. A prompt ends where the model's answer begins."""

    grows: bool
    """Whether a policy prompt begins with the previous prompt and answer, so that tokens can be reused."""

    def policy(self, state: State) -> Prompt:
        """Return the prompt for π; the answer is an action."""

    def successor(self, state: State, action: str) -> Prompt:
        """Return the prompt for M(d | s, a); the answer describes the action's future and its outcome."""

    def backup(self, transition: Transition, next_action: str, next_future: str) -> Prompt:
        """Return the prompt for B(s, a, r, s′, d′); the answer is the successor model's target.

        Args:
            transition: s, a, r and s′.
            next_action: an action in s′.
            next_future: d′, a sampled future of ``next_action``.
        """

    def hindsight(self, answers: Sequence[str], success: bool, reward: float | None = None) -> str:
        """Return the successor model's target for an action whose real continuation is known.

        Args:
            answers: the environment's answers to the action and to the later ones.
            success: the outcome of the episode.
            reward: of the whole episode, which all its actions have in common; stated if it is neither 1
                after a success nor 0 after a failure.
        """

    def evaluator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for E; the answer says whether ``action`` is optimal, why, and what is better."""

    def refiner(self, state: State, action: str, critique: Critique) -> Prompt:
        """Return the prompt for π_r; the answer is a better action."""

    def parse_action(self, written: str) -> str | None:
        """Return the action in the policy's answer; None if it cannot be parsed."""

    def parse_refined(self, written: str) -> str | None:
        """Return the refiner's action in the form of a policy's answer; None if it cannot be parsed."""

    def reply(self, action: str) -> str:
        """Return the policy's reply that takes ``action``, without a thought."""

    def heard(self, action: str, state: State) -> str:
        """Return the part of the policy's ``action`` that is passed to the environment."""

    def parse_future(self, written: str) -> str | None:
        """Return the future in a successor's or backup's answer; None if it has no outcome or is too long."""

    def parse_critique(self, written: str) -> Critique | None:
        """Return the critique in an evaluator's answer; None if it has no verdict."""

    def outcome(self, future: str) -> Outcome | None:
        """Return the outcome that ``future`` predicts; None if it names no outcome."""

    def hashes(self) -> dict[str, str]:
        """Return hashes that identify the prompts, for a run's manifest."""


@runtime_checkable
class ExplainingPrompts(RolePrompts, Protocol):
    """``RolePrompts`` for models whose backup role may write the reasons of a terminal target."""

    @property
    def explains(self) -> bool:
        """Whether the model writes reasons; models that write thoughts do."""

    @property
    def explains_episodes(self) -> bool:
        """Whether the reasons are about the whole episode, and so fit the futures of all of its actions."""

    def ending(self, transition: Transition, target: str) -> Prompt:
        """Return the prompt for the reasons of a terminal target: a backup without a next action.

        Args:
            target: the target as ``hindsight`` returns it.
        """

    def parse_ending(self, written: str, target: str) -> str | None:
        """Return ``target`` with the reasons of the answer; None if no reasons in it fit ``target``."""


class ComparingPrompts(RolePrompts, Protocol):
    """``RolePrompts`` with two further roles, which NLRL has instead of evaluator and refiner."""

    def aggregator(self, state: State, action: str, futures: Sequence[str]) -> Prompt:
        """Return the prompt for a language value from K futures of an action; the answer is a future."""

    def picker(self, state: State, candidates: Sequence[tuple[str, str]]) -> Prompt:
        """Return the prompt for a choice; the answer is the number of the best (action, value) pair."""

    def parse_pick(self, written: str, candidates: int) -> int | None:
        """Return a picker's answer as an index from 0; None if it is not one of the ``candidates``."""


def in_form(episodes: Iterable[Episode], prompts: RolePrompts) -> None:
    """Set ``full_text`` of turns of recorded ``episodes`` whose reply lacks the action or the policy's form.

    These are native tool calls, which are not part of the text beside them, and actions of scripted agents.
    """
    for turn in (turn for episode in episodes for turn in episode.turns):
        said = str(turn.info.get("full_text", turn.text))
        if turn.text not in said or (said == turn.text and react.first_action(said) is None):
            turn.info["full_text"] = prompts.reply(turn.text)
