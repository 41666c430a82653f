"""Compares the money and the facts in a sentence with what the user knows about itself and its request."""

import re
from collections.abc import Iterator
from itertools import combinations
from string import ascii_lowercase

from nlac_bench.simulators.counting import NUMBERS
from nlac_bench.simulators.customer.compare.known import Known, stem
from nlac_bench.simulators.customer.hear.actions import REASONS
from nlac_bench.simulators.customer.intent.goals import AIRPORTS, Goal, Record, Script


def charges(text: str, goal: Goal, record: Record | None) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` names a fee, a percentage, or an amount that the user knows to be another."""
    bags = goal.kind in ("add_bags", "book")
    for match in _FEE.finditer(text):
        around = text[max(0, match.start() - 40) : match.end() + 30]
        if not (_FREE.search(around) or (bags and not _OF_ELSE.search(text))):
            yield match.span()
    role = _ROLES.get(goal.kind)
    for match in _AMOUNT.finditer(text) if role is not None else ():
        around = text[max(0, match.start() - 60) : match.end() + 30]
        known = record is not None and float(match[1].replace(",", "")) in (0.0, *record.amounts)
        paid = goal.payment is not None and any(
            word in text
            for word in (*aims(goal), goal.payment.id, goal.payment.words.lower().removeprefix("my "))
        )
        if not (known or paid or (role and role.search(around))):
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
    if record is None or not record.amounts or goal.kind not in ("cancel", "return", "order_payment"):
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
    **dict.fromkeys(("change_flights", "change_cabin"), _DIFFERENCE),
    **dict.fromkeys(
        ("order_address", "user_address", "change_passengers"),
        re.compile(r"\btotal|pric|cost|order|\$0|free|fee"),
    ),
    "compensation": re.compile(r"\bcertificate|voucher|amount|worth|value|total|compensat|sum\b"),
}
"""What the amounts in a right proposal of a kind of goal are."""
_AMOUNT = re.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)")
_FEE = re.compile(
    r"\b(?:only|other) half\b|\bhalf (?:of|the)\b|\b(?:handling|service|extra|additional) charges?\b|"
    r"\b(?:fees?|surcharges?|deposits?|penalt(?:y|ies)|postage|tips?)\b|(?<![:\d] )\b\d+ ?(?:%|percent\b)"
    r"(?! ?[,;)\]])|\b(?:adds?|plus)\b[^.$]{0,12}\$"
)
_FREE = re.compile(r"\b(?:no|without|free|zero|waive\w*|any|never|not|nor|neither)\b|n't\b|\$0\b")
_OF_ELSE = re.compile(r"\b(?:change|changing|booking|service|handling|cancel\w*|seat|modification) fees?\b|%")
_PAID = re.compile(r"\b(?:refund|total|money|back|paid|charged?|amount|return|sum|costs?)\w*\b")


USER_ID = re.compile(r"\b(?!credit_card|gift_card|paypal|certificate)[a-z]+_[a-z]+_\d{3,}\b")
"""A user id of τ-bench, such as ``ada_lang_1234``."""


def facts(text: str, goal: Goal, script: Script, record: Record | None) -> Iterator[tuple[int, int]]:
    """Yield where ``text`` contradicts what the user knows about itself and its record."""
    for match in _BECAUSE.finditer(text):
        if not _own_reason(match[1], goal):
            yield match.span()
    for match in _WHY.finditer(text) if text.endswith("?") and not _CONSENT.search(text) else ():
        if not _own_reason(match[0], goal):
            yield match.span()
    for match in _MEMBER.finditer(text):
        if script.profile.membership not in (None, match[1]):
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
    for match in USER_ID.finditer(text):
        name = f"{script.person.first_name}_{script.person.last_name}_".lower()
        if match[0] != script.person.user_id if script.person.user_id else not match[0].startswith(name):
            yield match.span()
    for aim in aims(goal):
        named = "" if aim == (goal.cabin or "").replace("_", " ") else "(?: [a-z]+){0,2}"
        denied = rf"\b(?:not|rather than|instead of){named} {re.escape(aim)}(?!\w)"
        yield from (match.span() for match in re.finditer(denied, text))
    if goal.kind == "change_passengers" and record:
        staying = {(one.first_name, one.last_name) for one in goal.passengers}
        for one in record.passengers:
            if (one.first_name, one.last_name) not in staying:
                name = re.escape(f"{one.first_name} {one.last_name}".lower())
                yield from (
                    m.span() for m in re.finditer(rf"{name}(?: \([^()]*\))? (?:keep|stay|remain)", text)
                )
    yield from (match.span() for match in _LEFT.finditer(text))
    if script.person.user_id:
        yield from (match.span() for match in _LATER.finditer(text))


def numbers(text: str, goal: Goal, known: Known) -> Iterator[tuple[int, int]]:
    """Yield the numbers and codes, except amounts and periods, that are said of the user and that it lacks.

    A sentence that names the goal's own values is a proposal, whose values are compared elsewhere.
    """
    own = [goal.record or "", *(thing.product for thing in goal.items), *aims(goal)]
    asks = text.endswith("?")
    if not asks and (any(value.lower() in text for value in own if value) or not _YOURS.search(text)):
        return
    for match in _CODE.finditer(text):
        plain = match[0].isdigit() and (len(match[0]) < 2 or match[0] == str(goal.bags))
        known_code = known.says(match[0]) or known.says(match[0].lstrip(f"-{ascii_lowercase}"))
        if not (plain or known_code or ITEM.fullmatch(match[0])):
            yield match.span()


def aims(goal: Goal) -> list[str]:
    """Return the values that ``goal`` changes something to, in lower case."""
    values = [value for thing in goal.items for value in (thing.wanted or {}).values()]
    values += [(goal.cabin or "").replace("_", " ")]
    values += [goal.address["address1"]] if goal.address else []
    values += [goal.passengers[-1].last_name] if goal.kind == "change_passengers" else []
    return [value.lower() for value in values if value]


def names_aim(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names one of ``aims`` as whole words: the size "l" is not part of "all"."""
    return any(re.search(rf"(?<!\w){re.escape(aim)}(?!\w)", text) for aim in aims(goal))


_YOURS = re.compile(r"\byou(?:'re| are| have|'ve)\b(?! right)")
_CODE = re.compile(
    r"(?<![\w$#@./_-])(?:[a-z]{0,3}-?)?\d[\w-]*(?![\w@]|[.,]\d| ?(?:to|-) ?\d| (?:business|working|"
    r"days|hours|minutes|weeks|steps))"
)
ITEM = re.compile(r"\b\d{10}\b")
"""The id of an item, which the user does not know."""
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_LEFT = re.compile(r"\b(?:leave|keep) (?!the\b|it\b|your\b)[^;?]{5,120} as (?:your|the) (?!same)")
_LATER = re.compile(r"\bflights?\b[^.;?]{0,30}\b(?:day|hour|week)s? (?:later|earlier)\b")


def _own_reason(clause: str, goal: Goal) -> bool:
    """Return whether a reason that is ascribed to the user is the one that it gives."""
    own = {stem(word) for word in re.findall(r"[a-z]{3,}", f"{goal.reason} {goal.question}".lower())}
    said = {stem(word) for word in re.findall(r"[a-z]{3,}", clause)} - _COMMON
    alike = any(rule.search(clause) and rule.search((goal.reason or "").lower()) for rule in REASONS.values())
    return bool(own & said) or alike or bool(_ASKED.search(clause))


_BECAUSE = re.compile(
    r"\b(?:because(?: of)?|since|due to|on account of) "
    r"((?:(?:the|your|it|this|that|item|items|product|parcel)\b[^,;.?]*\b(?:broken|damaged|late|wrong|defective|faulty|small|big|"
    r"large|cheap\w*|better|new)\b|you\b|you're\b|you've\b|you'd\b)[^,;.?]*)"
)
_CONSENT = re.compile(r"\b(?:do you want me|shall|should|may) (?:to|i)\b")
_WHY = re.compile(r"\b(?:because(?: of)?|that's why|the reason (?:is|being))\b[^,;.?]*")
_COMMON = frozenset(map(stem, ("you", "your", "the", "for", "have", "has", "are", "was", "one", "its")))
_ASKED = re.compile(
    r"\byou(?:'d|'ve|'re)? (?:\w+ )?(?:ask|request|paid|want|wish|told|said|confirm|agre|like|need|"
    r"prefer|chose|gave|decid|pick|"
    r"mention|still|have already|had|can|may|will|are (?:a|the))\w*|\byou(?:'re| have| hold| are) (?:an? |"
    r"the )?(?:business|economy|basic|insur|regular|silver|gold|already|order|one|two|three|\d)"
)
_MEMBER = re.compile(
    r"\b(regular|bronze|silver|gold|platinum|diamond|elite|premium|vip)(?: \w+)? (?:member|status)\w*"
)
_CODES = {code.lower(): code for code in AIRPORTS} | {city.lower(): code for code, city in AIRPORTS.items()}
_PLACE = "|".join(sorted(_CODES, key=len, reverse=True))
_ROUTE = re.compile(rf"\b({_PLACE}) ?(?:\([a-z]{{3}}\) ?)?(?:->|to|-)(?: \b|\b)({_PLACE})\b")
_PEOPLE = re.compile(rf"\b(\d|{'|'.join(NUMBERS[1:10])}) (?:passengers|travell?ers|people|persons|adults)\b")


def record_of(goal: Goal, script: Script) -> Record | None:
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
