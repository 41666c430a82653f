"""Implements the dialogue policy of the scripted user, which needs no model."""

import re
import zlib
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.envs.tau.users.base import STOP, UserKind
from nlac_bench.envs.tau.users.scripted import actions, check, choices, goods, outcome, speech
from nlac_bench.envs.tau.users.scripted import phrases as say
from nlac_bench.envs.tau.users.scripted.intent import Goal, Script
from nlac_bench.envs.tau.users.scripted.official_train import script_of, vocabulary_of
from nlac_bench.envs.tau.users.scripted.reading import Reading, read
from nlac_bench.envs.tau.users.scripted.requests import IDENTITY
from nlac_bench.envs.tau.users.scripted.roles import proposes
from nlac_bench.envs.tau.users.scripted.structure import Unit, joined
from nlac_bench.errors import DataError
from nlac_bench.types import Usage

MAX_REPLIES = 40
"""Number of replies after which the user always ends the conversation; an episode has 30 steps."""
PATIENCE = 4
"""Number of wrong proposals for one request after which the user gives up."""
VARIANTS = 6
"""Number of wordings tried for a reply that has been said twice."""
UNREAD = 8
"""Number of turns in a row without progress after which the user gives up."""


@dataclass(slots=True)
class _Talk:
    """All state that changes in a conversation. All fields are immutable, so a shallow copy is a fork."""

    script: Script
    seed: int
    told: frozenset[str]
    """Topics of the current goal that the user has told, in its request or in an answer."""
    goal: int = 0
    replies: int = 0
    agreed: bool = False
    """Whether the user has said yes to the current goal."""
    unread: int = 0
    """Number of turns in a row without progress: nothing understood, repeated, or waited."""
    objected: int = 0
    refusals: int = 0
    answered: frozenset[str] = frozenset()
    """Topics of questions that the user has already answered; to answer them again is no progress."""
    given: frozenset[str] = frozenset()
    """What the user has told of its identity: email, zip, user_id."""
    introduced: bool = False
    """Whether the last message told the user's identity."""
    vague: int = 0
    """Number of messages that reported something done, but not what, before the user agreed to anything."""
    timed: bool = False
    """Whether the agent has said when a refund comes."""
    said: tuple[str, ...] = ()
    """The user's replies."""
    variant: int = 0
    """Changes the wordings chosen, so that a reply is not repeated."""
    puzzled: bool = False
    """Whether the user has asked which goods a proposal refers to."""
    asked_back: bool = False
    over: bool = False


