"""Decides whether a message reports that the user's goal is done, or answers the user's question."""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.hear.topics import compiled
from nlac_bench.simulators.customer.intent.goals import Goal

_MADE = (
    r"(?:submitted|initiated|requested|processed|complete[d]?|accepted|went through|gone through|set "
    r"up|registered|done|filed|lodged|"
    r"recorded|effected|carried out|did(?= (?:the|your|that|this)\b)|placed|confirmed|received|created|"
    r"started|successful\w*|finali[sz]ed|scheduled|arranged|in place)"
)
_CHANGED = (
    r"(?:(?:update|change|modification)s?(?: of [\w ]{1,20}?)?(?: (?:in|to|for|on) \S+)? "
    r"(?:is|are|was|were|has been|have been) (?:now |already |all )*(?:complete|completed|done|made|"
    r"successful)|"
    r"did(?= (?:the|your|that|this)\b)|amended|recorded|changed|updated|modified|switched|set|saved|"
    r"replaced|swapped|moved|corrected|edited|adjusted|"
    r"(?:is|are) now|now (?:is|are|has|have|shows?|includes?|contains?|comprises?|consists?|holds?|lists?|"
    r"reads?|goes|ships|"
    r"stands))"
)


_RETURN = r"return(?: request)?(?! (?:window|policy|label|period|instructions))"


def _either(noun: str, verb: str) -> str:
    return rf"\b{noun}\b[^.]{{0,240}}\b{verb}\b|\b{verb}\b[^.]{{0,80}}\b{noun}\b"


_DONE = compiled(
    {
        "cancel": rf"\bcancell?ed\b|{_either('cancell?ation', _MADE)}",
        "return": _either(_RETURN, _MADE) + r"|\bbooked in for return\b|\breturned\b(?! to\b)",
        "exchange": (
            rf"{_either('(?:exchange|swap)', _MADE)}|{_either('items?', _CHANGED)}|\b(?:exchanged|"
            r"swapped|replaced)\b"
        ),
        "modify_items": (
            rf"{_either('(?:items?|order|modification|change)', _CHANGED)}|\b(?:exchanged|swapped)\b"
        ),
        "order_address": _either("(?:address|ships|shipping)", _CHANGED)
        + r"|\bwill now be (?:shipped|sent|delivered) to\b|"
        r"(?:\b(?:is|are)|'s) now (?:going|shipping|headed|heading|addressed|on (?:its|their) way) to\b",
        "user_address": _either("address", _CHANGED) + "|" + _either("profile", "(?:updated|changed|saved)"),
        "order_payment": (
            _either("(?:payment|paypal|card|paid)", rf"(?:{_CHANGED}|charged)") + r"|\bis now paid\b"
        ),
        "book": r"\bbooked\b|\bmade (?:the|your|a) (?:new )?(?:booking|reservation)\b|"
        + _either("(?:booking|reservation)", _MADE),
        "change_flights": _either(
            "(?:flights?|itinerary|reservation|booking|trip|outbound|return)",
            rf"(?:{_CHANGED}|rebooked|booked)",
        )
        + r"|\brebooked\b|\byou're confirmed on\b|\bnow booked on\b|\bnow on (?=[a-z]{2,3}\d)",
        "change_cabin": (
            r"\b(?:upgraded|downgraded)\b|\bnow (?:(?:travels?|fly|flies|flying|seated|booked) )?in "
            r"(?:basic|economy|business)\b|"
            rf"{_either('(?:cabin|class|economy|business)', f'(?:{_CHANGED}|are now|is now)')}"
        ),
        "add_bags": _either(
            "(?:bags?|baggage|luggage)", rf"(?:{_CHANGED}|added|increased|raised|now has|now have)"
        ),
        "change_passengers": _either("(?:passengers?|travell?ers?|name)", _CHANGED)
        + r"|\breplace[sd]\b|\bnow (?:travels|flies)\b|"
        r"\bha(?:s|ve) (?:now )?(?:replaced|taken (?:the place|over))\b",
        "compensation": (
            _either("(?:certificate|compensation|voucher)", "(?:sent|issued|added|credited|processed)")
        ),
    }
)
"""The goal's own verb, or its noun with a verb of completion."""
_GENERAL = re.compile(
    r"\b(done|completed?|succe(?:ss|ed)\w*|confirms|executed|handled|all (?:set|sorted)|"
    r"(?:went|gone) through|processed|finished|"
    r"submitted|sorted|requested|"
    r"(?:made|applied|carried out) as (?:discussed|requested|agreed)|"
    r"confirmed|taken care of|in place|(?:is|are|was|were|been) (?:already |now )?made|returned success|"
    r"issued|"
    r"(?:result|status|outcome) (?:is|was|=|:) (?:now )?\W?(?:ok|okay|success)|"
    r"updated|changed|replaced|saved|booked|will now|is now|are now|"
    r"is in|now|on its way|you've been|you're|upgraded|rebooked)\b"
)
_FINISHED = re.compile(r"\b(?:done|completed?|updated|changed|saved|processed|submitted|taken care of)\b")
_ELSEWHERE = re.compile(
    r"\b(?:verif\w+|verification|identity|authenticat\w+|account|profile) \b|\bwindow\b|\bpolicy\b|"
    r"\bloaded\b|\blocated\b"
)
_ASIDE = re.compile(r" \((?=[^()]*[:\d])[^()]*\)")
"""Options, dates or a price in brackets, which stand between a noun and its verb."""
_FLIGHT_CANCELLED = re.compile(r"\bflights?\b(?! reservation)|\bby the airline\b|\bairline (?:has )?cancel")
_TRIP = re.compile(r"\b(?:reservation|booking|trip|itinerary)\b")
_IDS = re.compile(
    r"#? ?w ?\d{5,}|\b(?:credit_card|gift_card|paypal|certificate)_\d+|\b\d{4}-\d\d-\d\d\b|"
    r"\b[a-z]{2,3}\d{3}\b|"
    r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6}\b(?! dollars)|\S+@\S+|\b[a-z]+_[a-z]+_\d{4}\b|"
    r"\bone (?:after (?:the other|another)|by one|at a time)\b|"
    r"\b\d{1,2}:\d\d\b|\bending (?:in|with) \d{4}|"
    r"\b(?:\d+ ?(?:to|-) ?)?\d+ (?:business |working )?(?:days?|hours?|minutes?|bags?|checked|"
    r"passengers?|items?|orders?|agents?|colleagues?|people|policies|rules|steps|[ap]m|"
    r"customers?|"
    r"years?|flights?)\b|"
    r"\bone (?:customer|account|user|person|agent|conversation|order|request|moment|thing|step|second|"
    r"minute|at a time|by one|of|more|last|other|quick|"
    r"question|sec)\b|"
    r"\b(?:this|that|the|which|no|every|each|any|another|number) one\b|"
    r"\b(?:steps?|points?|items?|parts?|phase|page|options?|question|stage|no\.?) (?:\d+|one|two|three"
    r"|four|five)\b"
)
_SUM = re.compile(
    r"\b(?:total|paid|altogether|sum|comes? to|came to|in all|cost|costs|spent|overall|together|"
    r"charged|amount\w*)\b"
)
_OFFERS = re.compile(r"(?:shall|should|may|can|could|would|do) (?:i|we|you)\b.*\?$")
_AMOUNT = re.compile(r"\$ ?[\d,]+(?:\.\d\d)?|\b\d+\.\d\d\b")


