"""Compares flights, bags, passengers and insurance that an agent proposes with those that the user wants."""

import re
from collections.abc import Iterable, Sequence

from nlac_bench.envs.tau.users.scripted.intent import Goal
from nlac_bench.envs.tau.users.scripted.roles import value_roles
from nlac_bench.envs.tau.users.scripted.slots import spoken
from nlac_bench.envs.tau.users.scripted.structure import Unit, joined

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_FLIGHT = re.compile(
    r"\b([a-z]{2,3}\d{3})\b(?:[^\n;,.]{0,25}?(\d{4}-\d\d-\d\d)|[^\n;.]{0,12}?(\d{4}-\d\d-\d\d))?"
)
_CARDINALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(\d{{1,2}}|no|{'|'.join(_CARDINALS)})"
_TOTAL = re.compile(
    r"\b(?:total|altogether|in all)(?: number)?(?: of)?(?: checked)?(?: bags?| baggages?| "
    r"luggage)?(?: count)?"
    rf"(?: is| are| will be| would be| becomes| to|:| =| of)* ?{_NUMBER}\b(?![.:]\d)|"
    rf"\b{_NUMBER}(?: checked)?(?: bags?| pieces?| suitcases?)? (?:in total|in all|altogether|total)\b|"
    rf"\b(?:bags?|baggages?|luggage)\b[^.:;,\d]{{0,25}}: ?{_NUMBER}\b|"
    rf"\b(?:bags?|baggages?|luggage)(?: count| number)? (?:= ?)?{_NUMBER}(?=[,.;?!\n]|$)|"
    rf"\b(?:bring\w*|making|makes?) (?:it |you |that |the total )?(?:to )?{_NUMBER}\b|"
    rf"(?:\bwill|\bwould|'ll|'d) (?:then |now )?(?:be|have|become|include|contain|show|list|come with|"
    rf"carry|stand at|"
    rf"come to|rise to|go up to) {_NUMBER}\b(?! (?:of|free|paid|"
    r"more|additional|extra|passenger|flight|item))"
)
_BAGS = re.compile(rf"\b{_NUMBER} ((?:[a-z-]+ ){{0,2}}?)(?:bag|luggage|suitcase|piece)")
_MORE = re.compile(
    r"\b(?:more|additional|extra|further|other|free|paid|new|non-?free|complimentary|included|of)\b"
)
_ADDED = re.compile(
    r"\b(?:add|adding|plus|bags to add:?|additional:?|extra:?)(?: an?(?: extra| additional)?| "
    rf"another)? ?{_NUMBER}?\b|\b{_NUMBER} (?:more|additional|extra|further)\b"
)
_NOW = re.compile(
    rf"\b(?:now|currently|at present|at the moment|right now|so far|today|already|on file|"
    rf"before):? {_NUMBER}\b(?! (?:free|paid))|"
    rf"\b{_NUMBER}(?: checked)?(?: bags?| pieces?)?(?:\(s\))? (?:now|currently|at present|at the moment|"
    rf"right now|so far|today|as of|"
    r"already|on file)\b"
)
_AIMED = re.compile(r"\b(?:will|would|makes?|making|add|to)\b|'d\b|'ll\b")
_MOVES = re.compile(rf"\bfrom (?:\d{{1,2}}|[a-z]+)(?: checked)?(?: bags?)? (?:up )?(?:to|->) {_NUMBER}\b")
_SWAPS = re.compile(
    r"(?<=[a-z)]) -> |\bout\b.{0,80}\bin\b|\b(?:everyone else|(?:all )?the others|other (?:passengers?|"
    r"travell?ers?)|the rest)\b|"
    r"\b(?:replac|swap|rather than|in for\b|(?:put|on) .{0,80}\b(?:ticket|seat|place|spot|slot) of|"
    r"takes? over|gives? up|"
    r"drops? out|becomes?\b|no longer|not (?:be )?(?:travel|fly)|instead of|in place of|substitut|switch|"
    r"take\w*\b.*\b(?:seat|"
    r"place)\b|remov|add\b|chang\w* \w+ \w+ (?:to|for))"
)


def wrong_flights(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.legs:
        return False

    def find(text: str) -> Iterable[tuple[int, int, str]]:
        for match in _FLIGHT.finditer(text):
            yield *match.span(), f"{match[1]} {match[2] or match[3] or ''}"

    said = [
        (*value.split(" "), role)
        for value, role, _ in spoken(units, find)
        if role not in ("present", "context")
    ]
    wanted = {leg.number.lower(): leg.date for leg in goal.legs}
    numbers = {number for number, _, _ in said}
    if numbers and all(role == "kept" for _, _, role in said):
        return bool(numbers - wanted.keys())  # "Do you wish to keep NB101?" is about a part of the trip
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


def wrong_bags(units: Sequence[Unit], goal: Goal) -> bool:
    if goal.bags is None:
        return False
    totals: list[int] = []
    present: list[int] = []
    added: list[int] = []
    for unit in units:
        text = unit.full
        if _MOVES.search(text) and "bag" in joined(units):
            totals += [_count(match[1]) for match in _MOVES.finditer(text)]
        spans = [
            (*match.span(match.lastindex or 0), match[match.lastindex or 0])
            for match in _TOTAL.finditer(text)
        ]
        now = [
            match
            for match in _NOW.finditer(text)
            if not _AIMED.search(text, max(0, match.start() - 30), match.start())
        ]
        present += [_count(match[1] or match[2]) for match in now]
        for match in _BAGS.finditer(text):
            if not _MORE.search(match[2]) and all(
                match.end() <= a or match.start() >= b for a, b, _ in spans
            ):
                spans.append((*match.span(), match[1]))
        deltas = [
            (match.start(), match.end(), match[match.lastindex])
            for match in _ADDED.finditer(text)
            if match.lastindex
        ]
        added += [_count(number) for _, _, number in deltas]
        added += [_count(m[1]) for m in _BAGS.finditer(text) if re.search(r"more|additional|extra", m[2])]
        spans = [s for s in sorted(spans) if all(s[0] >= end or s[1] <= start for start, end, _ in deltas)]
        spans = [s for s in spans if all(s[0] >= match.end() or s[1] <= match.start() for match in now)]
        roles = value_roles(text, [(start, end) for start, end, _ in spans])
        for (start, _, number), role in zip(spans, roles, strict=True):
            if start < len(text) - len(unit.text):
                continue
            if role in ("present", "context", "kept"):
                present.append(_count(number))
            elif not re.search(
                r"\b(?:free|paid|limit|allow\w*|included|extra|additional|to add|charged?|chargeable|"
                r"pay(?:ing)? for)\b(?: (?:of "
                r"charge|checked|bags?))*[: ]*$",
                text[max(0, start - 32) : start],
            ):
                totals.append(_count(number))
    if totals:
        return goal.bags not in totals or (totals[-1] != goal.bags and goal.bags not in totals[1:])
    return bool(present and added) and present[-1] + added[-1] != goal.bags


def _count(number: str) -> int:
    return 0 if number == "no" else _CARDINALS.index(number) if number in _CARDINALS else int(number)


def wrong_passengers(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.passengers:
        return False
    text = joined(units)
    own = {person.dob for person in goal.passengers}

    def find(line: str) -> Iterable[tuple[int, int, str]]:
        return ((*m.span(), m[0]) for m in _DATE.finditer(line) if m[0] < "2020")

    births = {date for date, role, _ in spoken(units, find) if role not in ("present", "context", "kept")}
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


def wrong_insurance(text: str, goal: Goal) -> bool:
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
