"""Finds what in a message the user has not asked for: the default is no, and a yes is earned.

A user agrees to a message only if every unit of it that proposes, charges or states a fact about the user or
its request is covered by the goal, by what the user knows about itself, or by what serving any request
involves. A unit is not covered if it has words or verbs that do not belong to the request (``known``), acts
on something else, or states money or facts that the user knows to be different (``claims``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from nlac_bench.simulators.customer.compare.check import states_target
from nlac_bench.simulators.customer.compare.claims import (
    ITEM,
    USER_ID,
    charges,
    facts,
    names_aim,
    numbers,
    record_of,
)
from nlac_bench.simulators.customer.compare.known import Known, stem
from nlac_bench.simulators.customer.hear.actions import ACTIONS, FITTING
from nlac_bench.simulators.customer.hear.asking import WH, WH_START
from nlac_bench.simulators.customer.hear.identity import wants_identity
from nlac_bench.simulators.customer.hear.naming import names_items
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.requests import asks_for_value, is_choice
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.intent.goals import Goal, Script


@dataclass(frozen=True, slots=True)
class Doubt:
    """A unit that is not covered, and the place in it at which that shows."""

    unit: Unit
    start: int
    end: int


def doubts(heard: MessageReading, goal: Goal, script: Script, agreed: bool) -> list[Doubt]:
    """Return the first thing in each unit of a message that nothing covers.

    ``agreed``: the user has said yes to the goal; without a yes nothing may have been charged.
    """
    known, record = Known.of(goal, script), record_of(goal, script)
    decides = heard.confirm or heard.announced or bool(heard.reports)
    rules: tuple[Callable[[str], Iterable[tuple[int, int]]], ...] = (
        known.strange,
        known.strange_acts,
        lambda text: _other_acts(text, goal, script, known),
        lambda text: charges(text, goal, record),
        lambda text: facts(text, goal, script, record),
        lambda text: numbers(text, goal, known),
        lambda text: () if agreed else (match.span() for match in _CHARGED.finditer(text)),
    )
    found = []
    for unit in heard.parts:
        if _matters(unit, decides):
            spans = [span for rule in rules for span in rule(unit.text)]
            found += [Doubt(unit, *span) for span in spans[:1]]
    named = names_items(heard.parts, goal) or names_aim(heard.text, goal)
    if not found and heard.confirm and goal.items and not named:
        found = [Doubt(unit, *match.span()) for unit in heard.parts for match in ITEM.finditer(unit.text)][:1]
    return found or list(_keeps(heard, goal, script))


def puzzles(heard: MessageReading, goal: Goal, script: Script) -> bool:
    """Return whether an open question is about something that the user cannot know."""
    known = Known.of(goal, script)
    return any(
        _open(unit.text) and (known.strange(unit.text) or _OURS.search(unit.text)) for unit in heard.questions
    )


_OURS = re.compile(
    r"\bwho (?:was|were|did|packed|delivered|wrote|told|sold|sent)\b|\b(?:which|what|who|"
    r"how)\b[^?]*\bour\b(?! (?:records|files?|systems?|database|profile|account)\b)"
)
"""Asks about the agent's own house: "which of our warehouses packed your parcel?"."""


def _open(text: str) -> bool:
    return bool(WH_START.match(text) or (text.endswith("?") and WH.search(text)))


def _matters(unit: Unit, decides: bool) -> bool:
    """Return whether a unit commits the user or its money, or says something about the user."""
    text = unit.text
    if asks_for_value(text) and (wants_identity(text) or _TELL.search(text)) and not USER_ID.search(text):
        return False
    if _open(text) or (text.endswith("?") and is_choice(text)):
        return False
    if text.endswith("!") and not (_DIGIT.search(text) or _DOES.search(text)):
        return False
    return decides or text.endswith("?") or bool(_DONE.search(text))


_TELL = re.compile(r"\b(?:tell|give|send|share|provide|specify|let) (?:me|us|the|your|which|what)\b")
_CHARGED = re.compile(r"\b(?:i|we)(?:'ve| have)? (?:just |also |already )*(?:charged|billed|debited)\b")
_DIGIT = re.compile(r"\d")
_DOES = re.compile(r"\b(?:i|we)\b|\blet (?:me|us)\b")
_DONE = re.compile(r"\b(?:i|we)(?:'ve| have| just| also| already| now)+ \w+ed\b")


