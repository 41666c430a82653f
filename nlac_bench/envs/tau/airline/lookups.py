"""Implements the airline tools that only read."""

import json

from nlac_bench.envs.tau.database import Database, Row
from nlac_bench.simulators.customer import goals


def get_reservation_details(db: Database, reservation_id: str) -> str:
    """Return the reservation as JSON; the error message names a user, as in the original."""
    return _shown(db.get("reservations", reservation_id))


def get_user_details(db: Database, user_id: str) -> str:
    """Return the user as JSON."""
    return _shown(db.get("users", user_id))


def list_all_airports(db: Database) -> str:
    """Return airport codes and cities, which are the same for every database."""
    return json.dumps(goals.AIRPORTS)


def search_direct_flight(db: Database, origin: object, destination: object, date: str) -> str:
    """Return the flights that are available on that day, in file order."""
    flights = []
    for _, flight in db.rows("flights"):
        if flight["origin"] == origin and flight["destination"] == destination and _available(flight, date):
            flights.append(_on_day(flight, date))
    return json.dumps(flights)


def search_onestop_flight(db: Database, origin: object, destination: object, date: str) -> str:
    """Return pairs of flights with one stop.

    As in the original, the day after an overnight leg is written without padding, times are compared as
    strings, and the second leg shows seats and prices of the first day.
    """
    pairs = []
    for _, first in db.rows("flights"):
        if first["origin"] != origin:
            continue
        for _, second in db.rows("flights"):
            if second["destination"] != destination or first["destination"] != second["origin"]:
                continue
            arrival = first["scheduled_arrival_time_est"]
            second_date = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrival else date
            if arrival > second["scheduled_departure_time_est"]:
                continue
            if _available(first, date) and _available(second, second_date):
                pairs.append(
                    [
                        {**_on_day(first, date), "date": date},
                        {**_on_day(second, date), "date": second_date},
                    ]
                )
    return json.dumps(pairs)


def _available(flight: Row, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _on_day(flight: Row, date: str) -> Row:
    return {**{key: value for key, value in flight.items() if key != "dates"}, **flight["dates"][date]}


def _shown(row: Row | None) -> str:
    return "Error: user not found" if row is None else json.dumps(row)
