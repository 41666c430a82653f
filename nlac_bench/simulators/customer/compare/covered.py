"""Finds what in a message the user has not asked for: the default is no, and a yes is earned.

A user agrees to a message only if every unit of it that proposes, charges or states a fact about the user or its
request is covered by the goal, by what the user knows about itself, or by what serving any request involves. A
unit is not covered if it uses words that do not belong to the request (``known``), carries out another action,
charges a fee or an amount that the user knows to be another, or gives a date, a route or a number of travellers
that the record does not have.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from nlac_bench.simulators.counting import NUMBERS
from nlac_bench.simulators.customer.compare.check import states_target
from nlac_bench.simulators.customer.compare.known import Known, stem
from nlac_bench.simulators.customer.hear.actions import ACTIONS, FITTING
from nlac_bench.simulators.customer.hear.asking import WH, WH_START
from nlac_bench.simulators.customer.hear.identity import wants_identity
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.requests import asks_for_value, is_choice
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.intent.goals import AIRPORTS, Goal, GoalKind, Record, Script


@dataclass(frozen=True, slots=True)
class Doubt:
    """A unit that is not covered, and the place in it at which that shows."""

    unit: Unit
    start: int
    end: int


def doubts(heard: MessageReading, goal: Goal, script: Script) -> list[Doubt]:
    """Return the first thing in each unit of a message that nothing covers."""
    known = Known(goal, script)
    record = _record(goal, script)
    decides = heard.confirm or heard.announced or bool(heard.reports)
    rules: tuple[Callable[[str], Iterable[tuple[int, int]]], ...] = (
        known.strange,
        known.strange_acts,
        lambda text: _other_acts(text, goal, script, known),
        lambda text: _charges(text, goal, record),
        lambda text: _facts(text, goal, script, record),
        lambda text: (
            _numbers(text, known, goal.bags)
            if text.endswith("?") or not any(aim in text for aim in aims)
            else ()
        ),
    )
    aims = [
        text.lower() for text in (goal.record, *(thing.product for thing in goal.items), *_aims(goal)) if text
    ]
    found = []
    for unit in heard.parts:
        if _matters(unit, decides) and not (wants_identity(unit.text) and asks_for_value(unit.text)):
            spans = [span for rule in rules for span in rule(unit.text)]
            found += [Doubt(unit, *span) for span in spans[:1]]
    if not found and heard.confirm and goal.kind in _CHANGES:
        found += _keeps(heard, goal, script)
    return found


def puzzles(heard: MessageReading, goal: Goal, script: Script) -> bool:
    """Return whether an open question is about something that the user cannot know."""
    known = Known(goal, script)
    return any(
        _open(unit.text) and (known.strange(unit.text) or _OURS.search(unit.text)) for unit in heard.questions
    )


_OURS = re.compile(
    r"\b(?:which|what|who|how)\b[^?]*\bour\b(?! (?:records|files?|systems?|database|profile|account)\b)"
)
"""Asks about the agent's own house: "which of our warehouses packed your parcel?"."""


def _open(text: str) -> bool:
    return bool(WH_START.match(text) or (text.endswith("?") and WH.search(text)))


def _matters(unit: Unit, decides: bool) -> bool:
    """Return whether a unit commits the user or its money, or says something about the user."""
    text = unit.text
    if _open(text) or (text.endswith("?") and is_choice(text)):
        return False
    if text.endswith("!") and not (_DIGIT.search(text) or _DOES.search(text)):
        return False
    return decides or text.endswith("?") or bool(_DONE.search(text))


_DIGIT = re.compile(r"\d")
_I = r"\b(?:i|we)(?:'ll|'d|'ve|'m|'re| will| would| can| could| shall| should| may| might| must| have| am| are)?\b"
_DOES = re.compile(rf"{_I}|\blet (?:me|us)\b")
_DONE = re.compile(r"\b(?:i|we)(?:'ve| have| just| also| already| now)+ \w+ed\b")


def _keeps(heard: MessageReading, goal: Goal, script: Script) -> Iterator[Doubt]:
    """Yield the unit that leaves everything as it is, in a message that does not state the goal's new values."""
    dates = all(leg.date in heard.text for leg in goal.legs)
    if not (dates and states_target(heard.parts, goal, script)):
        found = [
            Doubt(unit, *match.span()) for unit in heard.parts for match in _KEEP.finditer(unit.text)
            if not (named := set(_DATE.findall(unit.text))) or named - {leg.date for leg in goal.legs}
        ]  # fmt: skip
        yield from found[:1]


