"""Situations of scripted users: a user with one goal, and the facts that an agent would find with the tools.

A fact has the name of a placeholder of the phrases in ``tau_phrases.jsonl``; ``facts`` of a goal with a wrong
slot give the same phrases with that slot wrong.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nlac_bench.envs.tau.domain import Domain, Task, load_official
from nlac_bench.envs.tau.embedded import load_embedded
from nlac_bench.envs.tau.users.official_train import script_of, vocabulary_of
from nlac_bench.envs.tau.users.profile import profile_of
from nlac_bench.simulators.customer.intent.goals import Goal, Item, Script

NEXT = Goal("ask", question="whether you have a shop in Lisbon", answer=r"\blisbon\b")
"""The request that follows every goal, by which the harness sees that a user has moved on."""
CABINS = ("basic_economy", "economy", "business")
RETAIL = ("cancel", "return", "exchange", "modify_items", "order_address", "order_payment", "user_address")
AIRLINE = (
    "cancel",
    "change_flights",
    "change_cabin",
    "add_bags",
    "change_passengers",
    "book",
    "compensation",
)


@dataclass(frozen=True)
class Situation:
    """A user with one goal in a domain's tables."""

    domain: Domain
    task: Task
    script: Script
    goal: Goal
    record: str | None

    def alone(self) -> Script:
        """The user with this goal only, and the request that shows whether it was left behind."""
        return dataclasses.replace(self.script, goals=(self.goal, NEXT))


def situations(name: str, data: str = "embedded", stride: int = 1) -> Iterator[Situation]:
    """Every goal that a user of the domain can have confirmed or answered."""
    if data == "embedded":
        domain = load_embedded(name)
        tasks = [task for split in domain.tasks.values() for task in split]
    else:
        domain = load_official(name)
        tasks = list(domain.tasks["train"])
    vocabulary = vocabulary_of(domain) if data == "official" else {}
    for task in tasks[::stride]:
        script = (task.intent or {}).get("script") or script_of(task.instruction, vocabulary)
        script = dataclasses.replace(script, profile=profile_of(domain.tables, task.user_id))
        for goal in script.goals:
            if goal.kind != "other" and not goal.forbidden:
                plain = dataclasses.replace(goal, change=None, fallback=None)
                yield Situation(domain, task, script, plain, record_of(domain, task, plain))


def record_of(domain: Domain, task: Task, goal: Goal) -> str | None:
    if goal.record or not goal.hint:
        return goal.record
    tables, user = domain.tables, domain.tables["users"][task.user_id]
    if domain.name == "retail":
        product = goal.hint.removeprefix("my order with the ")
        return next(o for o in user["orders"] if product in {i["name"] for i in tables["orders"][o]["items"]})
    origin, destination = goal.hint.removeprefix("my trip from ").split(" to ")
    rows = [tables["reservations"][code] for code in user["reservations"]]
    return next(r["reservation_id"] for r in rows if (r["origin"], r["destination"]) == (origin, destination))


def facts(at: Situation, goal: Goal) -> dict[str, str]:
    """The placeholders' values for an agent that proposes ``goal`` to the user of ``at``."""
    person, tables = at.script.person, at.domain.tables
    found = {"first": person.first_name, "name": f"{person.first_name} {person.last_name}"}
    found |= {key: value for key in ("email", "zip", "user_id") if (value := getattr(person, key))}
    user = tables["users"].get(at.task.user_id, {})
    if goal.payment:
        found |= _payment(user, goal.payment.id)
        others = [m for m in user.get("payment_methods", {}) if m != goal.payment.id]
        if others:
            found["other_payment_words"] = _method(user, others[0])[0]
    if goal.address:
        place = goal.address
        parts = [
            place["address1"],
            place["address2"],
            f"{place['city']}, {place['state']} {place['zip']}",
            place["country"],
        ]
        found["new_address"] = ", ".join(part for part in parts if part)
        found["address_lines"] = "\n".join(part for part in parts if part)
    # a wrong record is one that the user did not mean; what it holds is shown as that of the right one
    shown = goal.record if goal.record and goal.record != at.goal.record else at.record
    retail = at.domain.name == "retail"
    if retail:
        if at.record:
            found |= {"order": shown or ""} | _order(at, goal, user)
        if goal.kind == "user_address" and "address" in user:
            found["old_address"] = _line(user["address"])
        if goal.kind == "cancel" and goal.reason:
            found["reason"] = goal.reason
    else:
        if at.record:
            found |= {"reservation": shown or ""} | _reservation(at, goal)
        if goal.kind == "cancel" and goal.reason:
            found["reason"] = goal.reason.replace("I am", "you are").replace("my ", "your ")
        found |= _airline(goal)
    if goal.kind == "ask":
        found["answer"] = at.task.outputs[0] if len(at.task.outputs) == 1 else ""
        if not found["answer"]:
            del found["answer"]
        elif "." in found["answer"] or not retail:
            found["answer"] = f"${found['answer']}"
    return found


