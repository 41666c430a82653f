"""What a scripted user knows and wants: structured, so that it can judge a proposal slot by slot.

A script holds only what a person in that place would know. It never holds gold calls, required outputs or
ids that the person has not got, so nothing of the answer can leak through the user's replies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

GoalKind: TypeAlias = Literal[
    "cancel", "return", "exchange", "modify_items", "order_address", "order_payment", "user_address", "ask",
    "book", "change_flights", "change_cabin", "add_bags", "change_passengers", "compensation", "other",
]  # fmt: skip

Vocabulary: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Product → option → values: the words by which the user recognises goods in the agent's messages."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who the user is. A field is None where the user does not know it."""

    first_name: str
    last_name: str
    email: str | None = None
    zip: str | None = None
    user_id: str | None = None
    dob: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One thing ordered: its ``options`` as the user recalls them, and the options ``wanted`` instead.

    ``wanted`` is None for a return, and empty where the very same variant is wanted again.
    """

    product: str
    options: Mapping[str, str] = field(default_factory=dict)
    wanted: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment method: its id, its kind, how the user calls it, and whether the order was paid with it."""

    id: str
    source: str
    words: str
    last_four: str | None = None
    original: bool = False


@dataclass(frozen=True, slots=True)
class Leg:
    """One flight that the user wants."""

    number: str
    date: str


@dataclass(frozen=True, slots=True)
class Passenger:
    """One traveller."""

    first_name: str
    last_name: str
    dob: str


@dataclass(frozen=True, slots=True)
class Goal:
    """One request. Slots that do not belong to its kind are None or empty.

    ``record`` is the order or reservation id, or None where the user does not know it; ``hint`` then says
    how they describe it. ``question`` and ``answer`` belong to kind ``ask``: the words of the question and a
    regular expression for what an answer looks like (an amount, a count, a status), never the answer.
    ``forbidden`` marks what policy refuses; the user then goes on to ``fallback``, if there is one.
    ``change`` replaces the request once the agent has asked to confirm it: the user changes their mind.
    Kind ``other`` is what no tool can do; ``question`` then says it as an infinitive.
    """

    kind: GoalKind
    record: str | None = None
    hint: str = ""
    items: tuple[Item, ...] = ()
    payment: Payment | None = None
    reason: str | None = None
    address: Mapping[str, str] | None = None
    question: str = ""
    answer: str = ""
    origin: str | None = None
    destination: str | None = None
    trip: str | None = None
    cabin: str | None = None
    legs: tuple[Leg, ...] = ()
    passengers: tuple[Passenger, ...] = ()
    bags: int | None = None
    insurance: str | None = None
    forbidden: bool = False
    fallback: "Goal | None" = None
    change: "Goal | None" = None


@dataclass(frozen=True, slots=True)
class Script:
    """A user in full: who they are, what they want in order, and how readily they say it.

    ``opening``: ``all`` names identity and the whole first request at once, ``request`` leaves the identity
    until it is asked for, ``bare`` says only what it is about.
    """

    person: Person
    goals: tuple[Goal, ...]
    opening: Literal["all", "request", "bare"] = "all"
    vocabulary: Vocabulary = field(default_factory=dict)
