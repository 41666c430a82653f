"""Compares the address that an agent proposes with the one that the user wants."""

import re
from collections.abc import Iterable, Mapping, Sequence

from nlac_bench.envs.tau.users.scripted.intent import Goal
from nlac_bench.envs.tau.users.scripted.slots import spoken
from nlac_bench.envs.tau.users.scripted.structure import Unit, joined

_ZIP = re.compile(r"(?<![\d_#w.$-])\d{5}\b(?!-)")
_STATE = re.compile(r"(?:\b([a-z]{2}) |)\b(\d{5})\b")
_NO_CITY = r"(?:the|your|my|our|this|that|order|place|case|future|profile|full|all|both|it|there)\b"
_ADDRESS = re.compile(
    r"(?<![\w$#-])(?<!unit )(?<!apt )(?<!suite )\d{1,5} (?:[a-z]+ ){1,3}?(?:st|rd|ln|ave|dr|ct|pl|sq|"
    r"blvd|way|view|terrace|hill|parkway|highway|circle|trail|"
    r"walk|row|close|side|bend|ridge|point|heights|broadway|path|crescent|loop|alley|park|gate|grove)\b"
)


def wrong_address(units: Sequence[Unit], goal: Goal) -> bool:
    if not goal.address:
        return False
    place = {key: short(value.lower()) for key, value in goal.address.items()}
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

    plain = [Unit(short(unit.text), short(unit.heading)) for unit in units]
    heard = [(value, role) for value, role, _ in spoken(plain, find)]
    if _absent([value for value, _ in heard], place) or _other_city(joined(plain), place):
        return True
    said = [(value, role) for value, role in heard if role not in ("present", "context")]
    if any(role == "new" for _, role in said):
        said = [(value, role) for value, role in said if role == "new"]
    if not said:
        return False
    blocks = [value for value, _ in said if not _ZIP.fullmatch(value)]
    if blocks and not own.match(blocks[-1]):
        return True
    zips = {code for value, _ in said for code in _ZIP.findall(value)}
    flat = " ".join(unit.full for unit in plain)
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


def _absent(named: Sequence[str], place: Mapping[str, str]) -> bool:
    """Return whether addresses are ``named``, in whatever role, but ``place`` is not one of them.

    Of an address without its zip code only the street is compared.
    """
    streets = [value for value in named if not _ZIP.fullmatch(value)]
    own = [value for value in streets if re.match(rf"{re.escape(place['address1'])}\b", value)]
    if streets and not own:
        return True
    whole = [value for value in own if _ZIP.search(value)]
    return bool(whole) and not any(
        place["city"] in value and (state := _STATE.search(value, len(place["address1"])))
        and state[1] in (None, place["state"]) and state[2] == place["zip"]
        for value in whole
    )  # fmt: skip


def _other_city(text: str, place: Mapping[str, str]) -> bool:
    """Return whether ``text`` names the street of ``place`` in another city or state."""
    labelled = re.findall(r"\bstate: ([a-z]{2})\b", text)
    if labelled and place["state"] not in labelled:
        return True
    follows = re.search(
        rf"(?<![\w-]){re.escape(place['address1'])}(?: {re.escape(place['address2'])})? "
        rf"(?:in (?!{_NO_CITY})[a-z]+|[a-z]+(?: [a-z]+){{0,2}}? {place['state']}\b)",
        text,
    )
    if not follows:
        return False
    return place["city"] not in text[follows.start() : follows.end() + len(place["city"])]


def named_place(text: str, address: Mapping[str, str]) -> Mapping[str, str] | None:
    """Return ``address`` as far as ``text`` names it; None if it names the city and the zip code only."""
    text = short(text)
    place = {key: short(value.lower()) for key, value in address.items()}
    if place["zip"] in text and place["city"] in text and not _ADDRESS.search(text):
        return address if place["address1"] in text else None
    return address if place["address2"] in text else {**address, "address2": ""}


def _after(text: str, block: str) -> str:
    """Return the last occurrence of ``block`` in ``text`` with the few words after it."""
    at = text.rfind(block)
    return block + re.split("[(;:]", text[at + len(block) : at + len(block) + 30])[0]


def short(text: str) -> str:
    """Return an address without punctuation and with postal abbreviations; the length may change."""
    return _STREETS.sub(lambda found: _ABBREVIATED[found[0]], _PUNCTUATION.sub(" ", text))


_ABBREVIATED = {
    "street": "st", "road": "rd", "lane": "ln", "avenue": "ave", "drive": "dr", "court": "ct", "place": "pl",
    "square": "sq", "apartment": "apt", "boulevard": "blvd",
}  # fmt: skip
_PUNCTUATION = re.compile(r"[,.\n#]+ ?| +")
_STREETS = re.compile(rf"\b({'|'.join(_ABBREVIATED)})\b(?! of\b)")