def _keeps(heard: MessageReading, goal: Goal, script: Script) -> Iterator[Doubt]:
    """Yield a unit that leaves everything as it is, in a proposal without the new values of a change."""
    if not heard.confirm or goal.kind not in _CHANGES:
        return
    dates = {leg.date for leg in goal.legs}
    stated = names_aim(heard.text, goal) or states_target(heard.parts, goal, script)
    if not (stated and all(date in heard.text for date in dates)):
        kept = {text.lower() for thing in goal.items for option in thing.options.items() for text in option}
        found = [
            Doubt(unit, *match.span()) for unit in heard.parts for match in _KEEP.finditer(unit.text)
            if (not (named := set(_DATE.findall(unit.text))) or named - dates)
            and not any(text in unit.text for text in kept)
        ]  # fmt: skip
        yield from found[:1]


_CHANGES = frozenset({
    "exchange", "modify_items", "order_address", "order_payment", "user_address", "change_flights",
    "change_cabin", "add_bags", "change_passengers",
})  # fmt: skip
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_KEEP = re.compile(
    r"\b(?:leav(?:e|ing)|keep(?:s|ing)?|stay(?:s|ing)?|remain(?:s|ing)?)\b|\bas (?:it|they) (?:is|are|"
    r"was|were)\b|"
    r"\bnothing (?:\w+ ){0,3}chang\w+|\b(?:not|n't) change\b"
)


# --- other actions ------------------------------------------------------------------------------


