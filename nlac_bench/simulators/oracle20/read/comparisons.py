"""Parses comparisons in questions: "bigger than a cat", "more than 10 pounds", "as tall as a person"."""

import re
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from nlac_bench.simulators.counting import NUMBERS
from nlac_bench.simulators.oracle20.find.words import noun_key, word_set
from nlac_bench.simulators.oracle20.know.knowledge import KnowledgeBase, phrase_key
from nlac_bench.simulators.oracle20.read.formula import (
    And,
    Attr,
    BulkCompare,
    Compare,
    Comparison,
    Count,
    Formula,
    Measure,
    Not,
    Or,
    Unknown,
)

Words: TypeAlias = tuple[str, ...]
Sign: TypeAlias = Literal[">", "<", "=", ">=", "<="]

_PRICE: dict[str, Comparison] = {"expensive": ">", "cheaper": "<", "costlier": ">", "pricier": ">",
                                "cheap": "<",
                                "costly": ">"}  # fmt: skip
_ADJECTIVES: tuple[tuple[Measure | None, dict[str, Comparison]], ...] = (
    (None, {"large": ">", "larger": ">", "greater": ">", "small": "<", "smaller": "<", "tinier": "<"}),
    ("weight", {"heavy": ">", "heavier": ">", "light": "<", "lighter": "<"}),
    ("height", {"tall": ">", "taller": ">", "higher": ">", "high": ">", "shorter": "<", "short": "<"}),
    ("length", {"long": ">", "longer": ">"}),
    ("price", _PRICE),
)
"""Measure (None: bulk) → adjectives and comparatives with their direction."""
_COMPARATIVES = {"larger": "smaller", "smaller": "larger", "taller": "shorter", "shorter": "taller",
                 "heavier": "lighter", "lighter": "heavier"}  # fmt: skip
"""A comparative and its opposite."""
_OPPOSITES = {"large": "smaller", "small": "larger", "tall": "shorter", "short": "taller", "heavy": "lighter",
              "light": "heavier", "long": "shorter"}  # fmt: skip
_ABOUT = word_set("much about around roughly approximately nearly almost")
_OPPOSITE: dict[Comparison, Comparison] = {">": "<", "<": ">", "=": "="}
_SIZE_ADJECTIVES = word_set(
    "average typical standard adult normal regular size grown full sized up most many any"
)

_CM = {"cm": 1, "centimeter": 1, "mm": 0.1, "millimeter": 0.1, "m": 100, "meter": 100, "km": 1e5,
       "kilometer": 1e5,
       "inch": 2.54, "foot": 30.48, "ft": 30.48, "yard": 91.44, "mile": 160934}  # fmt: skip
_KG = {"kg": 1, "kilogram": 1, "kilo": 1, "g": 0.001, "gram": 0.001, "pound": 0.4536, "ounce": 0.02835,
       "oz": 0.02835, "ton": 1000, "tonne": 1000}  # fmt: skip
_USD = {"dollar": 1, "buck": 1, "usd": 1, "euro": 1.1, "pound sterling": 1.3, "cent": 0.01}
_UNITS: tuple[tuple[Measure, dict[str, float]], ...] = (("length", _CM), ("weight", _KG), ("price", _USD))
_NUMBERS = {word: float(value) for value, word in enumerate(NUMBERS)} | {
    "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "hundred": 100.0, "thousand": 1000.0,
    "million": 1e6, "half": 0.5, "dozen": 12.0, "couple": 2.0, "single": 1.0, "fifteen": 15.0,
}  # fmt: skip
_WORDS_BEFORE: dict[Sign, str] = {
    ">": "more than|greater than|over|above", "<": "less than|fewer than|under|below",
    ">=": "at least|no less than|not less than|no fewer than",
    "<=": "at most|up to|no more than|not more than",
}  # fmt: skip
_LEADS = [(tuple(lead.split()), sign) for sign, leads in _WORDS_BEFORE.items() for lead in leads.split("|")]
"""Words before an amount and the direction that they state."""
_LIMITS_AFTER: dict[str, Sign] = {
    **dict.fromkeys(("more", "over", "above", "heavier", "longer", "taller", "larger", "higher"), ">="),
    **dict.fromkeys(("less", "fewer", "under", "below", "lighter", "shorter", "smaller"), "<="),
}
"""Words after "or" and the direction that they state of the amount before it."""
LIMITS = word_set("less fewer under below most up zero")
"""Words that may state that a thing has only a few parts, or none."""
_DIMENSIONS = word_set("tall long high heavy")


