"""Draws goals of the embedded shop. A builder returns None if the tables allow no such goal."""

from dataclasses import dataclass, field, replace

from nlac_bench.envs.tau.database import Tables
from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.parts import RecordReference, TaskPart, call, payment
from nlac_bench.envs.tau.embedded.retail_tables import address, money
from nlac_bench.envs.tau.rows import Order, OrderItem, RetailUser
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

AMOUNT = r"\d\.\d\d|\$ ?\d|\b\d+ (dollars|usd)"
COUNT = r"\b(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)\b"


@dataclass(slots=True)
class Shopper:
    """The user of one task, and the rows that its earlier parts use."""

    draws: Draws
    level: str
    user_id: str
    tables: Tables
    strangers: tuple[str, ...] = ()
    """Other users of the same group, whose orders this user must not change."""
    used: set[str] = field(default_factory=set)
    """Orders that an earlier part changes; a second change could contradict the first."""
    spent: set[str] = field(default_factory=set)
    """Gift cards whose balance an earlier part changes."""

    @property
    def user(self) -> RetailUser:
        """The user's row."""
        row: RetailUser = self.tables["users"][self.user_id]
        return row

    def orders(self, *statuses: str) -> list[Order]:
        """Return the user's unused orders with one of ``statuses``."""
        rows = [self.tables["orders"][order] for order in self.user["orders"]]
        return [row for row in rows if row["status"] in statuses and row["order_id"] not in self.used]

    def take(self, *statuses: str) -> Order | None:
        """Draw an unused order with one of ``statuses`` and mark it as used; None if all are used."""
        orders = self.orders(*statuses)
        if not orders:
            return None
        order = self.draws.pick(orders)
        self.used.add(order["order_id"])
        return order

    def named(self, order: Order) -> RecordReference:
        """Return how the user refers to the order: by its id, or on higher levels by one of its items."""
        if self.level == "easy" or self.draws.chance(0.6):
            return {"record": order["order_id"]}
        others = [self.tables["orders"][o] for o in self.user["orders"] if o != order["order_id"]]
        elsewhere = {item["name"] for other in others for item in other["items"]}
        own = [item["name"] for item in order["items"] if item["name"] not in elsewhere]
        if not own:
            return {"record": order["order_id"]}
        return {"hint": f"my order with the {self.draws.pick(own)}"}

    def original(self, order: Order) -> str:
        """Return the payment method of an order."""
        return str(order["payment_history"][0]["payment_method_id"])

    def paying(self, method: str, order: Order) -> goals.Payment:
        """Return a payment method in the user's words."""
        row = self.user["payment_methods"][method]
        return payment(self.draws, self.level, row, method == self.original(order))

    def balance(self, method: str) -> float | None:
        """Return the balance of a gift card, or None for other methods, which have no limit."""
        if method in self.spent:
            return 0
        balance: float | None = self.user["payment_methods"][method].get("balance")
        return balance


def cancel(shopper: Shopper) -> TaskPart | None:
    """Goal: cancel a pending order, with one of the two reasons."""
    order = shopper.take("pending")
    if order is None:
        return None
    reason = shopper.draws.pick((say.NOT_NEEDED, say.MISTAKE))
    goal = goals.Goal("cancel", **shopper.named(order), reason=reason)
    return TaskPart(goal, (call("cancel_pending_order", order_id=order["order_id"], reason=reason),))


def give_back(shopper: Shopper) -> TaskPart | None:
    """Goal: return items of a delivered order, with a refund to the original method or a gift card."""
    order = shopper.take("delivered")
    if order is None:
        return None
    rows = shopper.draws.some(order["items"], shopper.draws.between(1, min(3, len(order["items"]))))
    allowed = [
        m for m, row in shopper.user["payment_methods"].items()
        if m == shopper.original(order) or row["source"] == "gift_card"
    ]  # fmt: skip
    method = shopper.draws.pick(allowed)
    goal = goals.Goal(
        "return",
        **shopper.named(order),
        items=tuple(goals.Item(row["name"]) for row in rows),
        payment=shopper.paying(method, order),
    )
    return TaskPart(goal, (return_call(order, rows, method),))


