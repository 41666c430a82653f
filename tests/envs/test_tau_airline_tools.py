"""The airline tools on a small data set of our own: each test is a fact about the original."""

import json
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau import airline
from tests.envs.tau_small import Desk, load_small, write_small


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("small"))


@pytest.fixture
def air(folder: Path) -> Desk:
    return Desk(airline.TOOLS, load_small("airline", folder).new_database())


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


def test_cancelling_again_and_again_is_bounded(air: Desk) -> None:
    for _ in range(13):
        cancelled = air("cancel_reservation", reservation_id="RES001")
    assert len(cancelled["payment_history"]) == 8192
    assert air("cancel_reservation", reservation_id="RES001") == (
        "Error: the payment history would have more than 8192 entries"
    )


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
