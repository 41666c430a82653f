"""Recognises units after numbers, and converts those that are exact multiples of one another."""

import re
from dataclasses import dataclass
from fractions import Fraction

from nlac_bench.simulators.math_grader.read.nodes import names
from nlac_bench.simulators.math_grader.read.normalize import join_prefixes
from nlac_bench.simulators.math_grader.read.wording import is_filler, without_complement

# Dimension → unit → its size in the dimension's base unit; only conversions that are exact by definition.
_MEASURES: dict[str, dict[str, str]] = {
    "length": {
        "mm millimeter millimetre": "1/1000",
        "cm centimeter centimetre": "1/100",
        "dm decimeter": "1/10",
        "m meter metre": "1",
        "km kilometer kilometre": "1000",
        "in inch": "254/10000",
        "ft foot feet": "3048/10000",
        "yd yard": "9144/10000",
        "mi mile": "1609344/1000",
    },
    "time": {"s sec second": "1", "min minute": "60", "h hr hour": "3600", "day": "86400", "week": "604800"},
    "calendar": {"month": "1", "yr year": "12"},
    "mass": {"mg milligram": "1/1000", "g gm gram": "1", "kg kilogram": "1000"},
    "weight": {"oz ounce": "1", "lb pound": "16"},
    "volume": {"cup": "1", "pint": "2", "quart": "4", "gal gallon": "16"},
    "capacity": {"ml milliliter millilitre": "1/1000", "l liter litre": "1"},
    "money": {"cent": "1/100", "dollar usd buck": "1"},
    # Other currencies have no fixed rate. "pound" is read as a weight, not as money; other currencies are not
    # ambiguous.
    "euro": {"euro eur": "1"},
    "yen": {"yen jpy": "1"},
    "rupee": {"rupee rs inr": "1"},
}
_SIZES = {
    name: (dimension, Fraction(size))
    for dimension, table in _MEASURES.items()
    for names, size in table.items()
    for name in names.split()
}
_CURRENCIES = names("dollar usd euro eur pound gbp yen jpy rupee rs inr")
_RATES = {"mph": "mi / h", "kph": "km / h", "kmph": "km / h"}
_LABELS = names(
    "mph kph kmph acre hectare degree unit radian rad way student people person point digit "
    "integer number value solution time square sq cubic cu dozen piece ticket ball page apple "
    "book child children men women man woman boy girl car box meal edge pencil marble coin card "
    "game team player item"
)
_QUALIFIERS = names("real distinct different possible separate individual unique whole valid such")
_DENIAL = re.compile(r"(?:non|anti|un(?!i))\w{3,}|missing|lost|absent|lacking|false|fake")
_IRREGULAR = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "gbp": "pound",
    "sterling": "pound",
}  # fmt: skip
_PLURAL = re.compile(r"(?<=[a-z])(?:(?<=ss|ch|sh|.x)es|(?<!s)s)\Z")
_TOKEN = re.compile(r"[^\W\d_]+|/|\^\s*\{?\s*-?\d\s*\}?")
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_POWERS_AFTER = {"squared": 2, "cubed": 3}


@dataclass(frozen=True, slots=True)
class _Unit:
    """A parsed unit text: `3 \\text{ km per hour}` has the dimensions length and 1/time."""

    dimensions: tuple[tuple[str, int], ...]
    """Dimensions with their exponents, sorted; empty if no word is a known measure."""
    size: Fraction
    """Size in the base units of the dimensions."""
    power: int
    """2 for areas and 3 for volumes, also of unknown units (`square units`)."""
    things: frozenset[str]
    """Other words that name what is counted: `boxes`."""


def _singular(word: str) -> str:
    word = word.casefold()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for name in (word, word.removesuffix("s"), word.removesuffix("es")):
        if name in _SIZES or name in _LABELS:
            return name
    return _PLURAL.sub("", word)


