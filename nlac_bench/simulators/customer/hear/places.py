"""Compares the address that an agent proposes with the one that the user wants."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nlac_bench.simulators.customer.hear.addresses import (
    ADDRESS,
    Named,
    named_addresses,
    named_country,
    named_state,
)
from nlac_bench.simulators.customer.hear.roles import Role, says_present, value_roles
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.intent.goals import Goal

_ADDRESS = re.compile(ADDRESS)
_LABELLED = re.compile(
    r"(?<!old )(?<!current )(?<!previous )\b(city|state|"
    r"country) ?[:=] ?(?:[^,;>\n]*-> )?([a-z][a-z' .-]*?)"
    r"(?= ?(?:\b(?:zip|postal|street|city|state|country)\b|[^a-z' .-]|$))"
)
"""A part of an address with its name; of a change the new value."""
_NO_CITY = r"(?:the|your|my|our|this|that|order|place|case|future|profile|full|all|both|it|there)\b"


def wrong_address(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.address:
        return False
    place = {key: short(value.lower()) for key, value in goal.address.items()}
    units = _about_this(units, goal)
    addresses = _spoken_addresses([Unit(_listed(unit.text), _listed(unit.heading)) for unit in units], place)
    streets = [named for named, _ in addresses if named.street]
    whole = [named for named in streets if named.own and named.get("zip")]
    if streets and not any(named.fits(place) for named in whole or streets):
        return True  # in any role: addresses are named, but not the user's
    flat = short(" ".join(unit.full for unit in units))
    if _other_city(flat, place) or _other_label(units, place):
        return True
    proposed = [(named, role) for named, role in addresses if role not in ("present", "context")]
    if any(role == "new" for _, role in proposed):
        proposed = [(named, role) for named, role in proposed if role == "new"]
    if not proposed:  # the user's own address as the present one, together with another
        return len(streets) > 1 and any(named.own and role == "present" for named, role in addresses)
    blocks = [named for named, _ in proposed if named.street]
    if blocks and not blocks[-1].fits(place):
        return True
    zips = {code for named, _ in proposed for code in named.get("zip")}
    zips |= {place["zip"] for named, role in addresses if role == "none" and place["zip"] in named.get("zip")}
    if not blocks:
        return bool(zips - {place["zip"]}) or not re.search(
            rf"(?<![\w-]){re.escape(place['address1'])}\b", flat
        )
    if not zips:
        return False
    apartment = place["address2"] in flat or any(named.get("unit") for named in blocks if named.fits(place))
    return place["zip"] not in zips or place["city"] not in flat or not apartment


def _spoken_addresses(units: Sequence[Unit], place: Mapping[str, str]) -> list[tuple[Named, Role]]:
    """Return the addresses that ``units`` name, with their roles; an address may go on in the next unit."""
    begins, text = [], ""
    for unit in units:
        begins.append(len(text))
        text += f"{unit.text}, "
    addresses: list[tuple[Named, Role]] = []
    named = named_addresses(text, place)
    for unit, begin in zip(units, begins, strict=True):
        shift, end = begin + len(unit.text) - len(unit.full), begin + len(unit.text)
        inside = [one for one in named if one.end > begin and one.start < end]
        roles = value_roles(
            unit.full, [(max(one.start, begin) - shift, min(one.end, end) - shift) for one in inside]
        )
        for one, role in zip(inside, roles, strict=True):
            if begin <= (one.street or (one.start, one.end))[0] < end:
                addresses.append((one, "present" if says_present(text, one.end) else role))
    return addresses


def _listed(text: str) -> str:
    """Return ``text`` as ``short`` does, but with commas between the parts of an address."""
    text = re.sub(r" +", " ", re.sub(r"\b(st|apt|ave|rd|dr|ln|ste|no)\.", r"\1", text))
    return _STREETS.sub(lambda match: _ABBREVIATED[match[0]], text.replace("\n", ", "))


def _about_this(units: Sequence[Unit], goal: Goal) -> list[Unit]:
    """Return ``units`` without the clauses about the other kind of address: "order #W1 still ships to A"."""
    this, other = (_PROFILE, _PLACED) if goal.kind == "user_address" else (_ORDER, _PROFILE)
    matching = []
    for unit in units:
        clauses = [
            clause for clause in _CLAUSES.split(unit.text)
            if this.search(clause) or not other.search(clause) or _CHANGES.search(_UNCHANGED.sub("", clause))
        ]  # fmt: skip
        matching.append(replace(unit, text="".join(clauses)))
    return matching


_CLAUSES = re.compile(
    r"(?<=;) |(?<=[;.]) |(?=,? (?:and|but|while|whereas|so) (?:your|the|my|order|orders|i|we)\b)"
)
_PROFILE = re.compile(r"\b(?:default|profile|account)\b")
_ORDER = re.compile(r"\borders?\b|#w\d")
_PLACED = re.compile(
    r"#w\d|\b(?:pending|open|existing|placed|current|earlier|previous|processed) orders?\b|"
    r"\borders?\b.*\b(?:still|stays?|remains?|unchanged|continues?|not affected|unaffected|already|"
    r"on its way)\b"
)
"""Remarks about where existing orders are shipped."""
_UNCHANGED = re.compile(r"(?:\bnot|n't|\bnever)(?: \w+){0,3} \w*(?:chang|updat|affect|mov)\w*")
_CHANGES = re.compile(
    r"\b(?:chang|updat|switch|mov|redirect|modif|appl|set|put|us(?:e|ing)|sav|becom|new|i'd|i'll)\w*"
)


def _other_city(text: str, place: Mapping[str, str]) -> bool:
    """Return whether ``text`` says that the street of ``place`` is in another city."""
    street, unit = re.escape(place["address1"]), re.escape(place["address2"])
    follows = re.search(rf"(?<![\w-]){street}(?: {unit})? in (?!{_NO_CITY})[a-z]+", text)
    return (
        follows is not None
        and place["city"] not in text[follows.start() : follows.end() + len(place["city"])]
    )


def _other_label(units: Sequence[Unit], place: Mapping[str, str]) -> bool:
    """Return whether ``units`` name a city, a state or a country by its label, but not that of ``place``."""
    named: dict[str, set[str]] = {}
    for unit in units:
        for label, value in _LABELLED.findall(unit.text):
            named.setdefault(label, set()).add(short(value).strip())
    own = {"city": place["city"], "state": place["state"], "country": named_country(place["country"])}
    code: Mapping[str, Callable[[str], str]] = {"city": str, "state": named_state, "country": named_country}
    return any(own[label] not in {code[label](value) for value in values} for label, values in named.items())


def named_place(text: str, address: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return ``address`` as far as ``text`` names it; None if it names the city and the zip code only."""
    text = short(text)
    place = {key: short(value.lower()) for key, value in address.items()}
    if place["zip"] in text and place["city"] in text and not _ADDRESS.search(text):
        return address if place["address1"] in text else None
    apartment = place["address2"].split()[-1:]
    if not apartment or re.search(rf"{re.escape(place['address1'])} {apartment[0]}\b", text):
        return address
    return address if place["address2"] in text else {**address, "address2": ""}


def short(text: str) -> str:
    """Return an address without punctuation and with postal abbreviations; the length may change."""
    return _STREETS.sub(lambda match: _ABBREVIATED[match[0]], _PUNCTUATION.sub(" ", text))


_ABBREVIATED = {
    "street": "st", "road": "rd", "lane": "ln", "avenue": "ave", "drive": "dr", "court": "ct", "place": "pl",
    "square": "sq", "apartment": "apt", "boulevard": "blvd",
}  # fmt: skip
_PUNCTUATION = re.compile(r"[,.\n#]+ ?| +")
_STREETS = re.compile(rf"\b({'|'.join(_ABBREVIATED)})\b(?! of\b)")
