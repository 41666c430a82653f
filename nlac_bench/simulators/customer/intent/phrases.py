"""Writes goals and their slots as text, for the user's messages and for task instructions."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from nlac_bench.simulators.customer.intent.goals import Goal, Item, Passenger, Person

Pick: TypeAlias = Callable[[Sequence[str]], str]
"""Chooses one of several wordings."""

MISTAKE = "ordered by mistake"
NOT_NEEDED = "no longer needed"
CABINS: Mapping[str, str] = {
    "basic_economy": "basic economy", "economy": "economy", "business": "business",
}  # fmt: skip


def request(goal: Goal, pick: Pick, full: bool) -> str:
    """Return the goal as an infinitive phrase in the first person; with all its details if ``full``."""
    what = record(goal)
    details = _details(goal, pick) if full else ""
    match goal.kind:
        case "cancel":
            return pick((f"cancel {what}", f"call off {what}", f"have {what} cancelled")) + details
        case "return":
            things = items(goal.items)
            return pick((f"return {things} from {what}", f"send back {things} from {what}")) + details
        case "exchange":
            verb = pick(("exchange", "swap"))
            things = exchanges(goal.items, verb) if full else f"{verb} {items(goal.items)}"
            return f"{things}, from {what}{details}"
        case "modify_items":
            verb = pick(("change", "switch"))
            things = exchanges(goal.items, verb) if full else f"{verb} {items(goal.items)}"
            return f"{things}, in {what}, which is still pending{details}"
        case "order_address":
            return pick((f"change the shipping address of {what}", f"have {what} sent elsewhere")) + details
        case "order_payment":
            return pick((f"change the payment method of {what}", f"pay for {what} differently")) + details
        case "user_address":
            return pick(("change my default address", "update the address in my profile")) + details
        case "book":
            return pick(("book a flight", "make a new booking")) + _route(goal) + details
        case "change_flights":
            return pick((f"change the flights of {what}", f"rebook {what}")) + details
        case "change_cabin":
            return pick((f"change the cabin of {what}", f"switch the cabin class of {what}")) + details
        case "add_bags":
            return pick((f"add checked bags to {what}", f"bring more checked bags on {what}")) + details
        case "change_passengers":
            return f"change the passengers of {what}{details}"
        case "compensation":
            return pick(
                (
                    f"get compensation for {what}{details}",
                    f"complain about {what} and be compensated{details}",
                )
            )
        case "ask":
            return pick((f"know {goal.question}", f"find out {goal.question}"))
        case "other":
            return goal.question


def record(goal: Goal) -> str:
    """Return the order or reservation, by its id or by the user's description."""
    if goal.record is None:
        return goal.hint or "it"
    if goal.record.startswith("#"):
        return f"order {goal.record}"
    return f"reservation {goal.record}"


def options(values: Mapping[str, str]) -> str:
    """Return options as text, such as ``size M, colour olive``."""
    return ", ".join(value if key in value else f"{key} {value}" for key, value in values.items())


def item(thing: Item) -> str:
    """Return one item with the options that the user remembers."""
    return f"the {thing.product} ({options(thing.options)})" if thing.options else f"the {thing.product}"


def items(things: Sequence[Item]) -> str:
    """Return a list of several items."""
    return join([item(thing) for thing in things])


def wanted(thing: Item) -> str:
    """Return the variant that is wanted instead."""
    if not thing.wanted:
        return "the very same variant again"
    number = f" (item {thing.number})" if thing.number else ""
    return f"one with {options(thing.wanted)}{number}"


def exchanges(things: Sequence[Item], verb: str) -> str:
    """Return each item with its new variant."""
    to = "to" if verb in ("change", "switch", "modify") else "for"
    return f"{verb} " + join([f"{item(thing)} {to} {wanted(thing)}" for thing in things])


def address(place: Mapping[str, str]) -> str:
    """Return an address on one line."""
    parts = (
        place["address1"],
        place["address2"],
        place["city"],
        f"{place['state']} {place['zip']}",
        place["country"],
    )
    return ", ".join(part for part in parts if part)


def passengers(people: Sequence[Passenger]) -> str:
    """Return names and dates of birth."""
    return join([f"{p.first_name} {p.last_name} (born {p.dob})" for p in people])


def flights(goal: Goal) -> str:
    """Return the flights that are wanted."""
    return join([f"{leg.number} on {leg.date}" for leg in goal.legs])


def reason(goal: Goal) -> str:
    """Return the reason as a clause."""
    if goal.reason == NOT_NEEDED:
        return "I no longer need it"
    if goal.reason == MISTAKE:
        return "I ordered it by mistake"
    return goal.reason or ""


def identity(person: Person) -> str:
    """Return the user's identity, from the data that the user has."""
    if person.user_id:
        return f"my user id is {person.user_id}"
    name = f"{person.first_name} {person.last_name}"
    return f"I am {name}, {person.email}" if person.email else f"I am {name}, zip code {person.zip}"


def join(parts: Sequence[str]) -> str:
    """Join ``parts`` as in ``a, b and c``."""
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def second_person(text: str) -> str:
    """Convert ``text`` from the first to the second person, for instructions."""
    return _FIRST_PERSON.sub(lambda match: _SECOND_PERSON[match[0]], text)


_SECOND_PERSON = {
    "I am": "you are", "I was": "you were", "I": "you", "my": "your", "My": "Your", "me": "you",
}  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(?:I am|I was|I|my|My|me)\b")


def _route(goal: Goal) -> str:
    trip = "" if goal.trip is None else f", {'one way' if goal.trip == 'one_way' else 'round trip'}"
    return f" from {goal.origin} to {goal.destination}{trip}" if goal.origin else ""


def _details(goal: Goal, pick: Pick) -> str:
    """Return the details for which an agent would otherwise have to ask."""
    paid = goal.payment.words if goal.payment else ""
    match goal.kind:
        case "cancel":
            return pick((f", because {reason(goal)}", f", as {reason(goal)}", f" since {reason(goal)}"))
        case "return":
            return pick((f", with the refund to {paid}", f", and get the refund on {paid}"))
        case "exchange" | "modify_items":
            return pick((f"; {paid} is for any price difference", f", settling the difference with {paid}"))
        case "order_address" | "user_address":
            return f" to {address(goal.address)}" if goal.address else ""
        case "order_payment":
            return pick((f", using {paid} instead", f" and use {paid} for it"))
        case "book":
            people = passengers(goal.passengers)
            cabin = CABINS[goal.cabin or "economy"]
            return (
                f": {flights(goal)} in {cabin}, for {people}, {bags(goal)}, "
                f"{'with' if goal.insurance == 'yes' else 'without'} travel insurance, paid with {paid}"
            )
        case "change_flights":
            return f" to {flights(goal)}, settling the difference with {paid}"
        case "change_cabin":
            return f" to {CABINS[goal.cabin or 'economy']}, settling the difference with {paid}"
        case "add_bags":
            return f", so that I have {bags(goal)} in all, paid with {paid}"
        case "change_passengers":
            return f" to {passengers(goal.passengers)}"
        case "compensation":
            return f", because {goal.reason}"
        case _:
            return ""


def bags(goal: Goal) -> str:
    """Return the number of checked bags as text."""
    return "no checked bags" if not goal.bags else f"{goal.bags} checked bag{'s' if goal.bags > 1 else ''}"
