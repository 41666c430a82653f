"""Compares flights, passengers and insurance that an agent proposes with those that the user wants."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from nlac_bench.simulators.customer.hear.roles import Role
from nlac_bench.simulators.customer.hear.slots import spoken
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.intent.goals import Goal, Passenger

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_FLIGHT = re.compile(
    r"\b([a-z]{2,3}\d{3})\b(?:(?:(?!\b[a-z]{2,3}\d{3}\b)[^\n;,.]){0,25}?(\d{4}-\d\d-\d\d)|"
    r"[^\n;.]{0,12}?(\d{4}-\d\d-\d\d))?"
)
_MOVED = re.compile(r"\bfrom \d{4}-\d\d-\d\d\b[^;:\n]{0,20}?(?:\bto|->) (?=\d{4}-)")
"""The present date in "NB217 moves from 21 to 26 May"."""
_VERBS = r"\b(?:chang|switch|mov|swap|rebook|replac|exchang)\w*\b"
_CHANGED = re.compile(
    rf"{_VERBS}(?:(?!{_VERBS})[^.;:?\n])*?\b[a-z]{{2,3}}\d{{3}}\b(?:(?!{_VERBS})[^.;:?\n])*?"
    r" (?:to|with|for|by|into) (?=(?:(?:the|new|flights?) )*[a-z]{2,3}\d{3}\b)"
)
"""The present flights in "change NB101 and NB102 to NB103 and NB104"."""
_BORN = (
    r"[ ,:;(\n-]*(?:(?:who|was|is|born|on|with|(?:a |the )?(?:date of birth|birth ?dates?|birthday)|"
    r"d\.?o\.?b\.?|b\.|whose|of|as|new|passenger|=)[ ,:(\n-]*)*(\d{4}-\d\d-\d\d)"
)
"""A date of birth directly after a name."""
_ALL_OF_THEM = re.compile(r"\b(?:passengers|travell?ers|names|people|party|passenger list)\b")
_SWAPS = re.compile(
    r"(?<=[a-z)]) -> |\bout\b[^?]{0,80}\bin\b|\bleav(?:es?|ing)\b|\bjoin(?:s|ing)?\b|"
    r"\b(?:new|old|former|previous|outgoing|incoming) (?:passenger|travell?er|person)\b(?!s)|"
    r"\b(?:everyone else|(?:all )?the others|other (?:passengers?|"
    r"travell?ers?)|the rest)\b|"
    r"\b(?:replac|swap|rather than|in for\b|(?:put|on) .{0,80}\b(?:ticket|seat|place|spot|slot) of|"
    r"takes? over|gives? up|"
    r"tak\w* [a-z ]{0,30}\boff\b|enter(?:s|ing)?\b|drops? out|becomes?\b|no longer|not (?:be )?(?:travel"
    r"|fly)|instead of|in place of|substitut|switch|"
    r"take\w*\b.*\b(?:seat|"
    r"place)\b|remov|add\b|chang\w* \w+ \w+ (?:to|for))"
)


def wrong_flights(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.legs:
        return False
    named = flights_said(units)
    proposed = [leg for leg in named if leg[2] not in ("present", "context")]
    wanted = {leg.number.lower(): leg.date for leg in goal.legs}
    numbers = {number for number, _, _ in proposed}
    if numbers and all(role == "kept" for _, _, role in proposed):
        return bool(numbers - wanted.keys())  # "Do you wish to keep NB101?" is about a part of the trip
    if _absent(wanted, {(number, date) for number, date, _ in named}):
        return True
    if numbers:
        if not wanted.keys() <= numbers:
            return True
        for number, date in wanted.items():
            dates = {when for name, when, _ in proposed if name == number and when}
            if dates and date not in dates:
                return True
        acted = {number for number, _, role in proposed if role == "new"}
        if goal.kind == "book" and numbers - wanted.keys():
            return True
        if (acted | _beside(units, wanted)) - wanted.keys() - _before(units, wanted):
            return True
    dates = {m[0] for unit in units for m in _DATE.finditer(unit.text)} - {
        person.dob for person in goal.passengers
    }
    return bool(dates) and bool(numbers) and not set(wanted.values()) - {""} <= dates


def _beside(units: Sequence[Unit], wanted: Mapping[str, str]) -> set[str]:
    """Return the flights in a list that also names all ``wanted``: "NB101, NB102 and NB103"."""
    names: set[str] = set()
    for unit in units:
        listed: list[str] = []
        end = 0
        for flight in _FLIGHT.finditer(unit.text):
            listed = listed if _LISTED.fullmatch(unit.text, end, flight.start()) else []
            listed, end = [*listed, flight[1]], flight.end()
            names |= set(listed) if wanted.keys() <= set(listed) else set()
    return names


_LISTED = re.compile(r"(?: on)?[ \d()-]*(?:,|and|&|\+|plus)+ (?:and )?(?:flight )?")


def _before(units: Sequence[Unit], wanted: Mapping[str, str]) -> set[str]:
    """Return the flights that are named before the first sentence with one ``wanted``: the present ones."""
    first = next(place for place, unit in enumerate(units) if any(number in unit.text for number in wanted))
    return {match[1] for unit in units[:first] for match in _FLIGHT.finditer(unit.text)}


def flights_said(units: Sequence[Unit]) -> list[tuple[str, str, Role]]:
    """Return the flights that ``units`` name: number, date or an empty text, and role."""

    def find(text: str) -> Iterable[tuple[int, int, str]]:
        for present in (_MOVED, _CHANGED):
            text = present.sub(lambda mention: " " * len(mention[0]), text)
        for match in _FLIGHT.finditer(text):
            yield *match.span(), f"{match[1]} {match[2] or match[3] or ''}"

    named = []
    for value, role, _ in spoken([unit for unit in units if not _BY_THE_WAY.match(unit.text)], find):
        number, date = value.split(" ")
        named.append((number, date, role))
    return named


_BY_THE_WAY = re.compile(
    r"(?:oh,? |and |also,? )?(?:by the way|btw|incidentally|as an aside|(?:on|as) a side ?note|fyi|"
    r"for your information|just so you(?:'re aware| know))\b.*\byour (?:other |existing |booked )?"
    r"(?:flight )?[a-z]{2,3}\d{3}\b"
)
"""Mentions a flight of another trip: "by the way, your NB147 flight departs on the same day"."""


def _absent(wanted: Mapping[str, str], named: Set[tuple[str, str]]) -> bool:
    """Return whether ``named`` has flights, in any role, but lacks a ``wanted`` flight or its date."""
    for number, date in wanted.items():
        dates = {when for name, when in named if name == number}
        if named and (not dates or (any(dates) and not {date, ""} & dates)):
            return True
    return False


def wrong_passengers(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.passengers:
        return False
    text = joined(units)
    own = {person.dob for person in goal.passengers}

    def find(line: str) -> Iterable[tuple[int, int, str]]:
        return ((*m.span(), m[0]) for m in _DATE.finditer(line) if m[0] < "2020")

    dates = spoken(units, find)
    births = {date for date, role, _ in dates if role not in ("present", "context", "kept")}
    comes = goal.passengers[-1]
    known = comes.dob in {date for date, _, _ in dates}
    named = [p for p in goal.passengers if p.last_name.lower() in text and p.first_name.lower() in text]
    stated = {person: _born(text, person) for person in named}
    if any(date not in (None, person.dob) for person, date in stated.items()):
        return True
    swaps = goal.kind == "change_passengers" and bool(_SWAPS.search(text) or not _ALL_OF_THEM.search(text))
    # beside the new passenger's right date, another date is the old passenger's
    if births - own and not (swaps and known):
        return True
    if goal.kind == "change_passengers" and comes in named and dates and not known:
        return True
    if named and comes not in named:
        return True
    if named and len(named) < len(goal.passengers) and not swaps:
        return True
    return (
        bool(births)
        and not named
        and not re.search(rf"\b(?:you|{goal.passengers[0].first_name.lower()})\b", text)
    )


def _born(text: str, person: Passenger) -> str | None:
    """Return the date that directly follows a passenger's name, whatever else the sentence says."""
    name = re.escape(f"{person.first_name} {person.last_name}".lower())
    match = re.search(rf"\b{name}{_BORN}", text)
    return match[1] if match else None


def wrong_insurance(text: str, goal: Goal) -> bool:
    if goal.insurance is None or not _INSURANCE.search(text):
        return False
    return bool(_UNINSURED.search(text)) == (goal.insurance == "yes")


_COVER = r"(?:insurance|insured|(?:trip|travel) (?:protection|cover(?:age)?))"
_INSURANCE = re.compile(rf"\b{_COVER}\b")
_UNINSURED = re.compile(
    rf"\b(?:no|without|not|decline\w*|n't)\b[^.\n]{{0,25}}\b{_COVER}\b|"
    rf"\b{_COVER}\b[^.\n,;]{{0,12}}[:(? -]+(?:no|none|not|declined|without)\b|"
    rf"\b{_COVER}\b[^.\n;?]{{0,40}}\b(?:no|none)\b(?=[\"')]*(?:[.,;)]|$))"
)
