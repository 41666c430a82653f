"""A rule-based shop agent that follows the policy and sees only what the user says and the tools return.

It shows that tasks can be solved through the user's replies: it authenticates the user, looks things up, asks
for missing information, refuses what the policy forbids, asks for confirmation, acts and reports. It sees
neither the task nor the user's script.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nlac_bench.envs.tau.rows import Order, OrderItem, Variant
from workshop.service_agent import Over, TalkingAgent

ID = re.compile(r"#W\d+")
METHOD = re.compile(r"(?:credit_card|gift_card|paypal)_\d+")
HINT = re.compile(r"my order with the ([A-Z][A-Za-z-]*(?: [A-Z][A-Za-z-]*)*)")
NAME = r"[A-Z][A-Za-z-]*(?: [A-Z][A-Za-z-]*)*"
ITEM = re.compile(rf"the ({NAME})(?: \(([^)]*)\))?")
SWAP = re.compile(
    rf"the ({NAME})(?: \(([^)]*)\))? (?:to|for) (?:one with (.*?)|(the very same variant again))"
    r"(?= and the [A-Z]|, the [A-Z]|, from |, in |; |, settling|\.(?:\s|$))"
)
ADDRESS = re.compile(
    r"(?:to|is) (\d+ [^,]+), (?:((?:Apt|Unit|Suite) \d+), )?([A-Z][A-Za-z .]+), ([A-Z]{2}) (\d{5}), "
    r"([A-Za-z]+)"
)


@dataclass
class RetailAgent(TalkingAgent):
    """The agent that serves the user of a shop task."""

    orders: dict[str, Order] = field(default_factory=dict)
    """Cache of orders; an order is not needed again after its status has changed."""

    def authenticate(self) -> None:
        """Look the user up by email, or by name and zip code."""
        request = self.heard
        while not self.user_id:
            email = re.search(r"[\w.]+@[\w.]+\w", self.heard)
            named = re.search(
                r"(?:I am|[Mm]y name is) (\w+) (\w+)(?:,| and my) zip code (?:is )?(\d{5})", self.heard
            )
            if email:
                self.user_id = self.call("find_user_id_by_email", email=email[0])
            elif named:
                self.user_id = self.call(
                    "find_user_id_by_name_zip", first_name=named[1], last_name=named[2], zip=named[3]
                )
            else:
                self.tell("May I have your email address, or your full name and zip code?")
        self.user = self.read("get_user_details", user_id=self.user_id)
        if request is not self.heard:
            self.heard = request  # the request that the user made before identifying themselves

    def kind(self, text: str) -> str | None:
        """Return the kind of request in ``text``; None if it contains none."""
        for kind, pattern in (
            ("other", r"as a present|invoice by post|courier|seller"),
            ("ask", r"\b(know|find out) "),
            ("user_address", r"default address|address in my profile"),
            ("order_address", r"shipping address of|sent elsewhere"),
            ("order_payment", r"payment method of|pay for .* differently"),
            ("swap", r"\b(exchange|swap|switch) the|\bchange the [A-Z]"),
            ("cancel", r"\b(cancel|call off) (order|my)|cancelled"),
            ("return", r"\b(return|send back) the"),
        ):
            if re.search(pattern, text):
                return kind
        return None

    # --- slots ----------------------------------------------------------------------------------

    def _order(self, text: str) -> Order | None:
        for _ in range(3):
            match, hint = ID.search(text), HINT.search(text)
            if match:
                return self._row(match[0])
            if hint:
                for order_id in self.user["orders"]:
                    order = self._row(order_id)
                    if order and any(item["name"] == hint[1] for item in order["items"]):
                        return order
                return None
            text = self.tell("What is the order id?")
        return None

    def _row(self, order_id: str) -> Order | None:
        if order_id not in self.orders:
            order = self.read("get_order_details", order_id=order_id)
            if isinstance(order, str):  # the error
                return None
            self.orders[order_id] = order
        return self.orders[order_id]

    def _method(self, text: str, question: str) -> str:
        for _ in range(3):
            text = text.partition("; but")[0]
            match = METHOD.search(text)
            if match:
                return match[0]
            for method in self.user["payment_methods"].values():
                words = {"paypal": "PayPal", "gift_card": "gift card"}.get(
                    method["source"], method.get("last_four")
                )
                if words and words in text:
                    return str(method["id"])
            text = self.tell(question)
        return ""

    def _can_pay(self, method: str, amount: float) -> bool:
        if method.startswith("gift_card"):  # an earlier request may have changed its balance
            self.user = self.read("get_user_details", user_id=self.user_id)
        row = self.user["payment_methods"].get(method)
        return row is not None and ("balance" not in row or row["balance"] >= amount)

    # --- requests -------------------------------------------------------------------------------

    def do_other(self, text: str) -> None:
        """Transfer the user to a human agent."""
        self.call("transfer_to_human_agents", summary=text)
        raise Over

    def do_cancel(self, text: str) -> None:
        """Cancel a pending order."""
        order = self._order(text)
        if order is None or order["user_id"] != self.user_id:
            return self.refuse("I cannot help with an order that is not yours.")
        if order["status"] != "pending":
            return self.refuse(f"this order is {order['status']}, so it cannot be cancelled.")
        for _ in range(2):
            if re.search(r"no longer need|mistake", text):
                break
            text = self.tell(
                "What is the reason for the cancellation: no longer needed, or ordered by mistake?"
            )
        reason = "ordered by mistake" if "mistake" in text else "no longer needed"
        order_id = order["order_id"]
        if self.confirmed(f"I will cancel order {order_id} with the reason '{reason}'."):
            self.act(
                f"Order {order_id} has been cancelled.",
                "cancel_pending_order",
                order_id=order_id,
                reason=reason,
            )
        return None

    def do_return(self, text: str) -> None:
        """Return items of a delivered order."""
        order = self._order(text)
        if order is None or order["user_id"] != self.user_id:
            return self.refuse("I cannot help with an order that is not yours.")
        if order["status"] != "delivered":
            return self.refuse(f"this order is {order['status']}, so it cannot be returned.")
        named = re.search(r"(?:return|send back) (the .*?)(?: from (?:order|my)|\.(?:\s|$))", text)
        rows = self._rows(order, ITEM.findall(named[1]) if named else [])
        method = self._method(
            text[named.end() :] if named else text, "Which payment method should get the refund?"
        )
        original = order["payment_history"][0]["payment_method_id"]
        if method != original and not method.startswith("gift_card"):
            return self.refuse("a refund can only go to the original payment method or a gift card.")
        names = " and ".join(f"the {row['name']}" for row in rows)
        if self.confirmed(
            f"I will return {names} from order {order['order_id']}, with the refund to {method}."
        ):
            self.act(
                f"The return of {names} has been requested.",
                "return_delivered_order_items",
                order_id=order["order_id"],
                item_ids=[row["item_id"] for row in rows],
                payment_method_id=method,
            )
        return None

    def do_swap(self, text: str) -> None:
        """Exchange delivered items, or change the items of a pending order."""
        order = self._order(text)
        if order is None or order["user_id"] != self.user_id:
            return self.refuse("I cannot help with an order that is not yours.")
        pending = order["status"] == "pending"
        if not pending and order["status"] != "delivered":
            return self.refuse(f"this order is {order['status']}, so its items cannot be changed.")
        swaps = SWAP.findall(text)
        if not swaps:
            swaps = SWAP.findall(self.tell("Which items, and which options would you like instead?"))
        rows = self._rows(order, [(name, old) for name, old, _, _ in swaps])
        new = [self._variant(row, wanted) for row, (_, _, wanted, _) in zip(rows, swaps, strict=True)]
        last = (swaps[-1][2] or swaps[-1][3]) if swaps else ""
        rest = text[text.rfind(last) :] if last in text else text
        method = self._method(rest, "Which payment method is for the price difference?")
        difference = sum(variant["price"] for variant in new) - sum(row["price"] for row in rows)
        if not self._can_pay(method, round(difference, 2)):
            return self.refuse("the balance of that gift card is not enough, so I cannot do this.")
        parts = [
            f"the {row['name']} ({_values(row)}) to the {row['name']} ({_values(variant)})"
            for row, variant in zip(rows, new, strict=True)
        ]
        verb = "change" if pending else "exchange"
        if self.confirmed(f"In order {order['order_id']} I will {verb} {'; '.join(parts)}, using {method}."):
            self.act(
                f"The items have been {verb}d.",
                "modify_pending_order_items" if pending else "exchange_delivered_order_items",
                order_id=order["order_id"],
                item_ids=[row["item_id"] for row in rows],
                new_item_ids=[variant["item_id"] for variant in new],
                payment_method_id=method,
            )
        return None

    def do_order_address(self, text: str) -> None:
        """Change an order's address."""
        order = self._order(text)
        if order is None or order["status"] != "pending":
            return self.refuse("only pending orders can be changed.")
        place = self._place(text)
        line = ", ".join(value for value in place.values() if value)
        if self.confirmed(f"I will change the shipping address of order {order['order_id']} to {line}."):
            self.act(
                "The address has been changed.",
                "modify_pending_order_address",
                order_id=order["order_id"],
                **place,
            )
        return None

    def do_user_address(self, text: str) -> None:
        """Change the default address."""
        place = self._place(text)
        line = ", ".join(value for value in place.values() if value)
        if self.confirmed(f"I will change your default address to {line}."):
            self.act("Your address has been updated.", "modify_user_address", user_id=self.user_id, **place)

    def do_order_payment(self, text: str) -> None:
        """Change how an order is paid."""
        order = self._order(text)
        if order is None or order["status"] != "pending":
            return self.refuse("only pending orders can be changed.")
        method = self._method(text, "Which payment method would you like to use?")
        first = order["payment_history"][0]
        if method == first["payment_method_id"] or not self._can_pay(method, first["amount"]):
            return self.refuse("I cannot use that payment method for this order.")
        if self.confirmed(f"I will change the payment method of order {order['order_id']} to {method}."):
            self.act(
                "The payment method has been changed.",
                "modify_pending_order_payment",
                order_id=order["order_id"],
                payment_method_id=method,
            )
        return None

    def do_ask(self, text: str) -> None:
        """Answer a question."""
        if "balance" in text or "left on my gift card" in text:
            cards = [row for row in self.user["payment_methods"].values() if row["source"] == "gift_card"]
            answer = f"Your gift card has a balance of ${cards[0]['balance']}."
        elif "variants" in text:
            product = re.search(r"variants of the (.*?) are", text)
            answer = self._count(product[1] if product else "")
        elif "all my orders" in text:
            orders = filter(None, map(self._row, self.user["orders"]))
            answer = f"That is ${round(sum(o['payment_history'][0]['amount'] for o in orders), 2)} in total."
        else:
            order = self._order(text)
            assert order is not None
            item = re.search(r"what the (.*?) in order", text)
            if "tracking" in text:
                answer = f"The tracking number is {order['fulfillments'][0]['tracking_id'][0]}."
            elif item:
                row = next(row for row in order["items"] if row["name"] == item[1])
                answer = f"The {item[1]} cost ${row['price']}."
            else:
                answer = f"The total was ${order['payment_history'][0]['amount']}."
        self.tell(f"{answer} Is there anything else?")

    def _count(self, product: str) -> str:
        products = self.read("list_all_product_types")
        variants = self.read("get_product_details", product_id=products[product])["variants"].values()
        return f"There are {sum(variant['available'] for variant in variants)} variants available."

    # --- reading the database -------------------------------------------------------------------

    @staticmethod
    def _rows(order: Order, named: list[tuple[str, str]]) -> list[OrderItem]:
        left, rows = list(order["items"]), []
        for name, options in named:
            fitting = [row for row in left if row["name"] == name and _matches(row["options"], options)]
            if fitting:
                rows.append(fitting[0])
                left.remove(fitting[0])
        return rows

    def _variant(self, row: OrderItem, wanted: str) -> Variant:
        variants = self.read("get_product_details", product_id=row["product_id"])["variants"]
        options = dict(row["options"])
        for key in options:
            values = sorted({variant["options"][key] for variant in variants.values()}, key=len, reverse=True)
            for value in values:
                if _says(wanted, key, value):
                    options[key] = value
                    break
        return next(variant for variant in variants.values() if variant["options"] == options)

    def _place(self, text: str) -> dict[str, str]:
        match = ADDRESS.search(text) or ADDRESS.search(self.tell("What is the new address?"))
        assert match is not None, self.heard
        street, unit, city, state, code, country = match.groups()
        return {
            "address1": street, "address2": unit or "", "city": city, "state": state, "country": country,
            "zip": code,
        }  # fmt: skip


def _values(row: OrderItem | Variant) -> str:
    return ", ".join(f"{key} {value}" for key, value in row["options"].items())


def _says(text: str, key: str, value: str) -> bool:
    parts = text.split(", ")
    return f"{key} {value}" in parts or value in parts


def _matches(options: Mapping[str, str], words: str) -> bool:
    return not words or all(
        f"{key} {value}" in words.split(", ") or value in words.split(", ") for key, value in options.items()
    )