def return_call(order: Order, rows: list[OrderItem], method: str) -> GoldCall:
    """Return the call that returns ``rows`` of ``order``."""
    return call(
        "return_delivered_order_items",
        order_id=order["order_id"],
        item_ids=[row["item_id"] for row in rows],
        payment_method_id=method,
    )


def exchange(shopper: Shopper) -> TaskPart | None:
    """Goal: exchange items of a delivered order for other variants."""
    return _swap(shopper, "delivered", "exchange", "exchange_delivered_order_items")


def modify_items(shopper: Shopper) -> TaskPart | None:
    """Goal: replace items of a pending order by other variants."""
    return _swap(shopper, "pending", "modify_items", "modify_pending_order_items")


def _swap(shopper: Shopper, status: str, kind: goals.GoalKind, tool: str) -> TaskPart | None:
    order = shopper.take(status)
    if order is None:
        return None
    most = 1 if shopper.level == "easy" else 2
    rows = shopper.draws.some(order["items"], shopper.draws.between(1, min(most, len(order["items"]))))
    things, new_ids, difference = [], [], 0.0
    for row in rows:
        variants = shopper.tables["products"][row["product_id"]]["variants"].values()
        others = [v for v in variants if v["available"] and v["item_id"] != row["item_id"]]
        if not others:
            return None
        new = shopper.draws.pick(others)
        changed = {key: value for key, value in new["options"].items() if row["options"][key] != value}
        things.append(goals.Item(row["name"], row["options"], changed))
        new_ids.append(new["item_id"])
        difference += new["price"] - row["price"]
    methods = []
    for method in shopper.user["payment_methods"]:
        balance = shopper.balance(method)
        if balance is None or balance >= money(difference):
            methods.append(method)
    if not methods:
        return None
    method = shopper.draws.pick(methods)
    if shopper.user["payment_methods"][method]["source"] == "gift_card":
        shopper.spent.add(method)
    goal = goals.Goal(
        kind, **shopper.named(order), items=tuple(things), payment=shopper.paying(method, order)
    )
    ids = [row["item_id"] for row in rows]
    swap = call(
        tool, order_id=order["order_id"], item_ids=ids, new_item_ids=new_ids, payment_method_id=method
    )
    return TaskPart(goal, (swap,))


def order_address(shopper: Shopper) -> TaskPart | None:
    """Goal: another shipping address for a pending order."""
    order = shopper.take("pending")
    if order is None:
        return None
    place = address(shopper.draws)
    goal = goals.Goal("order_address", **shopper.named(order), address=place)
    return TaskPart(goal, (call("modify_pending_order_address", order_id=order["order_id"], **place),))


def user_address(shopper: Shopper) -> TaskPart | None:
    """Goal: another default address."""
    place = address(shopper.draws)
    goal = goals.Goal("user_address", address=place)
    return TaskPart(goal, (call("modify_user_address", user_id=shopper.user_id, **place),))


def order_payment(shopper: Shopper) -> TaskPart | None:
    """Goal: another payment method for a pending order."""
    order = shopper.take("pending")
    if order is None:
        return None
    total = order["payment_history"][0]["amount"]
    methods = []
    for method in shopper.user["payment_methods"]:
        balance = shopper.balance(method)
        if method != shopper.original(order) and (balance is None or balance >= total):
            methods.append(method)
    if not methods:
        return None
    method = shopper.draws.pick(methods)
    shopper.spent.update((method, shopper.original(order)))
    goal = goals.Goal("order_payment", **shopper.named(order), payment=shopper.paying(method, order))
    return TaskPart(
        goal,
        (call("modify_pending_order_payment", order_id=order["order_id"], payment_method_id=method),),
    )


