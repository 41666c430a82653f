"""The overlay: equality as strict as the original's hash, and forks that never change their parent."""

import json
import pickle
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlac_bench.envs.tau import airline, retail
from nlac_bench.envs.tau.database import Database, canonical
from nlac_bench.envs.tau.domain import load_official
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.errors import DataError, NlacBenchError, UnknownIdError
from tests.envs.tau_small import AIRLINE, RETAIL, load_small, write_small

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def reference_hash(tables: Any) -> str:
    """The original's hash as the data set's notes state it."""

    def nested(value: Any) -> Any:
        if isinstance(value, dict):
            return tuple((key, nested(item)) for key, item in sorted(value.items()))
        return tuple(map(nested, value)) if isinstance(value, list) else value

    return sha256(str(nested(tables)).encode()).hexdigest()


def whole(db: Database, tables: Any) -> Any:
    """A database written out in full."""
    return {table: json.loads(json.dumps(dict(db.rows(table)))) for table in tables}


@given(
    st.dictionaries(
        st.text(max_size=4), st.dictionaries(st.text(max_size=4), json_values, max_size=3), max_size=3
    )
)
def test_hash_is_that_of_the_original(tables: dict[str, dict[str, Any]]) -> None:
    rows = {
        table: {key: {"value": value} for key, value in content.items()} for table, content in tables.items()
    }
    assert Database(rows).hash() == reference_hash(rows)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (250, 250.0, False),
        (250, "250", False),
        (1, True, False),
        (0.0, -0.0, False),
        (None, "None", False),
        (float("nan"), float("nan"), True),
        ([], {}, True),
        ([["a", 1]], {"a": 1}, True),
        ([1], 1, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
    ],
)
def test_comparison_is_as_strict_as_the_hash(one: Any, other: Any, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same
    root = Database({"t": {"r": {"x": 0}}})
    mine, theirs = root.fork(), root.fork()
    mine.edit("t", "r")["x"] = one
    theirs.edit("t", "r")["x"] = other
    assert mine.same_as(theirs) is theirs.same_as(mine) is (mine.hash() == theirs.hash()) is same


def test_a_row_written_back_as_it_was_makes_no_difference() -> None:
    root = Database({"t": {"r": {"x": 1}}})
    fork = root.fork()
    fork.edit("t", "r")["x"] = 2
    assert not fork.same_as(root)
    fork.edit("t", "r")["x"] = 1
    assert fork.same_as(root) and root.same_as(fork)
    fork.put("t", "new", {"x": 1})
    assert not fork.same_as(root) and not root.same_as(fork)
    assert [row_id for row_id, _ in fork.rows("t")] == ["r", "new"]


def test_databases_without_common_tables_are_not_compared() -> None:
    with pytest.raises(NlacBenchError, match="fork"):
        Database({"t": {}}).same_as(Database({"t": {}}))


# Calls that change the small databases; a plan is a list of indices into them.
RETAIL_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("cancel_pending_order", {"order_id": "#W3", "reason": "no longer needed"}),
    ("modify_pending_order_payment", {"order_id": "#W3", "payment_method_id": "paypal_1"}),
    (
        "modify_pending_order_items",
        {"order_id": "#W1", "item_ids": ["100"], "new_item_ids": ["101"], "payment_method_id": "gift_card_1"},
    ),
    (
        "return_delivered_order_items",
        {"order_id": "#W2", "item_ids": ["100"], "payment_method_id": "gift_card_1"},
    ),
    (
        "modify_user_address",
        {
            "user_id": "ada_1",
            "address1": [],
            "address2": 1,
            "city": "",
            "state": "",
            "country": "",
            "zip": 1.0,
        },
    ),
]
AIRLINE_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("cancel_reservation", {"reservation_id": "RES001"}),
    ("cancel_reservation", {"reservation_id": "HATHAT"}),
    ("send_certificate", {"user_id": "eva_1", "amount": 5}),
    ("update_reservation_passengers", {"reservation_id": "RES001", "passengers": [{"a": []}]}),
    (
        "book_reservation",
        {
            "user_id": "eva_1", "origin": "JFK", "destination": "ORD", "flight_type": "one_way",
            "cabin": "economy", "flights": [{"flight_number": "F1", "date": "2024-05-20"}],
            "passengers": [{}], "payment_methods": [{"payment_id": "gift_card_1", "amount": 100}],
            "total_baggages": 0, "nonfree_baggages": 0, "insurance": "no",
        },
    ),
]  # fmt: skip
DOMAINS = {
    "retail": (RETAIL, retail.TOOLS, RETAIL_CALLS),
    "airline": (AIRLINE, airline.TOOLS, AIRLINE_CALLS),
}
plans = st.lists(st.integers(0, 4), max_size=6)