def _aims(goal: Goal) -> list[str]:
    """Return the values that ``goal`` changes something to, in lower case."""
    aims = [value for thing in goal.items for value in (thing.wanted or {}).values()]
    aims += [(goal.cabin or "").replace("_", " ")]
    aims += [goal.address["address1"]] if goal.address else []
    aims += [goal.passengers[-1].last_name] if goal.kind == "change_passengers" else []
    return [aim.lower() for aim in aims if aim]


_CHANGES = frozenset({
    "exchange", "modify_items", "order_address", "order_payment", "user_address", "change_flights",
    "change_cabin", "add_bags", "change_passengers",
})  # fmt: skip
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_KEEP = re.compile(
    r"\b(?:leav(?:e|ing)|keep(?:s|ing)?|stay(?:s|ing)?|remain(?:s|ing)?)\b|\bas (?:it|they) (?:is|are|was|were)\b|"
    r"\bnothing (?:\w+ ){0,3}chang\w+|\b(?:not|n't) change\b"
)


# --- other actions ------------------------------------------------------------------------------


def _other_acts(text: str, goal: Goal, script: Script, known: Known) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` acts on something that the goal leaves as it is, or carries out another action."""
    own = {action for other in script.goals for action in FITTING[other.kind]} | _IMPLIED.get(
        goal.kind, set()
    )
    for act in known.acts(text):
        if act.kind != "done":
            for action in _STRONG:
                if action not in own and ACTIONS[action].match(text, act.start):
                    if not _MONEY.match(text, act.start):
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
    goods = [thing.product.lower().split()[-1] for thing in goal.items]
    for match in _TAKEN.finditer(text) if goods else ():
        if not any(name in match[1] for name in goods):
            yield match.span()
    yield from (match.span() for match in _PARTLY.finditer(text))


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
_TOUCHED: Mapping[str, frozenset[str]] = {
    kind: frozenset(attributes.split()) for kind, attributes in {
        "cancel": "record items flights money payment people cabin", "return": "items record money payment",
        "exchange": "items record money payment", "modify_items": "items record money payment",
        "order_address": "address record items", "order_payment": "payment money record",
        "user_address": "address profile", "change_flights": "flights record money payment cabin people",
        "change_cabin": "cabin record money payment flights people", "add_bags": "bags items record money payment",
        "change_passengers": "people record", "compensation": "certificate payment money record profile",
    }.items()
}  # fmt: skip
"""What a right proposal for a kind of goal may act on."""
_NEUTRAL = frozenset(map(stem, (
    "look check verify review see find found pull locate open confirm read list show tell explain send sent know "
    "understand hear ask need have get got receive be stay remain keep leave require help assist let say hope thank "
    "appreciate want like discuss speak talk begin start recap summarise summarize access search retrieve identify "
    "authenticate go proceed continue share give provide double-check walk note unchanged untouched affected "
    "carried cover include based").split()))  # fmt: skip
_CUT = re.compile(
    r"[,;:.?!](?=\s|$)| (?:and|or|but|so|if|when|once|because|since|for|from|with|to|on|in|by|as|via|using) "
)
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|in place of|without) (?:(?:an?|the|your|any|this|that) )?"
)
_PARTLY = re.compile(
    r"\bonly (?:the |one |your )?(?:first|second|last|outbound|half|part|one)(?: of| flight| leg| passenger| item| trip)\b|"
    r"\bone (?:passenger|travell?er|person|flight|item) only\b|\bone of the (?:passengers|travell?ers|people)\b|"
    r"\bas (?:an? )?(?:store |travel |flight |shop |future )?(?:credit|voucher|coupon|points|miles)\b|\bhalf (?:with|on|of|by)\b|\b(?:order|book|buy) again\b|"
    r"\b(?:a|one) (?:second|third|further) (?:booking|order|reservation|trip|ticket|one)\b|\bre-?order\b"
)
_TAKEN = re.compile(
    r"\b(?:take|taking|remove|removing|drop|dropping|leave|leaving)\b ((?:the|your) [^.;:?,]{3,60}?) (?:out|off|from)\b(?! of stock)"
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


# --- money --------------------------------------------------------------------------------------


def _charges(text: str, goal: Goal, record: Record | None) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` names a fee, a percentage, or an amount that the user knows to be another."""
    bags = goal.kind in ("add_bags", "book")
    for match in _FEE.finditer(text):
        around = text[max(0, match.start() - 40) : match.end() + 30]
        if not (_FREE.search(around) or (bags and not _OF_ELSE.search(text))):
            yield match.span()
    role = _ROLES.get(goal.kind)
    for match in _AMOUNT.finditer(text) if role else ():
        around = text[max(0, match.start() - 60) : match.end() + 30]
        known = record is not None and float(match[1].replace(",", "")) in (0.0, *record.amounts)
        if not known and not role.search(around):
            yield match.span()
    right = _amounts(goal, record)
    if not right or not _PAID.search(text):
        return
    for match in _AMOUNT.finditer(text):
        value = float(match[1].replace(",", ""))
        if not any(abs(value - amount) < 0.006 for amount in right):
            yield match.span()


def _amounts(goal: Goal, record: Record | None) -> set[float]:
    """Return the amounts that a cancellation, a return or a change of payment can be about."""
    if record is None or goal.kind not in ("cancel", "return", "order_payment"):
        return set()
    amounts = {0.0, *record.amounts}
    prices = record.amounts[-len(record.items) :] if record.items else ()
    for count in range(2, min(len(prices), 6) + 1):
        amounts |= {sum(some) for some in combinations(prices, count)}
    return amounts


_DIFFERENCE = re.compile(
    r"\b(?:diff\w*|price\w*|refund\w*|back|total|value|fare\w*|more|less|dearer|cheaper|now|instead|vs|compared)\b|->|from|[|]"
)
_ROLES = {
    **dict.fromkeys(("exchange", "modify_items", "change_flights", "change_cabin"), _DIFFERENCE),
    **dict.fromkeys(
        ("order_address", "user_address", "change_passengers"),
        re.compile(r"\btotal|pric|cost|order|\$0|free|fee"),
    ),
    "compensation": re.compile(r"\bcertificate|voucher|amount|worth|value|total|compensat|sum\b"),
}
"""What the amounts in a right proposal of a kind of goal are."""
_AMOUNT = re.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)")
_FEE = re.compile(
    r"\b(?:only|other) half\b|\bhalf (?:of|the)\b|\b(?:handling|service|extra|additional) charges?\b|\b(?:fees?|surcharges?|deposits?|penalt(?:y|ies)|postage|tips?)\b|(?<![:\d] )\b\d+ ?(?:%|percent\b)"
    r"(?! ?[,;)\]])|\b(?:adds?|plus)\b[^.$]{0,12}\$"
)
_FREE = re.compile(r"\b(?:no|without|free|zero|waive\w*|any|never|not|nor|neither)\b|n't\b|\$0\b")
_OF_ELSE = re.compile(r"\b(?:change|changing|booking|service|handling|cancel\w*|seat|modification) fees?\b|%")
_PAID = re.compile(r"\b(?:refund|total|money|back|paid|charged?|amount|return|sum|costs?)\w*\b")


# --- facts --------------------------------------------------------------------------------------


def _facts(text: str, goal: Goal, script: Script, record: Record | None) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` contradicts what the user knows about itself and its record."""
    for match in _BECAUSE.finditer(text):
        if not _own_reason(match[1], goal):
            yield match.span()
    for match in _WHY.finditer(text) if text.endswith("?") and not _CONSENT.search(text) else ():
        if not _own_reason(match[0], goal):
            yield match.span()
    for match in _MEMBER.finditer(text):
        if match[1] != (script.profile.membership or ""):
            yield match.span()
    ends = [(goal.origin, goal.destination)] if goal.origin and goal.destination else []
    if record and record.route:
        ends += [(a, b) for a, b in combinations(record.route, 2)]
        ends += [(b, a) for a, b in ends if record.route[0] == record.route[-1]]
    if ends:
        for match in _ROUTE.finditer(text):
            if (_CODES[match[1]], _CODES[match[2]]) not in ends:
                yield match.span()
    people = len(goal.passengers) or (len(record.passengers) if record else 0)
    if people:
        for match in _PEOPLE.finditer(text):
            count = NUMBERS.index(match[1]) if match[1] in NUMBERS else int(match[1])
            if count != people:
                yield match.span()

    for match in _MAIL.finditer(text):
        if match[0] not in (script.person.email or "", script.profile.email or ""):
            yield match.span()
    for aim in _aims(goal):
        named = "" if aim == (goal.cabin or "").replace("_", " ") else "(?: [a-z]+){0,2}"
        if match := re.search(rf"\b(?:not|rather than|instead of){named} {re.escape(aim)}(?!\w)", text):
            yield match.span()
    if goal.kind == "change_passengers" and record:
        staying = {(one.first_name, one.last_name) for one in goal.passengers}
        for one in record.passengers:
            if (one.first_name, one.last_name) not in staying:
                name = re.escape(f"{one.first_name} {one.last_name}".lower())
                yield from (
                    m.span() for m in re.finditer(rf"{name}(?: \([^()]*\))? (?:keep|stay|remain)", text)
                )
    if goal.kind in _CHANGES:
        yield from (match.span() for match in _LEFT.finditer(text))
    if script.person.user_id:
        yield from (match.span() for match in _LATER.finditer(text))


