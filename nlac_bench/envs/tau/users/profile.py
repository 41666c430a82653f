"""Reads from a domain's tables what a user knows about itself: its membership, methods, orders and trips."""

from typing import Any

from nlac_bench.envs.tau.database import Tables
from nlac_bench.simulators.customer import goals


def profile_of(tables: Tables, user_id: str) -> goals.Profile:
    """Return the profile of a user at the start of a task; an empty one if the tables lack the user."""
    row: Any = tables["users"].get(user_id)
    if row is None:
        return goals.Profile()
    records = [_order(tables["orders"][record]) for record in row.get("orders", ())]
    records += [_trip(tables["reservations"][record]) for record in row.get("reservations", ())]
    words = (
        str(method[key]) for method in row["payment_methods"].values()
        for key in ("id", "source", "brand", "last_four") if key in method
    )  # fmt: skip
    return goals.Profile(row["email"], row.get("membership"), row["address"], tuple(words), tuple(records))


def _order(row: Any) -> goals.Record:
    prices = [item["price"] for item in row["items"]]
    paid = [payment["amount"] for payment in row["payment_history"]]
    return goals.Record(
        row["order_id"],
        items=tuple(goals.Item(item["name"], item["options"]) for item in row["items"]),
        amounts=(sum(prices), *paid, *prices),
        address=row["address"],
    )


def _trip(row: Any) -> goals.Record:
    legs = row["flights"]
    return goals.Record(
        row["reservation_id"],
        amounts=tuple(payment["amount"] for payment in row["payment_history"]),
        route=(legs[0]["origin"], *(leg["destination"] for leg in legs)) if legs else (),
        legs=tuple(goals.Leg(leg["flight_number"], leg["date"]) for leg in legs),
        cabin=row["cabin"],
        passengers=tuple(goals.Passenger(**person) for person in row["passengers"]),
    )
