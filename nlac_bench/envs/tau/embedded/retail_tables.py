"""Makes the embedded shop from one seed: users, products and orders."""

from collections.abc import Mapping
from dataclasses import dataclass

from nlac_bench.envs.tau.database import Tables
from nlac_bench.envs.tau.embedded.catalogue import CATALOGUE
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.words import CITIES, FIRST_NAMES, LAST_NAMES, STREETS
from nlac_bench.envs.tau.rows import (
    Order,
    OrderItem,
    OrderPayment,
    PaymentMethod,
    PaymentMethods,
    Product,
    RetailUser,
    Variant,
)

SEED = 20_240_515
LEVELS = ("easy", "medium", "hard")
USERS_PER_GROUP: Mapping[str, int] = {"train": 100, "test": 50, "validation": 50}
"""Number of users of each level. No user, and therefore no order, is in two groups."""
DATABASES = (("train", "test"), ("validation",))
"""The splits of each database.

Validation has a database of its own, so that it does not change the rows and the data hash of the others.
"""

_STATUSES: Mapping[str, tuple[str, ...]] = {
    "easy": ("pending", "delivered"),
    "medium": ("pending", "delivered", "any"),
    "hard": ("pending", "delivered", "any", "any"),
}
_ITEMS: Mapping[str, tuple[int, int]] = {"easy": (1, 2), "medium": (1, 3), "hard": (2, 4)}
"""Minimal and maximal number of items of an order; small at level easy, to keep observations short."""


@dataclass(frozen=True, slots=True)
class RetailTables:
    """The tables, and which users belong to which ``(split, level)``."""

    tables: Tables
    groups: Mapping[tuple[str, str], tuple[str, ...]]


def make_retail_tables() -> tuple[RetailTables, ...]:
    """Make the tables of each of ``DATABASES``, the same on every machine and Python version.

    They have the same products, and no user and no order in common.
    """
    draws = Draws(SEED)
    products = _products(draws)
    made = []
    for splits in DATABASES:
        users: dict[str, RetailUser] = {}
        orders: dict[str, Order] = {}
        groups: dict[tuple[str, str], tuple[str, ...]] = {}
        for split in splits:
            for level in LEVELS:
                count = USERS_PER_GROUP[split]
                ids = [_user(draws, level, products, users, orders) for _ in range(count)]
                groups[split, level] = tuple(ids)
        made.append(RetailTables({"orders": orders, "products": products, "users": users}, groups))
    return tuple(made)


def address(draws: Draws) -> dict[str, str]:
    """Draw a new address."""
    city, state, prefix = draws.pick(CITIES)
    return {
        "address1": f"{draws.between(1, 399)} {draws.pick(STREETS)}",
        "address2": draws.pick(("", "", f"Apt {draws.between(1, 60)}", f"Unit {draws.between(1, 60)}")),
        "city": city,
        "country": "USA",
        "state": state,
        "zip": f"{prefix}{draws.between(10, 99)}",
    }


def money(amount: float) -> float:
    """Round ``amount`` to the cent."""
    return round(amount, 2)


def _products(draws: Draws) -> dict[str, Product]:
    products: dict[str, Product] = {}
    for name, base, options in CATALOGUE:
        product_id = str(draws.number(10))
        combos: list[dict[str, str]] = [{}]
        for key, values in options.items():
            combos = [{**combo, key: value} for combo in combos for value in values]
        kept = draws.some(combos, min(len(combos), draws.between(4, 9)))
        variants: dict[str, Variant] = {}
        for place, combo in enumerate(kept):
            item_id = str(draws.number(10))
            variants[item_id] = {
                "item_id": item_id,
                "options": combo,
                # at least two variants are available, so that every product can be exchanged
                "available": place < 2 or draws.chance(0.75),
                "price": money(base * (1 + 0.3 * draws.below(100) / 100) + draws.below(100) / 100),
            }
        products[product_id] = {"name": name, "product_id": product_id, "variants": variants}
    return products


def _user(
    draws: Draws,
    level: str,
    products: dict[str, Product],
    users: dict[str, RetailUser],
    orders: dict[str, Order],
) -> str:
    first, last = draws.pick(FIRST_NAMES), draws.pick(LAST_NAMES)
    user_id = f"{first}_{last}_{draws.number(4)}".lower()
    home = address(draws)
    methods = _payment_methods(draws, 2 if level != "hard" else 3)
    users[user_id] = {
        "name": {"first_name": first, "last_name": last},
        "address": home,
        "email": f"{first}.{last}{user_id[-4:]}@example.org".lower(),
        "payment_methods": methods,
        "orders": [],
    }
    for status in _STATUSES[level]:
        order = _order(draws, level, status, users[user_id], products)
        order["user_id"] = user_id
        orders[order["order_id"]] = order
        users[user_id]["orders"].append(order["order_id"])
    return user_id


def _payment_methods(draws: Draws, count: int) -> PaymentMethods:
    methods: PaymentMethods = {}
    for source in draws.some(("credit_card", "paypal", "gift_card"), count):
        method: PaymentMethod = {"source": source}
        if source == "credit_card":
            method |= {
                "brand": draws.pick(("visa", "mastercard")),
                "last_four": str(draws.between(1000, 9999)),
            }
        elif source == "gift_card":
            method["balance"] = draws.pick((10, 35, 60, 120, 400, 750, 900))
        method["id"] = f"{source}_{draws.number(7)}"
        methods[method["id"]] = method
    return methods


def _order(draws: Draws, level: str, status: str, user: RetailUser, products: dict[str, Product]) -> Order:
    items: list[OrderItem] = []
    for product_id in draws.some(list(products), draws.between(*_ITEMS[level])):
        product = products[product_id]
        variant = draws.pick(list(product["variants"].values()))
        items.append(
            {
                "name": product["name"],
                "product_id": product_id,
                "item_id": variant["item_id"],
                "price": variant["price"],
                "options": dict(variant["options"]),
            }
        )
    if status == "any":
        status = draws.pick(("pending", "delivered", "delivered", "processed", "cancelled"))
    total = money(sum(item["price"] for item in items))
    method = draws.pick(list(user["payment_methods"]))
    history: list[OrderPayment] = [
        {"transaction_type": "payment", "amount": total, "payment_method_id": method}
    ]
    fulfillments: list[dict[str, list[str]]] = []
    if status in ("processed", "delivered"):
        tracking = {"tracking_id": [str(draws.number(12))], "item_ids": [item["item_id"] for item in items]}
        fulfillments.append(tracking)
    elif status == "cancelled":
        history.append({**history[0], "transaction_type": "refund"})
    return {
        "order_id": f"#W{draws.number(7)}",
        "user_id": "",
        "address": address(draws) if level == "hard" and draws.chance(0.3) else dict(user["address"]),
        "items": items,
        "fulfillments": fulfillments,
        "status": status,
        "payment_history": history,
    }
