"""Derives the gold calls of the official retail training tasks from their scripts and the database."""

from nlac_bench.envs.tau.database import Tables
from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.rows import OrderItem
from nlac_bench.errors import DataError
from nlac_bench.simulators.customer import goals


def gold_calls(script: goals.Script, tables: Tables) -> tuple[GoldCall, ...]:
    """Return the calls that fulfil a script of this module, with item ids looked up in the database.

    Raises:
        DataError: an order does not contain what the script names.
    """
    return tuple(_call(goal, tables) for goal in script.goals)


def _call(goal: goals.Goal, tables: Tables) -> GoldCall:
    common: dict[str, object] = {"order_id": goal.record}
    method = {"payment_method_id": goal.payment.id} if goal.payment else {}
    match goal.kind:
        case "cancel":
            return GoldCall("cancel_pending_order", {**common, "reason": goal.reason})
        case "order_address":
            return GoldCall("modify_pending_order_address", {**common, **(goal.address or {})})
        case "order_payment":
            return GoldCall("modify_pending_order_payment", {**common, **method})
    rows = _rows(goal, tables)
    ids = [row["item_id"] for row in rows]
    if goal.kind == "return":
        return GoldCall("return_delivered_order_items", {**common, "item_ids": ids, **method})
    new_ids = [_variant(row, thing, tables) for row, thing in zip(rows, goal.items, strict=True)]
    tool = "exchange_delivered_order_items" if goal.kind == "exchange" else "modify_pending_order_items"
    return GoldCall(tool, {**common, "item_ids": ids, "new_item_ids": new_ids, **method})


def _rows(goal: goals.Goal, tables: Tables) -> list[OrderItem]:
    """Return the items of the order that the goal names, each used once."""
    left = list(tables["orders"][goal.record or ""]["items"])
    rows = []
    for thing in goal.items:
        for row in left:
            if row["name"] == thing.product and (not thing.options or row["options"] == dict(thing.options)):
                rows.append(row)
                left.remove(row)
                break
        else:
            raise DataError(f"order {goal.record} has no {thing.product} {dict(thing.options)}")
    return rows


def _variant(row: OrderItem, thing: goals.Item, tables: Tables) -> str:
    if not thing.wanted:
        return str(row["item_id"])
    options = {**row["options"], **thing.wanted}
    for item_id, variant in tables["products"][row["product_id"]]["variants"].items():
        if variant["options"] == options:
            return item_id
    raise DataError(f"the product {thing.product} has no variant with {options}")
