"""Reads an agent's message for a scripted user: a list of acts, found by sentence and list structure.

Each unit of a message (``structure``) performs one or more acts: it states, proposes, asks, offers a choice,
reports, refuses, transfers. The database is not used, and nothing here depends on the user's goals.
"""

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from nlac_bench.simulators.customer.hear import signals
from nlac_bench.simulators.customer.hear.actions import RESERVATION_ID, RETAIL_ID
from nlac_bench.simulators.customer.hear.asking import WH, WH_START
from nlac_bench.simulators.customer.hear.consent import VALUE
from nlac_bench.simulators.customer.hear.identity import IDENTITY, is_unidentified, wants_identity
from nlac_bench.simulators.customer.hear.reference import referred
from nlac_bench.simulators.customer.hear.requests import (
    asks_for_list,
    asks_for_value,
    asks_for_yes,
    is_choice,
)
from nlac_bench.simulators.customer.hear.structure import Unit, units
from nlac_bench.simulators.customer.hear.topics import topics


@dataclass(frozen=True, slots=True)
class MessageReading:
    """A parsed message of an agent.

    ``parts`` are all units, ``claims`` those that state or propose something (without open questions,
    conditions and consequences), ``questions`` those that ask for a value or offer a choice, ``asked`` the
    topics of each question in the same order, ``reports`` the units that say that something has been done,
    ``slips`` those that state a mistake of the agent and its correction. ``confirm``: the message asks for a
    yes; ``announced``: it says that the agent is about to act, without asking; ``complete``: it asks whether
    the request has further parts.
    """

    text: str
    parts: tuple[Unit, ...]
    claims: tuple[Unit, ...]
    proposed: tuple[Unit, ...]
    questions: tuple[Unit, ...]
    asked: tuple[frozenset[str], ...]
    reports: tuple[Unit, ...]
    slips: tuple[Unit, ...]
    confirm: bool
    announced: bool
    refused: bool
    not_found: bool
    transfer: bool
    transfer_offer: bool
    more: bool
    complete: bool
    wait: bool

    @classmethod
    def of(cls, message: str) -> "MessageReading":
        """Return the reading of ``message``."""
        return read(message)

    @property
    def asks(self) -> frozenset[str]:
        """The topics of all questions."""
        return frozenset({"complete"} if self.complete else ()).union(*self.asked)

    @property
    def left_open(self) -> frozenset[str]:
        """The topics of the questions that cannot be answered with yes or no."""
        asked = zip(self.questions, self.asked, strict=True)
        return frozenset().union(
            *(topics for unit, topics in asked if WH.search(unit.text) or is_choice(unit.text))
        )

    @property
    def stated(self) -> list[Unit]:
        """The claims that are not questions."""
        return [unit for unit in self.claims if not unit.text.endswith("?")]

    def unidentified(self, bare: bool) -> bool:
        """Return whether the agent says that it does not know who the user is (see ``is_unidentified``)."""
        return any(is_unidentified(line, bare) for line in self.text.split("\n"))

    @property
    def offers(self) -> list[Unit]:
        """The questions that can be answered with yes or no."""
        return [
            unit for unit in (*self.proposed, *self.questions)
            if not (WH.search(unit.text) or wants_identity(unit.text))
        ]  # fmt: skip

    def without(self, offers: Sequence[Unit]) -> Self:
        """Return this reading without ``offers``."""
        proposed = tuple(unit for unit in self.proposed if unit not in offers)
        rest = [
            (unit, topics)
            for unit, topics in zip(self.questions, self.asked, strict=True)
            if unit not in offers
        ]
        return replace(
            self, parts=tuple(unit for unit in self.parts if unit not in offers),
            claims=tuple(unit for unit in self.claims if unit not in offers), proposed=proposed,
            questions=tuple(unit for unit, _ in rest), asked=tuple(topics for _, topics in rest),
            confirm=bool(proposed),
        )  # fmt: skip

    def besides_transfer(self) -> Self:
        """Return this reading without an offer to transfer the user, if the message asks something else."""
        offers = [unit for unit in self.claims if signals.TRANSFER.search(unit.text)]
        rest = self.without(offers)
        asks = rest.asks - {"unclear", "request", "complete"}
        return replace(rest, transfer_offer=False) if offers and asks and not rest.confirm else self

    def with_slips(self) -> Self:
        """Return this reading with the sentences about mistakes among its claims."""
        return replace(self, claims=(*self.slips, *self.claims), slips=())

    def split(self, place: int) -> tuple[Self, Self]:
        """Return this reading with the questions before the one at ``place``, and with the others."""
        return (
            replace(self, questions=self.questions[:place], asked=self.asked[:place], complete=False),
            replace(self, questions=self.questions[place:], asked=self.asked[place:]),
        )