def _numbers(text: str, known: Known, bags: int | None) -> Iterator[tuple[int, int]]:
    """Yield the numbers and codes in a question that the user does not know, but not amounts or periods."""
    if text.endswith("?"):
        for match in _CODE.finditer(text):
            if not (
                known.says(match[0])
                or _ITEM.fullmatch(match[0])
                or (match[0].isdigit() and len(match[0]) < 2)
            ):
                yield match.span()


_YOURS = re.compile(r"\byou(?:'re| are| have|'ve|r)?\b")
_CODE = re.compile(
    r"(?<![\w$#@./_-])(?:[a-z]{0,3}-?)?\d[\w-]*(?![\w@]|[.,]\d| ?(?:to|-) ?\d| (?:business|working|days|hours|minutes|weeks|steps))"
)
_ITEM = re.compile(r"\d{10}")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LEFT = re.compile(r"\b(?:leave|keep) (?!the\b|it\b|your\b)[^;?]{5,120} as (?:your|the) (?!same)")
_LATER = re.compile(r"\bflights?\b[^.;?]{0,30}\b(?:day|hour|week)s? (?:later|earlier)\b")


def _own_reason(clause: str, goal: Goal) -> bool:
    """Return whether a reason that is ascribed to the user is the one that it gives."""
    own = {stem(word) for word in re.findall(r"[a-z]{3,}", f"{goal.reason} {goal.question}".lower())}
    said = {stem(word) for word in re.findall(r"[a-z]{3,}", clause)} - {"you", "your", "the", "for"}
    return bool(own & said) or bool(_ASKED.search(clause))


