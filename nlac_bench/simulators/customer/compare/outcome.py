"""Decides whether a message reports that the user's goal is done, or answers the user's question."""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.hear.topics import compiled
from nlac_bench.simulators.customer.intent.goals import Goal

_MADE = (
    r"(?:submitted|initiated|requested|processed|complete[d]?|went through|gone through|set up|registered|"
    r"done|filed|lodged|recorded|confirmed|successful\w*)"
)
_CHANGED = (
    r"(?:did(?= (?:the)\b)|changed|updated|modified|switched|saved|replaced|moved|(?:is|are) now|now (?:is|"
    r"are|has|shows?|includes?|contains?))"
)


_RETURN = r"return(?: request)?(?! (?:label))"


def _either(noun: str, verb: str) -> str:
    return rf"\b{noun}\b[^.]{{0,240}}\b{verb}\b|\b{verb}\b[^.]{{0,80}}\b{noun}\b"


_DONE = compiled(
    {
        "cancel": rf"\bcancell?ed\b|{_either('cancell?ation', _MADE)}",
        "return": _either(_RETURN, _MADE) + r"",
        "exchange": (rf"{_either('(?:exchange|swap)', _MADE)}|\b(?:exchanged|replaced)\b"),
        "modify_items": (rf"{_either('(?:items?|order|modification|change)', _CHANGED)}"),
        "order_address": _either("(?:address|ships|shipping)", _CHANGED)
        + r"|\bwill now be (?:delivered) to\b|(?:\b(?:is)) now (?:going) to\b",
        "user_address": _either("address", _CHANGED) + "|" + _either("profile", r"(?:updated|changed)"),
        "order_payment": (_either(r"(?:payment|paypal|card)", rf"(?:{_CHANGED})") + r""),
        "book": r"\bbooked\b|" + _either(r"(?:booking)", _MADE),
        "change_flights": _either(
            r"(?:flights?|itinerary|reservation|booking|return)",
            rf"(?:{_CHANGED}|rebooked)",
        )
        + r"|\brebooked\b|\bnow booked on\b|\bnow on (?=[a-z]{2,3}\d)",
        "change_cabin": (rf"{_either('(?:cabin|class|economy|business)', f'(?:{_CHANGED}|are now|is now)')}"),
        "add_bags": _either(r"(?:bags?|baggage)", rf"(?:{_CHANGED}|added|increased)"),
        "change_passengers": _either(r"(?:passengers?)", _CHANGED) + r"|\breplace[sd]\b" + r"",
        "compensation": (_either(r"(?:certificate)", r"(?:sent|issued)")),
    }
)
"""The goal's own verb, or its noun with a verb of completion."""
_GENERAL = re.compile(
    r"\b(done|completed?|succe(?:ss|ed)\w*|confirms|executed|all (?:set)|(?:went|gone) through|processed|"
    r"finished|submitted|requested|taken care of|(?:is|been) (?:already )?made|issued|updated|saved|"
    r"will now|is now|is in|now|you've been)\b"
)
_FINISHED = re.compile(r"\b(?:done)\b")
_ELSEWHERE = re.compile(r"\b(?:verif\w+|identity|profile) \b")
_ASIDE = re.compile(r" \((?=[^()]*[:\d])[^()]*\)")
"""Options, dates or a price in brackets, which stand between a noun and its verb."""
_FLIGHT_CANCELLED = re.compile(r"\bby the airline\b")
_TRIP = re.compile(r"\b(?:reservation|booking|trip|itinerary)\b")
_IDS = re.compile(
    r"#? ?w ?\d{5,}|\S+@\S+|\b(?:\d+ ?(?:-) ?)?\d+ (?:working )?(?:policies)\b|\bone (?:request)\b|"
    r"\b(?:steps?) (?:\d+)\b"
)
_SUM = re.compile(
    r"\b(?:total|paid|altogether|sum|comes? to|came to|in all|cost|costs|spent|overall|together|"
    r"charged|amount\w*)\b"
)
_OFFERS = re.compile(r"(?:could|do) (?:you)\b.*\?$")
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
