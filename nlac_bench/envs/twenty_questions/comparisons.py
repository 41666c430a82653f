"""Comparisons in questions: "bigger than a cat", "more than 10 pounds", "as tall as a person"."""

import re

import numpy as np

from nlac_bench.envs.twenty_questions.formula import (
    BulkCompare,
    Compare,
    Comparison,
    Count,
    Formula,
    Not,
)
from nlac_bench.envs.twenty_questions.knowledge import KnowledgeBase, phrase_key
from nlac_bench.envs.twenty_questions.words import noun_key

Words = tuple[str, ...]

_BULK = {"large": ">", "larger": ">", "greater": ">", "small": "<", "smaller": "<",
         "tinier": "<", "size": "="}  # fmt: skip
_WEIGHT = {"heavy": ">", "heavier": ">", "light": "<", "lighter": "<"}
_HEIGHT = {"tall": ">", "taller": ">", "higher": ">", "high": ">"}
_LENGTH = {"long": ">", "longer": ">", "shorter": "<", "short": "<"}
_PRICE = {"expensive": ">", "cheaper": "<", "costlier": ">", "pricier": ">", "cheap": "<"}

_CM = {"cm": 1, "centimeter": 1, "mm": 0.1, "millimeter": 0.1, "m": 100, "meter": 100, "km": 1e5, "kilometer": 1e5,
       "inch": 2.54, "foot": 30.48, "ft": 30.48, "yard": 91.44, "mile": 160934}  # fmt: skip
_KG = {"kg": 1, "kilogram": 1, "kilo": 1, "g": 0.001, "gram": 0.001, "pound": 0.4536, "ounce": 0.02835,
       "oz": 0.02835, "ton": 1000, "tonne": 1000}  # fmt: skip
_USD = {"dollar": 1, "buck": 1, "usd": 1, "euro": 1.1, "pound sterling": 1.3, "cent": 0.01}
_NUMBERS = {w: float(i) for i, w in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve".split())} | {
    "twenty": 20.0, "thirty": 30.0, "forty": 40.0, "fifty": 50.0, "hundred": 100.0, "thousand": 1000.0,
    "million": 1e6, "half": 0.5, "dozen": 12.0, "couple": 2.0, "single": 1.0, "fifteen": 15.0,
}  # fmt: skip


def number(words: Words) -> tuple[float, int] | None:
    """The number at the start of ``words`` and how many words it took: "2", "two hundred", "a", "half a"."""
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


def quantity(words: Words) -> tuple[str, float] | None:
    """A measure and its number in cm, kg or dollars: "6 feet", "$100", "a pound"."""
    found = number(words)
    if found is None:
        return None
    value, used = found
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
    for measure, units in (("length", _CM), ("weight", _KG), ("price", _USD)):
        if rest[0] in units:
            return measure, value * units[rest[0]]
    return None


