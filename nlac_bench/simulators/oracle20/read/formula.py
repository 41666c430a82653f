"""Represents a question as a formula over tests of the hidden object, in three-valued logic.

A test is evaluated for all objects at once, as an ``int8`` vector of +1 (yes), -1 (no) and 0 (not known), so
that "and" is the minimum, "or" the maximum and "not" the negative: Kleene's strong three-valued logic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Literal, Protocol, TypeAlias

import numpy as np

Truth: TypeAlias = np.ndarray
"""``int8 [objects]`` of +1, 0 and -1."""
Comparison: TypeAlias = Literal[">", "<", "="]
Measure: TypeAlias = Literal["height", "length", "weight", "price"]


@dataclass(frozen=True, slots=True)
class Attr:
    """An attribute of the knowledge base, such as ``fur``."""

    id: str


@dataclass(frozen=True, slots=True)
class Noun:
    """ "It is a …" with a noun that may name an object, a category, or both. Only this can be a guess."""

    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """The number of a part, compared with a number."""

    part: str
    comparison: Comparison
    number: float


@dataclass(frozen=True, slots=True)
class Compare:
    """A measure (bulk, height, length, weight, price) compared with a number in cm, kg or dollars."""

    measure: Measure
    comparison: Comparison
    number: float


@dataclass(frozen=True, slots=True)
class BulkCompare:
    """Bulk compared with a thing of this size rank and longest dimension in cm."""

    comparison: Comparison
    rank: float
    cm: float


@dataclass(frozen=True, slots=True)
class Const:
    """True or False for every object: "is it a thing", or "is it a giraffe" if there is no giraffe."""

    value: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part of the question for which the knowledge base has no test."""

    text: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: "Formula"


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction."""

    parts: tuple["Formula", ...]


@dataclass(frozen=True, slots=True)
class Role:
    """A test of what the object is used, kept or sold *as*; a yes does not say that it is such an object."""

    part: "Formula"


@dataclass(frozen=True, slots=True)
class Question:
    """A whole question: its formula, and its words, which are looked up where the formula does not decide."""

    formula: "Formula"
    text: str


Atom: TypeAlias = Attr | Noun | Count | Compare | BulkCompare | Const | Unknown | Role | Question
Formula: TypeAlias = Atom | Not | And | Or


class AtomValues(Protocol):
    """Interface of what evaluates tests for the objects."""

    def truth(self, atom: Atom) -> Truth:
        """Return the value of ``atom`` for every object."""


def evaluate(formula: Formula, values: AtomValues) -> Truth:
    """Return the value of ``formula`` for every object."""
    if isinstance(formula, Not):
        return -evaluate(formula.part, values)
    if isinstance(formula, And):
        return reduce(np.minimum, (evaluate(part, values) for part in formula.parts))
    if isinstance(formula, Or):
        return reduce(np.maximum, (evaluate(part, values) for part in formula.parts))
    return values.truth(formula)


def conjunction(*parts: Formula) -> Formula:
    """Join the parts by "and"; parts that are always true are left out."""
    kept = tuple(part for part in parts if part != Const(True))
    return Const(True) if not kept else kept[0] if len(kept) == 1 else And(kept)


def nouns(formula: Formula) -> Iterator[Noun]:
    """Yield every noun in ``formula``."""
    if isinstance(formula, Noun):
        yield formula
    elif isinstance(formula, Question):
        yield from nouns(formula.formula)
    elif isinstance(formula, (Not, Role)):
        yield from nouns(formula.part)
    elif isinstance(formula, (And, Or)):
        for part in formula.parts:
            yield from nouns(part)


def unknown_words(formula: Formula) -> Iterator[str]:
    """Yield the words of every part of ``formula`` that is not understood."""
    if isinstance(formula, Unknown):
        yield formula.text
    elif isinstance(formula, Question):
        yield from unknown_words(formula.formula)
    elif isinstance(formula, (Not, Role)):
        yield from unknown_words(formula.part)
    elif isinstance(formula, (And, Or)):
        for part in formula.parts:
            yield from unknown_words(part)


def claimed(formula: Formula) -> list[Noun]:
    """Return the nouns that are true if the answer is yes: not those under "or" or "not", nor roles.

    Whether an "or" consists of different names of one thing is decided in ``World.guessed``.
    """
    if isinstance(formula, Noun):
        return [formula]
    if isinstance(formula, Question):
        return claimed(formula.formula)
    if isinstance(formula, And):
        return [noun for part in formula.parts for noun in claimed(part)]
    return []