class ScriptedUser:
    """A user that plays a task's structured intent.

    It opens with a request, identifies itself and gives details when asked, answers choices, confirms a
    proposal only if nothing in it contradicts its goal, corrects wrong values, changes its mind if its script
    says so, accepts refusals of forbidden requests, and ends with the stop token. What it was not asked for
    and has not said, it does not tell; after a message that it cannot read it asks what was meant or repeats
    what it has said. Reading a message (``reading``: its acts; ``check``, ``outcome``, ``choices``: what they
    say about the goal) is separate from deciding what to answer, which is done here. The user sees only the
    conversation, and gives up after repeated wrong proposals or many turns without progress.

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
        self._talk = _Talk(script, seed, speech.told_at_first(script))
        if script.opening == "all":
            self._introduce(frozenset())
        return speech.opening(script, self._pick)

    async def reply(self, message: str) -> str:
        """Return the reply to the agent's ``message``; it contains ``STOP`` when the conversation is over."""
        talk = self._talk
        if talk is None or talk.over:
            return STOP
        talk.replies += 1
        if talk.replies >= MAX_REPLIES:
            return self._leave(speech.HOPELESS)
        heard = read(message)
        talk.timed = talk.timed or bool(_TIME.search(heard.text))
        for variant in range(VARIANTS):
            self._talk = replace(talk, variant=variant, introduced=False)
            reply = self._answer(heard, talk.introduced)
            if talk.said.count(reply) < 2:
                break
        else:
            reply = f"{reply} {self._pick(speech.BEFORE)}"
        self._talk.said += (reply,)
        return reply

    def copy(self) -> Self:
        """Return an independent user in the same state."""
        twin = type(self)()
        twin._vocabulary = self._vocabulary
        twin._talk = None if self._talk is None else replace(self._talk)
        twin.usage = dict(self.usage)
        return twin

    # --- the dialogue policy --------------------------------------------------------------------

    def _answer(self, heard: Reading, introduced: bool) -> str:
        """Return the reply; ``introduced``: the user's last message told its identity."""
        goal = self._goal
        identity = heard.asks & IDENTITY
        if heard.transfer:
            return self._leave(speech.TRANSFERRED)
        if heard.transfer_offer:
            if goal.kind == "other":
                return self._say_again(self._pick(speech.GO_ON))
            return self._refused(heard, goal) if goal.forbidden else self._object(["kind"])
        if self._reported(heard, goal):
            wrong = self._misdone(heard, goal)
            return self._object(wrong) if wrong else self._next(speech.THANKS)
        if heard.not_found and (
            identity or not _about(heard.text, ("order", "reservation", "item", "product"))
        ):
            return self._identify_again(heard, goal)
        if self._now.given and heard.unidentified(introduced):
            return self._identify_again(heard, goal)
        if identity and not self._known_identity(heard):
            return self._identify(heard, goal)
        if goal.kind == "ask" and outcome.answers(heard.claims, goal):
            return self._next(speech.THANKS)
        if heard.refused and not heard.confirm:
            return self._refused(heard, goal)
        if heard.confirm or (heard.announced and not heard.asks and self._names_goal(heard, goal)):
            return self._proposed(heard, goal)
        return self._asked(heard, goal)

    def _asked(self, heard: Reading, goal: Goal) -> str:
        """Answer a message that proposes nothing: questions, choices, notes, or nothing readable."""
        topics, told = self._told(heard, goal)
        if told:
            wrong = self._passed_over(heard, goal, topics)
            return self._object(wrong, told) if wrong else self._tell(topics, told)
        if heard.reports and not self._now.agreed and goal.kind != "ask" and outcome.reports_something(heard.reports):
            self._now.vague += 1
            return self._restate(goal, speech.DONE)
        if heard.more:
            if self._now.agreed and goal.kind != "ask":
                return self._next(speech.THANKS)
            return self._restate(goal, speech.HEARD)
        if heard.wait or (self._now.agreed and not heard.asks):
            return self._say_again(self._pick(speech.WAIT))
        read_it = bool(heard.claims) and "unclear" not in heard.asks and len(heard.text.split()) > 3
        return self._restate(goal, speech.HEARD if read_it else speech.UNCLEAR)

    def _told(self, heard: Reading, goal: Goal) -> tuple[frozenset[str], str]:
        """Return the topics of the questions that the user can answer, and the answer."""
        topics = heard.asks - {"unclear"} - IDENTITY
        chosen = choices.answer(heard, goal, self._script, self._pick)
        if chosen:
            rest = self._details(heard, chosen.topics | {"request", "items"}, goal)
            return topics | chosen.topics, f"{chosen.text} {rest}".strip()
        told = self._details(heard, {"request"}, goal) or self._details(heard, frozenset(), goal)
        if not told and heard.questions:
            topics = choices.subject(heard, goal)
            told = speech.details([topics], goal, self._pick)
        return topics, told

    def _details(self, heard: Reading, without: Set[str], goal: Goal) -> str:
        """Return what the questions ask for, in their order, except the topics ``without`` and the identity."""
        asked = [*heard.asked, frozenset({"complete"} if heard.complete else ())]
        return speech.details([topics - without - IDENTITY for topics in asked], goal, self._pick)

    def _identify(self, heard: Reading, goal: Goal) -> str:
        """Answer a message that asks who the user is, and its other questions in their order."""
        told = speech.identity(heard.asks, self._script.person, self._pick)
        place = next(place for place, topics in enumerate(heard.asked) if topics & IDENTITY)
        self._introduce(heard.asks & IDENTITY)
        rest = heard.besides_identity()
        chosen = choices.answer(rest, goal, self._script, self._pick)
        if chosen:
            told = f"{told} {chosen.text}"
        elif goods.names_items(rest.questions, goal):  # "What should change about the toaster?"
            told = f"{told} {speech.details([choices.subject(rest, goal)], goal, self._pick)}".strip()
        without = {"request"} | (chosen.topics | {"items"} if chosen else frozenset())
        before = self._details(replace(heard, asked=heard.asked[:place], complete=False), without, goal)
        after = self._details(replace(heard, asked=heard.asked[place:]), without, goal)
        return self._tell(heard.asks, " ".join(filter(None, dict.fromkeys((before, told, after)))))

    def _identify_again(self, heard: Reading, goal: Goal) -> str:
        """Answer that the user was not found: with what it has not told yet, if there is such."""
        person, given = self._script.person, self._now.given
        if not given and heard.asks & IDENTITY:
            return self._identify(heard, goal)
        told = speech.identity_again(person, given, self._pick)
        self._introduce(frozenset({"zip"}) if "email" in given else frozenset({"email"}))
        return self._say_again(f"{told} {self._details(heard, {'request'}, goal)}".strip())

    def _introduce(self, asks: Set[str]) -> None:
        """Note which data of its identity the user tells when it is asked for ``asks``."""
        talk, person = self._now, self._script.person
        talk.introduced = True
        if person.user_id:
            talk.given |= {"user_id"}
        else:
            by_name = person.zip and (not person.email or ("zip" in asks and "email" not in asks))
            talk.given |= {"zip" if by_name else "email"}

    def _misdone(self, heard: Reading, goal: Goal) -> list[str]:
        """Return the topics on which a report that the goal is done contradicts it."""
        reported = check.objections(heard.reports, goal, self._script, self._now.goal)
        others = check.objections(self._stated(heard), goal, self._script, self._now.goal)
        return reported or [topic for topic in others if topic != "kind"]

    @staticmethod
    def _stated(heard: Reading) -> list[Unit]:
        """Return the statements of a message."""
        return [unit for unit in heard.claims if not unit.text.endswith("?")]

    def _passed_over(self, heard: Reading, goal: Goal, asked: Set[str]) -> list[str]:
        """Return the topics of wrong values that a message states beside questions about something else."""
        answered = {topic for topic in asked if speech.details([{topic}], goal, self._pick)}
        if "payment" not in answered or not answered <= {"payment", "complete"}:
            return []
        stated = [unit for unit in heard.claims if unit not in heard.questions and proposes(unit)]
        wrong = check.objections(stated, goal, self._script, self._now.goal)
        return [topic for topic in wrong if topic in speech.CORE | {"bags", "passengers", "insurance"}]

    def _known_identity(self, heard: Reading) -> bool:
        """Return whether the message shows the identity and asks for a yes: "your email is …, right?"."""
        person = self._script.person
        known = [value.lower() for value in (person.email, person.user_id) if value]
        return heard.confirm and any(value in heard.text for value in known)

    def _names_goal(self, heard: Reading, goal: Goal) -> bool:
        text = joined(heard.claims)
        return actions.fits(text, goal) or actions.names_action(text)

    def _reported(self, heard: Reading, goal: Goal) -> bool:
        """Return whether the agent says that the goal has been fulfilled.

        What was not agreed is done only if its own action is reported, and nothing about it is asked.
        """
        if not heard.reports or goal.kind == "ask":
            return False
        if heard.confirm and not heard.more and not self._now.agreed:
            return False
        if outcome.reports_goal(heard.reports, goal):
            return self._now.agreed or not heard.asks - {"complete", "request", "unclear"}
        if actions.names_other(joined(heard.reports), goal):
            return False
        if self._now.agreed or self._now.vague > 0:
            return outcome.reports_something(heard.reports)
        return (
            not heard.asks - {"complete"}
            and check.states_target(self._stated(heard), goal, self._script)
            and not self._misdone(heard, goal)
        )

    def _refused(self, heard: Reading, goal: Goal) -> str:
        if goal.fallback:
            return self._replace(goal.fallback, speech.THEN)
        if goal.forbidden:
            return self._next(speech.ACCEPT)
        self._now.refusals += 1
        if self._now.refusals > 1:
            return self._next(speech.ACCEPT)
        _, told = self._told(heard, goal)
        return (
            told or f"{self._pick(speech.SURE)} {speech.want(goal, self._now.told | speech.CORE, self._pick)}"
        )

    def _proposed(self, heard: Reading, goal: Goal) -> str:
        claims = joined(heard.claims)
        if goal.kind in ("ask", "other"):
            if check.objections(heard.claims, goal, self._script, self._now.goal):
                return self._object(["kind"])
            return self._say_again(self._pick(speech.GO_ON))
        proposed = joined(heard.proposed)
        offered = actions.names_action(proposed) and not actions.fits(proposed, goal)
        if heard.refused and (offered or not actions.fits(claims, goal)):
            return self._refused(heard, goal)  # "I cannot cancel it. Would you like to return it instead?"
        if goal.change and (actions.fits(claims, goal) or not actions.names_action(claims)):
            return self._replace(goal.change, speech.MIND)
        wrong = check.objections(heard.claims, goal, self._script, self._now.goal)
        if wrong:
            return self._object(wrong, self._details(heard, {"request", *wrong}, goal))
        if goods.hides_items(heard.claims, goal, self._script):
            return self._which_goods(goal)
        told = self._details(heard, {"request"}, goal)
        yes = f"{self._pick(speech.YES)} {told}".strip()
        if not actions.names_action(claims) and not check.known_slots(claims, goal):
            if self._now.agreed or (self._now.objected == 0 and self._now.puzzled):
                return self._say_again(yes)
            # the proposal named nothing, so the user's reply states what is confirmed, as far as it was told
            self._now.agreed = _changes(heard.text)
            return self._say_again(yes if told else f"{yes} {speech.want(goal, self._now.told, self._pick)}")
        self._now.agreed = True
        if goal.items and not goods.names_items(heard.claims, goal) and "items" not in self._now.told:
            yes = f"{yes} {speech.details([{'items'}], goal, self._pick)}"
        return self._say_again(self._ask_back(yes, goal))

    def _which_goods(self, goal: Goal) -> str:
        """Ask which goods a proposal means, and then agree on condition that it means the right ones."""
        if not self._now.puzzled:
            self._now.puzzled = True
            return self._say_again(
                f"{self._pick(speech.WHICH_GOODS)} "
                f"{speech.want(goal, self._now.told | speech.SHORT, self._pick)}"
            )
        self._now.agreed = True
        return self._say_again(f"If that is {say.items(goal.items)}, then yes, please go ahead.")

    def _ask_back(self, yes: str, goal: Goal) -> str:
        """Return a yes that now and then ends with a question of the user's own."""
        if (
            goal.kind not in ("cancel", "return")
            or self._now.asked_back
            or self._now.timed
            or self._pick(("", "", "", "", "", "?")) == ""
        ):
            return yes
        self._now.asked_back = True
        return f"{yes} {self._pick(speech.BACK)}"

    # --- moves ----------------------------------------------------------------------------------

    def _object(self, wrong: Sequence[str], also: str = "") -> str:
        """Correct the topics ``wrong``; ``also`` answers the message's questions about others."""
        self._now.objected += 1
        self._now.agreed = False
        if self._now.objected > PATIENCE:
            return self._leave(speech.HOPELESS)
        self._now.unread = 0
        self._now.told |= set(wrong)
        right = speech.correction(wrong, self._goal, self._now.told, self._pick)
        right = right if also in right else f"{right} {also}"
        return (
            right
            if wrong == ["insurance"] and self._goal.insurance == "no"
            else f"{self._pick(speech.NO)} {right}"
        )

    def _next(self, thanks: Sequence[str]) -> str:
        self._now.goal += 1
        self._reset()
        if self._now.goal >= len(self._script.goals):
            return self._leave(thanks)
        return f"{self._pick(thanks)} {speech.following(self._goal, self._now.told, self._pick)}"

    def _replace(self, goal: Goal, lead: Sequence[str]) -> str:
        goals = list(self._script.goals)
        goals[self._now.goal] = goal
        self._now.script = replace(self._script, goals=tuple(goals))
        self._reset()
        self._now.told = speech.ALL
        return f"{self._pick(lead)} {speech.want(goal, speech.ALL, self._pick)}"

    def _reset(self) -> None:
        """Begin the next request, which the user states as fully as its first one, by subject at least."""
        talk = self._now
        talk.agreed = talk.puzzled = False
        talk.answered = frozenset()
        talk.told = speech.told_at_first(self._script) | speech.SHORT
        talk.unread = talk.objected = talk.refusals = talk.vague = 0

    def _restate(self, goal: Goal, lead: Sequence[str]) -> str:
        return self._say_again(f"{self._pick(lead)} {speech.want(goal, self._now.told, self._pick)}")

    def _say_again(self, text: str) -> str:
        """Return ``text``, or give up after too many turns in a row without progress."""
        self._now.unread += 1
        return self._leave(speech.HOPELESS) if self._now.unread > UNREAD else text

    def _tell(self, topics: frozenset[str], text: str) -> str:
        """Answer questions; an answer that was not given before counts as progress."""
        if topics <= self._now.answered:
            return self._say_again(text)
        self._now.answered |= topics
        self._now.told |= topics | (speech.CORE if "request" in topics else frozenset())
        self._now.unread = 0
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
        return wordings[zlib.crc32(f"{talk.seed}/{talk.replies + MAX_REPLIES * talk.variant}/{wordings[0]}".encode()) % len(wordings)]


_TIME = re.compile(
    r"\brefund[^.?!\n]*\b(?:days?|weeks?|hours?|immediate\w*|instant\w*|right away|at once|straight away|today)\b|"
    r"\b(?:days?|weeks?|hours?|immediate\w*|instant\w*|right away|at once)\b[^.?!\n]*\b(?:refund\w*|money)\b|"
    r"\b(?:business|working) days\b"
)
"""Says how long a refund takes."""


def _about(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words)


def _changes(text: str) -> bool:
    """Return whether a proposal without names is one to change something, not one to look something up."""
    return not _about(
        text, ("look", "check", "search", "find", "see", "pull up", "verify", "access", "review")
    )