def ask_total(shopper: Shopper) -> TaskPart | None:
    """Goal: ask what an order cost."""
    orders = [o for o in shopper.orders("pending", "delivered", "processed") if _plain(_total(o))]
    if not orders:
        return None
    order = shopper.draws.pick(orders)
    named = shopper.named(order)
    what = f"order {order['order_id']}" if "record" in named else named["hint"]
    question = shopper.draws.pick((f"how much I paid for {what} in total", f"the total of {what}"))
    return TaskPart(goals.Goal("ask", **named, question=question, answer=AMOUNT), (), (str(_total(order)),))


def ask_price(shopper: Shopper) -> TaskPart | None:
    """Goal: ask what one item of an order cost."""
    pairs = [
        (order, row)
        for order in shopper.orders("pending", "delivered", "processed")
        for row in order["items"]
        if _plain(row["price"])
    ]
    if not pairs:
        return None
    order, row = shopper.draws.pick(pairs)
    question = f"what the {row['name']} in order {order['order_id']} cost"
    goal = goals.Goal("ask", record=order["order_id"], question=question, answer=AMOUNT)
    return TaskPart(goal, (), (str(row["price"]),))


def ask_tracking(shopper: Shopper) -> TaskPart | None:
    """Goal: ask for the tracking number of a shipped order."""
    orders = shopper.orders("delivered", "processed")
    if not orders:
        return None
    order = shopper.draws.pick(orders)
    question = f"the tracking number of order {order['order_id']}"
    goal = goals.Goal("ask", record=order["order_id"], question=question, answer=r"\d{6,}")
    return TaskPart(goal, (), (order["fulfillments"][0]["tracking_id"][0],))


def ask_balance(shopper: Shopper) -> TaskPart | None:
    """Goal: ask for the balance of the gift card, before another part changes it."""
    cards = [m for m in shopper.user["payment_methods"].values() if m["source"] == "gift_card"]
    if not cards or shopper.used:
        return None
    question = shopper.draws.pick(("the balance of my gift card", "how much is left on my gift card"))
    return TaskPart(
        goals.Goal("ask", question=question, answer=AMOUNT + r"|\b\d{2,3}\b"), (), (str(cards[0]["balance"]),)
    )


def ask_variants(shopper: Shopper) -> TaskPart | None:
    """Goal: ask how many variants of a product are available."""
    product = shopper.draws.pick(list(shopper.tables["products"].values()))
    count = sum(variant["available"] for variant in product["variants"].values())
    question = f"how many variants of the {product['name']} are available right now"
    return TaskPart(goals.Goal("ask", question=question, answer=COUNT), (), (str(count),))


def ask_spent(shopper: Shopper) -> TaskPart | None:
    """Goal: ask for the total cost of all orders; the agent must read every order and change nothing."""
    orders = [shopper.tables["orders"][order] for order in shopper.user["orders"]]
    total = money(sum(_total(order) for order in orders))
    if shopper.used or not _plain(total):
        return None
    question = "what all my orders cost together, the cancelled ones included"
    return TaskPart(goals.Goal("ask", question=question, answer=AMOUNT), (), (str(total),))


def refused_cancel(shopper: Shopper) -> TaskPart | None:
    """Goal: cancel an order that was processed or delivered; on higher levels, then return an item of it."""
    order = shopper.take("delivered", "processed") if shopper.level != "easy" else shopper.take("delivered")
    if order is None:
        return None
    goal = goals.Goal("cancel", record=order["order_id"], reason=say.NOT_NEEDED, forbidden=True)
    if shopper.level == "easy" or order["status"] != "delivered":
        return _then_ask(shopper, goal, order)
    method = shopper.original(order)
    row = shopper.draws.pick(order["items"])
    back = goals.Goal(
        "return",
        record=order["order_id"],
        items=(goals.Item(row["name"]),),
        payment=shopper.paying(method, order),
    )
    return TaskPart(replace(goal, fallback=back), (return_call(order, [row], method),))


