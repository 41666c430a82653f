"""How tools are called, and the retail tools, on a small data set: each test is a fact about the original."""

from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau import airline, retail
from nlac_bench.envs.tau.invoke import Result, python_311_words
from tests.envs.tau_small import Desk, load_small, write_small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture
def shop(folder: Path) -> Desk:
    return Desk(retail.TOOLS, load_small("retail", folder).new_database())


@pytest.fixture
def air(folder: Path) -> Desk:
    return Desk(airline.TOOLS, load_small("airline", folder).new_database())


# --- calling ------------------------------------------------------------------------------------------------


def test_argument_errors_are_worded_as_cpython_3_11(shop: Desk) -> None:
    assert shop("think") == "Error: Think.invoke() missing 1 required positional argument: 'thought'"
    assert shop("get_order_details", order="#W1") == (
        "Error: GetOrderDetails.invoke() got an unexpected keyword argument 'order'"
    )
    assert shop("cancel_pending_order") == (
        "Error: CancelPendingOrder.invoke() missing 2 required positional arguments: 'order_id' and 'reason'"
    )
    assert shop("find_user_id_by_name_zip") == (
        "Error: FindUserIdByNameZip.invoke() missing 3 required positional arguments: "
        "'first_name', 'last_name', and 'zip'"
    )
    assert shop("think", data={}, thought="") == (
        "Error: tau_bench.envs.retail.tools.think.Think.invoke() "
        "got multiple values for keyword argument 'data'"
    )
    assert shop("get_user_details", user_id=["ada_1"]) == "Error: unhashable type: 'list'"


def test_words_of_later_pythons_become_those_of_3_11() -> None:
    assert python_311_words(TypeError("cannot use 'tuple' as a dict key (unhashable type: 'list')")) == (
        "unhashable type: 'list'"
    )
    assert python_311_words(TypeError("argument of type 'int' is not a container or iterable")) == (
        "argument of type 'int' is not iterable"
    )
    assert python_311_words(KeyError("first")) == "'first'"


def test_an_unknown_tool_is_named_and_the_episode_goes_on(shop: Desk) -> None:
    assert shop.result("Think", thought="") == Result("Unknown action Think", error=True)


def test_a_transfer_ends_the_episode_even_with_bad_arguments(shop: Desk) -> None:
    assert shop.result("transfer_to_human_agents", summary="s") == Result("Transfer successful", done=True)
    failed = shop.result("transfer_to_human_agents", summary="s", why="?")
    assert (
        failed.done
        and failed.error
        and failed.observation.startswith("Error: TransferToHumanAgents.invoke()")
    )


def test_arguments_are_never_changed_and_deep_ones_refused(air: Desk) -> None:
    flights = [{"flight_number": "F2", "date": "2024-05-20"}]
    air(
        "update_reservation_flights",
        reservation_id="RES001",
        cabin="economy",
        flights=flights,
        payment_id="x",
    )
    assert flights == [{"flight_number": "F2", "date": "2024-05-20"}]
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    text = air("update_reservation_passengers", reservation_id="RES001", passengers=deep)
    assert text == "Error: maximum recursion depth exceeded"


# --- retail -------------------------------------------------------------------------------------------------


def test_users_are_found_without_regard_to_case_but_by_the_exact_zip(shop: Desk) -> None:
    assert shop("find_user_id_by_email", email="ADA@Example.com") == "ada_1"
    assert shop("find_user_id_by_email", email="x") == "Error: user not found"
    assert shop("find_user_id_by_email", email=5) == "Error: 'int' object has no attribute 'lower'"
    assert shop("find_user_id_by_name_zip", first_name="bob", last_name="BAY", zip="11111") == "bob_2"
    assert (
        shop("find_user_id_by_name_zip", first_name="bob", last_name="BAY", zip=11111)
        == "Error: user not found"
    )


def test_lookups(shop: Desk) -> None:
    assert shop("get_order_details", order_id="W1") == "Error: order not found"
    assert shop("get_product_details", product_id="100") == "Error: product not found"
    assert shop("get_user_details", user_id="eve") == "Error: user not found"
    assert list(shop("list_all_product_types").items()) == [("Cup", "20"), ("Lamp", "10")]
    assert shop("think", thought="…") == ""


def test_cancel_checks_in_order(shop: Desk) -> None:
    assert shop("cancel_pending_order", order_id="#W9", reason="?") == "Error: order not found"
    assert shop("cancel_pending_order", order_id="#W2", reason="?") == (
        "Error: non-pending order cannot be cancelled"
    )
    assert shop("cancel_pending_order", order_id="#W1", reason="?") == "Error: invalid reason"


def test_a_payment_change_followed_by_a_cancel_over_refunds(shop: Desk) -> None:
    shop("modify_pending_order_payment", order_id="#W3", payment_method_id="paypal_1")
    gift_card = shop("get_user_details", user_id="ada_1")["payment_methods"]["gift_card_1"]
    assert gift_card["balance"] == 25.25  # the first payment came back
    cancelled = shop("cancel_pending_order", order_id="#W3", reason="ordered by mistake")
    kinds = [entry["transaction_type"] for entry in cancelled["payment_history"]]
    assert kinds == ["payment", "payment", "refund", "refund", "refund", "refund"]
    assert (cancelled["status"], cancelled["cancel_reason"]) == ("cancelled", "ordered by mistake")
    gift_card = shop("get_user_details", user_id="ada_1")["payment_methods"]["gift_card_1"]
    assert gift_card["balance"] == 35.75  # credited for its payment and again for its refund


