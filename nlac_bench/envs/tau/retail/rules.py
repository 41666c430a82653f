"""Lists which calls the shop's policy forbids, as far as the database shows it.

``policy`` is the sentence of the policy in our words, with its section. Rules that need the conversation
(identification, consent) are parts of their own.
"""

from typing import Any

from nlac_bench.envs.tau.database import Row
from nlac_bench.envs.tau.retail.orders import REASONS
from nlac_bench.envs.tau.writes import Rule, Write

PENDING = (
    "cancel_pending_order",
    "modify_pending_order_address",
    "modify_pending_order_items",
    "modify_pending_order_payment",
)
DELIVERED = ("exchange_delivered_order_items", "return_delivered_order_items")
SWAPS = ("exchange_delivered_order_items", "modify_pending_order_items")
PAYING = (*SWAPS, "modify_pending_order_payment", "return_delivered_order_items")


def _order(write: Write) -> Row:
    return write.record("orders", "order_id") or {}


def _status_is_not(write: Write, status: str) -> bool:
    """Return whether the order has another status; an order whose items were changed is not pending."""
    order = _order(write)
    return bool(order) and order["status"] != status


def _methods(write: Write) -> Row:
    user = write.before.get("users", _order(write).get("user_id"))
    return user["payment_methods"] if user else {}


def _method(write: Write) -> Any:
    return write.arguments.get("payment_method_id")


def _first_method(write: Write) -> Any:
    return _order(write)["payment_history"][0]["payment_method_id"]


def _balance_is_below(write: Write, amount: float) -> bool:
    method = _methods(write).get(_method(write), {})
    return method.get("source") == "gift_card" and method["balance"] < round(amount, 2)


def _swaps(write: Write) -> list[tuple[Row, str]]:
    """Return the items of the order that are replaced, each with the id of the new item."""
    held = {item["item_id"]: item for item in _order(write)["items"]}
    pairs = zip(write.listed("item_ids"), write.listed("new_item_ids"), strict=False)
    return [(held[old], new) for old, new in pairs if old in held]


def _variant(write: Write, item: Row, new: str) -> Row | None:
    product = write.before.get("products", item["product_id"])
    return product["variants"].get(new) if product else None


def _of_other_products(write: Write) -> bool:
    everything = {new for _, row in write.before.rows("products") for new in row["variants"]}
    return any(_variant(write, item, new) is None and new in everything for item, new in _swaps(write))


def _unavailable(write: Write) -> bool:
    variants = [_variant(write, item, new) for item, new in _swaps(write)]
    return any(variant is not None and not variant["available"] for variant in variants)


def _difference(write: Write) -> float:
    pairs = [(item, _variant(write, item, new)) for item, new in _swaps(write)]
    return sum(new["price"] - item["price"] for item, new in pairs if new)


RULES: tuple[Rule, ...] = (
    Rule(
        "own_orders",
        "Only the customer of the conversation is served (general rules).",
        (*PENDING, *DELIVERED),
        lambda write, user_id: bool(_order(write)) and _order(write)["user_id"] != user_id,
    ),
    Rule(
        "own_profile",
        "Only the customer of the conversation is served (general rules).",
        ("modify_user_address",),
        lambda write, user_id: (
            write.record("users", "user_id") is not None and write.arguments["user_id"] != user_id
        ),
    ),
    Rule(
        "pending_only",
        "An order can be cancelled or changed only while it is pending, and its items only once "
        "(cancel, modify).",
        PENDING,
        lambda write, _: _status_is_not(write, "pending"),
    ),
    Rule(
        "delivered_only",
        "Only delivered orders can be returned or exchanged, and only once (return, exchange).",
        DELIVERED,
        lambda write, _: _status_is_not(write, "delivered"),
    ),
    Rule(
        "reason",
        "The reason of a cancellation is one of two (cancel).",
        ("cancel_pending_order",),
        lambda write, _: write.arguments.get("reason") not in REASONS,
    ),
    Rule(
        "own_payment",
        "A payment method must be in the customer's profile (payment methods).",
        PAYING,
        lambda write, _: bool(_order(write)) and _method(write) not in _methods(write),
    ),
    Rule(
        "refund",
        "A refund goes to the original payment method or to a gift card (return).",
        ("return_delivered_order_items",),
        lambda write, _: (
            _method(write) != _first_method(write)
            and _methods(write)[_method(write)]["source"] != "gift_card"
        ),
    ),
    Rule(
        "other_method",
        "A new payment method differs from the present one (modify payment).",
        ("modify_pending_order_payment",),
        lambda write, _: _method(write) == _first_method(write),
    ),
    Rule(
        "covers_order",
        "A gift card pays an order only if it covers the total (modify payment).",
        ("modify_pending_order_payment",),
        lambda write, _: _balance_is_below(write, _order(write)["payment_history"][0]["amount"]),
    ),
    Rule(
        "covers_difference",
        "A gift card pays a price difference only if it covers it (modify items, exchange).",
        SWAPS,
        lambda write, _: _balance_is_below(write, _difference(write)),
    ),
    Rule(
        "same_product",
        "An item becomes another variant of the same product (modify items, exchange).",
        SWAPS,
        lambda write, _: _of_other_products(write),
    ),
    Rule(
        "available",
        "A new variant must be available (modify items, exchange).",
        SWAPS,
        lambda write, _: _unavailable(write),
    ),
)
