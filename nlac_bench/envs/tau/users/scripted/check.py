"""Compares what an agent proposes or reports with what the user wants, slot by slot.

Only the agent's message is compared with what the user knows; nothing is compared with gold calls. A slot
that is not mentioned does not cause an objection.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from nlac_bench.envs.tau.users.scripted.goods import wrong_items, wrong_options
from nlac_bench.envs.tau.users.scripted.intent import Goal, Payment, Person, Script

REASONS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in (
        ("ordered by mistake", r"\bmistake|\baccident|\berror\b|\bunintention"),
        ("no longer needed", r"\bno longer (need|want|requir)|\b(not|n't) (need|want)|\bunneeded"),
        ("health", r"\bhealth|\bsick|\bill(ness)?\b|\bmedical"),
        ("weather", r"\bweather|\bstorm|\bsnow"),
        ("change of plans", r"\bchange of plan|\bplans? (have |has )?changed|\bchanged? (my|your|the) plan"),
        ("airline", r"\bairline (has )?cancel|\bcancel\w* by the airline|\bflight was cancel"),
    )
}  # fmt: skip

ACTIONS: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in (
        ("cancel", r"\bcancel|\bcall(ed|ing)? off|\bvoid"),
        ("return", r"\breturn(?! (flight|trip|leg|date))|\bsen[dt](ing)? (it |them )?back|\bgive back"),
        ("exchange", r"\bexchang|\bswap|\breplac|\btrade"),
        ("modify", r"\bmodif|\bchang|\bupdat|\bswitch|\bedit|\badjust|\bamend|\bmov(e|ed|ing)\b|\bset\b"),
        ("address", r"\baddress|\b(ship|deliver|sent|send)\w* to\b"),
        (
            "payment",
            r"\bpa(y|id|yment|ying)\b|\bcharg|"
            r"\b(to|with|on|use|using) (the |your |my )?(visa|mastercard|paypal|gift|credit)",
        ),
        ("book", r"\bbook(ed|ing)?\b(?! (id|number|code|ref))|\breserve\b|\bpurchas"),
        ("flights", r"\bflights?\b|\bitinerary|\brebook"),
        ("cabin", r"\bcabin|\bclass\b|\bupgrad|\bdowngrad|\beconomy|\bbusiness"),
        ("bags", r"\bbags?\b|\bbaggages?\b|\bluggage|\bsuitcase"),
        ("passengers", r"\bpassenger|\btravell?er|\bname\b"),
        ("compensation", r"\bcertificate|\bcompensat|\bvoucher"),
    )
}  # fmt: skip

FITTING: Mapping[str, tuple[str, ...]] = {
    "cancel": ("cancel",),
    "return": ("return",),
    "exchange": ("exchange", "modify"),
    "modify_items": ("modify", "exchange"),
    "order_address": ("address",),
    "user_address": ("address",),
    "order_payment": ("payment",),
    "book": ("book",),
    "change_flights": ("flights", "modify"),
    "change_cabin": ("cabin",),
    "add_bags": ("bags",),
    "change_passengers": ("passengers",),
    "compensation": ("compensation",),
    "other": (),
    "ask": (),
}
"""Words that can name the action of a goal of that kind."""
_DECISIVE = ("cancel", "return", "exchange", "modify", "book", "compensation")

_RETAIL_ID = re.compile(r"#? ?w ?(\d{5,})\b")
_FLIGHT_ID = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6}\b")
_PAYMENT_ID = re.compile(r"\b(?:credit_card|gift_card|paypal|certificate)_\d+")
_LAST_FOUR = re.compile(r"\b(?:ending|ends|last four|last 4)(?: digits)?(?: in| with| are|:)? ?\**(\d{4})\b")
_ZIP = re.compile(r"(?<![\d_#w-])\d{5}\b(?!-)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_FLIGHT_NUMBER = re.compile(r"\b[a-z]{2,3}\d{3}\b")
_DATED = re.compile(r"\b([a-z]{2,3}\d{3})\b[^\n;,]{0,25}?(\d{4}-\d\d-\d\d)")
_SOURCES: Mapping[str, re.Pattern[str]] = {
    "paypal": re.compile(r"\bpay ?pal\b"),
    "gift_card": re.compile(r"\bgift ?cards?\b|\bgift_card"),
    "credit_card": re.compile(r"\bcredit ?cards?\b|\bcredit_card|\bvisa\b|\bmaster ?card\b"),
    "certificate": re.compile(r"\bcertificates?\b"),
}
_CABIN = {
    "basic_economy": re.compile(r"\bbasic[ _-]economy\b"),
    "economy": re.compile(r"(?<!basic )(?<!basic_)(?<!basic-)\beconomy\b"),
    "business": re.compile(r"\bbusiness\b"),
}
_CARDINALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


_BAGS = re.compile(rf"\b(\d{{1,2}}|no|{'|'.join(_CARDINALS)}) ((?:[a-z-]+ ){{0,2}}?)(?:bag|luggage|suitcase)")
_MORE = re.compile(r"more|additional|extra|further|other")


def objections(text: str, goal: Goal, script: Script, current: int) -> list[str]:
    """Return the topics on which ``text`` (normalised) contradicts ``goal``; empty if there are none.

    ``current`` is the goal's index in ``script``; values of the user's other goals are not contradictions.
    """
    wrong = []
    others = [other for i, other in enumerate(script.goals) if i != current]
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("kind", lambda: _wrong_kind(text, goal)),
        ("record", lambda: _wrong_record(text, goal, others)),
        ("reason", lambda: _wrong_reason(text, goal)),
        ("items", lambda: wrong_items(text, goal, script, others)),
        ("options", lambda: wrong_options(text, goal, script)),
        ("payment", lambda: _wrong_payment(text, goal)),
        ("address", lambda: _wrong_address(text, goal)),
        ("cabin", lambda: _wrong_cabin(text, goal)),
        ("flights", lambda: _wrong_flights(text, goal)),
        ("bags", lambda: _wrong_bags(text, goal)),
        ("passengers", lambda: _wrong_passengers(text, goal, script.person)),
        ("insurance", lambda: _wrong_insurance(text, goal)),
    )
    for topic, check in checks:
        if check():
            wrong.append(topic)
    return wrong


def fits(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names the goal's kind of action."""
    if goal.address and goal.address["address1"].lower() in text:
        return True
    if goal.kind == "order_payment" and goal.payment and goal.payment.id in text:
        return True
    if goal.kind == "change_passengers" and goal.passengers[-1].last_name.lower() in text:
        return True
    return any(ACTIONS[action].search(text) for action in FITTING[goal.kind])


