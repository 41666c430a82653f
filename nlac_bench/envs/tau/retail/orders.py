"""Implements the retail tools that change orders and users.

Checks and changes are made in the original's order, which determines which error is returned and which
changes remain when a later step fails. Sums are loops: from Python 3.12 on ``sum`` rounds differently.
"""

import json

from nlac_bench.envs.tau.common import existing
from nlac_bench.envs.tau.database import Database, Row

REASONS = ["no longer needed", "ordered by mistake"]


def cancel_pending_order(db: Database, order_id: str, reason: object) -> str:
    """Cancel a pending order and refund every entry of its payment history, earlier refunds included."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "pending":
        return "Error: non-pending order cannot be cancelled"
    if reason not in REASONS:
        return "Error: invalid reason"
    refunds = []
    for entry in order["payment_history"]:
        method_id = entry["payment_method_id"]
        refunds.append(_entry("refund", entry["amount"], method_id))
        if "gift_card" in method_id:
            _move(db, order, method_id, entry["amount"])
    order = db.edit("orders", order_id)
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    order["payment_history"].extend(refunds)
    return json.dumps(order)


def exchange_delivered_order_items(
    db: Database, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> str:
    """Request other variants of delivered items; nothing is charged or refunded yet."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "delivered":
        return "Error: non-delivered order cannot be exchanged"
    difference = _price_difference(db, order, item_ids, new_item_ids)
    if isinstance(difference, str):
        return difference
    difference = round(difference, 2)
    method = _payment_methods(db, order).get(payment_method_id)
    if method is None:
        return "Error: payment method not found"
    if method["source"] == "gift_card" and method["balance"] < difference:
        return "Error: insufficient gift card balance to pay for the price difference"
    order = db.edit("orders", order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return json.dumps(order)


def return_delivered_order_items(
    db: Database, order_id: str, item_ids: list[str], payment_method_id: str
) -> str:
    """Request the return of delivered items."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "delivered":
        return "Error: non-delivered order cannot be returned"
    if payment_method_id not in _payment_methods(db, order):
        return "Error: payment method not found"
    if (
        "gift_card" not in payment_method_id
        and payment_method_id != order["payment_history"][0]["payment_method_id"]
    ):
        return "Error: payment method should be either the original payment method or a gift card"
    held = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > held.count(item_id):
            return "Error: some item not found"
    order = db.edit("orders", order_id)
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return json.dumps(order)


def modify_pending_order_items(
    db: Database, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> str:
    """Replace items of a pending order by other variants and charge or refund the difference."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "pending":
        return "Error: non-pending order cannot be modified"
    difference = _price_difference(db, order, item_ids, new_item_ids)
    if isinstance(difference, str):
        return difference
    method = _payment_methods(db, order).get(payment_method_id)
    if method is None:
        return "Error: payment method not found"
    if method["source"] == "gift_card" and method["balance"] < difference:
        return "Error: insufficient gift card balance to pay for the new item"
    order = db.edit("orders", order_id)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(_entry(kind, abs(difference), payment_method_id))
    if method["source"] == "gift_card":
        _move(db, order, payment_method_id, -difference)
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=False):
        item = next(item for item in order["items"] if item["item_id"] == item_id)
        variant = existing(db.get("products", item["product_id"]))["variants"][new_item_id]
        item["item_id"] = new_item_id
        item["price"] = variant["price"]
        item["options"] = variant["options"]
    order["status"] = "pending (item modified)"
    return json.dumps(order)


def modify_pending_order_payment(db: Database, order_id: str, payment_method_id: str) -> str:
    """Pay a pending order with another payment method and refund the first payment."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "pending":
        return "Error: non-pending order cannot be modified"
    method = _payment_methods(db, order).get(payment_method_id)
    if method is None:
        return "Error: payment method not found"
    history = order["payment_history"]
    if len(history) > 1 or history[0]["transaction_type"] != "payment":
        return "Error: there should be exactly one payment for a pending order"
    old_method_id, amount = history[0]["payment_method_id"], history[0]["amount"]
    if old_method_id == payment_method_id:
        return "Error: the new payment method should be different from the current one"
    if method["source"] == "gift_card" and method["balance"] < amount:
        return "Error: insufficient gift card balance to pay for the order"
    order = db.edit("orders", order_id)
    order["payment_history"].append(_entry("payment", amount, payment_method_id))
    order["payment_history"].append(_entry("refund", amount, old_method_id))
    if method["source"] == "gift_card":
        _move(db, order, payment_method_id, -amount)
    if "gift_card" in old_method_id:
        _move(db, order, old_method_id, amount)
    return json.dumps(order)


def modify_pending_order_address(
    db: Database,
    order_id: str,
    address1: object,
    address2: object,
    city: object,
    state: object,
    country: object,
    zip: object,
) -> str:
    """Replace the address of a pending order."""
    order = db.get("orders", order_id)
    if order is None:
        return "Error: order not found"
    if order["status"] != "pending":
        return "Error: non-pending order cannot be modified"
    order = db.edit("orders", order_id)
    order["address"] = _address(address1, address2, city, state, country, zip)
    return json.dumps(order)


def modify_user_address(
    db: Database,
    user_id: str,
    address1: object,
    address2: object,
    city: object,
    state: object,
    country: object,
    zip: object,
) -> str:
    """Replace a user's default address."""
    if db.get("users", user_id) is None:
        return "Error: user not found"
    user = db.edit("users", user_id)
    user["address"] = _address(address1, address2, city, state, country, zip)
    return json.dumps(user)


def _price_difference(db: Database, order: Row, item_ids: list[str], new_item_ids: list[str]) -> float | str:
    """Return the sum of new prices minus old ones (unrounded; 0 for no items), or an error message."""
    held = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > held.count(item_id):
            return f"Error: {item_id} not found"
    if len(item_ids) != len(new_item_ids):
        return "Error: the number of items to be exchanged should match"
    difference: float = 0
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=False):
        item = next(item for item in order["items"] if item["item_id"] == item_id)
        variant = existing(db.get("products", item["product_id"]))["variants"].get(new_item_id)
        if variant is None or not variant["available"]:
            return f"Error: new item {new_item_id} not found or available"
        difference = difference + (variant["price"] - item["price"])
    return difference


def _payment_methods(db: Database, order: Row) -> dict[str, Row]:
    methods: dict[str, Row] = existing(db.get("users", order["user_id"]))["payment_methods"]
    return methods


def _move(db: Database, order: Row, method_id: str, amount: float) -> None:
    """Credit (or debit, if negative) a gift card of the order's user."""
    card = db.edit("users", order["user_id"])["payment_methods"][method_id]
    card["balance"] = round(card["balance"] + amount, 2)


def _entry(kind: str, amount: float, method_id: str) -> Row:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def _address(
    address1: object, address2: object, city: object, state: object, country: object, zip_code: object
) -> Row:
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip_code,
    }