def _other_acts(text: str, goal: Goal, script: Script, known: Known) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` acts on something that the goal leaves as it is, or carries out another action."""
    mine = {action for other in script.goals for action in FITTING[other.kind]} | _IMPLIED.get(
        goal.kind, set()
    )
    goods = [thing.product for thing in goal.items]
    goods += [
        value
        for thing in goal.items
        for part in (thing.options, thing.wanted or {})
        for value in part.values()
    ]
    for name in sorted(filter(None, goods), key=len, reverse=True):  # "sleeps 1 person" names no passenger
        text = text.replace(name.lower(), "_" * len(name))
    for act in known.acts(text):
        if act.kind != "done" and not _MONEY.match(text, act.start):
            foreign = (ACTIONS[action].match(text, act.start) for action in _STRONG if action not in mine)
            if any(foreign):
                yield act.start, act.end
        if goal.kind in _TOUCHED and stem(act.verb) not in _NEUTRAL:
            part = (
                _CUT.split(text[: act.start])[-1]
                if act.kind == "done"
                else _CUT.split(text[act.end :], maxsplit=1)[0]
            )
            named = [(match.start(), match.lastgroup) for match in _ATTRIBUTE.finditer(part)]
            if named and (max(named) if act.kind == "done" else min(named))[1] not in _TOUCHED[goal.kind]:
                yield act.start, act.end
    fitting = "|".join(ACTIONS[action].pattern for action in FITTING[goal.kind] if action in _VERBS)
    for match in _INSTEAD.finditer(text) if fitting else ():
        if re.match(fitting.replace("\\b", ""), text[match.end() :]):
            yield match.span()
    for match in _TAKEN.finditer(text) if goal.items else ():
        if "_" not in match[1]:
            yield match.span()
    yield from (match.span() for match in _PARTLY.finditer(text))
    if text.endswith("?") and _ALSO.search(text) and goal.kind in _TOUCHED:
        own = {
            _TOUCHED[goal.kind][0],
            "money",
            "payment",
            *(() if goal.kind == "user_address" else ("record",)),
        }
        yield from (match.span() for match in _ATTRIBUTE.finditer(text) if match.lastgroup not in own)


_ATTRIBUTE = re.compile(
    r"(?P<profile>\b(?:default|profile|(?<!paypal )account)\b)|(?P<address>\baddress\w*)|"
    r"(?P<money>\$|\b(?:money|refund|amount|difference|fare|price|sum|total|charge|fee|balance|cost)s?\b)|"
    r"(?P<certificate>\b(?:travel certificate|voucher|compensation)s?\b)|"
    r"(?P<payment>\b(?:payment|method|card|paypal|visa|mastercard|certificate)s?\b)|"
    r"(?P<bags>\b(?:bag|luggage|baggage|suitcase)s?\b)|(?P<insurance>\binsurance\b)|"
    r"(?P<people>\b(?:passenger|travell?er|person|people|name)s?\b)|"
    r"(?P<cabin>\b(?:cabin|class|economy|business(?! days?)|seats?)\b)|(?P<flights>\b(?:flights?|dates?)\b)|"
    r"(?P<record>(?<!future )(?<!next )\b(?:order|reservation|booking|trip|itinerary|ticket)s?\b)|"
    r"(?P<items>\b(?:items?|products?|goods|pieces?)\b)"
)
_TOUCHED: Mapping[str, tuple[str, ...]] = {
    kind: tuple(attributes.split()) for kind, attributes in {
        "cancel": "record items flights money payment people cabin", "return": "items record money payment",
        "exchange": "items record money payment", "modify_items": "items record money payment",
        "order_address": "address record items", "order_payment": "payment money record",
        "user_address": "address profile", "change_flights": "flights record money payment cabin people",
        "change_cabin": "cabin record money payment flights people", "add_bags": "bags items record "
        "money payment",
        "change_passengers": "people record", "compensation": "certificate payment money record profile",
    }.items()
}  # fmt: skip
"""What a right proposal for a kind of goal may act on; what the goal itself changes comes first."""
_NEUTRAL = frozenset(map(stem, re.findall(r"[a-z-]+", (
    "look check verify review see find found pull locate open confirm read list show tell explain send sent "
    "know understand hear ask need have get got receive be stay remain keep leave require help "
    "assist let say "
    "hope thank appreciate want like discuss speak talk begin start recap summarise summarize access search "
    "retrieve identify authenticate go proceed continue share give provide double-check walk note unchanged "
    "untouched affected carried cover include based placed"
))))  # fmt: skip
"""Verbs that change nothing."""
_CUT = re.compile(
    r"[,;:.?!](?=\s|$)| (?:and|or|but|so|if|when|once|because|since|for|from|with|to|on|in|by|as|via|using) "
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|in place of|without) (?:(?:an?|the|your|any|this|that) )?"
)
_PARTLY = re.compile(
    r"\bonly (?:the |one |your )?(?:first|second|last|outbound|half|part|one)(?: of| flight| leg| "
    r"passenger| item| trip)\b|"
    r"\bone (?:passenger|travell?er|person|flight|item) only\b|\bone of the (?:passengers|travell?ers|"
    r"people)\b|"
    r"\bas (?:an? )?(?:store |travel |flight |shop |future )?(?:credit|voucher|coupon|points|miles)\b|"
    r"\bhalf (?:with|on|of|by)\b|(?<!the )(?<!this )(?<!your )\b(?:order|book|buy) (?:it |them )?again\b|"
    r"\b(?:a|one) (?:second|third|further) (?:booking|order|reservation|trip|ticket|one)\b|\bre-?order\b"
)
_ALSO = re.compile(r"\b(?:also|as well|too|in addition|additionally)\b")
_TAKEN = re.compile(
    r"\b(?:take|taking|remove|removing|drop|dropping|leave|leaving)\b ((?:the|your) [^.;:?,]{3,60}?) "
    r"(?:out|off|from)\b(?! of stock)"
)
_MONEY = re.compile(r"\w+ (?:the |your |you )*(?:\$|money|amount|payment|refund|total|sum|price|difference)")
"""After a verb, what is returned is money."""
_VERBS = ("cancel", "return", "exchange", "modify", "book")
_STRONG = ("cancel", "return", "exchange", "book")
_IMPLIED = {
    "order_address": {"exchange"}, "user_address": {"exchange"}, "order_payment": {"exchange", "cancel"},
    "change_flights": {"exchange", "book", "return"}, "change_cabin": {"exchange", "return"},
    "add_bags": {"exchange", "book", "return"}, "change_passengers": {"exchange", "return"},
    "exchange": {"return"}, "modify_items": {"return"}, "book": {"return"}, "compensation": {"exchange"},
}  # fmt: skip
"""Actions whose words a right proposal of a kind of goal may contain: an exchange sends the old item back."""