def names_action(text: str) -> bool:
    """Return whether ``text`` names an action that changes the database."""
    return any(ACTIONS[action].search(text) for action in (*_DECISIVE, "address", "cabin", "bags"))


def known_slots(text: str, goal: Goal) -> bool:
    """Return whether ``text`` states at least one of the goal's values, so that a bare "yes" is safe."""
    spots: list[str] = [goal.record or "", goal.reason or "", goal.cabin or ""]
    spots += [thing.product.split()[-1] for thing in goal.items]
    spots += [leg.number for leg in goal.legs] + [person.last_name for person in goal.passengers]
    if goal.address:
        spots.append(goal.address["address1"])
    if goal.payment:
        spots += [goal.payment.id, goal.payment.source.replace("_", " ")]
    return any(spot and spot.lower() in text for spot in spots)


def _wrong_kind(text: str, goal: Goal) -> bool:
    if goal.kind == "other":
        return False
    if goal.kind == "ask":
        return any(ACTIONS[action].search(text) for action in ("cancel", "return", "exchange", "modify"))
    if goal.kind == "order_address" and re.search(r"\b(default|profile|account) address", text):
        return "order" not in text
    if goal.kind == "user_address" and _RETAIL_ID.search(text):
        return not re.search(r"\b(default|profile|account|your address|user)\b", text)
    return not fits(text, goal) and any(ACTIONS[action].search(text) for action in _DECISIVE)


def _wrong_record(text: str, goal: Goal, others: Sequence[Goal]) -> bool:
    if goal.record is None:
        return False
    if goal.record.startswith("#"):
        found = {f"#w{digits}" for digits in _RETAIL_ID.findall(text)}
    else:
        codes = _PAYMENT_ID.sub(" ", text)
        found = {code for code in _FLIGHT_ID.findall(codes) if not _FLIGHT_NUMBER.fullmatch(code)}
    return bool(
        found - {goal.record.lower()} - {other.record.lower() for other in others if other.record}
    ) or (bool(found) and goal.record.lower() not in found)


def _wrong_reason(text: str, goal: Goal) -> bool:
    if goal.kind != "cancel" or not goal.reason:
        return False
    said = {name for name, pattern in REASONS.items() if pattern.search(text)}
    own = {
        name
        for name, pattern in REASONS.items()
        if name == goal.reason or pattern.search(goal.reason.lower())
    }
    return bool(said) and bool(own) and not said & own


def _wrong_payment(text: str, goal: Goal) -> bool:
    paid = goal.payment
    if paid is None:
        return False
    if goal.kind == "order_payment":
        text = _after_to(text)
    ids = set(_PAYMENT_ID.findall(text))
    if ids:
        return paid.id not in ids or (len(ids) > 1 and goal.kind not in ("order_payment", "book"))
    fours = set(_LAST_FOUR.findall(text))
    if fours and paid.source == "credit_card" and paid.last_four:
        return paid.last_four not in fours
    said = {source for source, pattern in _SOURCES.items() if pattern.search(text)}
    if said:
        return paid.source not in said or (len(said) > 1 and goal.kind == "return")
    return _elsewhere(text, paid)