def refused_return(shopper: Shopper) -> TaskPart | None:
    """Goal: a refund to a method that is not allowed; the user then accepts the original method."""
    order = shopper.take("delivered")
    if order is None:
        return None
    wrong = [
        m for m, row in shopper.user["payment_methods"].items()
        if m != shopper.original(order) and row["source"] != "gift_card"
    ]  # fmt: skip
    if not wrong:
        return None
    rows = shopper.draws.some(order["items"], 1)
    thing = (goals.Item(rows[0]["name"]),)
    method = shopper.original(order)
    back = goals.Goal("return", record=order["order_id"], items=thing, payment=shopper.paying(method, order))
    other = shopper.paying(shopper.draws.pick(wrong), order)
    return TaskPart(
        replace(back, payment=other, forbidden=True, fallback=back), (return_call(order, rows, method),)
    )


def refused_stranger(shopper: Shopper) -> TaskPart | None:
    """Goal: cancel another user's order, which policy forbids."""
    orders = [
        order for stranger in shopper.strangers if stranger != shopper.user_id
        for order in shopper.tables["users"][stranger]["orders"]
        if shopper.tables["orders"][order]["status"] == "pending"
    ]  # fmt: skip
    own = shopper.orders("pending", "delivered")
    if not orders or not own:
        return None
    record = shopper.draws.pick(orders)
    goal = goals.Goal("cancel", record=record, reason=say.NOT_NEEDED, forbidden=True)
    return _then_ask(shopper, goal, shopper.draws.pick(own))


def _then_ask(shopper: Shopper, goal: goals.Goal, order: Order) -> TaskPart:
    """Return a forbidden goal, usually followed by a question, so that inaction earns no reward."""
    total = _total(order)
    if not _plain(total) or shopper.draws.chance(0.2):
        return TaskPart(goal)
    question = f"what order {order['order_id']} cost in total"
    ask = goals.Goal("ask", record=order["order_id"], question=question, answer=AMOUNT)
    return TaskPart(replace(goal, fallback=ask), (), (str(total),))


def keep_one(shopper: Shopper) -> TaskPart | None:
    """Goal: return two items; when asked to confirm, the user decides to keep one of them."""
    orders = [order for order in shopper.orders("delivered") if len(order["items"]) >= 2]
    if not orders:
        return None
    order = shopper.draws.pick(orders)
    shopper.used.add(order["order_id"])
    rows = shopper.draws.some(order["items"], 2)
    method = shopper.original(order)
    both = goals.Goal(
        "return",
        **shopper.named(order),
        items=tuple(goals.Item(row["name"]) for row in rows),
        payment=shopper.paying(method, order),
    )
    one = replace(both, items=both.items[:1])
    return TaskPart(replace(both, change=one), (return_call(order, rows[:1], method),))


def cancel_instead(shopper: Shopper) -> TaskPart | None:
    """Goal: a new address for a pending order; when asked to confirm, the user cancels the order instead."""
    order = shopper.take("pending")
    if order is None:
        return None
    named = shopper.named(order)
    end = goals.Goal("cancel", **named, reason=say.NOT_NEEDED)
    goal = goals.Goal("order_address", **named, address=address(shopper.draws), change=end)
    return TaskPart(goal, (call("cancel_pending_order", order_id=order["order_id"], reason=say.NOT_NEEDED),))


def beyond_tools(shopper: Shopper) -> TaskPart | None:
    """Goal: something that only a human agent can do. It ends the conversation: it must be the last part."""
    wish = shopper.draws.pick(
        (
            "have a pending order wrapped as a present",
            "get a printed invoice by post",
            "report that a courier was rude to me",
            "become a seller in the shop",
        )
    )
    goal = goals.Goal("other", question=wish, forbidden=True)
    return TaskPart(goal, (call("transfer_to_human_agents", summary=f"The customer wants to {wish}."),))


def _total(order: Order) -> float:
    total: float = order["payment_history"][0]["amount"]
    return total


def _plain(amount: float) -> bool:
    """Return whether every number format writes the amount with two decimals, so that it can be searched."""
    return len(str(amount).partition(".")[2]) == 2
