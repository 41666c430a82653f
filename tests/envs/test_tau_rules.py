"""Which calls the policies forbid: gold calls break no rule, and each rule has a call that breaks it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau.conduct import RULES
from nlac_bench.envs.tau.database import Row
from nlac_bench.envs.tau.domain import Domain, Task, load_official
from nlac_bench.envs.tau.embedded import load_embedded
from nlac_bench.envs.tau.invoke import TRANSFER, invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.envs.tau.selection import is_clean
from nlac_bench.envs.tau.writes import WRITES, Write

SHOP, AIRLINE = load_embedded("retail"), load_embedded("airline")


def broken(domain: Domain, write: Write, user_id: str) -> set[str]:
    return {rule.name for rule in RULES[domain.name] if rule.broken_by(write, user_id)}


def gold_violations(domain: Domain, task: Task) -> set[str]:
    db, done, names = domain.new_database(), tuple[Write, ...](), set[str]()
    tools = TauGrader(domain).tools
    for call in task.actions:
        if call.name == TRANSFER:
            continue
        write = Write(call.name, call.kwargs, db.fork(), 0, False, done)
        if call.name in WRITES[domain.name]:
            names |= broken(domain, write, task.user_id)
            done = (*done, write)
        invoke(tools, db, call.name, call.kwargs)
    return names


@pytest.mark.lists
@pytest.mark.parametrize("domain", [SHOP, AIRLINE], ids=["retail", "airline"])
def test_gold_calls_break_no_rule(domain: Domain) -> None:
    for tasks in domain.tasks.values():
        assert all(not gold_violations(domain, task) for task in tasks)


@pytest.mark.lists
@pytest.mark.official
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_official_gold_calls_break_a_rule_only_where_they_are_known_to_be_wrong(
    name: str, official_data: Path
) -> None:
    domain = load_official(name, official_data / "tau_bench")
    found = [task for tasks in domain.tasks.values() for task in tasks if gold_violations(domain, task)]
    assert found and not any(map(is_clean, found))
    assert len(found) == {"retail": 23, "airline": 8}[name]


# --- the shop ---------------------------------------------------------------------------------------------


def orders(status: str) -> Iterator[tuple[Row, Row]]:
    """Yield orders with their users."""
    for order in SHOP.tables["orders"].values():
        if order["status"] == status:
            yield order, SHOP.tables["users"][order["user_id"]]


def first_method(order: Row) -> str:
    return str(order["payment_history"][0]["payment_method_id"])


def variants(product_id: str, available: bool = True) -> list[str]:
    rows = SHOP.tables["products"][product_id]["variants"].values()
    return [row["item_id"] for row in rows if row["available"] == available]


PENDING, _ = next(orders("pending"))
DELIVERED, _ = next(orders("delivered"))
STREET = {"address1": "1 A", "address2": "", "city": "B", "state": "C", "country": "D", "zip": "1"}


def swap(order: Row, new: str, method: str | None = None) -> dict[str, Any]:
    return {
        "order_id": order["order_id"], "item_ids": [order["items"][0]["item_id"]], "new_item_ids": [new],
        "payment_method_id": method or first_method(order),
    }  # fmt: skip


def with_method(status: str, fits: Callable[[Row, str, Row], bool]) -> tuple[Row, str]:
    """Return an order and a payment method of its user for which ``fits(order, method, row)`` holds."""
    return next(
        (order, method)
        for order, user in orders(status)
        for method, row in user["payment_methods"].items()
        if fits(order, method, row)
    )


def shop_calls() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield the name of a rule with a call that breaks it, and the user."""
    pending, delivered = {"order_id": PENDING["order_id"]}, {"order_id": DELIVERED["order_id"]}
    owner, item = PENDING["user_id"], PENDING["items"][0]
    yield "own_orders", "cancel_pending_order", {**pending, "reason": "no longer needed"}, "somebody_else"
    yield "own_profile", "modify_user_address", {"user_id": owner, **STREET}, "somebody_else"
    yield "pending_only", "modify_pending_order_address", {**delivered, **STREET}, DELIVERED["user_id"]
    items = {"item_ids": [item["item_id"]], "payment_method_id": first_method(PENDING)}
    yield "delivered_only", "return_delivered_order_items", {**pending, **items}, owner
    yield "reason", "cancel_pending_order", {**pending, "reason": "too expensive"}, owner
    yield "own_payment", "modify_pending_order_payment", {**pending, "payment_method_id": "paypal_1"}, owner
    order, method = with_method(
        "delivered", lambda o, m, row: m != first_method(o) and row["source"] != "gift_card"
    )
    back = {"order_id": order["order_id"], "item_ids": [], "payment_method_id": method}
    yield "refund", "return_delivered_order_items", back, order["user_id"]
    same = {**pending, "payment_method_id": first_method(PENDING)}
    yield "other_method", "modify_pending_order_payment", same, owner
    order, method = with_method(
        "pending", lambda o, _, row: row.get("balance", 1e9) < o["payment_history"][0]["amount"]
    )
    short = {"order_id": order["order_id"], "payment_method_id": method}
    yield "covers_order", "modify_pending_order_payment", short, order["user_id"]
    order, method, new = next(
        (order, method, new)
        for order, user in orders("delivered")
        for method, row in user["payment_methods"].items()
        for new in variants(order["items"][0]["product_id"])
        if row.get("balance", 1e9)
        < SHOP.tables["products"][order["items"][0]["product_id"]]["variants"][new]["price"]
        - order["items"][0]["price"]
    )
    yield (
        "covers_difference", "exchange_delivered_order_items", swap(order, new, method), order["user_id"]
    )  # fmt: skip
    other = next(p for p in SHOP.tables["products"] if p != item["product_id"])
    yield "same_product", "modify_pending_order_items", swap(PENDING, variants(other)[0]), owner
    order, gone = next(
        (order, new)
        for order, _ in orders("pending")
        for new in variants(order["items"][0]["product_id"], False)
    )
    yield "available", "modify_pending_order_items", swap(order, gone), order["user_id"]