def _elsewhere(text: str, paid: Payment) -> bool:
    return not paid.original and bool(re.search(r"\boriginal (payment|method|form|card)", text))


def _wrong_address(text: str, goal: Goal) -> bool:
    if not goal.address:
        return False
    place = {key: _short(value.lower()) for key, value in goal.address.items()}
    flat = _short(text)
    zips = set(_ZIP.findall(flat))
    number, _, name = place["address1"].partition(" ")
    if not re.search(rf"(?<![\w-]){re.escape(place['address1'])}\b", flat):
        return bool(zips) or bool(re.search(rf"\b(\d+ {re.escape(name)}|{number} [a-z]+ (st|rd|ln))\b", flat))
    unit = re.search(r"\b(?:apt|unit|suite|apartment) (\d+)\b", flat)
    if unit and unit[1] not in place["address2"].split():
        return True
    if not zips:
        return False
    state = re.search(rf"\b([a-z]{{2}}) {place['zip']}", flat)
    return (
        place["zip"] not in zips
        or place["city"] not in flat
        or place["address2"] not in flat
        or (state is not None and state[1] != place["state"])
    )


def _short(text: str) -> str:
    """Return an address without punctuation and with postal abbreviations."""
    return _STREETS.sub(lambda found: _ABBREVIATED[found[0]], re.sub(r"[,.\n#]+ ?| +", " ", text))


_ABBREVIATED = {
    "street": "st", "road": "rd", "lane": "ln", "avenue": "ave", "drive": "dr", "court": "ct", "place": "pl",
    "square": "sq", "apartment": "apt", "boulevard": "blvd",
}  # fmt: skip
_STREETS = re.compile(rf"\b({'|'.join(_ABBREVIATED)})\b")


def _wrong_cabin(text: str, goal: Goal) -> bool:
    if goal.cabin is None:
        return False
    text = _after_to(text) if goal.kind == "change_cabin" else text
    said = {cabin for cabin, pattern in _CABIN.items() if pattern.search(text)}
    return bool(said) and goal.cabin not in said


def _wrong_flights(text: str, goal: Goal) -> bool:
    if not goal.legs:
        return False
    target = _after_to(text) if goal.kind == "change_flights" else text
    dated = dict(_DATED.findall(target))
    if any(dated.get(leg.number.lower(), leg.date) != leg.date for leg in goal.legs):
        return True
    numbers = set(_FLIGHT_NUMBER.findall(target))
    wanted = {leg.number.lower() for leg in goal.legs}
    if numbers and not wanted <= numbers:
        return True
    if goal.kind == "book" and numbers - wanted:
        return True
    dates = set(_DATE.findall(target)) - {person.dob for person in goal.passengers}
    return bool(dates) and not {leg.date for leg in goal.legs} <= dates


def _wrong_bags(text: str, goal: Goal) -> bool:
    if goal.bags is None:
        return False
    said: set[int] = set()
    for count, more in _BAGS.findall(text):
        if not _MORE.search(more):  # "two more bags" does not state the total number
            said.add(0 if count == "no" else _CARDINALS.index(count) if count in _CARDINALS else int(count))
    for count in re.findall(r"\b(?:bags?|baggages?|luggage)(?: in all| in total)?: ?(\d{1,2})\b", text):
        said.add(int(count))
    return goal.bags not in said if said else False


def _wrong_passengers(text: str, goal: Goal, person: Person) -> bool:
    if not goal.passengers:
        return False
    births = set(_DATE.findall(text)) - {leg.date for leg in goal.legs}
    births = {date for date in births if date < "2020"}
    named = [p for p in goal.passengers if p.last_name.lower() in text and p.first_name.lower() in text]
    if births - {p.dob for p in goal.passengers}:
        return True
    if named and len(named) < len(goal.passengers):
        return True
    return bool(births) and not named


def _wrong_insurance(text: str, goal: Goal) -> bool:
    if goal.insurance is None or "insurance" not in text:
        return False
    without = bool(
        re.search(
            r"\b(no|without|not|decline\w*|n't)\b[^.\n]{0,25}insurance|"
            r"insurance\b[: ]*(no|none|not|declined)\b",
            text,
        )
    )
    return without == (goal.insurance == "yes")


def _after_to(text: str) -> str:
    """Return ``text`` without the old values: ``from A to B`` is read as B."""
    text = re.sub(r"\bfrom\b[^.\n]*?\b(?=to\b)", " ", text)
    return re.sub(r"\b(instead of|rather than|currently|current|original|old|previous)\b[^.,;\n]*", " ", text)