def _method(user: Mapping[str, Any], method: str) -> tuple[str, str]:
    row = user.get("payment_methods", {}).get(method)
    source = row["source"] if row else method.rsplit("_", 1)[0]
    if source == "credit_card":
        brand = str(row.get("brand", "Visa")).capitalize() if row else "Visa"
        words = f"{brand} card ending in {row['last_four'] if row else '0707'}"
    else:
        words = {"paypal": "PayPal account", "gift_card": "gift card", "certificate": "travel certificate"}[
            source
        ]
    return words, f"{words} ({method})"


def _payment(user: Mapping[str, Any], method: str) -> dict[str, str]:
    words, full = _method(user, method)
    return {"payment": full, "payment_id": method, "payment_words": words}


def _line(place: Mapping[str, str]) -> str:
    parts = [
        place["address1"],
        place["address2"],
        place["city"],
        f"{place['state']} {place['zip']}",
        place["country"],
    ]
    return ", ".join(part for part in parts if part)


def _money(amount: float) -> str:
    return f"${abs(round(amount, 2)):.2f}"


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in options.items())


def _values(options: Mapping[str, str]) -> str:
    return ", ".join(options.values()) or "plain"


def _id(at: Situation, row: Mapping[str, Any]) -> str:
    """The item id of a variant; a made-up one for a variant that does not exist."""
    product = at.domain.tables["products"].get(row["product_id"], {"variants": {}})
    return next(
        (key for key, v in product["variants"].items() if v["options"] == row["options"]), "7070707070"
    )


def _full(name: str, options: Mapping[str, str]) -> str:
    return f"{name} ({_listed(options)})" if options else name


def _join(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]


def _lines(parts: list[str]) -> str:
    return "\n".join(f"- {part}" for part in parts)


def _numbers(parts: list[str]) -> str:
    return "\n".join(f"{number}. {part}" for number, part in enumerate(parts, 1))


def _matched(things: tuple[Item, ...], rows: list[Any]) -> tuple[list[Any], list[Any]]:
    """The order's row of each thing (a made-up one for a foreign thing), and the rows that stay."""
    left, found = list(rows), []
    for thing in things:
        fitting = [row for row in left if row["name"] == thing.product
                   and all(row["options"].get(k) == v for k, v in thing.options.items())]  # fmt: skip
        if fitting:
            found.append(fitting[0])
            left.remove(fitting[0])
        else:
            found.append(
                {"name": thing.product, "options": dict(thing.options), "price": 47.5, "product_id": ""}
            )
    return found, left


def _order(at: Situation, goal: Goal, user: Mapping[str, Any]) -> dict[str, str]:
    order = at.domain.tables["orders"][at.record or ""]
    rows = order["items"]
    contents = [f"{_full(row['name'], row['options'])} - {_money(row['price'])}" for row in rows]
    old = order["payment_history"][0]["payment_method_id"]
    found = {
        "contents": "; ".join(contents), "contents_list": _lines(contents),
        "contents_numbers": _numbers(contents),
        "total": _money(sum(row["price"] for row in rows)), "status": order["status"],
        "old_payment": _method(user, old)[1], "old_address": _line(order["address"]),
    }  # fmt: skip
    if not goal.items:
        return found
    mine, left = _matched(goal.items, rows)
    names = [row["name"] for row in mine]
    full = [_full(row["name"], row["options"]) for row in mine]
    found |= {
        "items": _join([f"the {text}" for text in full]), "item_names": _join(names),
        "item_list": _lines(full),
        "item_numbers": _numbers(full), "price": _money(mine[0]["price"]), "old_items": _join(full),
        "item_ids": _lines([f"{row['name']}, {_values(row['options'])} (item {_id(at, row)})"
                            for row in mine]),
        "item_rows": "\n".join((
            f"| {r['name']} | {_listed(r['options'])} | {_money(r['price'])} |"
        ) for r in mine),
    }  # fmt: skip
    kept = [row for row in left if row["name"] not in {thing.product for thing in at.goal.items}]
    if kept:
        found |= {"kept": kept[0]["name"], "kept_price": _money(kept[0]["price"])}
    if goal.items[0].wanted is None:
        return found
    new = [{**row["options"], **(thing.wanted or {})} for row, thing in zip(mine, goal.items, strict=True)]
    text = [_full(row["name"], options) for row, options in zip(mine, new, strict=True)]
    pairs = list(zip(full, text, strict=True))
    found |= {
        "swaps": _join([f"the {a} to the {b}" for a, b in pairs]), "new_items": _join(text),
        "swap_list": _lines([f"{a} → {b}" for a, b in pairs]),
        "swap_rows": "\n".join(f"| {a} | {b} |" for a, b in pairs), "product": names[0],
        "swap_cells": "\n".join(f"| {row['name']} | {_values(row['options'])} | {_values(options)} |"
                                for row, options in zip(mine, new, strict=True)),
        "swap_ids": _lines([
            f"{row['name']}: {_values(row['options'])} (item {_id(at, row)}) → {_values(options)} (item "
            f"{_id(at, {**row, 'options': options})})" for row, options in zip(mine, new, strict=True)
        ]),
        "plain_swaps": _join([f"the {_values(row['options'])} {row['name']} for the {_values(options)} one"
                              for row, options in zip(mine, new, strict=True)]),
        "difference": "$3.10", "new_price": _money(mine[0]["price"] + 3.1),
    }  # fmt: skip
    changed = {k: v for k, v in new[0].items() if mine[0]["options"].get(k) != v}
    if len(mine) == 1 and changed:
        found["new_options"] = _join([f"{key} {value}" for key, value in changed.items()])
    known = at.script.vocabulary.get(names[0], {})
    for key, value in changed.items():
        wrong = [v for v in known.get(key, ()) if v not in (value, mine[0]["options"].get(key))]
        found |= {"option": key, "wanted_value": value, "old_value": mine[0]["options"].get(key, "")}
        if wrong:
            found["wrong_value"] = wrong[0]
        break
    for key, value in new[0].items():
        wrong = [v for v in known.get(key, ()) if v != value]
        if key not in changed and wrong:
            found |= {"same_option": key, "same_value": value, "same_wrong": wrong[0]}
            break
    return found


