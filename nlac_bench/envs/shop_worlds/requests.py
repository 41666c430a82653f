"""Draws the requests of customers, which are the same in every world. A builder returns None if the order of
the customer does not allow each valid procedure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from nlac_bench.envs.shop_worlds.procedures import Procedure
from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.embedded.parts import call
from nlac_bench.envs.tau.embedded.retail_parts import Shopper
from nlac_bench.envs.tau.embedded.retail_tables import address, money
from nlac_bench.envs.tau.rows import Order
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

_REASONS = {"mistake": say.MISTAKE, "not_needed": say.NOT_NEEDED}


@dataclass(frozen=True, slots=True)
class Request:
    """A request: the customer's goal, and the contents of the call for it.

    ``original`` and ``gift_card`` are the payment methods between which a procedure decides, ``chosen`` the
    one that the customer names; ``products`` are the product ids of the items.
    """

    goal: goals.Goal
    order_id: str
    original: str
    gift_card: str | None = None
    chosen: str | None = None
    item_ids: tuple[str, ...] = ()
    new_item_ids: tuple[str, ...] = ()
    products: tuple[str, ...] = ()
    _golds: dict[Procedure, GoldCall] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cache of the calls. All worlds share the requests and differ only in their procedures."""

    def gold(self, procedure: Procedure) -> GoldCall:
        """Return the call that fulfils the request by ``procedure``."""
        if procedure not in self._golds:
            self._golds[procedure] = self._call(procedure)
        return self._golds[procedure]

    def _call(self, procedure: Procedure) -> GoldCall:
        order, items = self.order_id, list(self.item_ids)
        method = self.gift_card if "gift_card" in procedure else self.original
        match self.goal.kind:
            case "cancel":
                reason = next(_REASONS[option] for option in procedure if option in _REASONS)
                return call("cancel_pending_order", order_id=order, reason=reason)
            case "return":
                return call(
                    "return_delivered_order_items",
                    order_id=order, item_ids=items, payment_method_id=method,
                )  # fmt: skip
            case "exchange" | "modify_items":
                delivered = self.goal.kind == "exchange"
                return call(
                    "exchange_delivered_order_items" if delivered else "modify_pending_order_items",
                    order_id=order, item_ids=items, new_item_ids=list(self.new_item_ids),
                    payment_method_id=method,
                )  # fmt: skip
            case "order_address":
                return call("modify_pending_order_address", order_id=order, **(self.goal.address or {}))
        return call("modify_pending_order_payment", order_id=order, payment_method_id=self.chosen)


def cancel(shopper: Shopper) -> Request | None:
    """Draw a pending order that is to be cancelled."""
    order = shopper.take("pending")
    if order is None:
        return None
    shopper.spent.add(shopper.original(order))  # its balance rises
    return Request(goals.Goal("cancel", record=order["order_id"]), order["order_id"], shopper.original(order))


def give_back(shopper: Shopper) -> Request | None:
    """Draw an item of a delivered order that is to be returned."""
    order = shopper.take("delivered")
    methods = None if order is None else _both_methods(shopper, order)
    if order is None or methods is None:
        return None
    row = shopper.draws.pick(order["items"])
    goal = goals.Goal("return", record=order["order_id"], items=(goals.Item(row["name"]),))
    return Request(goal, order["order_id"], *methods, item_ids=(row["item_id"],))


def exchange(shopper: Shopper) -> Request | None:
    """Draw an item of a delivered order that is to be exchanged for another variant."""
    return _swap(shopper, "delivered", "exchange")


def modify_items(shopper: Shopper) -> Request | None:
    """Draw an item of a pending order that is to be replaced by another variant."""
    return _swap(shopper, "pending", "modify_items")


def _swap(shopper: Shopper, status: str, kind: goals.GoalKind) -> Request | None:
    order = shopper.take(status)
    methods = None if order is None else _both_methods(shopper, order)
    if order is None or methods is None:
        return None
    row = shopper.draws.pick(order["items"])
    affordable = [
        variant
        for variant in shopper.tables["products"][row["product_id"]]["variants"].values()
        if variant["available"] and variant["item_id"] != row["item_id"]
        and money(variant["price"] - row["price"]) <= (shopper.balance(methods[1]) or 0)
    ]  # fmt: skip
    if not affordable:
        return None
    new = shopper.draws.pick(affordable)
    shopper.spent.add(methods[1])
    changed = {key: value for key, value in new["options"].items() if row["options"][key] != value}
    thing = goals.Item(row["name"], row["options"], changed, new["item_id"])
    return Request(
        goals.Goal(kind, record=order["order_id"], items=(thing,)), order["order_id"], *methods,
        item_ids=(row["item_id"],), new_item_ids=(new["item_id"],), products=(row["product_id"],),
    )  # fmt: skip


def order_address(shopper: Shopper) -> Request | None:
    """Draw a new address for a pending order."""
    order = shopper.take("pending")
    if order is None:
        return None
    goal = goals.Goal("order_address", record=order["order_id"], address=address(shopper.draws))
    return Request(goal, order["order_id"], shopper.original(order))


def order_payment(shopper: Shopper) -> Request | None:
    """Draw another payment method for a pending order."""
    order = shopper.take("pending")
    if order is None:
        return None
    total = order["payment_history"][0]["amount"]
    methods = [
        method for method in shopper.user["payment_methods"]
        if method != shopper.original(order)
        and ((balance := shopper.balance(method)) is None or balance >= total)
    ]  # fmt: skip
    if not methods:
        return None
    method = shopper.draws.pick(methods)
    shopper.spent.update((method, shopper.original(order)))
    goal = goals.Goal("order_payment", record=order["order_id"], payment=shopper.paying(method, order))
    return Request(goal, order["order_id"], shopper.original(order), chosen=method)


def _both_methods(shopper: Shopper, order: Order) -> tuple[str, str] | None:
    """Return the payment method of ``order`` and the customer's gift card; None if they are not two."""
    methods = shopper.user["payment_methods"].values()
    card = next((str(method["id"]) for method in methods if method["source"] == "gift_card"), None)
    return None if card is None or card == shopper.original(order) else (shopper.original(order), card)


BUILDERS: Mapping[str, Callable[[Shopper], Request | None]] = {
    "cancel": cancel,
    "return": give_back,
    "exchange": exchange,
    "modify_items": modify_items,
    "order_address": order_address,
    "order_payment": order_payment,
}
"""How a request of each kind is drawn."""