def states_amount(words: Words) -> bool:
    """Return whether ``words`` state a measure or a price ("about 2 feet", "a few dollars"), or end with a
    number. In "on four feet" and "with two feet" the number is one of parts.
    """
    for i, word in enumerate(words):
        if not _is_number(word) or words[i - 1 : i] in (("on",), ("with",)):
            continue
        rest = words[i + 1 :]
        while rest and (_is_number(rest[0]) or rest[0] in ("or", "to", "and", "a", "of")):
            rest = rest[1:]
        if word[0] == "$" or (is_unit(rest[0]) if rest else i > 0 and words[-1] != "one"):
            return True
    return False


def _is_number(word: str) -> bool:
    return word in _NUMBERS or word in ("several", "few") or word[0] in "$0123456789"


def is_unit(word: str) -> bool:
    """Return whether ``word`` is a unit of length, weight or price."""
    return any(noun_key(word) in units for _, units in _UNITS)


def number(words: Words) -> tuple[float, int] | None:
    """Return the number at the start of ``words`` ("2", "two hundred", "a", "half a") and its word count."""
    value, used = None, 0
    for word in words:
        if value is not None and words[used : used + 3] == ("and", "a", "half"):
            return value + 0.5, used + 3
        if word in ("a", "of") and (value is not None or used == 0) and used < 3:
            used += 1
            if value is None and word == "a":
                value = 1.0 if len(words) > used and words[used] not in _NUMBERS else None
            continue
        plain = word.lstrip("$ ").replace(",", "")
        if re.fullmatch(r"\d+(?:\.\d+)?", plain):
            if value is not None:
                break
            value = float(plain)
        elif word in _NUMBERS:
            n = _NUMBERS[word]
            value = n if value is None else value * n if n >= 100 or word == "dozen" else value + n
        else:
            break
        used += 1
    return None if value is None else (value, used)


def quantity(words: Words) -> tuple[Measure, float] | None:
    """Return a measure and its number in cm, kg or dollars: "6 feet", "$100", "a pound"."""
    result = number(words)
    if result is None:
        return None
    value, used = result
    rest = tuple(noun_key(w) for w in words[used:] if w not in ("in", "of"))
    if words[used - 1].startswith("$"):
        return ("price", value) if rest in ((), ("dollar",), ("usd",)) else None
    if len(rest) == 2 and rest[1] in ("tall", "long", "high", "heavy", "weight", "length", "height"):
        if rest[0] in _CM and rest[1] in ("tall", "high", "height"):
            return "height", value * _CM[rest[0]]
        rest = rest[:1]
    if len(rest) != 1:
        return None
    for measure, units in _UNITS:
        if rest[0] in units:
            return measure, value * units[rest[0]]
    return None