def test_exchange_checks_in_order_and_moves_no_money(shop: Desk) -> None:
    def exchange(order_id: Any, old: Any, new: Any, payment: Any = "gift_card_1") -> Any:
        return shop(
            "exchange_delivered_order_items",
            order_id=order_id, item_ids=old, new_item_ids=new, payment_method_id=payment,
        )  # fmt: skip

    assert exchange("#W9", [], []) == "Error: order not found"
    assert exchange("#W1", [], []) == "Error: non-delivered order cannot be exchanged"
    assert exchange("#W2", ["100"] * 3, []) == "Error: 100 not found"
    assert exchange("#W2", ["100"], []) == "Error: the number of items to be exchanged should match"
    assert exchange("#W2", ["100"], ["200"]) == "Error: new item 200 not found or available"
    assert exchange("#W2", ["100"], ["102"]) == "Error: new item 102 not found or available"
    assert exchange("#W2", ["100"], ["101"], "paypal_2") == "Error: payment method not found"
    assert exchange("#W2", ["100"], ["104"]) == (
        "Error: insufficient gift card balance to pay for the price difference"
    )
    done = exchange("#W2", ["100", "100"], ["103", "101"])
    assert list(done)[-5:] == [
        "payment_history", "exchange_items", "exchange_new_items", "exchange_payment_method_id",
        "exchange_price_difference",
    ]  # fmt: skip
    assert (done["status"], done["exchange_new_items"]) == ("exchange requested", ["101", "103"])
    assert done["exchange_price_difference"] == -9.9
    assert shop("get_user_details", user_id="ada_1")["payment_methods"]["gift_card_1"]["balance"] == 20


def test_return_goes_to_the_original_payment_or_a_gift_card(shop: Desk) -> None:
    def give_back(order_id: Any, items: Any, payment: Any) -> Any:
        return shop(
            "return_delivered_order_items", order_id=order_id, item_ids=items, payment_method_id=payment
        )

    assert give_back("#W1", [], "?") == "Error: non-delivered order cannot be returned"
    assert give_back("#W2", ["?"], "?") == "Error: payment method not found"
    assert give_back("#W2", ["?"], "paypal_1") == (
        "Error: payment method should be either the original payment method or a gift card"
    )
    assert give_back("#W2", ["100"] * 3, "gift_card_1") == "Error: some item not found"
    done = give_back("#W2", ["100"], "credit_card_1")
    assert (done["status"], done["return_items"], done["return_payment_method_id"]) == (
        "return requested", ["100"], "credit_card_1",
    )  # fmt: skip


def test_modify_items_notes_the_unrounded_difference_and_blocks_later_changes(shop: Desk) -> None:
    def modify(old: Any, new: Any, payment: Any) -> Any:
        return shop(
            "modify_pending_order_items",
            order_id="#W1", item_ids=old, new_item_ids=new, payment_method_id=payment,
        )  # fmt: skip

    assert modify(["100"], ["104"], "gift_card_1") == (
        "Error: insufficient gift card balance to pay for the new item"
    )
    done = modify(["100"], ["101"], "gift_card_1")
    assert done["payment_history"][-1] == {
        "transaction_type": "payment", "amount": 40.3 - 30.1, "payment_method_id": "gift_card_1",
    }  # fmt: skip
    assert 40.3 - 30.1 != 10.2
    assert (done["items"][0]["item_id"], done["items"][0]["price"]) == ("101", 40.3)
    assert shop("get_user_details", user_id="ada_1")["payment_methods"]["gift_card_1"]["balance"] == 9.8
    assert done["status"] == "pending (item modified)"
    assert modify(["101"], ["100"], "paypal_1") == "Error: non-pending order cannot be modified"


def test_modify_no_items_at_all_is_a_refund_of_integer_zero(shop: Desk) -> None:
    result = shop.result(
        "modify_pending_order_items",
        order_id="#W3",
        item_ids=[],
        new_item_ids=[],
        payment_method_id="paypal_1",
    )
    assert (
        '{"transaction_type": "refund", "amount": 0, "payment_method_id": "paypal_1"}' in result.observation
    )


def test_modify_payment_checks_in_order(shop: Desk) -> None:
    def pay(order_id: str, method: str) -> Any:
        return shop("modify_pending_order_payment", order_id=order_id, payment_method_id=method)

    assert pay("#W2", "?") == "Error: non-pending order cannot be modified"
    assert pay("#W1", "?") == "Error: payment method not found"
    assert pay("#W1", "paypal_1") == (
        "Error: the new payment method should be different from the current one"
    )
    assert pay("#W1", "gift_card_1") == "Error: insufficient gift card balance to pay for the order"
    assert [e["transaction_type"] for e in pay("#W1", "credit_card_1")["payment_history"]] == [
        "payment", "payment", "refund",
    ]  # fmt: skip
    assert pay("#W1", "paypal_1") == "Error: there should be exactly one payment for a pending order"


def test_addresses_are_replaced_in_a_fixed_key_order(shop: Desk) -> None:
    new = {"zip": "2", "country": "C", "state": "S", "city": "Köln", "address2": "b", "address1": "a"}
    for observation in (
        shop.result("modify_pending_order_address", order_id="#W1", **new).observation,
        shop.result("modify_user_address", user_id="ada_1", **new).observation,
    ):
        assert (
            '"address": {"address1": "a", "address2": "b", "city": "K\\u00f6ln", "state": "S", '
            '"country": "C", "zip": "2"}'
        ) in observation
    assert shop("modify_user_address", user_id="?", **new) == "Error: user not found"
    assert shop("modify_pending_order_address", order_id="#W2", **new) == (
        "Error: non-pending order cannot be modified"
    )