class Comparisons:
    """Reads comparisons, with the objects and reference things of a knowledge base as yardsticks."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.yardsticks = dict(kb.references)
        self.prices: dict[Words, float] = {}
        for i, name in enumerate(kb.names):
            for alias in (name, *kb.aliases[i]):
                key = phrase_key(alias)
                if not np.isnan(kb.size_rank[i]):
                    self.yardsticks.setdefault(
                        key, (kb.size_rank[i], kb.measures["length"][i], kb.measures["weight"][i])
                    )
                if not np.isnan(kb.measures["price"][i]):
                    self.prices.setdefault(key, kb.measures["price"][i])

    def yardstick(self, words: Words) -> tuple[float, float, float] | None:
        """Size rank, cm and kg of what ``words`` name ("a cat", "your hand", "the average person")."""
        key = tuple(noun_key(w) for w in words if w not in ("a", "its"))
        while key and key[0] in (
            "average",
            "typical",
            "standard",
            "adult",
            "normal",
            "regular",
            "size",
            "grown",
            "full",
        ):
            if key in self.yardsticks:
                break
            key = key[1:]
        for tail in ("hand size", "is"):
            if key and key[-1] == tail:
                key = key[:-1]
        return self.yardsticks.get(key)

    def read(self, words: Words) -> Formula | None:  # noqa: C901
        """The test in ``words``, which follow "is it": "bigger than …", "more than 2 m tall", "as big as …"."""
        negative = bool(words) and words[0] == "not"
        if negative:
            inner = self.read(words[1:])
            return None if inner is None else Not(inner)
        if len(words) > 2 and words[0] == "much":
            words = words[1:]
        for i, word in enumerate(words):
            if word == "than":
                return self._than(words[:i], words[i + 1 :])
        if words[:1] in (("over",), ("under",), ("above",), ("below",)) and len(words) > 1:
            return self._amount(">" if words[0] in ("over", "above") else "<", words[1:])
        if words[:2] in (("at", "least"), ("at", "most"), ("up", "to")):
            return self._amount(">" if words[1] == "least" else "<", words[2:])
        if len(words) > 3 and words[0] == "as" and "as" in words[1:]:
            j = words.index("as", 1)
            return self._than((*words[1:j],), words[j + 1 :], equal=True)
        return None

    def _than(self, head: Words, tail: Words, equal: bool = False) -> Formula | None:
        head = tuple(w for w in head if w not in ("in", "size", "a", "its") or w == "size")
        if tail[-1:] == ("is",):
            tail = tail[:-1]
        if head in (("more",), ("less",), ("fewer",), ("greater",)):
            return self._amount(">" if head[0] in ("more", "greater") else "<", tail)
        sign = ">"
        if len(head) == 2 and head[0] in ("more", "less"):
            sign, head = (">" if head[0] == "more" else "<"), head[1:]
            if head[0] not in _PRICE:
                return None
        if len(head) == 2 and head[1] == "size":
            head = head[:1]
        if len(head) != 1:
            return None
        word = head[0]
        amount = quantity(tail)
        for table, measure in (
            (_WEIGHT, "weight"),
            (_HEIGHT, "height"),
            (_LENGTH, "length"),
            (_PRICE, "price"),
        ):
            if word in table:
                comparison = self._flip(table[word], sign)
                if amount is not None:
                    return self._compare(measure, comparison, amount)
                if measure == "length" and word in ("short", "shorter"):
                    measure = "height"
                reference = self.yardstick(tail)
                if reference is None or measure == "price":
                    return None
                value = reference[2] if measure == "weight" else reference[1]
                return Compare(measure, "=" if equal else comparison, value)  # type: ignore[arg-type]
        if word in _BULK:
            comparison = "=" if equal else self._flip(_BULK[word], sign)
            if amount is not None:
                return self._compare("length", comparison, amount)
            reference = self.yardstick(tail)
            return None if reference is None else BulkCompare(comparison, reference[0], reference[1])
        return None

    def same_size(self, words: Words) -> Formula | None:
        """ "The size of a …"."""
        reference = self.yardstick(words)
        return None if reference is None else BulkCompare("=", reference[0], reference[1])

    @staticmethod
    def _flip(direction: str, sign: str) -> Comparison:
        return ">" if direction == sign else "<"

    def _amount(self, comparison: Comparison, words: Words) -> Formula | None:
        amount = quantity(words)
        return None if amount is None else Compare(amount[0], comparison, amount[1])  # type: ignore[arg-type]

    @staticmethod
    def _compare(measure: str, comparison: Comparison, amount: tuple[str, float]) -> Formula | None:
        kind, value = amount
        if kind == "height" and measure == "length":
            measure = "height"
        if kind != measure and {kind, measure} != {"length", "height"}:
            return None
        return Compare(measure, comparison, value)  # type: ignore[arg-type]

    def weighs(self, words: Words) -> Formula | None:
        """What follows "does it weigh": "more than a person", "less than 2 kg", "10 pounds or more"."""
        return self._verb("weight", 2, words)

    def costs(self, words: Words) -> Formula | None:
        """What follows "does it cost": "more than $100"."""
        return self._verb("price", None, words)

    def _verb(self, measure: str, column: int | None, words: Words) -> Formula | None:
        comparison: Comparison = ">"
        if len(words) > 2 and words[1] == "than" and words[0] in ("more", "less"):
            comparison, words = (">" if words[0] == "more" else "<"), words[2:]
        elif words[:1] in (("over",), ("under",)):
            comparison, words = (">" if words[0] == "over" else "<"), words[1:]
        elif words[:2] == ("at", "least"):
            words = words[2:]
        elif len(words) > 3 and words[-2] == "or" and words[-1] in ("more", "less"):
            comparison, words = (">" if words[-1] == "more" else "<"), words[:-2]
        elif words[:1] == ("as",) and "as" in words[1:]:
            words = words[words.index("as", 1) + 1 :]
        else:
            return None
        amount = quantity(words)
        if amount is not None:
            return Compare(measure, comparison, amount[1]) if amount[0] == measure else None  # type: ignore[arg-type]
        if column is None:
            price = self.prices.get(tuple(noun_key(w) for w in words if w not in ("a", "its")))
            return None if price is None else Compare("price", comparison, price)
        reference = self.yardstick(words)
        return None if reference is None else Compare(measure, comparison, reference[column])  # type: ignore[arg-type]

    def count(self, words: Words, part_words: dict[tuple[str, ...], str]) -> Formula | None:
        """What follows "does it have": "four legs", "more than two wheels", "at least 6 strings"."""
        comparison: Comparison = "="
        shift = 0.0
        if len(words) > 2 and words[1] == "than" and words[0] in ("more", "less", "fewer"):
            comparison, words = (">" if words[0] == "more" else "<"), words[2:]
        elif words[:2] in (("at", "least"), ("at", "most")):
            comparison, shift = (">", -0.5) if words[1] == "least" else ("<", 0.5)
            words = words[2:]
        elif len(words) > 3 and words[1:3] in (("or", "more"), ("or", "less"), ("or", "fewer")):
            comparison, shift = (">", -0.5) if words[2] == "more" else ("<", 0.5)
            words = (words[0], *words[3:])
        elif words[:1] == ("multiple",):
            comparison, words = ">", ("1", *words[1:])
        elif words[:1] in (("over",), ("exactly",)):
            comparison, words = (">" if words[0] == "over" else "="), words[1:]
        if not words or words[0] == "a":
            return None
        found = number(words)
        if found is None:
            return None
        value, used = found
        key = tuple(noun_key(w) for w in words[used:] if w not in ("a", "its"))
        part = part_words.get(key)
        return None if part is None else Count(part, comparison, value + shift)
