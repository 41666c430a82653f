"""Narrows a goal to the part that a report names.

A report may name fewer values than the goal has: one of two flights, "you" in place of the customer's name,
no apartment. Only a value that differs from the goal contradicts it, so a report is compared with this part.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from nlac_bench.simulators.customer.compare.trips import flights_said
from nlac_bench.simulators.customer.hear.naming import names_items, option_mentions, wanted
from nlac_bench.simulators.customer.hear.places import named_place
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.intent.goals import Goal, Item, Leg, Passenger, Script


def named_part(units: Sequence[Unit], goal: Goal, script: Script) -> Goal:
    """Return ``goal`` with the items, flights, passengers and parts of the address that ``units`` name.

    All of a kind remain if none is named, or if something else is named in place of one.
    """
    return replace(
        goal,
        items=_items(units, goal, script) or goal.items,
        legs=_legs(units, goal) or goal.legs,
        passengers=_passengers(joined(units), goal, script) or goal.passengers,
        address=goal.address and named_place(joined(units), goal.address),
    )


_COUNT = re.compile(r"\b(\d|one|two|three|four|five) (?:passengers?|travell?ers?|people|adults?)\b")
_NUMBERS = ("", "one", "two", "three", "four", "five")


def _items(units: Sequence[Unit], goal: Goal, script: Script) -> tuple[Item, ...]:
    """Return the named items; of several of one product, those whose options are named, or the first."""
    mentioned = {(product, key, value) for product, key, value, _ in option_mentions(units, goal, script)}
    items: dict[str, list[Item]] = {}
    for thing in goal.items:
        if names_items(units, replace(goal, items=(thing,))):
            items.setdefault(thing.product, []).append(thing)
    kept = []
    for product, things in items.items():
        named = [
            thing for thing in things
            if any((product, *pair) in mentioned for pair in (wanted(thing) or thing.options).items())
        ]  # fmt: skip
        described = any(name == product for name, _, _ in mentioned)
        kept += named or (things if described else things[:1])
    return tuple(kept)


def _legs(units: Sequence[Unit], goal: Goal) -> tuple[Leg, ...]:
    """Return the named flights with the named dates; none if another flight than the old one is named."""
    text = joined(units)
    own = {leg.number.lower() for leg in goal.legs}
    new = f"(?:{'|'.join(own)})"
    mentioned = flights_said(units)
    for other in {number for number, _, _ in mentioned} - own:
        if not re.search(rf"{_OLD}{other}\b|\b{other}\b{_BECOMES}{new}\b", text):
            return ()
    stated = {number for number, _, role in mentioned if role not in ("present", "context")}
    dates = set(re.findall(r"\b2024-\d\d-\d\d\b", text))
    partial = dates <= {
        leg.date for leg in goal.legs
    }  # "NB102 on 24 May; NB101 stays": one date is not named
    return tuple(
        replace(leg, date="") if partial and leg.date not in dates else leg
        for leg in goal.legs
        if leg.number.lower() in stated
    )


_OLD = (
    r"\b(?:from|instead of|in place of|rather than|replac(?:es|ing)|previous(?:ly)?|former(?:ly)?|old|was)\b"
    r"[^.;:,\n]{0,20}\b"
)
_BECOMES = (
    r"[^.;:\n]{0,40}(?: -> |\b(?:(?:is|are) now|(?:changed|switched|moved|swapped) (?:to|for)|"
    r"replaced (?:with|by))\b)[^.;:\n]{0,20}\b"
)


def _passengers(text: str, goal: Goal, script: Script) -> tuple[Passenger, ...]:
    """Return the travellers named by their full names; the customer is also "you"."""
    counts = {int(n) if n.isdigit() else _NUMBERS.index(n) for n in _COUNT.findall(text)}
    if counts - {len(goal.passengers)}:
        return ()
    you = f"{script.person.first_name} {script.person.last_name}".lower()
    names = [(person, f"{person.first_name} {person.last_name}".lower()) for person in goal.passengers]
    if goal.kind == "change_passengers" and not (
        names and names[-1][1] in text
        and all(name in text or (name == you and _YOU.search(text)) for _, name in names)
    ):  # fmt: skip
        return ()
    return tuple(person for person, name in names if name in text)


_YOU = re.compile(r"\b(?:you|yourself)\b")
