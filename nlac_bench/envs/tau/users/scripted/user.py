"""Implements the dialogue policy of the scripted user, which needs no model."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.envs.tau.users.base import STOP, UserKind
from nlac_bench.envs.tau.users.scripted import check, goods, lines
from nlac_bench.envs.tau.users.scripted import phrases as say
from nlac_bench.envs.tau.users.scripted.intent import Goal, Script
from nlac_bench.envs.tau.users.scripted.official_train import script_of, vocabulary_of
from nlac_bench.envs.tau.users.scripted.reading import Reading, read
from nlac_bench.errors import DataError
from nlac_bench.types import Usage

MAX_REPLIES = 40
"""Number of replies after which the user always ends the conversation; an episode has 30 steps."""
PATIENCE = 4
"""Number of repetitions or objections in a row after which the user gives up a request."""


@dataclass(slots=True)
class _Talk:
    """All state that changes in a conversation. All fields are immutable, so a shallow copy is a fork."""

    script: Script
    seed: int
    goal: int = 0
    replies: int = 0
    agreed: bool = False
    """Whether the user has said yes to the current goal."""
    unclear: int = 0
    """Number of turns in a row without progress: nothing understood, repeated, or waited."""
    objected: int = 0
    refusals: int = 0
    told: frozenset[str] = frozenset()
    """Topics of the current goal that the user has already answered."""
    puzzled: bool = False
    """Whether the user has asked which goods a proposal refers to."""
    over: bool = False


class ScriptedUser:
    """A user that plays a task's structured intent.

    It opens with a request, identifies itself and gives details when asked, answers choices, confirms a
    proposal only if nothing in it contradicts its goal, corrects wrong values, changes its mind if its script
    says so, accepts refusals of forbidden requests, and ends with the stop token. It parses messages by
    keywords and slots (``reading``, ``check``), sees only the conversation, and gives up after several turns
    without progress.

    It plays tasks of the embedded domains and of the official retail ``train`` split. ``domain`` is the
    domain of the tasks; for official data it provides the names of goods in the instructions.

    Raises:
        DataError: ``begin`` with a task that has no script, such as an official test task.
    """

    kind: ClassVar[UserKind] = "scripted"

    def __init__(self, domain: Domain | None = None) -> None:
        self.usage: dict[str, Usage] = {}
        self._vocabulary = vocabulary_of(domain) if domain and domain.source.kind != "embedded" else {}
        self._talk: _Talk | None = None

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Start ``task`` and return the first message."""
        seed = int(rng.integers(2**31))
        script = (task.intent or {}).get("script")
        if script is None:
            script = script_of(task.instruction, self._vocabulary)
        if not isinstance(script, Script):
            raise DataError(
                f"task {task.task_id!r} has no scripted user; there is one for embedded tasks and for the "
                "official retail split 'train'. Use user='llm', 'replay' or 'human' for the others"
            )
        self._talk = _Talk(script, seed)
        return lines.opening(script, self._pick)

    async def reply(self, message: str) -> str:
        """Return the reply to the agent's ``message``; it contains ``STOP`` when the conversation is over."""
        talk = self._talk
        if talk is None or talk.over:
            return STOP
        talk.replies += 1
        if talk.replies >= MAX_REPLIES:
            return self._leave(lines.HOPELESS)
        return self._answer(read(message))

    def copy(self) -> Self:
        """Return an independent user in the same state."""
        twin = type(self)()
        twin._vocabulary = self._vocabulary
        twin._talk = None if self._talk is None else replace(self._talk)
        twin.usage = dict(self.usage)
        return twin

    # --- the dialogue policy --------------------------------------------------------------------

    def _answer(self, heard: Reading) -> str:
        goal = self._goal
        identity = heard.asks & lines.IDENTITY
        if heard.transfer:
            return self._leave(lines.TRANSFERRED)
        if heard.transfer_offer:
            if goal.kind == "other":
                return self._say_again(self._pick(lines.GO_ON))
            return self._refused(heard, goal) if goal.forbidden else self._object(["kind"])
        if self._reported(heard, goal):
            wrong = check.objections(heard.reports, goal, self._script, self._now.goal)
            if wrong:
                return self._object(wrong)
            return self._next(lines.THANKS)
        if heard.not_found and (
            identity or not _about(heard.text, ("order", "reservation", "item", "product"))
        ):
            return self._say_again(lines.identity_again(self._script.person, self._pick))
        if identity:
            rest = lines.details(heard.asks - lines.IDENTITY, goal, self._pick)
            told = lines.identity(heard.asks, self._script.person, self._pick)
            return self._tell(heard.asks, f"{told} {rest}".strip())
        if self._answered(heard, goal):
            return self._next(lines.THANKS)
        if heard.refused and not heard.confirm:
            return self._refused(heard, goal)
        if heard.confirm:
            return self._proposed(heard, goal)
        if heard.asks - {"unclear"}:
            told = lines.details(heard.asks, goal, self._pick)
            if told:
                return self._tell(heard.asks, told)
        if heard.more:
            return (
                self._next(lines.THANKS) if self._now.agreed and goal.kind != "ask" else self._restate(goal)
            )
        if heard.wait or (self._now.agreed and not heard.asks):
            return self._say_again(self._pick(lines.WAIT))
        return self._restate(goal)

    def _reported(self, heard: Reading, goal: Goal) -> bool:
        """Return whether the agent says that the goal has been fulfilled."""
        if not heard.reports or goal.kind == "ask":
            return False
        if goal.kind == "other" or check.fits(heard.reports, goal):
            return not heard.confirm or heard.more or self._now.agreed
        return self._now.agreed and not check.names_action(heard.reports) and lines.says_done(heard.reports)

    def _answered(self, heard: Reading, goal: Goal) -> bool:
        """Return whether the message has the form of an answer to the user's question."""
        return goal.kind == "ask" and lines.looks_like(goal.answer, heard.claims)

    def _refused(self, heard: Reading, goal: Goal) -> str:
        if goal.fallback:
            return self._replace(goal.fallback, lines.THEN)
        if goal.forbidden:
            return self._next(lines.ACCEPT)
        self._now.refusals += 1
        if self._now.refusals > 1:
            return self._next(lines.ACCEPT)
        told = lines.details(heard.asks - {"unclear"}, goal, self._pick)
        return told or f"{self._pick(lines.SURE)} {lines.want(goal, self._pick)}"

    def _proposed(self, heard: Reading, goal: Goal) -> str:
        if goal.kind in ("ask", "other"):
            if check.objections(heard.claims, goal, self._script, self._now.goal):
                return self._object(["kind"])
            return self._say_again(self._pick(lines.GO_ON))
        offered = check.names_action(heard.proposed) and not check.fits(heard.proposed, goal)
        if heard.refused and (offered or not check.fits(heard.claims, goal)):
            return self._refused(heard, goal)  # "I cannot cancel it. Would you like to return it instead?"
        if goal.change and (check.fits(heard.claims, goal) or not check.names_action(heard.claims)):
            return self._replace(goal.change, lines.MIND)
        wrong = check.objections(heard.claims, goal, self._script, self._now.goal)
        if wrong:
            return self._object(wrong)
        if goods.hides_items(heard.claims, goal):
            if not self._now.puzzled:
                self._now.puzzled = True
                return self._say_again(f"{self._pick(lines.WHICH_GOODS)} {lines.want(goal, self._pick)}")
            self._now.agreed = True
            return self._say_again(f"If that is {say.items(goal.items)}, then yes, please go ahead.")
        told = lines.details(heard.asks - {"unclear", "request"}, goal, self._pick)
        if not check.names_action(heard.claims) and not check.known_slots(heard.claims, goal):
            if self._now.agreed or (self._now.objected == 0 and self._now.puzzled):
                return self._say_again(self._pick(lines.YES))
            # the proposal named nothing, so the user's reply states what is confirmed
            self._now.agreed = lines.is_write(heard.text)
            return self._say_again(f"{self._pick(lines.YES)} {lines.want(goal, self._pick)}")
        self._now.agreed = True
        return self._say_again(f"{self._pick(lines.YES)} {told}".strip())

    # --- moves ----------------------------------------------------------------------------------

    def _object(self, wrong: Sequence[str]) -> str:
        self._now.objected += 1
        self._now.agreed = False
        if self._now.objected > PATIENCE:
            return self._leave(lines.HOPELESS)
        return f"{self._pick(lines.NO)} {lines.correction(wrong, self._goal, self._pick)}"

    def _next(self, thanks: Sequence[str]) -> str:
        self._now.goal += 1
        self._reset()
        if self._now.goal >= len(self._script.goals):
            return self._leave(thanks)
        return f"{self._pick(thanks)} {lines.following(self._goal, self._script, self._pick)}"

    def _replace(self, goal: Goal, lead: Sequence[str]) -> str:
        goals = list(self._script.goals)
        goals[self._now.goal] = goal
        self._now.script = replace(self._script, goals=tuple(goals))
        self._reset()
        return f"{self._pick(lead)} {lines.want(goal, self._pick)}"

    def _reset(self) -> None:
        self._now.agreed = self._now.puzzled = False
        self._now.told = frozenset()
        self._now.unclear = self._now.objected = self._now.refusals = 0

    def _restate(self, goal: Goal) -> str:
        return self._say_again(lines.want(goal, self._pick))

    def _say_again(self, text: str) -> str:
        """Return ``text``, or give up after too many turns in a row without progress."""
        self._now.unclear += 1
        return self._leave(lines.HOPELESS) if self._now.unclear > 2 * PATIENCE else text

    def _tell(self, topics: frozenset[str], text: str) -> str:
        """Answer questions; an answer that was not given before counts as progress."""
        if topics <= self._now.told:
            return self._say_again(text)
        self._now.told |= topics
        return text

    def _leave(self, words: Sequence[str]) -> str:
        self._now.over = True
        return f"{self._pick(words)} {STOP}"

    @property
    def _now(self) -> _Talk:
        assert self._talk is not None
        return self._talk

    @property
    def _script(self) -> Script:
        return self._now.script

    @property
    def _goal(self) -> Goal:
        return self._script.goals[self._now.goal]

    def _pick(self, wordings: Sequence[str]) -> str:
        """Choose one of several wordings by the episode's seed and the position in the conversation."""
        talk = self._now
        return wordings[zlib.crc32(f"{talk.seed}/{talk.replies}/{wordings[0]}".encode()) % len(wordings)]


def _about(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)
