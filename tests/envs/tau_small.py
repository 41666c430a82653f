"""A retail and an airline data set small enough to reckon by hand, in the format of the official folder."""

import json
import warnings
from pathlib import Path
from typing import Any

from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.domain import Domain, load_official
from nlac_bench.envs.tau.invoke import Result, Tools, invoke

ADDRESS = {"address1": "1 A St", "address2": "", "city": "X", "country": "USA", "state": "TX", "zip": "11111"}


def user(first: str, last: str, methods: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": {"first_name": first, "last_name": last},
        "address": dict(ADDRESS),
        "email": f"{first}@example.com",
        "payment_methods": methods,
        **more,
    }


def item(name: str, product: str, variant: str, price: float) -> dict[str, Any]:
    return {
        "name": name,
        "product_id": product,
        "item_id": variant,
        "price": price,
        "options": {"v": variant},
    }


def order(
    number: str, status: str, items: list[dict[str, Any]], payment: str, amount: float
) -> dict[str, Any]:
    entry = {"transaction_type": "payment", "amount": amount, "payment_method_id": payment}
    return {
        "order_id": number,
        "user_id": "ada_1",
        "address": dict(ADDRESS),
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [entry],
    }


def variant(number: str, price: float, available: bool = True) -> dict[str, Any]:
    return {"item_id": number, "options": {"v": number}, "available": available, "price": price}


RETAIL: dict[str, Any] = {
    "users": {
        "ada_1": user(
            "Ada",
            "Ash",
            {
                "gift_card_1": {"source": "gift_card", "balance": 20, "id": "gift_card_1"},
                "paypal_1": {"source": "paypal", "id": "paypal_1"},
                "credit_card_1": {"source": "credit_card", "id": "credit_card_1"},
            },
            orders=["#W1", "#W2", "#W3"],
        ),
        "bob_2": user("Bob", "Bay", {"paypal_2": {"source": "paypal", "id": "paypal_2"}}, orders=[]),
    },
    "orders": {
        "#W1": order(
            "#W1",
            "pending",
            [item("Lamp", "10", "100", 30.1), item("Cup", "20", "200", 5.25)],
            "paypal_1",
            35.35,
        ),
        "#W2": order(
            "#W2",
            "delivered",
            [item("Lamp", "10", "100", 30.1), item("Lamp", "10", "100", 30.1)],
            "credit_card_1",
            60.2,
        ),
        "#W3": order("#W3", "pending", [item("Cup", "20", "200", 5.25)], "gift_card_1", 5.25),
    },
    "products": {
        "20": {"name": "Cup", "product_id": "20", "variants": {"200": variant("200", 5.25)}},
        "10": {
            "name": "Lamp",
            "product_id": "10",
            "variants": {
                "100": variant("100", 30.1),
                "101": variant("101", 40.3),
                "102": variant("102", 9.9, available=False),
                "103": variant("103", 10.0),
                "104": variant("104", 999.0),
            },
        },
    },
}


def day(seats: int, *prices: int) -> dict[str, Any]:
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": "available",
        "available_seats": dict.fromkeys(cabins, seats),
        "prices": dict(zip(cabins, prices, strict=True)),
    }


def flight(number: str, origin: str, destination: str, times: str, **dates: Any) -> dict[str, Any]:
    departure, arrival = times.split()
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": departure,
        "scheduled_arrival_time_est": arrival,
        "dates": {name.replace("_", "-").lstrip("d"): value for name, value in dates.items()},
    }


AIRLINE: dict[str, Any] = {
    "users": {
        "eva_1": user(
            "Eva",
            "Elm",
            {
                "gift_card_1": {"source": "gift_card", "amount": 300, "id": "gift_card_1"},
                "certificate_1": {"source": "certificate", "amount": 100, "id": "certificate_1"},
                "credit_card_1": {"source": "credit_card", "id": "credit_card_1"},
            },
            reservations=["RES001"],
        ),
    },
    "flights": {
        "F1": flight(
            "F1", "JFK", "ORD", "08:00:00 10:00:00",
            d2024_05_20=day(2, 50, 100, 200), d2024_05_21={"status": "cancelled"},
        ),
        "F2": flight("F2", "ORD", "SEA", "11:00:00 14:00:00", d2024_05_20=day(9, 60, 110, 210)),
        "F3": flight(
            "F3", "JFK", "DEN", "22:00:00 01:00:00+1",
            d2024_05_20=day(9, 70, 120, 220), d2024_05_09=day(9, 1, 2, 3),
        ),
        "F4": flight(
            "F4", "DEN", "SEA", "06:00:00 08:00:00",
            d2024_05_20=day(7, 80, 130, 230), d2024_05_21=day(1, 81, 131, 231), d2024_05_10=day(1, 1, 1, 1),
        ),
    },
    "reservations": {
        "RES001": {
            "reservation_id": "RES001",
            "user_id": "eva_1",
            "origin": "JFK",
            "destination": "ORD",
            "flight_type": "one_way",
            "cabin": "economy",
            "flights": [
                {
                    "origin": "JFK", "destination": "ORD", "flight_number": "F1", "date": "2024-05-20",
                    "price": 90,
                }
            ],
            "passengers": [{"first_name": "Eva", "last_name": "Elm", "dob": "1990-01-01"}],
            "payment_history": [{"payment_id": "gift_card_1", "amount": 90}],
            "created_at": "2024-05-01T00:00:00",
            "total_baggages": 1,
            "nonfree_baggages": 1,
            "insurance": "no",
        }
    },
}  # fmt: skip


def call(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"name": name, "kwargs": kwargs}


CANCEL = call("cancel_pending_order", order_id="#W3", reason="no longer needed")
RETAIL_TASKS = [
    {"user_id": "ada_1", "instruction": "Cancel #W3.", "actions": [CANCEL], "outputs": []},
    {"user_id": "ada_1", "instruction": "How many cups?", "actions": [], "outputs": ["10"]},
    {
        "user_id": "ada_1",
        "instruction": "A person, please.",
        "actions": [call("transfer_to_human_agents", summary="x"), call("no_such_tool")],
        "outputs": [],
    },
]
AIRLINE_TASKS = [
    {
        "user_id": "eva_1",
        "instruction": "Cancel RES001.",
        "actions": [call("cancel_reservation", reservation_id="RES001")],
        "outputs": [],
    }
]


def write_small(folder: Path) -> Path:
    """Write both data sets to ``folder`` and return it."""
    for name, tables, splits in (
        ("retail", RETAIL, {"train": [], "dev": [], "test": RETAIL_TASKS}),
        ("airline", AIRLINE, {"test": AIRLINE_TASKS}),
    ):
        (folder / name).mkdir(parents=True)
        files = {**tables, **{f"tasks_{split}": tasks for split, tasks in splits.items()}, "tools": []}
        for file, content in files.items():
            (folder / name / f"{file}.json").write_text(json.dumps(content), encoding="utf-8")
        (folder / name / "wiki.md").write_text("Be kind.\n", encoding="utf-8")
    return folder


def load_small(name: str, folder: Path) -> Domain:
    """The domain from such a folder, without the warning that it is not the official data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return load_official(name, folder)


class Desk:
    """A database and the tools that work on it."""

    def __init__(self, tools: Tools, db: Database) -> None:
        self.tools, self.db = tools, db

    def result(self, name: str, **kwargs: Any) -> Result:
        return invoke(self.tools, self.db, name, kwargs)

    def __call__(self, name: str, **kwargs: Any) -> Any:
        """The observation, parsed where it is a JSON object or list."""
        text = self.result(name, **kwargs).observation
        return json.loads(text) if text[:1] in ("{", "[") else text