@lru_cache(maxsize=128)  # the user reads a message when it comes, and the reward when it looks for consent
def read(message: str) -> MessageReading:
    """Parse ``message``."""
    parts = units(message)
    text = "\n".join(part.full for part in parts)
    claims: list[Unit] = []
    proposed: list[Unit] = []
    questions: list[tuple[Unit, Set[str]]] = []
    reports: list[Unit] = []
    slips: list[Unit] = []
    confirm = announced = refused = not_found = complete = more = wait = False
    asking = ""  # the heading of a list whose entries are asked for
    consent = ""  # the last sentence that asks for a yes
    for place, part in enumerate(parts):
        own = part.text
        if _opens_list(parts, place) and _YES_OR_NO.match(parts[place + 1].text):
            confirm = True
            proposed.append(part)
            continue
        if part.heading and _YES_OR_NO.match(own):
            continue
        if signals.MORE.search(own) or (reports and signals.ELSE_TO_CORRECT.search(own)):
            more = True
            complete = complete or bool(signals.COMPLETE.search(own))
            if not (signals.YES_NO.search(own) or signals.PROCEED.search(own)):
                if signals.OTHERS.search(own):
                    questions.append((part, frozenset()))
                continue
        if signals.NOT_FOUND.search(own):
            not_found = True
        elif signals.CAVEAT.search(own):
            pass
        elif signals.REFUSED.search(own) or (signals.REGRET.search(own) and not asks_for_value(own)):
            refused = True
        if asking and part.heading == asking and asking == consent and signals.STATED.search(own):
            claims.append(part)  # "Shall I submit this?" and what: an entry with a value is not asked for
        elif asking and part.heading == asking:
            fields = _topics(own) - {"unclear"}
            questions.append((part, fields if WH_START.match(own) else fields - {"request"}))
            if not asking.endswith("?"):
                claims.append(part)  # it may be a label: compare its values
        elif signals.OTHERS.search(own) and own.endswith("?"):
            questions.append((part, {"complete"}))
        elif asks_for_value(own) or (part.heading and ":" not in own and WH_START.match(own)):
            questions.append((part, referred(own, parts[:place]) or _topics(own)))
            asking = own if _opens_list(parts, place) else ""
            if not WH_START.match(own) and (own.endswith("?") or VALUE.search(own)):
                claims.append(part)  # "verify the itinerary of AB3CDE:" names what is compared
        elif _opens_list(parts, place) and asks_for_list(own, parts[place + 1].text):
            asking = own
        elif asks_for_yes(own) and not (
            (signals.GUESS.match(own) or signals.EXAMPLE.match(own))
            and questions
            and questions[-1][0] is parts[place - 1]
            and WH.search(questions[-1][0].text)
        ):
            confirm = True
            claims.append(part)
            proposed.append(part)
            consent = own
            asking = own if _opens_list(parts, place) and own.endswith("?") else ""
        elif own.endswith("?"):
            questions.append((part, _topics(own)))
            asking = own if _opens_list(parts, place) else ""
            if not WH.search(own):
                claims.append(part)
        elif signals.WAIT.search(own) and not (signals.SOON.search(own) and VALUE.search(own)):
            wait = True
            announced = announced or bool(signals.ANNOUNCES.search(own))
            if signals.ANNOUNCES.search(own):
                claims.append(part)
        else:
            asking = ""
            named = VALUE.search(own) or _lists_values(parts, place)
            if own.endswith(":") and wants_identity(own) and not named:
                asking = own
                questions.append((part, topics(own) & IDENTITY or {"identity"}))
                continue
            if signals.MISTYPED.search(own):
                slips.append(part)
            elif not signals.REFUSED.search(own) or signals.CAVEAT.search(own):
                claims.append(part)
            elif (main := _without_reasons(own)) and not signals.REFUSED.search(main):
                claims.append(replace(part, text=main))
            announced = announced or bool(signals.ANNOUNCES.search(own))
            if (
                signals.REPORT.search(_UNCHANGED.sub(" ", own))
                and not _TO_COME.search(part.heading)
                and not (signals.REFUSED.search(own) or signals.SLIP.search(own))
                and (signals.PERFECT.match(own) or not signals.FUTURE.search(own))
            ):
                reports.append(part)
            if signals.ASSENT.search(own):
                confirm = True
                proposed.append(part)
    transfers = bool(signals.TRANSFER.search(signals.NO_TRANSFER.sub(" ", text)))
    offered = transfers and _offers_transfer(parts, text)
    return MessageReading(
        text=text,
        parts=tuple(parts),
        claims=tuple(unit for claim in claims if (unit := _in_stock(claim)).text),
        proposed=tuple(proposed),
        questions=tuple(part for part, _ in questions),
        asked=tuple(frozenset(asks) for _, asks in questions),
        reports=tuple(reports),
        slips=tuple(slips),
        confirm=confirm,
        announced=announced,
        refused=refused,
        not_found=not_found,
        transfer=transfers and not offered,
        transfer_offer=transfers and offered,
        more=more,
        complete=complete,
        wait=wait,
    )


