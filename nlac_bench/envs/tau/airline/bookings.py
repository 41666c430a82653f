"""Implements the airline tools that change reservations and users.

Checks and changes are made in the original's order, which determines which error is returned and which
changes remain when a later step fails. Sums are loops: from Python 3.12 on ``sum`` rounds differently.
"""

import json

from nlac_bench.envs.tau.common import existing
from nlac_bench.envs.tau.database import Database
from nlac_bench.envs.tau.rows import FlightPayment, PassengerRow, WantedFlight

NEW_RESERVATIONS = ("HATHAT", "HATHAU", "HATHAV")
NEW_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
NOW = "2024-05-15T15:00:00"
MAX_HISTORY = 8192
"""Maximal length of a payment history. Each cancel doubles it; in the original it can reach 2³⁰ entries in an
episode of 30 steps."""


def book_reservation(
    db: Database,
    user_id: str,
    origin: object,
    destination: object,
    flight_type: object,
    cabin: str,
    flights: list[WantedFlight],
    passengers: list[PassengerRow],
    payment_methods: list[FlightPayment],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: object,
) -> str:
    """Book flights: seats are checked but not reduced, gift cards are debited, certificates are used up."""
    user = db.get("users", user_id)
    if user is None:
        return "Error: user not found"
    reservation_id = next((i for i in NEW_RESERVATIONS[:2] if db.get("reservations", i) is None), "HATHAV")
    reservation = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": flights,
        "passengers": passengers,
        "payment_history": payment_methods,
        "created_at": NOW,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    total = 0
    for segment in flights:
        offer = _offer(db, segment, cabin, passengers)
        if isinstance(offer, str):
            return offer
        total += segment["price"] * len(passengers)
    if insurance == "yes":
        total += 30 * len(passengers)
    total += 50 * nonfree_baggages
    for payment in payment_methods:
        payment_id, amount = payment["payment_id"], payment["amount"]
        if payment_id not in user["payment_methods"]:
            return f"Error: payment method {payment_id} not found"
        method = user["payment_methods"][payment_id]
        if method["source"] in ("gift_card", "certificate") and method["amount"] < amount:
            return f"Error: not enough balance in payment method {payment_id}"
    paid = 0
    for payment in payment_methods:
        paid = paid + payment["amount"]
    if paid != total:
        return f"Error: payment amount does not add up, total price is {total}, but paid {paid}"
    user = db.edit("users", user_id)
    for payment in payment_methods:
        payment_id = payment["payment_id"]
        method = user["payment_methods"][payment_id]
        if method["source"] == "gift_card":
            method["amount"] -= payment["amount"]
        elif method["source"] == "certificate":
            del user["payment_methods"][payment_id]
    db.put("reservations", reservation_id, reservation)
    user["reservations"].append(reservation_id)
    return json.dumps(reservation)


def cancel_reservation(db: Database, reservation_id: str) -> str:
    """Cancel a reservation and record the refunds; no balance is credited."""
    reservation = db.get("reservations", reservation_id)
    if reservation is None:
        return "Error: reservation not found"
    if 2 * len(reservation["payment_history"]) > MAX_HISTORY:
        return f"Error: the payment history would have more than {MAX_HISTORY} entries"
    reservation = db.edit("reservations", reservation_id)
    history = reservation["payment_history"]
    history.extend([{"payment_id": old["payment_id"], "amount": -old["amount"]} for old in history])
    reservation["status"] = "cancelled"
    return json.dumps(reservation)


def send_certificate(db: Database, user_id: str, amount: int) -> str | None:
    """Give a user a certificate. Returns None if all ids are in use; the original then raises."""
    user = db.get("users", user_id)
    if user is None:
        return "Error: user not found"
    for certificate_id in NEW_CERTIFICATES:
        if certificate_id not in user["payment_methods"]:
            db.edit("users", user_id)["payment_methods"][certificate_id] = {
                "source": "certificate",
                "amount": amount,
                "id": certificate_id,
            }
            return f"Certificate {certificate_id} added to user {user_id} with amount {amount}."
    return None


