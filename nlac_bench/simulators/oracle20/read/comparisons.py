"""Parses comparisons in questions: "bigger than a cat", "more than 10 pounds", "as tall as a person"."""

import re
from typing import TypeAlias

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


def number(words: Words) -> tuple[float, int] | None:
    """Return the number at the start of ``words`` ("2", "two hundred", "a", "half a") and its word count."""
    value, used = None, 0
    for word in words:
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
            value = n if value is None else value * n if n >= 100 else value + n
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
    rest = tuple(noun_key(w) for w in words[used:])
    if words[used - 1].startswith("$"):
        return ("price", value) if rest in ((), ("dollar",), ("usd",)) else None
    if len(rest) == 2 and rest[1] in ("tall", "long", "high", "heavy", "wide", "weight", "length", "height"):
        if rest[0] in _CM and rest[1] in ("tall", "high", "height"):
            return "height", value * _CM[rest[0]]
        if rest[1] == "wide":
            return None
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
                    self.yardsticks.setdefault(
                        key, (kb.size_rank[i], kb.measures["length"][i], kb.measures["weight"][i])
                    )
                if not np.isnan(kb.measures["price"][i]):
                    self.prices.setdefault(key, kb.measures["price"][i])

    def yardstick(self, words: Words) -> tuple[float, float, float] | None:
        """Return size rank, cm and kg of what ``words`` name ("a cat", "your hand", "the average person")."""
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
        lead, rest = words[:1], words[1:]
        if lead in (("over",), ("above",)):
            return _amount(">", rest)
        if lead in (("under",), ("below",)):
            return _amount("<", rest)
        if words[:2] in (("at", "least"), ("at", "most"), ("up", "to")):
            return _amount(">" if words[1] == "least" else "<", words[2:])
        if lead == ("as",) and "as" in rest:
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
        comparison, rest = _direction(words)
        reference = self.yardstick(rest)
        value = None if reference is None else reference[2]
        return self._measured("weight", comparison, rest, value)

    def costs(self, words: Words) -> Formula | None:
        """Read what follows "does it cost": "more than $100", "less than a car"."""
        comparison, rest = _direction(words)
        return self._measured("price", comparison, rest, self.prices.get(_bare(rest)))

    def count(self, words: Words) -> Formula | None:
        """Read what follows "does it have": "four legs", "more than two wheels", "at least 6 strings"."""
        comparison: Comparison = "="
        shift = 0.0
        if words[1:2] == ("than",) and words[0] in ("more", "less", "fewer"):
            comparison, words = (">" if words[0] == "more" else "<"), words[2:]
        elif words[:2] in (("at", "least"), ("at", "most")):
            comparison, shift = (">", -0.5) if words[1] == "least" else ("<", 0.5)
            words = words[2:]
        elif words[1:3] in (("or", "more"), ("or", "less"), ("or", "fewer")):
            comparison, shift = (">", -0.5) if words[2] == "more" else ("<", 0.5)
            words = (words[0], *words[3:])
        elif words[0] == "multiple":
            comparison, words = ">", ("1", *words[1:])
        elif words[0] == "over":
            comparison, words = ">", words[1:]
        result = number(words) if words and words[0] != "a" else None
        part = None if result is None else self.parts.get(_bare(words[result[1] :]))
        return None if result is None or part is None else Count(part, comparison, result[0] + shift)

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
        return Compare(measure, comparison, reference[2] if measure == "weight" else reference[1])

    @staticmethod
    def _measured(
        measure: Measure, comparison: Comparison | None, rest: Words, value: float | None
    ) -> Formula | None:
        """Compare ``measure`` with the quantity in ``rest``, else with ``value``."""
        amount = quantity(rest)
        if amount is not None:
            value = amount[1] if amount[0] == measure else None
        return None if comparison is None or value is None else Compare(measure, comparison, float(value))


def _bare(words: Words) -> Words:
    return tuple(noun_key(w) for w in words if w not in ("a", "its"))


def _direction(words: Words) -> tuple[Comparison | None, Words]:
    """Return the direction of "more than …", "under …", "… or less", and the remaining words."""
    if words[1:2] == ("than",) and words[0] in ("more", "less"):
        return ">" if words[0] == "more" else "<", words[2:]
    if words[:1] in (("over",), ("under",)):
        return ">" if words[0] == "over" else "<", words[1:]
    if words[:2] == ("at", "least"):
        return ">", words[2:]
    if words[-2:] in (("or", "more"), ("or", "less")):
        return ">" if words[-1] == "more" else "<", words[:-2]
    if words[:1] == ("as",) and "as" in words[1:]:
        return ">", words[words.index("as", 1) + 1 :]
    return None, words


def _amount(comparison: Comparison, words: Words) -> Formula | None:
    """Compare with a quantity, whose unit determines the measure."""
    amount = quantity(words)
    return None if amount is None else Compare(amount[0], comparison, amount[1])


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