def _reservation(at: Situation, goal: Goal) -> dict[str, str]:
    row = at.domain.tables["reservations"][at.record or ""]
    old = [f"{leg['flight_number']} on {leg['date']}" for leg in row["flights"]]
    people = [f"{p['first_name']} {p['last_name']} (born {p['dob']})" for p in row["passengers"]]
    found = {
        "route": f"{row['origin']} to {row['destination']}", "origin": row["origin"],
        "destination": row["destination"], "old_cabin": row["cabin"].replace("_", " "),
        "old_flights": _join(old),
        "old_flight_list": _lines(old),
        "old_passengers": _join(people), "total": f"${row['payment_history'][0]['amount']}",
    }  # fmt: skip
    if goal.legs:
        new = [f"{leg.number} on {leg.date}" for leg in goal.legs]
        kept, moved = [leg for leg in new if leg in old], [leg for leg in new if leg not in old]
        if kept and moved:
            found |= {"kept_flight": kept[0], "moved_flights": _join(moved)}
    if goal.kind == "add_bags" and goal.bags is not None:
        before = row["total_baggages"]
        unpaid = min(goal.bags, row["nonfree_baggages"] + 1)
        if goal.bags > before:
            found |= {"old_bags": str(before), "added_bags": str(goal.bags - before)}
        found |= {"paid_bags": str(unpaid), "free_bags": str(goal.bags - unpaid)}
    if goal.kind == "change_passengers":
        last, new_one = row["passengers"][-1], goal.passengers[-1]
        found |= {
            "old_passenger": f"{last['first_name']} {last['last_name']}", "old_dob": last["dob"],
            "new_passenger": f"{new_one.first_name} {new_one.last_name}", "new_dob": new_one.dob,
        }  # fmt: skip
    if goal.kind == "compensation":
        found["amount"] = f"${100 * len(row['passengers'])}"
    return found


def _airline(goal: Goal) -> dict[str, str]:
    found: dict[str, str] = {}
    if goal.legs:
        legs = [f"{leg.number} on {leg.date}" for leg in goal.legs]
        found |= {"new_flights": _join(legs), "flight_list": _lines(legs)}
        found["flight_rows"] = "\n".join(f"| {leg.number} | {leg.date} |" for leg in goal.legs)
    if goal.cabin:
        found["cabin"] = goal.cabin.replace("_", " ")
        if goal.kind == "change_cabin":
            found["other_cabin"] = next(c for c in CABINS if c != goal.cabin).replace("_", " ")
    if goal.bags is not None:
        found["total_bags"] = found["bags_answer"] = str(goal.bags)
    if goal.passengers:
        people = [f"{p.first_name} {p.last_name} (born {p.dob})" for p in goal.passengers]
        found |= {"passengers": _join(people), "passenger_list": _lines(people)}
    if goal.insurance:
        found["insurance"] = goal.insurance
        found["insurance_words"] = f"{'with' if goal.insurance == 'yes' else 'without'} travel insurance"
    if goal.kind == "book":
        found |= {"origin": goal.origin or "", "destination": goal.destination or "", "total": "$412"}
        found["route"] = f"{goal.origin} to {goal.destination}"
        found["trip"] = (goal.trip or "one_way").replace("_", " ")
    return found
