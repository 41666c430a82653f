"""Proposals generated from a goal: right ones in several styles, and the same with one slot made wrong."""

import dataclasses
import random
from collections.abc import Iterator, Mapping

from nlac_bench.simulators.customer.intent.goals import Goal, Item, Leg, Script

ASKS = (
    "Do you confirm (yes/no)?",
    "Shall I go ahead?",
    "Is that correct?",
    "Please reply 'yes' to proceed.",
    "Would you like me to proceed with this?",
    "If you agree, I will submit it right away.",
)


def proposal(goal: Goal, rng: random.Random, ask: str = "") -> str:
    """What an agent would write to have ``goal`` confirmed, in one of three layouts; it ends with ``ask``."""
    head, slots = _head(goal), _slots(goal)
    layout = rng.randrange(3)
    if layout == 0:
        body = f"{head}, " + ", ".join(f"{name} {value}" for name, value in slots) + "."
    elif layout == 1:
        body = (
            f"**{head}**\n\n"
            + "\n".join(f"- **{name.capitalize()}:** {value}" for name, value in slots)
            + "\n"
        )
    else:
        body = f"Thank you! Here is what I am going to do: {head}. " + " ".join(
            f"{name.capitalize()}: {value}." for name, value in slots
        )
    return f"{body} {ask.strip() or rng.choice(ASKS)}"


def wrong_goals(goal: Goal, script: Script, rng: random.Random) -> Iterator[tuple[str, Goal]]:
    """Copies of ``goal`` with one slot changed, each with that slot's name."""
    change = dataclasses.replace
    if goal.record:
        digit = str((int(goal.record[-1], 36) + 1) % 10)
        yield "record", change(goal, record=goal.record[:-1] + digit)
    if goal.kind == "cancel" and goal.reason in ("no longer needed", "ordered by mistake"):
        other = {"no longer needed": "ordered by mistake", "ordered by mistake": "no longer needed"}[
            goal.reason
        ]
        yield "reason", change(goal, reason=other)
    if goal.payment:
        for source in ("paypal", "gift_card", "credit_card"):
            if source != goal.payment.source:
                wrong = dataclasses.replace(goal.payment, id=f"{source}_7070707", source=source)
                yield "payment", change(goal, payment=wrong)
    if len(goal.items) > 1 and len({thing.product for thing in goal.items}) > 1:
        yield "items", change(goal, items=goal.items[1:])
    if goal.items and script.vocabulary:
        own = {thing.product for thing in goal.items}
        spare = rng.choice([name for name in script.vocabulary if name not in own])
        first = goal.items[0]
        yield "items", change(goal, items=(dataclasses.replace(first, product=spare), *goal.items[1:]))
        if goal.kind == "return":
            yield "items", change(goal, items=(*goal.items, Item(spare)))
    for place, thing in enumerate(goal.items):
        known = script.vocabulary.get(thing.product, {})
        for key, new in (thing.wanted or {}).items():
            others = [v for v in known.get(key, ()) if v not in (new, thing.options.get(key))]
            if others and sum(other.product == thing.product for other in goal.items) == 1:
                wanted = {**(thing.wanted or {}), key: rng.choice(others)}
                items = list(goal.items)
                items[place] = dataclasses.replace(thing, wanted=wanted)
                yield "options", change(goal, items=tuple(items))
    if goal.address:
        code = f"{(int(goal.address['zip']) + 1) % 100000:05d}"
        yield "address", change(goal, address={**goal.address, "zip": code})
        number, _, street = goal.address["address1"].partition(" ")
        yield "address", change(goal, address={**goal.address, "address1": f"{int(number) + 1} {street}"})
    if goal.cabin:
        others = [c for c in ("basic_economy", "economy", "business") if c != goal.cabin]
        yield "cabin", change(goal, cabin=rng.choice(others))
    if goal.legs:
        last = goal.legs[-1]
        day = int(last.date[-2:]) % 28 + 1
        yield "flights", change(goal, legs=(*goal.legs[:-1], Leg(last.number, f"2024-05-{day:02d}")))
        yield "flights", change(goal, legs=(*goal.legs[:-1], Leg("NB999", last.date)))
    if goal.bags is not None:
        yield "bags", change(goal, bags=goal.bags + 1)
    if goal.passengers and goal.kind == "change_passengers":
        last_one = dataclasses.replace(goal.passengers[-1], dob="1949-01-31")
        yield "passengers", change(goal, passengers=(*goal.passengers[:-1], last_one))
    if goal.insurance:
        yield "insurance", change(goal, insurance="no" if goal.insurance == "yes" else "yes")


def _head(goal: Goal) -> str:
    return {
        "cancel": "cancel your booking" if goal.record and goal.record[0] != "#" else "cancel your order",
        "return": "return these items",
        "exchange": "exchange these items",
        "modify_items": "modify these items",
        "order_address": "change the shipping address of your order",
        "user_address": "change the default address of your profile",
        "order_payment": "change the payment method of your order",
        "book": "book this flight",
        "change_flights": "change your flights",
        "change_cabin": "change the cabin",
        "add_bags": "add checked bags",
        "change_passengers": "change the passengers",
        "compensation": "send you a certificate as compensation",
    }[goal.kind]


def _slots(goal: Goal) -> list[tuple[str, str]]:
    slots = []
    if goal.record:
        slots.append(("order" if goal.record.startswith("#") else "reservation", goal.record))
    if goal.kind == "cancel" and goal.reason:
        slots.append(("reason", goal.reason))
    for thing in goal.items:
        if thing.wanted is None:
            slots.append(("item", thing.product))
        else:
            new = {**thing.options, **thing.wanted}
            slots.append(
                ("item", f"{thing.product} ({_listed(thing.options)}) to {thing.product} ({_listed(new)})")
            )
    if goal.address:
        slots.append(("new address", ", ".join(value for value in goal.address.values() if value)))
    slots += [("flight", f"{leg.number} on {leg.date}") for leg in goal.legs]
    if goal.cabin:
        slots.append(("cabin", goal.cabin.replace("_", " ")))
    if goal.passengers:
        slots.append(
            ("passengers", " and ".join(f"{p.first_name} {p.last_name} ({p.dob})" for p in goal.passengers))
        )
    if goal.bags is not None:
        slots.append(("bags", f"{goal.bags} checked bags in total"))
    if goal.insurance:
        slots.append(("insurance", goal.insurance))
    if goal.payment:
        slots.append(("payment", goal.payment.id))
    return slots


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in options.items())
