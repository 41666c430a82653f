"""Finds the addresses that a text names, with their parts in any order and with any separators.

A street, an apartment, a city, a state, a zip code and a country belong to one address if nothing but
separators, labels ("City:") or linking words stand between them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from nlac_bench.simulators.customer.hear.topics import any_of

ADDRESS = (
    r"(?<![\w$#-])(?<!unit )(?<!apt )(?<!suite )\d{1,5} (?:[a-z]+ ){1,3}?(?:st|rd|ln|ave|dr|ct|pl|sq|"
    r"blvd|way|view|terrace|hill|parkway|highway|circle|trail|"
    r"walk|row|close|side|bend|ridge|point|heights|broadway|path|crescent|loop|alley|park|gate|grove)\b"
)
"""A house number and a street, in the form that ``short`` returns."""


@dataclass(slots=True)
class Named:
    """An address as far as a text names it; ``own`` says that its street is the user's.

    ``other``: it contains words that are not part of the user's address, in the place of a city.
    """

    start: int
    end: int
    street: tuple[int, int] | None = None
    own: bool = False
    other: bool = False
    parts: dict[str, set[str]] = field(default_factory=dict)

    def get(self, kind: str) -> set[str]:
        """Return the values of one kind of part: unit, city, zip, state or country."""
        return self.parts.get(kind, set())

    def fits(self, place: Mapping[str, str]) -> bool:
        """Return whether this address, which may be incomplete, agrees with ``place``.

        An address with its zip code is complete, so that it also names the city and the apartment.
        """
        unit = set(place["address2"].split()[-1:])
        if not self.own or self.other or self.get("unit") - unit:
            return False
        if self.get("state") - {place["state"]} or self.get("country") - {named_country(place["country"])}:
            return False
        return not self.get("zip") or (
            self.get("zip") == {place["zip"]} and bool(self.get("city")) and self.get("unit") == unit
        )


def named_addresses(text: str, place: Mapping[str, str]) -> list[Named]:
    """Return the addresses and lone zip codes in ``text``, which abbreviates streets as ``place`` does."""
    addresses: list[Named] = []
    text = _CHANGED.sub(lambda row: row[1] + " " * len(row[2]), text)
    tokens = list(_tokens(text, place))
    for number, (kind, value, start, end) in enumerate(tokens):
        last = addresses[-1] if addresses else None
        gap = _SPACES.sub(" ", text[last.end : start]) if last else ""
        following = tokens[number + 1] if number + 1 < len(tokens) else None
        linked = last is not None and len(gap) <= _MOST and _LINK.fullmatch(gap) is not None
        if (
            kind == "state"
            and text[start:end] in _WORDS
            and (
                (last is not None and last.get("state"))
                if value == place["state"]
                else not _is_state(text, end, last, following, linked or _is_city(gap, street=False))
            )
        ):
            continue
        street = kind in ("own", "street")
        joins = last is not None and (linked or _is_city(gap, street)) and not (
            (street and last.street) or (kind in ("zip", "unit") and last.get(kind))
            or (kind == "unit" and last.street and _precedes_street(text, end, following))
        )  # fmt: skip
        if last is None or not joins:
            last = Named(start, end)
            addresses.append(last)
        elif not linked:
            last.other = True
        last.end = end
        if street:
            last.street, last.own = (start, end), kind == "own"
        else:
            last.parts.setdefault(kind, set()).add(value)
    return [named for named in addresses if named.street or named.get("zip")]


def _tokens(text: str, place: Mapping[str, str]) -> Iterator[tuple[str, str, int, int]]:
    """Yield kind, value, start and end of everything in ``text`` that can be a part of an address."""
    for match in _parts(place["address1"], place["city"]).finditer(text):
        kind, value = match.lastgroup or "", match[0]
        if kind == "unit" and (
            match["label"] or match["mark"] in (None, "no", place["address2"].split(" ")[0])
        ):
            value = match["number"]
        elif kind == "state":
            value = named_state(value)
        elif kind == "country":
            value = named_country(value)
        yield kind, value, *match.span()


@lru_cache(maxsize=256)
def _parts(street: str, city: str) -> re.Pattern[str]:
    return any_of(
        rf"(?P<own>(?<![\w-]){re.escape(street)}\b)", rf"(?P<street>{ADDRESS})",
        r"(?P<unit>(?:(?<![\w-])(?P<mark>apt|unit|suite|ste|floor|room|no)\b(?P<label>:?)[ #]*|# ?)"
        r"(?P<number>\d{1,4}[a-z]?|(?<=apt )[a-z]|(?<=unit )[a-z]|(?<=suite )[a-z])\b)",
        r"(?P<zip>(?<![\d_#w.$])(?<!\d-)\d{5}\b(?!-))", rf"(?P<city>\b{re.escape(city)}\b)",
        rf"(?P<state>\b(?:{_STATES})\b)", rf"(?P<country>\b(?:{_COUNTRY})\b)",
    )  # fmt: skip


def _is_state(
    text: str, end: int, last: Named | None, following: tuple[str, str, int, int] | None, linked: bool
) -> bool:
    """Return whether a word such as "in", "or" and "ok" is a state here, by its position."""
    if following and following[0] in ("zip", "country") and _BLANK.fullmatch(text[end : following[2]]):
        return last is not None and linked and not last.get("state")
    listed = last is not None and linked and text[last.end : last.end + 1] == ","
    return listed and last is not None and not last.get("state") and bool(_LISTED.match(text, end))


def _is_city(gap: str, street: bool) -> bool:
    """Return whether the words between two parts name another city; ``street``: the second is a street."""
    words = (_WORDS_LISTED if street else _WORDS_BETWEEN).fullmatch(gap) if 0 < len(gap) <= _MOST else None
    return words is not None and not _NO_CITY.search(words[1])


def _precedes_street(text: str, end: int, following: tuple[str, str, int, int] | None) -> bool:
    return (
        following is not None and following[0] in ("own", "street")
        and _LINK.fullmatch(text[end : following[2]]) is not None
    )  # fmt: skip


def named_country(name: str) -> str:
    """Return one name for all names of the United States."""
    return "usa" if _USA.fullmatch(name) else name


def named_state(name: str) -> str:
    """Return the code of a state that is written out."""
    return _CODES.get(name, name)


_MOST = 60
"""Most characters between two parts of one address."""
_LABEL = (
    r"(?:street|st|city|town|state|province|region|zip|postal|post|postcode|country|apt|apartment|unit|"
    r"suite|line|code|address ?\d?|address[ _]line|number|\d(?=:))"
)
_SIGNS = r"[\s,;/|(){}\[\]\"'_·.:=-]"
_CHANGED = re.compile(rf"(\b{_LABEL} ?[:=] ?)((?:from )?[^,;|>\n]*-> ?)")
"""A part of an address with its old value: "city: from albany -> boise"."""
_SPACES = re.compile(r" +")
_LINK = re.compile(rf"(?:{_SIGNS}|\b{_LABEL}(?![a-z])|\b(?:in|at|with|and|the|of|is)\b)*")
"""Text between the parts of one address."""
_BLANK = re.compile(rf"(?:{_SIGNS}|\b{_LABEL}(?![a-z]))*")
_NAME = r"(?<![a-z])([a-z][a-z'-]*(?:,? [a-z'-]+){0,2})"
_WORDS_BETWEEN = re.compile(rf"{_LINK.pattern}{_NAME}{_LINK.pattern}")
_WORDS_LISTED = re.compile(rf" ?[,;/|·-] ?{_NAME} ?[,;/|·-] ?")
_LISTED = re.compile(r" ?(?:,(?! ?(?:shall|should|may|can|is|do|does|right|correct|then|so)\b)|[)|.;]|$)")
_NO_CITY = re.compile(
    r"\b(?:a|address|addresses|after|all|also|and|are|as|at|be|becomes?|but|by|change|changed|comes?|"
    r"confirm|current|"
    r"currently|default|for|from|gets?|goes|going|has|have|i|if|in|instead|is|it|not|now|of|on|one|or|"
    r"order|out|over|place|present|profile|rather|replaces?|replaced|same|save|saved|set|shall|ship|shipping|"
    r"should|so|still|than|that|the|then|there|this|to|verified|was|we|which|will|with|would|you|your|zip)\b"
)
"""Words after a street that are not a city: "13 canal st for your order"."""
_WORDS = frozenset({"in", "or", "me", "ok", "hi", "oh", "id", "la", "de", "ma", "pa", "al", "as", "co", "mo"})
"""Codes of states that may be words."""
_USA = re.compile(r"u[., ]{0,2}s[., ]{0,2}a|usa?|united states(?: of america)?|america")
_COUNTRY = (
    rf"{_USA.pattern}|canada|mexico|uk|united kingdom|great britain|england|scotland|ireland|germany|france|"
    rf"spain|italy|"
    r"portugal|netherlands|belgium|austria|switzerland|poland|sweden|norway|denmark|finland|australia|"
    r"new zealand|india|china|japan|brazil|argentina"
)
_CODES = {
    "alabama": "al", "alaska": "ak", "arizona": "az", "arkansas": "ar", "california": "ca", "colorado": "co",
    "connecticut": "ct", "district of columbia": "dc", "delaware": "de", "florida": "fl", "georgia": "ga",
    "hawaii": "hi", "idaho": "id", "illinois": "il", "indiana": "in", "iowa": "ia", "kansas": "ks",
    "kentucky": "ky", "louisiana": "la", "maine": "me", "maryland": "md", "massachusetts": "ma",
    "michigan": "mi", "minnesota": "mn", "mississippi": "ms", "missouri": "mo", "montana": "mt",
    "nebraska": "ne", "nevada": "nv", "new hampshire": "nh", "new jersey": "nj", "new mexico": "nm",
    "new york": "ny", "north carolina": "nc", "north dakota": "nd", "ohio": "oh", "oklahoma": "ok",
    "oregon": "or", "pennsylvania": "pa", "rhode island": "ri", "south carolina": "sc",
    "south dakota": "sd", "tennessee": "tn", "texas": "tx", "utah": "ut", "vermont": "vt",
    "west virginia": "wv", "virginia": "va", "washington": "wa", "wisconsin": "wi", "wyoming": "wy",
}  # fmt: skip
_STATES = "|".join((*_CODES, *_CODES.values()))