@pytest.mark.lists
@pytest.mark.parametrize("name", DOMAINS)
@settings(max_examples=150, deadline=None)
@given(before=plans, in_fork=plans, in_parent=plans)
def test_a_fork_never_changes_its_parent_nor_the_other_way(
    name: str, before: list[int], in_fork: list[int], in_parent: list[int]
) -> None:
    tables, tools, calls = DOMAINS[name]
    untouched = json.dumps(tables)

    def play(db: Database, plan: list[int]) -> list[str]:
        return [invoke(tools, db, *calls[index]).observation for index in plan]

    def alone(*parts: list[int]) -> Any:
        """The end of a database that has no relatives."""
        db = Database(json.loads(untouched))
        for part in parts:
            play(db, part)
        return whole(db, tables)

    parent = Database(tables)
    play(parent, before)
    at_fork = parent.hash()
    fork = parent.fork()
    assert fork.same_as(parent)
    play(fork, in_fork)
    assert parent.hash() == at_fork
    assert whole(fork, tables) == alone(before, in_fork)
    play(parent, in_parent)
    assert whole(parent, tables) == alone(before, in_parent)
    assert whole(fork, tables) == alone(before, in_fork)
    assert (
        fork.same_as(parent)
        is (fork.hash() == parent.hash())
        is (reference_hash(whole(fork, tables)) == reference_hash(whole(parent, tables)))
    )
    assert json.dumps(tables) == untouched


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pickles_hold_no_tables(tmp_path: Path) -> None:
    domain = load_small("retail", write_small(tmp_path / "small"))
    db = domain.new_database()
    db.edit("users", "ada_1")["email"] = "new"
    image = pickle.dumps((domain, db))
    assert len(image) < 2_000
    again, twin = pickle.loads(image)
    assert again is domain
    assert twin.same_as(db) and twin.hash() == db.hash()
    twin.edit("users", "ada_1")["email"] = "newer"
    assert not twin.same_as(db)


@pytest.mark.lists
def test_a_thousand_episodes_are_small(tmp_path: Path) -> None:
    domain = load_small("airline", write_small(tmp_path / "small"))
    domain.new_database()
    tracemalloc.start()
    episodes = []
    for _ in range(1000):
        db = domain.new_database()
        for name, kwargs in AIRLINE_CALLS:
            invoke(airline.TOOLS, db, name, kwargs)
        episodes.append(db)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / len(episodes) < 200_000


# --- loading ------------------------------------------------------------------------------------------------


def _spoil(file: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        path = folder / "retail" / file
        path.write_text(json.dumps(change(json.loads(path.read_text()))), encoding="utf-8")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "retail/users.json").unlink(), r"lacks retail/users\.json"),
        (lambda folder: (folder / "retail/users.json").write_text('{"ada'), r"users\.json cannot be read"),
        (lambda folder: (folder / "retail/wiki.md").write_bytes(b"\xff\xfe"), r"wiki\.md cannot be read"),
        (_spoil("users.json", list), "should be dict, but is list"),
        (_spoil("users.json", lambda users: {"u": {}}), r"users\.json\['u'\] lacks the key 'name'"),
        (
            _spoil("orders.json", lambda orders: {"o": {**orders["#W1"], "items": {}}}),
            r"orders\.json\['o'\]\['items'\] should be list, but is dict",
        ),
        (
            _spoil("tasks_test.json", lambda tasks: [{**tasks[0], "outputs": [5]}]),
            r"tasks_test\.json\[0\]\['outputs'\]\[0\] should be str, but is int 5",
        ),
        (
            _spoil("products.json", lambda rows: {"p": {"name": "x", "variants": {"v": {"available": 1}}}}),
            r"\['available'\] should be bool, but is int 1",
        ),
    ],
)
def test_spoilt_folders_are_refused_with_the_place(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    folder = write_small(tmp_path / "small")
    spoil(folder)
    with pytest.raises(DataError, match=message):
        load_small("retail", folder)


def test_domains_and_tasks_are_known_by_name(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    domain = load_small("retail", folder)
    assert load_small("retail", folder) is domain, "environments share one read-only database"
    assert domain.task("test", 1).task_id == "retail/test/1"
    for split, index in (("test", 3), ("test", -1), ("tset", 0)):
        with pytest.raises(UnknownIdError, match="retail"):
            domain.task(split, index)
    with pytest.raises(UnknownIdError, match="banking"):
        load_official("banking", folder)
