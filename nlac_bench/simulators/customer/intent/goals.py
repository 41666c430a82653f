"""Defines what a scripted user knows and wants, as slots with which proposals are compared.

A script contains only what a person in that situation would know. It does not contain gold calls, required
outputs or ids that the person does not have, so the user's replies cannot leak the answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

GoalKind: TypeAlias = Literal[
    "cancel", "return", "exchange", "modify_items", "order_address", "order_payment", "user_address", "ask",
    "book", "change_flights", "change_cabin", "add_bags", "change_passengers", "compensation", "other",
]  # fmt: skip

Vocabulary: TypeAlias = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Product → option → values: the words that name goods in the agent's messages."""

STOP = "###STOP###"
"""A customer's reply that contains this text ends the conversation, as in the original τ-bench."""

AIRPORTS: Mapping[str, str] = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}
"""Airport code → city: the airports of all trips."""


@dataclass(frozen=True, slots=True)
class Person:
    """The user's identity. A field is None if the user does not know it."""

    first_name: str
    last_name: str
    email: str | None = None
    zip: str | None = None
    user_id: str | None = None
    dob: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One ordered item: its ``options`` as the user remembers them, and the options ``wanted`` instead.

    ``wanted`` is None for a return, and empty if the user wants the same variant again. ``number`` is the
    item id of the variant that is wanted, if the user knows it.
    """

    product: str
    options: Mapping[str, str] = field(default_factory=dict)
    wanted: Mapping[str, str] | None = None
    number: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment method: its id, its kind, the user's name for it, and whether the order was paid with it."""

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

    ``record`` is the order or reservation id, or None if the user does not know it; ``hint`` is then the
    user's description. ``question`` and ``answer`` belong to kind ``ask``: the text of the question and a
    regular expression for the form of an answer (an amount, a count, a status), never the answer itself.
    ``forbidden`` marks a request that policy forbids; after the refusal the user continues with ``fallback``,
    if there is one. ``change`` replaces the request when the agent asks to confirm it, or refuses a change of
    cabin: the user changes their mind. Kind ``other`` is a request that no tool can fulfil; ``question`` then
    contains the request as an infinitive.
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
class Record:
    """An order or a reservation, as its owner remembers it.

    ``amounts``: its total and the price of each item. ``route``: the airports, origin first.
    """

    id: str
    items: tuple[Item, ...] = ()
    amounts: tuple[float, ...] = ()
    address: Mapping[str, str] | None = None
    route: tuple[str, ...] = ()
    legs: tuple[Leg, ...] = ()
    cabin: str | None = None
    passengers: tuple[Passenger, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """What the user knows about itself beside its requests; it confirms this, but does not volunteer it."""

    email: str | None = None
    membership: str | None = None
    address: Mapping[str, str] | None = None
    payments: tuple[str, ...] = ()
    """The payment methods: ids, kinds, brands and last digits."""
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A complete user: identity, goals in order, what it knows, and how much the first message says.

    ``opening``: with ``all`` the first message states the identity and the whole first request, with
    ``request`` the request without the identity, with ``bare`` only the topic.
    """

    person: Person
    goals: tuple[Goal, ...]
    opening: Literal["all", "request", "bare"] = "all"
    vocabulary: Vocabulary = field(default_factory=dict)
    profile: Profile = field(default=Profile(), repr=False)