_TO_COME = re.compile(r"\b(?:will|would|if you|once you|going to|i'll|i'd)\b")
"""Announces a list of what is not done yet: "here's what will happen if you confirm:"."""
_YES_OR_NO = re.compile(
    r"[\"'(]?(?:yes|no|(?:(?:do not|don't) )?(?:confirm|approve|agree))\b[\"')]*"
    r"(?: ?[:=]| - |,? (?:and|if|to)\b)"
)
"""An entry of a list of the two answers: "- yes: I'll go ahead"."""
_UNCHANGED = re.compile(
    r"^(?:before|until|once|when|as soon as) [^,]*,|\b(?:before|until) (?:any|some|every)?thing \w+ \w+"
    r"|\bplans? (?:have |has )?changed\b|\b(?:nothing"
    r"|no changes?|none of \w+) (?:has|have) been\b"
)
"""Reports no change: a reason to cancel, or that nothing has been done."""


def _offers_transfer(parts: Sequence[Unit], text: str) -> bool:
    """Return whether a message that speaks of a transfer only offers it, or asks whether it is wanted."""
    if signals.TRANSFER_OFFER.search(text):
        return True
    spoken = [part.text for part in parts if signals.TRANSFER.search(part.text)]
    if any(signals.TRANSFERRED.search(sentence) for sentence in spoken):
        return False
    return all(signals.MAY_TRANSFER.search(sentence) for sentence in spoken) or (
        parts[-1].text.endswith("?")
        and asks_for_yes(parts[-1].text)
        and not signals.MORE.search(parts[-1].text)
    )


def _in_stock(claim: Unit) -> Unit:
    """Return ``claim`` without the clauses that say that something is not in stock, which propose nothing."""
    if not signals.UNAVAILABLE.search(claim.full):
        return claim
    clauses = [] if signals.UNAVAILABLE.search(claim.heading) else _CLAUSES.split(claim.text)
    return replace(claim, text="".join(part for part in clauses if not signals.UNAVAILABLE.search(part)))


_CLAUSES = re.compile(r"(?<=;) |(?<=,) (?=and|but|so|however|yet|whereas|while)|(?= - )")


def _without_reasons(text: str) -> str:
    """Return a sentence without the clauses that refuse something else: brackets, reasons, rules.

    "Cancelling it removes all items, as I cannot cancel a part" proposes its main clause, and "only delivered
    orders can be returned, and yours is #W1" states the order.
    """
    main = _REASON.sub(lambda match: "" if signals.REFUSED.search(match[0]) else match[0], text).strip()
    return "".join(part for part in _CLAUSES.split(main) if not signals.REFUSED.search(part))


_REASON = re.compile(
    r" ?\([^()]*\)|(?:,| -) (?:as|since|because|given that|seeing that|although|though|even though) [^,;]*?"
    r"(?=[,;.!]?$|[,;] | - )"
)


_RECORDS = re.compile(r"\b(?:orders?|reservations?|bookings?|flights?|trips?|itinerary|confirmation)\b")


_BRACKET = re.compile(r" ?\([^()]*\)")
_PER_PERSON = re.compile(r"\b(?:per|each) p\w+")
_WAYS = re.compile(r"\b(one|round)[- ]?(?:way|trip)\b")
_CODES = re.compile(rf"{RETAIL_ID.pattern}|{RESERVATION_ID.pattern}")


def _topics(sentence: str) -> set[str]:
    result = set(topics(sentence))
    if "request" in (main := topics(_BRACKET.sub("", sentence))):
        result = set(main)  # "what would you like changed (items, address or payment)?"
    if "insurance" in result and "passengers" not in topics(_PER_PERSON.sub("", sentence)):
        result.discard("passengers")  # "insurance for $30 per passenger"
    if "trip" in result and len(result) > 1 and len({way[1] for way in _WAYS.finditer(sentence)}) == 1:
        result.discard("trip")  # "for your one-way trip, which cabin?"
    if not result and is_choice(sentence) and len({code[0] for code in _CODES.finditer(sentence)}) > 1:
        result.add("record")  # "is that for AB3CDE or FG7HJK?"
    if "passengers" in result and not result & {"email", "zip", "user_id"}:
        result -= {"name", "identity"}
        result -= (
            {"record", "flights", "items"} if "which of" in sentence else set()
        )  # "which of them flies?"
    if "address" in result and not result & {"email", "name", "user_id"}:
        result.discard("zip")  # a part of the address, not of the identity
    if "payment" in result and not _RECORDS.search(sentence):
        result -= {"record", "flights"}  # "which of your payment methods"
    if result & IDENTITY and not wants_identity(sentence):
        result -= {"email"} if "receive" in sentence or "sent" in sentence else set()
    return result or {"unclear"}


def _lists_values(parts: Sequence[Unit], place: int) -> bool:
    """Return whether the list below the unit at ``place`` gives values: "let me verify: reason = …"."""
    return _opens_list(parts, place) and bool(signals.STATED.search(parts[place + 1].text))


def _opens_list(parts: Sequence[Unit], place: int) -> bool:
    return place + 1 < len(parts) and parts[place + 1].heading == parts[place].text
