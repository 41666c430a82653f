"""The tools of τ-bench on a small data set of our own: each test is a fact about the original."""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau import airline, retail
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.invoke import Result, Tools, invoke, python_311_words
from tests.envs.tau_small import load_small, write_small


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


# --- airline ------------------------------------------------------------------------------------------------

F1 = {"flight_number": "F1", "date": "2024-05-20"}
BOOKING: dict[str, Any] = {
    "user_id": "eva_1",
    "origin": "JFK",
    "destination": "ORD",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [F1 | {"note": "window"}],
    "passengers": [{"first_name": "Eva"}],
    "payment_methods": [
        {"payment_id": "certificate_1", "amount": 40},
        {"payment_id": "gift_card_1", "amount": 140},
    ],
    "total_baggages": 1,
    "nonfree_baggages": 1,
    "insurance": "yes",
}


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"user_id": "?"}, "user not found"),
        ({"flights": [{"flight_number": "F9"}]}, "flight F9 not found"),
        ({"flights": [{"flight_number": "F1"}]}, "'date'"),
        ({"flights": [F1 | {"date": "2024-05-22"}]}, "flight F1 not found on date 2024-05-22"),
        ({"flights": [F1 | {"date": "2024-05-21"}]}, "flight F1 not available on date 2024-05-21"),
        ({"passengers": [{}] * 3}, "not enough seats on flight F1"),
        ({"cabin": "first"}, "'first'"),
        ({"flights": ["F1"]}, "string indices must be integers, not 'str'"),
        ({"passengers": 2}, "object of type 'int' has no len()"),
        ({"nonfree_baggages": None}, "unsupported operand type(s) for *: 'int' and 'NoneType'"),
        ({"payment_methods": [{"payment_id": "paypal", "amount": 1}]}, "payment method paypal not found"),
        (
            {"payment_methods": [{"payment_id": "certificate_1", "amount": 101}]},
            "not enough balance in payment method certificate_1",
        ),
        (
            {"payment_methods": [{"payment_id": "credit_card_1", "amount": 180.5}]},
            "payment amount does not add up, total price is 180, but paid 180.5",
        ),
    ],
)  # fmt: skip
def test_booking_errors(air: Desk, change: dict[str, Any], error: str) -> None:
    before = air.db.fork()
    assert air("book_reservation", **{**BOOKING, **change}) == f"Error: {error}"
    assert air.db.same_as(before)


def test_booking_takes_money_but_no_seats(air: Desk) -> None:
    booked = air("book_reservation", **BOOKING)  # 100 for the seat, 30 for the insurance, 50 for the bag
    assert booked["reservation_id"] == "HATHAT"
    assert booked["created_at"] == "2024-05-15T15:00:00"
    assert list(booked["flights"][0].items()) == [
        ("flight_number", "F1"), ("date", "2024-05-20"), ("note", "window"), ("price", 100),
        ("origin", "JFK"), ("destination", "ORD"),
    ]  # fmt: skip
    assert booked["payment_history"] == BOOKING["payment_methods"]
    methods = air("get_user_details", user_id="eva_1")["payment_methods"]
    assert methods["gift_card_1"]["amount"] == 160
    assert "certificate_1" not in methods, "a certificate is used up whole"
    seats = air("search_direct_flight", origin="JFK", destination="ORD", date="2024-05-20")[0][
        "available_seats"
    ]
    assert seats["economy"] == 2


def test_three_bookings_have_ids_and_a_fourth_overwrites_the_third(air: Desk) -> None:
    booking = {**BOOKING, "payment_methods": [{"payment_id": "credit_card_1", "amount": 180}]}
    ids = [air("book_reservation", **booking)["reservation_id"] for _ in range(4)]
    assert ids == ["HATHAT", "HATHAU", "HATHAV", "HATHAV"]
    assert air("get_user_details", user_id="eva_1")["reservations"] == ["RES001", *ids]


def test_a_certificate_listed_twice_is_gone_when_the_call_fails(air: Desk) -> None:
    twice = [{"payment_id": "certificate_1", "amount": 90}] * 2
    assert air("book_reservation", **{**BOOKING, "payment_methods": twice}) == "Error: 'certificate_1'"
    user = air("get_user_details", user_id="eva_1")
    assert "certificate_1" not in user["payment_methods"]
    assert user["reservations"] == ["RES001"]
    assert air("get_reservation_details", reservation_id="HATHAT") == "Error: user not found"


def test_each_cancel_negates_the_whole_history_and_credits_nothing(air: Desk) -> None:
    assert air("cancel_reservation", reservation_id="?") == "Error: reservation not found"
    for amounts in ([90, -90], [90, -90, -90, 90]):
        cancelled = air("cancel_reservation", reservation_id="RES001")
        assert [entry["amount"] for entry in cancelled["payment_history"]] == amounts
    assert cancelled["status"] == "cancelled"
    assert air("get_user_details", user_id="eva_1")["payment_methods"]["gift_card_1"]["amount"] == 300


