"""Compares what an agent proposes or reports with what the user wants, slot by slot.

Only the agent's message is compared with what the user knows; nothing is compared with gold calls. A slot
that is not mentioned does not cause an objection, and neither does a value that is named as the present state
or as what stays (``roles``): only the proposed state is compared.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from nlac_bench.envs.tau.users.scripted.goods import wrong_items, wrong_options
from nlac_bench.envs.tau.users.scripted.intent import Goal, Payment, Script
from nlac_bench.envs.tau.users.scripted.roles import Role, item_roles, value_roles
from nlac_bench.envs.tau.users.scripted.structure import Unit

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
        ("modify", r"\bmodif|\bchang|\bupdat|\bswitch|\bedit|\badjust|\bamend|\bmov(e|ed|ing)\b|\bset (?:it|the|your|up|to)\b"),
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

_STRONG = ("cancel", "return", "exchange", "book", "compensation")
"""Actions of which a proposal names the right one if it names any."""

_RETAIL_ID = re.compile(r"#? ?w ?(\d{5,})\b")
_FLIGHT_ID = re.compile(r"\b(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6}\b")
_PAYMENT_ID = re.compile(r"\b(?:credit_card|gift_card|paypal|certificate)_\d+")
_LAST_FOUR = re.compile(
    r"(?:\b(?:ending|ends|last four|last 4)(?: digits)?(?: in| with| are| is|:)? ?|\.\.\. ?|x{2,}-?)(\d{4})\b"
)
_ZIP = re.compile(r"(?<![\d_#w.$-])\d{5}\b(?!-)")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_FLIGHT_NUMBER = re.compile(r"\b[a-z]{2,3}\d{3}\b")
_FLIGHT = re.compile(
    r"\b([a-z]{2,3}\d{3})\b(?:[^\n;,.]{0,25}?(\d{4}-\d\d-\d\d)|[^\n;.]{0,12}?(\d{4}-\d\d-\d\d))?"
)
_SOURCES = re.compile(
    r"(?P<paypal>\bpay ?pal\b(?!_))|(?P<gift_card>\bgift ?cards?\b(?!_))|"
    r"(?P<credit_card>\bcredit ?cards?\b(?!_)|\bvisa\b|\bmaster ?card\b|\bamex\b)|(?P<certificate>\b(?:travel )?certificates?\b(?!_))"
)
_CABIN = re.compile(
    r"(?P<basic_economy>\bbasic[ _-]economy\b)|(?P<economy>\beconomy\b)|(?P<business>\bbusiness\b(?! days?\b))"
)
_CARDINALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(\d{{1,2}}|no|{'|'.join(_CARDINALS)})"
_TOTAL = re.compile(
    rf"\b(?:total|altogether|in all)(?: number)?(?: of)?(?: checked)?(?: bags?| baggages?| luggage)?(?: count)?"
    rf"(?: is| are| will be| would be| becomes| to|:| =| of)* ?{_NUMBER}\b(?![.:]\d)|"
    rf"\b{_NUMBER}(?: checked)?(?: bags?| pieces?| suitcases?)? (?:in total|in all|altogether|total)\b|"
    rf"\b(?:bags?|baggages?|luggage)(?: allowance)?(?: in all| in total)?: ?{_NUMBER}\b|"
    rf"\b(?:bring\w*|making|makes) (?:it |you |that |the total )?(?:to )?{_NUMBER}\b|"
    rf"(?:\bwill|\bwould|'ll|'d) (?:then |now )?(?:be|have|become) {_NUMBER}\b(?! (?:of|free|paid|more|additional|extra|passenger|flight|item))"
)
_BAGS = re.compile(rf"\b{_NUMBER} ((?:[a-z-]+ ){{0,2}}?)(?:bag|luggage|suitcase|piece)")
_MORE = re.compile(
    r"\b(?:more|additional|extra|further|other|free|paid|new|non-?free|complimentary|included|of)\b"
)
_ADDED = re.compile(
    rf"\b(?:add|adding|plus|bags to add:?|additional:?|extra:?)(?: an?(?: extra| additional)?| another)? ?{_NUMBER}?\b"
)
_ADDRESS = re.compile(
    r"(?<![\w$#-])(?<!unit )(?<!apt )(?<!suite )\d{1,5} (?:[a-z]+ ){1,3}?(?:st|rd|ln|ave|dr|ct|pl|sq|blvd|way|view|terrace|hill|parkway|highway|circle|trail|"
    r"walk|row|close|crescent|loop|alley|park|gate|grove)\b"
)
_REFUND = re.compile(r"\brefund")


def objections(units: Sequence[Unit], goal: Goal, script: Script, current: int) -> list[str]:
    """Return the topics on which ``units`` contradict ``goal``; empty if there are none.

    ``current`` is the goal's index in ``script``; values of the user's other goals are not contradictions.
    """
    wrong = []
    others = [other for i, other in enumerate(script.goals) if i != current]
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("kind", lambda: _wrong_kind(units, goal)),
        ("record", lambda: _wrong_record(units, goal, others)),
        ("reason", lambda: _wrong_reason(_text(units), goal)),
        ("items", lambda: wrong_items(units, goal, script, others)),
        ("options", lambda: wrong_options(units, goal, script)),
        ("payment", lambda: _wrong_payment(units, goal)),
        ("address", lambda: _wrong_address(units, goal)),
        ("cabin", lambda: _wrong_cabin(units, goal)),
        ("flights", lambda: _wrong_flights(units, goal)),
        ("bags", lambda: _wrong_bags(units, goal)),
        ("passengers", lambda: _wrong_passengers(units, goal)),
        ("insurance", lambda: _wrong_insurance(_text(units), goal)),
    )
    for topic, check in checks:
        if check():
            wrong.append(topic)
    return wrong


def fits(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names the goal's kind of action."""
    if goal.address and _short(goal.address["address1"].lower()) in _short(text):
        return True
    if goal.kind == "order_payment" and goal.payment and goal.payment.id in text:
        return True
    if goal.kind == "change_passengers" and goal.passengers[-1].last_name.lower() in text:
        return True
    return any(ACTIONS[action].search(text) for action in FITTING[goal.kind])


