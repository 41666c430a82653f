"""Implements the answers of the scripted user: details of its request, choices, its identity."""

import re
from collections.abc import Set

from nlac_bench.simulators.customer.hear import actions, identity
from nlac_bench.simulators.customer.hear.asking import WH
from nlac_bench.simulators.customer.hear.identity import IDENTITY
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.slots import methods
from nlac_bench.simulators.customer.hear.structure import joined
from nlac_bench.simulators.customer.intent.goals import Goal
from nlac_bench.simulators.customer.speak import speech
from nlac_bench.simulators.customer.speak.moves import Moves


class Answers(Moves):
    """The answers to an agent's questions, in the order in which they are asked."""

    def _told(self, heard: MessageReading, goal: Goal) -> tuple[frozenset[str], str]:
        """Return the topics of the questions that the user can answer, and the answer."""
        topics = heard.asks - {"unclear"} - IDENTITY
        told = self._details(heard, {"request"}, goal) or self._details(heard, frozenset(), goal)
        if not told and heard.questions and len(heard.text.split()) > 4:  # "Which one?" below some values
            paid = goal.payment and len({value for *_, value in methods(heard.text)}) > 1
            topics = frozenset({"payment"} if paid else {"request"})
            told = speech.details([topics], goal, self._pick) if paid else ""
            told = told or speech.want(goal, speech.CORE | {"bags", "passengers"}, self._pick)
        return topics, told

    def _details(self, heard: MessageReading, without: Set[str], goal: Goal) -> str:
        """Return what the questions ask for, in their order, except ``without`` and the identity."""
        options = frozenset({"options"} if goal.kind in ("exchange", "modify_items") else ())
        asked = [
            options if WH.search(unit.text) and not speech.details([topics], goal, self._pick) else topics
            for unit, topics in zip(heard.questions, heard.asked, strict=True)
        ]
        asked.append(frozenset({"complete"} if heard.complete else ()))
        return speech.details([topics - without - IDENTITY for topics in asked], goal, self._pick)

    def _identify(self, heard: MessageReading, goal: Goal) -> str:
        """Answer a message that asks who the user is, and its other questions in their order."""
        told = speech.identity(heard.asks, self._script.person, self._pick)
        place = next(place for place, topics in enumerate(heard.asked) if topics & IDENTITY)
        self._introduce(heard.asks & IDENTITY)
        without = frozenset[str]()
        requested = any("request" in topics and not topics & IDENTITY for topics in heard.asked)
        if not requested or self._now.told >= speech.CORE:
            without |= {"request"}
        first, last = heard.split(place)
        before, after = self._details(first, without, goal), self._details(last, without, goal)
        return self._tell(heard.asks, " ".join(filter(None, (before, told, after))))

    def _identify_again(self, heard: MessageReading, goal: Goal) -> str:
        """Answer that the user was not found, with identity data that it has not told yet, if any."""
        person, given = self._script.person, self._now.given
        if not given and heard.asks & IDENTITY:
            return self._identify(heard, goal)
        told = speech.identity_again(person, given, self._pick)
        self._introduce(frozenset({"zip"}) if "email" in given else frozenset({"email"}))
        return self._say_again(f"{told} {self._details(heard, {'request'}, goal)}".strip())

    def _introduce(self, asks: Set[str]) -> None:
        """Record which identity data the user gives in answer to ``asks``."""
        self._now.introduced = True
        self._now.given |= {speech.identity_key(asks, self._script.person)}

    def _known_identity(self, heard: MessageReading) -> bool:
        """Return whether the message shows the right identity of the user and only asks about that."""
        person = self._script.person
        email = person.email or self._script.profile.email
        own = (f"{person.first_name} {person.last_name}", email, person.user_id, person.zip)
        text = joined(heard.claims)
        return (
            heard.confirm
            and not (actions.names_action(text) or actions.fits(text, self._goal))
            and not heard.left_open & IDENTITY
            and any(
                value and value.lower() in unit.text
                and (identity.wants_identity(unit.text) or WHO.search(unit.text) or _BEING.search(unit.text))
                for unit in heard.claims for value in own
            )
        )  # fmt: skip


WHO = re.compile(r"\b(?:speaking|talking|chatting) (?:with|to)\b")
"""Asks whether the user is a certain person."""
_BEING = re.compile(r"\byou(?:'re| are)\b|\bare you\b")