class Comparisons:
    """Parses comparisons with numbers, and with the objects and reference things of a knowledge base.

    Args:
        kb: the things to compare with, and the parts that can be counted.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self.parts = kb.count_words
        self.yardsticks = dict(kb.references)
        self.prices: dict[Words, float] = {}
        for i, name in enumerate(kb.names):
            for key in map(phrase_key, (name, *kb.aliases[i])):
                if not np.isnan(kb.size_rank[i]):
                    lengths = kb.measures["length"][i], kb.measures["weight"][i], kb.measures["height"][i]
                    self.yardsticks.setdefault(key, (kb.size_rank[i], *lengths))
                if not np.isnan(kb.measures["price"][i]):
                    self.prices.setdefault(key, kb.measures["price"][i])

    def yardstick(self, words: Words) -> tuple[float, float, float, float] | None:
        """Return size rank, cm, kg and height in cm (NaN if not known) of what ``words`` name ("a cat")."""
        key = _bare(words)
        while key and key not in self.yardsticks and key[0] in _SIZE_ADJECTIVES:
            key = key[1:]
        if key[-1:] == ("is",):
            key = key[:-1]
        return self.yardsticks.get(key)

    def read(self, words: Words) -> Formula | None:
        """Read ``words``, which follow "is it": "bigger than …", "over 2 m tall", "as big as …"."""
        about = words[0] in _ABOUT
        while words[0] in _ABOUT and len(words) > 1:
            words = words[1:]
        if words[:4] == ("at", "least", "as", words[3] if len(words) > 3 else "") and words[3] in _OPPOSITES:
            below = self._than((_OPPOSITES[words[3]],), words[5:])
            return None if below is None else Not(below)
        if "than" in words:
            i = words.index("than")
            return self._than(words[:i], words[i + 1 :])
        if words[:1] != ("as",):
            exact = about or words[0] != "a" or words[-1] in _DIMENSIONS  # "a foot" is a thing
            return _directed(words, lambda sign, rest: _amount(sign or "=", rest) if sign or exact else None)
        if "as" in words[1:]:
            i = words.index("as", 1)
            if words[-2:-1] == ("or",) and words[-1] in _COMPARATIVES:  # "as tall as a person or taller"
                below = self._than((_COMPARATIVES[words[-1]],), words[i + 1 : -2])
                return None if below is None else Not(below)
            formula = self._than(words[1:i], words[i + 1 :], equal=True)
            if about and isinstance(formula, Or):
                return formula.parts[0]  # "about as big as"
            return formula
        return None

    def same_size(self, words: Words) -> Formula | None:
        """Read what follows "the size of": "a cat", "a cat or smaller"."""
        if words[-2:-1] == ("or",) and words[-1] in _COMPARATIVES:
            beyond = self._than((_COMPARATIVES[words[-1]],), words[:-2])
            return None if beyond is None else Not(beyond)
        reference = self.yardstick(words)
        return None if reference is None else BulkCompare("=", reference[0], reference[1])

    def fits(self, words: Words) -> Formula | None:
        """Read what follows "fit in": smaller than it; not known of what is bigger but can be folded."""
        reference = self.yardstick(words)
        if reference is None:
            return None
        smaller, bigger = (BulkCompare(sign, reference[0], reference[1]) for sign in ("<", ">"))
        squeezed = And((Unknown("if folded"), bigger, Or((Attr("foldable"), Attr("flexible")))))
        return Or((smaller, squeezed))

    def weighs(self, words: Words) -> Formula | None:
        """Read what follows "does it weigh": "more than a person", "less than 2 kg", "10 pounds or more"."""

        def compared(sign: Sign | None, rest: Words) -> Formula | None:
            reference = self.yardstick(rest)
            return self._measured("weight", sign, rest, None if reference is None else reference[2])

        return _directed(_as_much(words), compared)

    def costs(self, words: Words) -> Formula | None:
        """Read what follows "does it cost": "more than $100", "less than a car"."""

        def compared(sign: Sign | None, rest: Words) -> Formula | None:
            return self._measured("price", sign, rest, self.prices.get(_bare(rest)))

        return _directed(_as_much(words), compared)

    def count(self, words: Words) -> Formula | None:
        """Read what follows "does it have": "four legs", "more than two wheels", "at least 6 strings"."""
        if words[1:2] == ("or",) and words[2:3] and words[2] in _LIMITS_AFTER:  # "four or more legs"
            words = (words[0], *words[3:], *words[1:3])
        if words[0] == "multiple":
            words = ("over", "1", *words[1:])
        return _directed(words, self._counted)

    def _counted(self, sign: Sign | None, words: Words) -> Formula | None:
        result = number(words) if words and (words[0] != "a" or words[1:2] == ("dozen",)) else None
        part = None if result is None else self.parts.get(_bare(words[result[1] :]))
        if result is None or part is None:
            return None
        match sign:
            case ">=":
                return Count(part, ">", result[0] - 0.5)
            case "<=":
                return Count(part, "<", result[0] + 0.5)
        return Count(part, sign or "=", result[0])

    def _than(self, head: Words, tail: Words, equal: bool = False) -> Formula | None:
        """Read a comparison; ``head`` is the adjective before "than" or the second "as", ``tail`` follows."""
        if head in (("more",), ("less",), ("fewer",), ("greater",)):
            return _amount(">" if head[0] in ("more", "greater") else "<", tail)
        more = True
        if len(head) == 2 and head[0] in ("more", "less") and head[1] in _PRICE:
            more, head = head[0] == "more", head[1:]
        head = tuple(w for w in head if w not in ("in", "size", "a", "its")) or head[:1]
        if len(head) != 1:
            return None
        word, amount = head[0], quantity(tail)
        for measure, table in _ADJECTIVES:
            if word in table:
                comparison: Comparison = "=" if equal else table[word] if more else _OPPOSITE[table[word]]
                if amount is not None:
                    return _compare(measure, comparison, amount)
                return self._against(measure, comparison, tail)
        return None

    def _against(self, measure: Measure | None, comparison: Comparison, tail: Words) -> Formula | None:
        """Return a comparison with a thing."""
        if measure == "price":
            return self._measured("price", comparison, (), self.prices.get(_bare(tail)))
        reference = self.yardstick(tail)
        if reference is None:
            return None
        if measure is None:
            compared = BulkCompare(comparison, reference[0], reference[1])
            if comparison == "=":  # what is bigger than a house may be called "as big as a house"
                bigger = BulkCompare(">", reference[0], reference[1])
                return Or((compared, And((Unknown("at least"), bigger))))
            return compared
        value = reference[{"length": 1, "weight": 2, "height": 3}[measure]]
        return None if np.isnan(value) else Compare(measure, comparison, float(value))

    @staticmethod
    def _measured(measure: Measure, sign: Sign | None, rest: Words, value: float | None) -> Formula | None:
        """Compare ``measure`` with the quantity in ``rest``, else with ``value``."""
        amount = quantity(rest)
        if amount is not None:
            sign, value = sign or "=", amount[1] if amount[0] == measure else None
        return None if sign is None or value is None else _limited(measure, sign, float(value))


def _bare(words: Words) -> Words:
    return tuple(noun_key(w) for w in words if w not in ("a", "its"))


def _as_much(words: Words) -> Words:
    """Return "at least a car" for "as much as a car"."""
    if words[:1] == ("as",) and "as" in words[1:]:
        return ("at", "least", *words[words.index("as", 1) + 1 :])
    return words


def _direction(words: Words) -> tuple[Sign | None, Words]:
    """Return the direction of "more than …", "under …", "… or less", and the remaining words."""
    for lead, sign in _LEADS:
        if words[: len(lead)] == lead:
            return sign, words[len(lead) :]
    if words[-2:-1] == ("or",) and words[-1] in _LIMITS_AFTER:
        return _LIMITS_AFTER[words[-1]], words[:-2]
    if len(words) > 1 and words[0] in _ABOUT:
        stated, rest = _direction(words[1:])
        return stated or (None if words[0] == "much" else "="), rest
    return None, words


def _directed(words: Words, read: Callable[[Sign | None, Words], Formula | None]) -> Formula | None:
    """Read a direction and an amount, or both ends of "between 1 and 3 feet"."""
    if words[:1] != ("between",) or "and" not in words:
        return read(*_direction(words))
    i = words.index("and")
    low, high = words[1:i], words[i + 1 :]
    least_number, most_number = number(low), number(high)
    if least_number is not None and least_number[1] == len(low) and most_number is not None:
        low += high[most_number[1] :]  # the unit
    least, most = read(">=", low), read("<=", high)
    return None if least is None or most is None else And((least, most))


def _amount(sign: Sign, words: Words) -> Formula | None:
    """Compare with a quantity, whose unit determines the measure."""
    amount = quantity(words)
    return None if amount is None else _limited(amount[0], sign, amount[1])


def _limited(measure: Measure, sign: Sign, value: float) -> Formula:
    match sign:
        case ">=":
            return Not(Compare(measure, "<", value))
        case "<=":
            return Not(Compare(measure, ">", value))
    return Compare(measure, sign, value)


def _compare(
    measure: Measure | None, comparison: Comparison, amount: tuple[Measure, float]
) -> Formula | None:
    """Compare an adjective's measure (None for bulk) with a quantity; heights and lengths share units."""
    kind, value = amount
    lengths = ("length", "height")
    if measure is None:
        return Compare(kind, comparison, value) if kind in lengths else None
    if kind in lengths and measure in lengths:
        return Compare("height" if "height" in (kind, measure) else "length", comparison, value)
    return Compare(measure, comparison, value) if kind == measure else None