def update_reservation_baggages(
    db: Database, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
) -> str:
    """Set the bag counts and charge for added non-free bags; removed bags are not refunded."""
    reservation = db.get("reservations", reservation_id)
    if reservation is None:
        return "Error: reservation not found"
    price = 50 * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    error = _charge(db, reservation_id, payment_id, price)
    if error is not None:
        return error
    reservation = db.edit("reservations", reservation_id)
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    return json.dumps(reservation)


def update_reservation_flights(
    db: Database, reservation_id: str, cabin: str, flights: list[WantedFlight], payment_id: str
) -> str:
    """Replace the flights and charge or refund the difference; keeps the stored cabin, as in the original."""
    reservation = db.get("reservations", reservation_id)
    if reservation is None:
        return "Error: reservation not found"
    total = 0
    for segment in flights:
        kept = [
            old
            for old in reservation["flights"]
            if old["flight_number"] == segment["flight_number"]
            and old["date"] == segment["date"]
            and cabin == reservation["cabin"]
        ]
        if kept:
            total += kept[0]["price"] * len(reservation["passengers"])
            segment["price"] = kept[0]["price"]
            segment["origin"] = kept[0]["origin"]
            segment["destination"] = kept[0]["destination"]
            continue
        offer = _offer(db, segment, cabin, reservation["passengers"])
        if isinstance(offer, str):
            return offer
        total += segment["price"] * len(reservation["passengers"])
    old_total = 0
    for old in reservation["flights"]:
        old_total = old_total + old["price"]
    error = _charge(db, reservation_id, payment_id, total - old_total * len(reservation["passengers"]))
    if error is not None:
        return error
    reservation = db.edit("reservations", reservation_id)
    reservation["flights"] = flights
    return json.dumps(reservation)


def update_flights_and_cabin(
    db: Database, reservation_id: str, cabin: str, flights: list[WantedFlight], payment_id: str
) -> str:
    """Do what :func:`update_reservation_flights` does and store the new cabin, for embedded data."""
    answer = update_reservation_flights(db, reservation_id, cabin, flights, payment_id)
    if answer.startswith("Error: "):
        return answer
    reservation = db.edit("reservations", reservation_id)
    reservation["cabin"] = cabin
    return json.dumps(reservation)


def update_reservation_passengers(db: Database, reservation_id: str, passengers: list[PassengerRow]) -> str:
    """Replace the passengers by the same number of others."""
    reservation = db.get("reservations", reservation_id)
    if reservation is None:
        return "Error: reservation not found"
    if len(passengers) != len(reservation["passengers"]):
        return "Error: number of passengers does not match"
    reservation = db.edit("reservations", reservation_id)
    reservation["passengers"] = passengers
    return json.dumps(reservation)


def _offer(db: Database, segment: WantedFlight, cabin: str, passengers: list[PassengerRow]) -> str | None:
    """Write price, origin and destination into ``segment``, or return why it cannot be booked."""
    number = segment["flight_number"]
    flight = db.get("flights", number)
    if flight is None:
        return f"Error: flight {number} not found"
    date = segment["date"]
    if date not in flight["dates"]:
        return f"Error: flight {number} not found on date {date}"
    day = flight["dates"][date]
    if day["status"] != "available":
        return f"Error: flight {number} not available on date {date}"
    if day["available_seats"][cabin] < len(passengers):
        return f"Error: not enough seats on flight {number}"
    segment["price"] = day["prices"][cabin]
    segment["origin"] = flight["origin"]
    segment["destination"] = flight["destination"]
    return None


def _charge(db: Database, reservation_id: str, payment_id: str, amount: int) -> str | None:
    """Charge ``amount`` to a payment method (refund it if negative), or return the reason why that failed."""
    reservation = existing(db.get("reservations", reservation_id))
    user_id = reservation["user_id"]
    methods = existing(db.get("users", user_id))["payment_methods"]
    if payment_id not in methods:
        return "Error: payment method not found"
    method = methods[payment_id]
    if method["source"] == "certificate":
        return "Error: certificate cannot be used to update reservation"
    if method["source"] == "gift_card" and method["amount"] < amount:
        return "Error: gift card balance is not enough"
    if method["source"] == "gift_card":
        db.edit("users", user_id)["payment_methods"][payment_id]["amount"] -= amount
    if amount != 0:
        history = db.edit("reservations", reservation_id)["payment_history"]
        history.append({"payment_id": payment_id, "amount": amount})
    return None