def reports_goal(units: Sequence[Unit], goal: Goal) -> bool:
    """Return whether ``units``, which say that something was done, name the goal's own action."""
    if goal.kind == "other":
        words = set(re.findall(r"[a-z]{5,}", goal.question.lower())) - {"about", "report"}
        return any(word in unit.full for unit in units for word in words)
    return any(_reports(_ASIDE.sub("", unit.full), goal) for unit in units)


def reports_something(units: Sequence[Unit]) -> bool:
    """Return whether ``units`` state in general words that what was agreed is done."""
    return any(_GENERAL.search(unit.full) and not _ELSEWHERE.search(unit.full) for unit in units)


def finishes(units: Sequence[Unit]) -> bool:
    """Return whether ``units`` say that anything has been carried out."""
    return any(_FINISHED.search(unit.full) for unit in units)


def _reports(text: str, goal: Goal) -> bool:
    if goal.kind == "cancel" and _FLIGHT_CANCELLED.search(text) and not _TRIP.search(text):
        return False
    return bool(_DONE[goal.kind].search(text)) if goal.kind in _DONE else False


def answers(units: Sequence[Unit], goal: Goal) -> bool:
    """Return whether ``units`` have the form of an answer to the goal's question.

    A list of several amounts does not answer a question about one, unless one of them is said to be the sum.
    """
    units = [unit for unit in units if not _OFFERS.match(unit.text)]
    text = _IDS.sub(" ", "\n".join(unit.text for unit in units))
    if not re.search(goal.answer, text):
        return False
    amounts = set(_AMOUNT.findall(text))
    main = _ASIDE.sub(" ", text)
    if len(amounts) < 2 or (len(set(_AMOUNT.findall(main))) == 1 and re.search(goal.answer, main)):
        return True
    if "\\$" not in goal.answer:  # a number of variants, stated above a list of them with prices
        plain = [_IDS.sub(" ", unit.text) for unit in units if not _AMOUNT.search(unit.text)]
        return any(re.search(goal.answer, sentence) for sentence in plain)
    return any(_AMOUNT.search(unit.text) and _SUM.search(unit.text) for unit in units)