def test_a_fourth_certificate_stops_the_original_but_not_this_engine(air: Desk) -> None:
    for number in (3221322, 3221323, 3221324):
        assert air("send_certificate", user_id="eva_1", amount=7.5) == (
            f"Certificate certificate_{number} added to user eva_1 with amount 7.5."
        )
    before = air.db.fork()
    fourth = air.result("send_certificate", user_id="eva_1", amount=7.5)
    assert fourth.raises == "ValidationError" and fourth.error and not fourth.done
    assert air.db.same_as(before)
    assert air("send_certificate", user_id="?", amount=1) == "Error: user not found"


def test_bags_are_charged_when_added_and_never_paid_back(air: Desk) -> None:
    def bags(nonfree: Any, payment: str) -> Any:
        return air(
            "update_reservation_baggages",
            reservation_id="RES001", total_baggages=9, nonfree_baggages=nonfree, payment_id=payment,
        )  # fmt: skip

    assert bags(2, "?") == "Error: payment method not found"
    assert bags(2, "certificate_1") == "Error: certificate cannot be used to update reservation"
    assert bags(8, "gift_card_1") == "Error: gift card balance is not enough"
    done = bags(3, "gift_card_1")
    assert done["payment_history"][-1] == {"payment_id": "gift_card_1", "amount": 100}
    fewer = bags(0, "gift_card_1")
    assert fewer["payment_history"] == done["payment_history"]
    assert (fewer["total_baggages"], fewer["nonfree_baggages"]) == (9, 0)


def test_new_flights_are_settled_and_the_cabin_stays(air: Desk) -> None:
    def rebook(cabin: str, *flights: dict[str, Any], payment: str = "gift_card_1") -> Any:
        return air(
            "update_reservation_flights",
            reservation_id="RES001", cabin=cabin, flights=list(flights), payment_id=payment,
        )  # fmt: skip

    kept = {"flight_number": "F1", "date": "2024-05-20"}
    assert rebook("economy", kept, payment="certificate_1") == (
        "Error: certificate cannot be used to update reservation"
    )
    same = rebook("economy", kept)
    assert same["flights"][0]["price"] == 90, "a kept segment keeps its price, whatever it costs today"
    assert len(same["payment_history"]) == 1, "no entry for no difference"
    better = rebook("business", kept)
    assert (better["flights"][0]["price"], better["cabin"]) == (200, "economy")
    assert better["payment_history"][-1] == {"payment_id": "gift_card_1", "amount": 110}
    assert air("get_user_details", user_id="eva_1")["payment_methods"]["gift_card_1"]["amount"] == 190


def test_passengers_are_replaced_by_as_many_others(air: Desk) -> None:
    def name(passengers: Any) -> Any:
        return air("update_reservation_passengers", reservation_id="RES001", passengers=passengers)

    assert name([]) == "Error: number of passengers does not match"
    assert name(1) == "Error: object of type 'int' has no len()"
    assert name([5])["passengers"] == [5]


def test_searches(air: Desk) -> None:
    direct = air("search_direct_flight", origin="JFK", destination="ORD", date="2024-05-20")
    assert list(direct[0]) == [
        "flight_number", "origin", "destination", "scheduled_departure_time_est",
        "scheduled_arrival_time_est", "status", "available_seats", "prices",
    ]  # fmt: skip
    assert air("search_direct_flight", origin="JFK", destination="ORD", date="2024-05-21") == []
    pairs = air("search_onestop_flight", origin="JFK", destination="SEA", date="2024-05-20")
    assert [[(leg["flight_number"], leg["date"]) for leg in pair] for pair in pairs] == [
        [("F1", "2024-05-20"), ("F2", "2024-05-20")],
        [("F3", "2024-05-20"), ("F4", "2024-05-21")],
    ]
    assert pairs[1][1]["prices"]["economy"] == 130, "the second leg shows the first day"
    # The 9th has an overnight leg, the 10th a second one; the 9th itself is not among the second one's days.
    assert air("search_onestop_flight", origin="JFK", destination="SEA", date="2024-05-09") == (
        "Error: '2024-05-09'"
    )
    # After the 2nd comes "2024-05-3", which no flight has.
    assert air("search_onestop_flight", origin="JFK", destination="SEA", date="2024-05-02") == []
    assert air("search_onestop_flight", origin="JFK", destination="SEA", date="x") == (
        "Error: invalid literal for int() with base 10: 'x'"
    )
    assert json.loads(air.result("list_all_airports").observation)["LGA"] == "LaGuardia"
