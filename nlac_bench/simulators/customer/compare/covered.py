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
from nlac_bench.simulators.customer.compare.known import Known
from nlac_bench.simulators.customer.hear.actions import ACTIONS, FITTING
from nlac_bench.simulators.customer.hear.asking import WH, WH_START
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.requests import is_choice
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
        lambda text: _other_acts(text, goal, script),
        lambda text: _charges(text, goal, record),
        lambda text: _facts(text, goal, script, record),
        lambda text: _numbers(text, known),
    )
    found = []
    for unit in heard.parts:
        if _matters(unit, decides):
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
            if not any(leg.number.lower() in unit.text and leg.date in unit.text for leg in goal.legs)
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
_KEEP = re.compile(
    r"\b(?:leav(?:e|ing)|keep(?:s|ing)?|stay(?:s|ing)?|remain(?:s|ing)?)\b|\bas (?:it|they) (?:is|are|was|were)\b|"
    r"\bnothing (?:\w+ ){0,3}chang\w+|\b(?:not|n't) change\b"
)


# --- other actions ------------------------------------------------------------------------------


def _other_acts(text: str, goal: Goal, script: Script) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` carries out an action that no goal of the user asks for."""
    own = {action for other in script.goals for action in FITTING[other.kind]} | _IMPLIED.get(
        goal.kind, set()
    )
    for act in _ACTS.finditer(text):
        if _NEGATED.search(text, 0, act.start()):
            continue
        for action in _STRONG:
            if action not in own and (match := ACTIONS[action].match(text, act.end())):
                if not _MONEY.match(text, act.end()):
                    yield match.span()
    for match in _ADDED.finditer(text):
        if _ATTRIBUTES.get(match[1].rstrip("s"), ()) and goal.kind not in _ATTRIBUTES[match[1].rstrip("s")]:
            yield match.span()
    own_goods = {thing.product.lower() for thing in goal.items}
    for match in _TAKEN.finditer(text) if own_goods else ():
        if not any(name.split()[-1] in match[1] for name in own_goods):
            yield match.span()


_ADDED = re.compile(
    r"\b(?:add(?:ed|ing)?|includ(?:e|ed|ing)|throw(?:ing)? in|buy|bought|put(?:ting)?)\b(?: (?!no\b|not\b)[\w-]+){0,3}? "
    r"(insurance|bags?|passengers?|travellers?|persons?|seats?)\b(?! (?:is|are|was|stay))"
)
_ATTRIBUTES: Mapping[str, frozenset[GoalKind]] = {
    "insurance": frozenset({"book"}), "bag": frozenset({"book", "add_bags"}),
    "passenger": frozenset({"book", "change_passengers"}), "traveller": frozenset({"book", "change_passengers"}),
    "person": frozenset({"book", "change_passengers"}), "seat": frozenset({"book", "change_flights"}),
}  # fmt: skip
_TAKEN = re.compile(
    r"\b(?:take|taking|remove|removing|drop|dropping|leave|leaving)\b ([^.;:?,]{3,60}?) (?:out|off|from)\b(?! of stock)"
)

_MONEY = re.compile(r"\w+ (?:the |your |you )*(?:\$|money|amount|payment|refund|total|sum|price|difference)")
"""After a verb, what is returned is money."""
_STRONG = ("cancel", "return", "exchange", "book")
_IMPLIED = {
    "order_address": {"exchange"}, "user_address": {"exchange"}, "order_payment": {"exchange", "cancel"},
    "change_flights": {"exchange", "book", "return", "cancel"}, "change_cabin": {"exchange", "book", "return"},
    "add_bags": {"exchange", "book", "return"}, "change_passengers": {"exchange", "book", "return"},
    "exchange": {"return"}, "modify_items": {"return"}, "book": {"return"}, "compensation": {"exchange"},
}  # fmt: skip
"""Actions whose words a right proposal of a kind of goal may contain: an exchange sends the old item back."""
_ACTS = re.compile(
    r"\b(?:(?:i|we)(?:'ll|'d| will| would| can| could| shall| am going to|'m going to)|(?:shall|should|may|can) i"
    r"|want me to|like me to|let me|and|then)(?: (?:also|then|now|just|go ahead and|\w+ly))* "
)
_NEGATED = re.compile(r"\b(?:not|never|cannot|nor|without|unless|if|once|after)\b|n't\b")


# --- money --------------------------------------------------------------------------------------


def _charges(text: str, goal: Goal, record: Record | None) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` names a fee, a percentage, or an amount that the user knows to be another."""
    bags = goal.kind in ("add_bags", "book")
    for match in _FEE.finditer(text):
        around = text[max(0, match.start() - 40) : match.end() + 30]
        if not (_FREE.search(around) or (bags and not _OF_ELSE.search(text))):
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


def _numbers(text: str, known: Known) -> Iterator[tuple[int, int]]:
    """Yield the numbers and codes in a question that the user does not know, but not amounts or periods."""
    if text.endswith("?"):
        for match in _CODE.finditer(text):
            if not (
                known.says(match[0])
                or _ITEM.fullmatch(match[0])
                or (match[0].isdigit() and len(match[0]) < 2)
            ):
                yield match.span()


_CODE = re.compile(
    r"(?<![\w$#@./_-])(?:[a-z]{0,3}-?)?\d[\w-]*(?![\w@]|[.,]\d| ?(?:to|-) ?\d| (?:business|working|days|hours|minutes|weeks|steps))"
)
_ITEM = re.compile(r"\d{10}")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LEFT = re.compile(r"\b(?:leave|keep) (?!the\b|it\b|your\b)[^;?]{5,120} as (?:your|the) (?!same)")
_LATER = re.compile(r"\bflights?\b[^.;?]{0,30}\b(?:day|hour|week)s? (?:later|earlier)\b")
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
