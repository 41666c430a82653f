"""Units: what is only a label behind a number, and which labels are exact multiples of one another."""

import re
from fractions import Fraction

from nlac_bench.envs.math500_hard.nodes import names

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
}
_SIZES = {
    name: (dimension, Fraction(size))
    for dimension, table in _MEASURES.items()
    for names, size in table.items()
    for name in names.split()
}
_LABELS = names(
    "mph kph kmph acre hectare degree unit radian rad euro way student people person point digit "
    "integer number value solution time square sq cubic cu dozen piece ticket ball page apple "
    "book child children men women man woman boy girl car box meal edge pencil marble coin card "
    "game team player item rupee rs"
)
_POWER = re.compile(r"\^\s*\{?\s*([2-9])\s*\}?")
_POWER_WORDS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_NAME = re.compile(r"[A-Za-z]+")


def _singular(word: str) -> str:
    word = word.casefold()
    for name in (word, word.removesuffix("s"), word.removesuffix("es")):
        if name in _SIZES or name in _LABELS:
            return name
    return word


def is_unit(word: str) -> bool:
    """Whether a bare word behind a number is read as its unit."""
    name = _singular(word)
    return name in _SIZES or name in _LABELS


def is_measure(unit: str) -> bool:
    """Whether a unit text is a known measure of length, time, money or the like, rather than any label."""
    return _measure(unit) is not None


def _measure(unit: str) -> tuple[str, int, Fraction] | None:
    """Dimension, exponent and base size of a text such as `square feet` or `cm^2`; None for any other."""
    parts = _names(unit)
    rest = [part for part in parts if part not in _POWER_WORDS] or parts
    if len(rest) != 1 or rest[0] not in _SIZES:
        return None
    dimension, size = _SIZES[rest[0]]
    return dimension, _exponent(unit), size


def _names(unit: str) -> list[str]:
    return [_singular(word) for word in _NAME.findall(_POWER.sub("", unit))]


def _exponent(unit: str) -> int:
    if power := _POWER.search(unit):
        return int(power.group(1))
    parts = _names(unit)
    return max((_POWER_WORDS.get(part, 1) for part in parts), default=1) if len(parts) > 1 else 1


def factor(gold: str, pred: str) -> Fraction | None:
    """What a number in `pred`'s unit is multiplied by to be in `gold`'s: 1/100 for cm to m.

    1 where either is no exact measure (`tickets`, nothing at all): such words are labels, which MATH's
    answers carry or not at random. An area in plain units of length is a slip of the label too. None where
    both are measures of different kinds or sizes.
    """
    gold_power, pred_power = _exponent(gold), _exponent(pred)
    if 1 < gold_power != pred_power > 1:
        return None
    gold_unit, pred_unit = _measure(gold), _measure(pred)
    if gold_unit is None or pred_unit is None:
        return Fraction(1)
    if gold_unit[0] != pred_unit[0]:
        return None
    if gold_unit[1] != pred_unit[1]:
        return Fraction(1) if gold_unit[2] == pred_unit[2] else None
    return Fraction(pred_unit[2] / gold_unit[2]) ** gold_unit[1]