def is_unit(word: str) -> bool:
    """Return whether a bare word after a number is read as its unit."""
    name = _singular(word)
    return name in _SIZES or name in _LABELS or word.casefold() in _IRREGULAR


def is_currency(text: str) -> bool:
    """Return whether a text names a currency, which can also stand before its number: `EUR 5`."""
    return text.strip(" .~").casefold() in _CURRENCIES


def is_measure(unit: str) -> bool:
    """Return whether a unit text is a known measure of length, time, money or similar."""
    return bool(_read(unit).dimensions)


def says_what(unit: str) -> bool:
    """Return whether a unit text is a measure or names what is counted: `miles`, `edges`, not `units`."""
    kind = _read(unit)
    return bool(kind.dimensions or kind.things)


def _read(unit: str) -> _Unit:
    for word, rate in _RATES.items():
        unit = re.sub(rf"\b{word}\b", rate, unit, flags=re.IGNORECASE)
    unit = join_prefixes(unit)
    measures: list[tuple[str, int]] = []  # names and exponents
    things = set()
    sign, power, largest = 1, 1, 1
    for token in _TOKEN.findall(unit):
        name = _singular(token)
        after = int(re.sub(r"[^-\d]", "", token)) if token[0] == "^" else _POWERS_AFTER.get(name)
        if after is not None:
            largest = max(largest, after)
            if measures:
                measures[-1] = (measures[-1][0], after * (1 if measures[-1][1] > 0 else -1))
        elif name in ("/", "per"):
            sign = -1
        elif name in _POWER_WORDS:
            power = _POWER_WORDS[name]
            largest = max(largest, power)
        elif name in _SIZES:
            measures.append((name, sign * power))
            power = 1
        elif not is_filler(token):
            things.add(name)
    dimensions: dict[str, int] = {}
    size = Fraction(1)
    for name, exponent in measures:
        dimension, base = _SIZES[name]
        dimensions[dimension] = dimensions.get(dimension, 0) + exponent
        size *= base**exponent
    return _Unit(tuple(sorted(dimensions.items())), size, largest, frozenset(things))


def factor(gold: str, pred: str) -> Fraction | None:
    """Return the factor that converts a number from `pred`'s unit to `gold`'s: 1/100 for cm to m.

    It is 1 if either has no unit, since MATH's answers have or lack them at random. It is None if one is a
    measure and the other a different measure or a counted thing, or if both name different things.
    """
    if not gold.strip() or not pred.strip():
        return Fraction(1)
    left, right = _read(gold), _read(pred)
    if left.things and right.things and not _same_things(left.things, right.things):
        shorter = _read(without_complement(pred)).things  # 12 edges of the cube
        if without_complement(gold) != gold or not shorter or not _same_things(left.things, shorter):
            return None
    if not left.dimensions or not right.dimensions:
        if left.power != right.power and (
            min(left.power, right.power) > 1 or left.dimensions or right.dimensions
        ):
            return None  # square units are not days
        counted = right.things if left.dimensions else left.things if right.dimensions else ()
        return None if counted else Fraction(1)
    if left.dimensions != right.dimensions:
        left, right = _price(left, gold), _price(right, pred)
    return right.size / left.size if left.dimensions == right.dimensions else None


def _same_things(gold: frozenset[str], pred: frozenset[str]) -> bool:
    """Return whether the words beside two numbers name the same things.

    An answer may leave out words of the gold answer (`tickets` for `children tickets`) unless they deny, and
    may add words that every count can have (`real roots` for `roots`); any other word names other things.
    """
    if pred <= gold:
        return not any(_DENIAL.fullmatch(word) for word in gold - pred)
    return gold <= pred and pred - gold <= _QUALIFIERS


def _price(unit: _Unit, text: str) -> _Unit:
    """Return a price without its reference: `dollars per pound` as `dollars`, as questions ask for it."""
    return _read(re.split(r"/|\bper\b", text)[0]) if ("money", 1) in unit.dimensions else unit