def names_action(text: str) -> bool:
    """Return whether ``text`` names an action that changes the database."""
    return any(ACTIONS[action].search(text) for action in (*_DECISIVE, "address", "cabin", "bags"))


def names_other(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names another action than the goal's; "update" fits every kind of change."""
    named = {action for action in _DECISIVE if ACTIONS[action].search(text)} - set(FITTING[goal.kind])
    if goal.kind not in ("cancel", "return", "book", "compensation", "ask"):
        named.discard("modify")
    return bool(named)


def known_slots(text: str, goal: Goal) -> bool:
    """Return whether ``text`` states at least one of the goal's values, so that a bare "yes" is safe."""
    spots: list[str] = [goal.record or "", goal.reason or "", (goal.cabin or "").replace("_", " ")]
    spots += [thing.product.split()[-1] for thing in goal.items]
    spots += [leg.number for leg in goal.legs] + [person.last_name for person in goal.passengers]
    if goal.address:
        spots.append(goal.address["address1"])
    if goal.payment:
        spots += [goal.payment.id, goal.payment.source.replace("_", " ")]
    return any(spot and spot.lower() in text for spot in spots)


def _text(units: Sequence[Unit]) -> str:
    return "\n".join(unit.full for unit in units)


def _spoken(
    units: Sequence[Unit], find: Callable[[str], Iterable[tuple[int, int, str]]]
) -> list[tuple[str, Role, str]]:
    """Return the values that ``find`` sees in each unit (not in its heading), with role and clause."""
    said = []
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        found = sorted(span for span in find(text) if span[0] >= offset)
        roles = value_roles(text, [(start, end) for start, end, _ in found])
        for (start, end, value), role in zip(found, roles, strict=True):
            stop = text.find(";", end)
            clause = text[text.rfind(";", 0, start) + 1 : stop if stop >= 0 else len(text)]
            said.append((value, role, clause))
    return said


def _proposes(said: Sequence[tuple[str, Role, str]], own: str) -> bool | None:
    """Return whether the value proposed is ``own``; None if no value is proposed.

    A value without a governing word counts only if no other is proposed outright; of several that are
    proposed, the last one decides.
    """
    new = [value for value, role, _ in said if role == "new"]
    plain = [value for value, role, _ in said if role == "none"]
    if new:
        return new[-1] == own and (own in new)
    return own in plain and plain[-1] == own if plain else None


def _wrong_kind(units: Sequence[Unit], goal: Goal) -> bool:
    text = _text(units)
    if goal.kind == "other":
        return False
    if goal.kind == "ask":
        return any(ACTIONS[action].search(text) for action in ("cancel", "return", "exchange", "modify"))
    if goal.kind == "order_address" and re.search(r"\b(default|profile|account) address", text):
        return "order" not in text
    if goal.kind == "user_address" and _RETAIL_ID.search(text):
        return not re.search(r"\b(default|profile|account|your address|user)\b", text)
    if goal.kind == "cancel" and _KEEPING.search(text):
        return True
    acting = "\n".join(clause for unit in units for clause in _ACTING.findall(unit.text))
    named = {action for action in _STRONG if ACTIONS[action].search(acting)}
    if goal.kind in ("change_flights", "change_cabin", "add_bags", "change_passengers"):
        named -= {"book", "exchange"}
    if goal.kind in ("order_address", "user_address", "order_payment") and "replac" in acting:
        named.discard("exchange")
    if named and not named & set(FITTING[goal.kind]):
        return True
    return not fits(text, goal) and names_other(text, goal)


_KEEPING = re.compile(
    r"\b(?:should|shall|may|can) i (?:just )?(?:keep|leave)\b|\b(?:like|want|prefer) (?:me )?to keep (?:it|the|your|this|that)\b"
)
_ACTING = re.compile(
    r"\b(?:i'll|i will|i'd|i would|i can|i could|i am going to|i'm going to|shall i|should i|may i|can i|could i|want me to|like me to|"
    r"do you want to|would you like to|let me)\b (?:also |now |just |then |still |instead |please |go ahead and |proceed to |proceed with |be )*(?!not\b|need\b|keep\b)"
    r"(\w+(?: (?:it|this|that|them|your|the|a|an|certificate|you|travel|of|order))*)"
)


def _wrong_record(units: Sequence[Unit], goal: Goal, others: Sequence[Goal]) -> bool:
    if goal.record is None:
        return False
    own = goal.record.lower()
    allowed = {own} | {other.record.lower() for other in others if other.record}
    retail = own.startswith("#")
    found: set[str] = set()
    proposed: set[str] = set()
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        spans = [
            (match.start(), match.end(), f"#w{match[1]}" if retail else match[0])
            for match in (_RETAIL_ID if retail else _FLIGHT_ID).finditer(
                _PAYMENT_ID.sub(lambda m: "-" * len(m[0]), text)
            )
            if match.start() >= offset and (retail or not _FLIGHT_NUMBER.fullmatch(match[0]))
        ]
        roles = item_roles(text, [(start, end) for start, end, _ in spans])
        found |= {code for _, _, code in spans}
        proposed |= {code for (_, _, code), role in zip(spans, roles, strict=True) if role in ("new", "none")}
    return bool(found) and (own not in found or bool(proposed - allowed))


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


def _wrong_payment(units: Sequence[Unit], goal: Goal) -> bool:
    paid = goal.payment
    if paid is None:
        return False
    said = [
        (value, role)
        for value, role, clause in _spoken(units, methods)
        if role not in ("present", "context", "kept")
        and not (goal.kind == "order_payment" and _REFUND.search(clause))
    ]
    if any(role == "new" for _, role in said) and goal.kind != "return":
        said = [(value, role) for value, role in said if role == "new"]
    ids = {value for value, _ in said if _PAYMENT_ID.fullmatch(value)}
    if ids:
        return paid.id not in ids or (len(ids) > 1 and goal.kind not in ("order_payment", "book"))
    fours = {value for value, _ in said if value.isdigit()}
    if fours and paid.source == "credit_card" and paid.last_four:
        return paid.last_four not in fours
    sources = {value for value, _ in said if not value.isdigit()}
    if sources:
        return paid.source not in sources or (len(sources) > 1 and goal.kind == "return")
    return _elsewhere(_text(units), paid, goal)


def methods(text: str) -> Iterable[tuple[int, int, str]]:
    """Return the payment methods that ``text`` names: ids, last four digits and sources."""
    for match in _PAYMENT_ID.finditer(text):
        yield *match.span(), match[0]
    for match in _LAST_FOUR.finditer(text):
        yield *match.span(), match[1]
    for match in _SOURCES.finditer(text):
        yield *match.span(), match.lastgroup or ""


def _elsewhere(text: str, paid: Payment, goal: Goal) -> bool:
    if paid.original or goal.kind not in ("return", "exchange", "modify_items"):
        return False
    return bool(re.search(r"\boriginal (payment|method|form|card)", text))


def _wrong_address(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.address:
        return False
    place = {key: _short(value.lower()) for key, value in goal.address.items()}
    own = re.compile(rf"(?<![\w-]){re.escape(place['address1'])}\b")

    def find(text: str) -> Iterable[tuple[int, int, str]]:
        taken: list[tuple[int, int]] = []
        for pattern in (own, _ADDRESS):
            for match in pattern.finditer(text):
                if all(match.end() <= start or match.start() >= end for start, end in taken):
                    rest = re.compile(r"[^.;\n]{0,60}?(?<![\d_#w$-])\d{5}\b(?: usa)?").match(
                        text, match.end()
                    )
                    end = rest.end() if rest and not _ADDRESS.search(rest[0]) else match.end()
                    taken.append((match.start(), end))
                    yield match.start(), end, text[match.start() : end]
        for match in _ZIP.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end in taken):
                yield match.start(), match.end(), match[0]

    short = [Unit(_short(unit.text), _short(unit.heading)) for unit in units]
    said = [(value, role) for value, role, _ in _spoken(short, find) if role not in ("present", "context")]
    if any(role == "new" for _, role in said):
        said = [(value, role) for value, role in said if role == "new"]
    if not said:
        return False
    blocks = [value for value, _ in said if not _ZIP.fullmatch(value)]
    if blocks and not own.match(blocks[-1]):
        return True
    zips = {code for value, _ in said for code in _ZIP.findall(value)}
    flat = " ".join(unit.full for unit in short)
    if not blocks:
        return bool(zips - {place["zip"]}) or not own.search(flat)
    unit = re.search(r"\b(?:apt|unit|suite) (\d+)\b", _after(flat, blocks[-1]))
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


def _after(text: str, block: str) -> str:
    """Return the last occurrence of ``block`` in ``text`` with the few words after it."""
    at = text.rfind(block)
    return text[at : at + len(block) + 30]


def _short(text: str) -> str:
    """Return an address without punctuation and with postal abbreviations; the length may change."""
    return _STREETS.sub(lambda found: _ABBREVIATED[found[0]], re.sub(r"[,.\n#]+ ?| +", " ", text))


_ABBREVIATED = {
    "street": "st", "road": "rd", "lane": "ln", "avenue": "ave", "drive": "dr", "court": "ct", "place": "pl",
    "square": "sq", "apartment": "apt", "boulevard": "blvd",
}  # fmt: skip
_STREETS = re.compile(rf"\b({'|'.join(_ABBREVIATED)})\b")


def _wrong_cabin(units: Sequence[Unit], goal: Goal) -> bool:
    if goal.cabin is None:
        return False
    said = _spoken(units, lambda text: ((*m.span(), m.lastgroup or "") for m in _CABIN.finditer(text)))
    return _proposes([s for s in said if s[1] in ("new", "none")], goal.cabin) is False


def _wrong_flights(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.legs:
        return False

    def find(text: str) -> Iterable[tuple[int, int, str]]:
        for match in _FLIGHT.finditer(text):
            yield *match.span(), f"{match[1]} {match[2] or match[3] or ''}"

    said = [
        (*value.split(" "), role)
        for value, role, _ in _spoken(units, find)
        if role not in ("present", "context")
    ]
    wanted = {leg.number.lower(): leg.date for leg in goal.legs}
    numbers = {number for number, _, _ in said}
    if numbers:
        if not wanted.keys() <= numbers:
            return True
        for number, date in wanted.items():
            dates = {when for name, when, _ in said if name == number and when}
            if dates and date not in dates:
                return True
        acted = {number for number, _, role in said if role == "new"}
        if goal.kind == "book" and numbers - wanted.keys():
            return True
        if wanted.keys() <= acted and acted - wanted.keys():
            return True
    dates = {m[0] for unit in units for m in _DATE.finditer(unit.text)} - {
        person.dob for person in goal.passengers
    }
    return bool(dates) and bool(numbers) and not set(wanted.values()) <= dates


def _wrong_bags(units: Sequence[Unit], goal: Goal) -> bool:
    if goal.bags is None:
        return False
    totals: list[int] = []
    present: list[int] = []
    added: list[int] = []
    for unit in units:
        text = unit.full
        if _MOVES.search(text) and "bag" in _text(units):
            totals += [_count(match[1]) for match in _MOVES.finditer(text)]
        spans: list[tuple[int, int, str]] = []
        for match in _TOTAL.finditer(text):
            spans.append((*match.span(), next(group for group in match.groups() if group)))
        for match in _BAGS.finditer(text):
            if not _MORE.search(match[2]) and all(
                match.end() <= a or match.start() >= b for a, b, _ in spans
            ):
                spans.append((*match.span(), match[1]))
        deltas = [(match.start(), match.end(), match[1]) for match in _ADDED.finditer(text) if match[1]]
        added += [_count(number) for _, _, number in deltas]
        added += [_count(m[1]) for m in _BAGS.finditer(text) if re.search(r"more|additional|extra", m[2])]
        spans = [s for s in sorted(spans) if all(s[0] >= end or s[1] <= start for start, end, _ in deltas)]
        roles = value_roles(text, [(start, end) for start, end, _ in spans])
        for (start, _, number), role in zip(spans, roles, strict=True):
            if start < len(text) - len(unit.text):
                continue
            if role in ("present", "context", "kept"):
                present.append(_count(number))
            elif not re.search(
                r"\b(?:free|paid|limit|allow\w*|included)\b[: ]*$", text[max(0, start - 12) : start]
            ):
                totals.append(_count(number))
    if totals:
        return goal.bags not in totals or totals[-1] != goal.bags and goal.bags not in totals[1:]
    return bool(present and added) and present[-1] + added[-1] != goal.bags


_MOVES = re.compile(rf"\bfrom (?:\d{{1,2}}|[a-z]+)(?: checked)?(?: bags?)? (?:to|->) {_NUMBER}\b")


def _count(number: str) -> int:
    return 0 if number == "no" else _CARDINALS.index(number) if number in _CARDINALS else int(number)


def _wrong_passengers(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.passengers:
        return False
    text = _text(units)
    own = {person.dob for person in goal.passengers}

    def find(line: str) -> Iterable[tuple[int, int, str]]:
        return ((*m.span(), m[0]) for m in _DATE.finditer(line) if m[0] < "2020")

    births = {date for date, role, _ in _spoken(units, find) if role not in ("present", "context")}
    named = [p for p in goal.passengers if p.last_name.lower() in text and p.first_name.lower() in text]
    if births - own:
        return True
    if named and goal.passengers[-1] not in named:
        return True
    if (
        named
        and len(named) < len(goal.passengers)
        and not (goal.kind == "change_passengers" and _SWAPS.search(text))
    ):
        return True
    return (
        bool(births)
        and not named
        and not re.search(rf"\b(?:you|{goal.passengers[0].first_name.lower()})\b", text)
    )


_SWAPS = re.compile(
    r"\b(?:replac|swap|instead of|in place of|substitut|switch|take\w*\b.*\b(?:seat|place)\b|remov|add\b|chang\w* \w+ \w+ (?:to|for))"
)


def _wrong_insurance(text: str, goal: Goal) -> bool:
    if goal.insurance is None or "insurance" not in text:
        return False
    without = bool(
        re.search(
            r"\b(no|without|not|decline\w*|n't)\b[^.\n]{0,25}insurance|"
            r"insurance\b[^.\n,;]{0,12}[:( ]+(no|none|not|declined|without)\b",
            text,
        )
    )
    return without == (goal.insurance == "yes")