_BECAUSE = re.compile(
    r"\b(?:because(?: of)?|since|due to|on account of) "
    r"((?:(?:the|your|it|this|that|item|items|product|parcel)\b[^,;.?]*\b(?:broken|damaged|late|wrong|defective|faulty|small|big|"
    r"large|cheap\w*|better|new)\b|you\b|you're\b|you've\b|you'd\b)[^,;.?]*)"
)
_CONSENT = re.compile(r"\b(?:do you want me|shall|should|may) (?:to|i)\b")
_WHY = re.compile(r"\b(?:because(?: of)?|that's why|the reason (?:is|being))\b[^,;.?]*")
_ASKED = re.compile(
    r"\byou(?:'d|'ve|'re)? (?:\w+ )?(?:ask|request|want|wish|told|said|confirm|agre|like|need|prefer|chose|gave|decid|pick|"
    r"mention|still|have already|had|can|may|will|are (?:a|the))\w*|\byou (?:have|hold|are) (?:an? |the )?(?:business|economy|basic|insur|regular|silver|gold|already|order|one|two|three|\d)"
)
_MEMBER = re.compile(
    r"\b(regular|bronze|silver|gold|platinum|diamond|elite|premium|vip)(?: \w+)? (?:member|status)\w*"
)
_CODES = {code.lower(): code for code in AIRPORTS} | {city.lower(): code for code, city in AIRPORTS.items()}
_PLACE = "|".join(sorted(_CODES, key=len, reverse=True))
_ROUTE = re.compile(rf"\b({_PLACE}) ?(?:\([a-z]{{3}}\) ?)?(?:->|to|-)(?: \b|\b)({_PLACE})\b")
_PEOPLE = re.compile(rf"\b(\d|{'|'.join(NUMBERS[1:10])}) (?:passengers|travell?ers|people|persons|adults)\b")


def _record(goal: Goal, script: Script) -> Record | None:
    """Return the order or trip of ``goal``, also if the user only describes it."""
    for row in script.profile.records:
        if row.id == goal.record:
            return row
        if not goal.record and goal.hint:
            if any(goal.hint.endswith(f"with the {thing.product}") for thing in row.items):
                return row
            if row.route and goal.hint.endswith(f"from {row.route[0]} to {row.route[-1]}"):
                return row
    return None
