"""Defines the conditions of the level ``conditional``: facts about an order that the tools show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nlac_bench.envs.tau.rows import Order, RetailUser

LEAST_PAID = 100
"""Dollars from which an order fulfils the condition ``value``."""
LEAST_ORDERS = 3
"""Orders from which a customer is a regular one."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A fact about an order and its customer, of which the tools show both sides.

    ``rule`` and ``opposite`` state in words that it holds and that it does not.
    """

    rule: str
    opposite: str
    holds: Callable[[Order, RetailUser], bool] = field(repr=False)


def _value(order: Order, _: RetailUser) -> bool:
    return order["payment_history"][0]["amount"] >= LEAST_PAID


def _regular(_: Order, user: RetailUser) -> bool:
    return len(user["orders"]) >= LEAST_ORDERS


def _coloured(order: Order, _: RetailUser) -> bool:
    return any("colour" in item["options"] for item in order["items"])


def _paypal(order: Order, _: RetailUser) -> bool:
    return order["payment_history"][0]["payment_method_id"].startswith("paypal")


CONDITIONS: Mapping[str, Condition] = {
    "value": Condition(
        f"the first payment of the order was ${LEAST_PAID} or more",
        f"the first payment of the order was less than ${LEAST_PAID}",
        _value,
    ),
    "regular": Condition(
        f"the customer's profile lists {LEAST_ORDERS} orders or more",
        f"the customer's profile lists fewer than {LEAST_ORDERS} orders",
        _regular,
    ),
    "coloured": Condition(
        "an item of the order has the option `colour`",
        "no item of the order has the option `colour`",
        _coloured,
    ),
    "paypal": Condition(
        "the first payment of the order was made with PayPal",
        "the first payment of the order was not made with PayPal",
        _paypal,
    ),
}
"""The conditions by name. They are judged on the order as it was at the start of the episode."""
