"""Implements the retail tools that only read."""

import json

from nlac_bench.envs.tau.database import Database, Row


def find_user_id_by_email(db: Database, email: str) -> str:
    """Return the id of the user with that e-mail address, ignoring case."""
    for user_id, user in db.rows("users"):
        if user["email"].lower() == email.lower():
            return user_id
    return "Error: user not found"


def find_user_id_by_name_zip(db: Database, first_name: str, last_name: str, zip: object) -> str:
    """Return the id of the first user with that name (ignoring case) and exactly that zip code."""
    for user_id, user in db.rows("users"):
        if (
            user["name"]["first_name"].lower() == first_name.lower()
            and user["name"]["last_name"].lower() == last_name.lower()
            and user["address"]["zip"] == zip
        ):
            return user_id
    return "Error: user not found"


def get_order_details(db: Database, order_id: str) -> str:
    """Return the order as JSON."""
    return _shown(db.get("orders", order_id), "order")


def get_product_details(db: Database, product_id: str) -> str:
    """Return the product with its variants as JSON."""
    return _shown(db.get("products", product_id), "product")


def get_user_details(db: Database, user_id: str) -> str:
    """Return the user as JSON."""
    return _shown(db.get("users", user_id), "user")


def list_all_product_types(db: Database) -> str:
    """Return product names and ids, sorted by name."""
    ids = {product["name"]: product_id for product_id, product in db.rows("products")}
    return json.dumps(dict(sorted(ids.items())))


def _shown(row: Row | None, kind: str) -> str:
    return f"Error: {kind} not found" if row is None else json.dumps(row)