# --- the airline ------------------------------------------------------------------------------------------


def trips(fits: Callable[[Row, Row, list[str]], bool], domain: Domain = AIRLINE) -> Row:
    """Return the first reservation for which ``fits(reservation, user, statuses of its flights)`` holds."""
    tables = domain.tables
    for row in tables["reservations"].values():
        days = [tables["flights"][leg["flight_number"]]["dates"][leg["date"]] for leg in row["flights"]]
        if fits(row, tables["users"][row["user_id"]], [each["status"] for each in days]):
            found: Row = row
            return found
    raise AssertionError("no reservation fits")


def card(user_id: str, source: str = "credit_card") -> str:
    methods = AIRLINE.tables["users"][user_id]["payment_methods"]
    return next(name for name, row in methods.items() if row["source"] == source)


def legs(row: Row) -> list[dict[str, str]]:
    return [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in row["flights"]]


def old(row: Row) -> bool:
    return bool(row["created_at"] < "2024-05-10")


def airline_calls() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield the name of a rule with a call that breaks it, and the user."""
    plain = trips(
        lambda r, u, s: r["cabin"] == "economy" and r["insurance"] == "no" and old(r)
        and len(r["flights"]) == 1 and set(s) == {"available"} and u["membership"] == "regular"
    )  # fmt: skip
    owner, code = plain["user_id"], {"reservation_id": plain["reservation_id"]}
    paid = {"payment_id": card(owner)}
    yield "own_reservations", "cancel_reservation", code, "somebody_else"
    booking = {
        "user_id": owner, "origin": "JFK", "destination": "LAX", "flight_type": "one_way", "cabin": "economy",
        "flights": [], "passengers": [{"first_name": "A", "last_name": "B", "dob": "1990-01-01"}],
        "payment_methods": [{"payment_id": card(owner), "amount": 1}], "total_baggages": 0,
        "nonfree_baggages": 0, "insurance": "no",
    }  # fmt: skip
    yield "own_profile", "book_reservation", booking, "somebody_else"
    yield "five_passengers", "book_reservation", {**booking, "passengers": booking["passengers"] * 6}, owner
    twice = [{"payment_id": card(owner), "amount": 1}] * 2
    yield "few_methods", "book_reservation", {**booking, "payment_methods": twice}, owner
    unknown = [{"payment_id": "gift_card_1", "amount": 1}]
    yield "own_payment", "book_reservation", {**booking, "payment_methods": unknown}, owner
    yield "paid_bags", "book_reservation", {**booking, "total_baggages": 2}, owner
    flights = {**code, "cabin": "economy", "flights": legs(plain), **paid}
    basic = trips(lambda r, u, s: r["cabin"] == "basic_economy" and set(s) == {"available"})
    moved = [{**leg, "date": "2024-05-29"} for leg in legs(basic)]
    yield (
        "basic_economy", "update_reservation_flights",
        {"reservation_id": basic["reservation_id"], "cabin": "economy", "flights": moved,
         "payment_id": card(basic["user_id"])}, basic["user_id"],
    )  # fmt: skip
    elsewhere = next(n for n, f in AIRLINE.tables["flights"].items() if f["origin"] != plain["origin"])
    other = [{"flight_number": elsewhere, "date": "2024-05-20"}]
    yield "same_route", "update_reservation_flights", {**flights, "flights": other}, owner
    voucher = trips(lambda r, u, s: any(m["source"] == "certificate" for m in u["payment_methods"].values()))
    yield (
        "card", "update_reservation_flights",
        {"reservation_id": voucher["reservation_id"], "cabin": voucher["cabin"], "flights": legs(voucher),
         "payment_id": card(voucher["user_id"], "certificate")}, voucher["user_id"],
    )  # fmt: skip
    packed = trips(lambda r, u, s: r["total_baggages"] > 0)
    fewer = {"total_baggages": 0, "nonfree_baggages": 0, "payment_id": card(packed["user_id"])}
    yield (
        "bags_stay", "update_reservation_baggages", {"reservation_id": packed["reservation_id"], **fewer},
        packed["user_id"],
    )  # fmt: skip
    yield "number_of_passengers", "update_reservation_passengers", {**code, "passengers": []}, owner
    yield "cancel_conditions", "cancel_reservation", code, owner
    flown = trips(lambda r, u, s: "landed" in s or "flying" in s)
    yield "flown", "cancel_reservation", {"reservation_id": flown["reservation_id"]}, flown["user_id"]
    yield "compensation", "send_certificate", {"user_id": owner, "amount": 77}, owner


CALLS = [(SHOP, *call) for call in shop_calls()] + [(AIRLINE, *call) for call in airline_calls()]


def test_each_rule_has_a_call_that_breaks_it() -> None:
    tried = {(domain.name, rule) for domain, rule, *_ in CALLS}
    assert tried == {(domain, rule.name) for domain, rules in RULES.items() for rule in rules}


@pytest.mark.parametrize(("domain", "rule", "name", "arguments", "user_id"), CALLS, ids=lambda v: str(v)[:20])
def test_a_forbidden_call_breaks_its_rule(
    domain: Domain, rule: str, name: str, arguments: dict[str, Any], user_id: str
) -> None:
    assert rule in broken(domain, Write(name, arguments, domain.new_database(), 0, False), user_id)


@pytest.mark.parametrize("junk", [None, 7, True, [], {}, [[]], [None], {"a": 1}, "x"])
def test_arguments_of_any_form_do_not_raise(junk: object) -> None:
    for domain, _, name, arguments, user_id in CALLS:
        for key in arguments:
            broken(domain, Write(name, {**arguments, key: junk}, domain.new_database(), 0, False), user_id)


def test_an_upgrade_makes_flights_changeable() -> None:
    basic = trips(lambda r, u, s: r["cabin"] == "basic_economy" and set(s) == {"available"})
    change = {
        "reservation_id": basic["reservation_id"], "cabin": "economy", "payment_id": card(basic["user_id"]),
        "flights": [{**leg, "date": "2024-05-29"} for leg in legs(basic)],
    }  # fmt: skip
    db = AIRLINE.new_database()
    upgrade = Write("update_reservation_flights", {**change, "flights": legs(basic)}, db, 0, False)
    refused = Write("update_reservation_flights", upgrade.arguments, db, 0, True)
    for earlier, forbidden in (((), True), ((upgrade,), False), ((refused,), True)):
        write = Write("update_reservation_flights", change, db, 0, False, earlier)
        assert ("basic_economy" in broken(AIRLINE, write, basic["user_id"])) == forbidden


@pytest.mark.official
def test_a_delay_is_compensated_only_after_a_change(official_data: Path) -> None:
    domain = load_official("airline", official_data / "tau_bench")
    late = trips(lambda r, u, s: "delayed" in s and "cancelled" not in s and r["cabin"] == "business", domain)
    db, user_id = domain.new_database(), late["user_id"]
    half = {"user_id": user_id, "amount": 50 * len(late["passengers"])}
    cancelled = Write("cancel_reservation", {"reservation_id": late["reservation_id"]}, db, 0, False)
    for earlier, forbidden in (((), True), ((cancelled,), False)):
        write = Write("send_certificate", half, db, 0, False, earlier)
        assert ("compensation" in broken(domain, write, user_id)) == forbidden
