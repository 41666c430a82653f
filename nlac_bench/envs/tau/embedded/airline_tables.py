"""Makes the embedded airline from one seed: users, flights and reservations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from nlac_bench.envs.tau.database import Tables
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.retail_tables import DATABASES, LEVELS, USERS_PER_GROUP, address
from nlac_bench.envs.tau.embedded.words import FIRST_NAMES, LAST_NAMES
from nlac_bench.envs.tau.rows import (
    AirlineUser,
    Flight,
    FlightDay,
    PassengerRow,
    PaymentMethod,
    PaymentMethods,
    Reservation,
    Segment,
)

SEED = 20_240_516
AIRPORTS = ("ATL", "BOS", "DEN", "DFW", "JFK", "LAX", "MIA", "MSP", "ORD", "PHX", "SEA", "SFO")
CABINS = ("basic_economy", "economy", "business")
TODAY = 15
"""Day of May 2024 on which all conversations take place (at 15:00)."""
FREE_BAGS: Mapping[str, tuple[int, int, int]] = {"regular": (0, 1, 2), "silver": (1, 2, 3), "gold": (2, 3, 3)}
"""Free checked bags for each passenger, in the order of ``CABINS``."""

Route: TypeAlias = tuple[str, str]
"""Codes of the airports from and to which flights go."""
Routes: TypeAlias = Mapping[Route, tuple[str, ...]]
"""The numbers of the flights of each route."""

_DAYS = tuple(f"2024-05-{number:02d}" for number in range(31))
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_RESERVATIONS: Mapping[str, int] = {"easy": 1, "medium": 2, "hard": 3}
_PASSENGERS: Mapping[str, int] = {"easy": 1, "medium": 2, "hard": 3}


@dataclass(frozen=True, slots=True)
class AirlineTables:
    """The tables, which users belong to which ``(split, level)``, and the flights of each route."""

    tables: Tables
    groups: Mapping[tuple[str, str], tuple[str, ...]]
    routes: Routes


def make_airline_tables() -> tuple[AirlineTables, ...]:
    """Make the tables of each of ``DATABASES``, the same on every machine and Python version.

    They have the same flights, and no user and no reservation in common.
    """
    draws = Draws(SEED)
    flights, routes = _flights(draws)
    made = []
    for splits in DATABASES:
        users: dict[str, AirlineUser] = {}
        reservations: dict[str, Reservation] = {}
        groups: dict[tuple[str, str], tuple[str, ...]] = {}
        for split in splits:
            for level in LEVELS:
                ids = []
                for _ in range(USERS_PER_GROUP[split]):
                    user_id, user = _user(draws, level)
                    users[user_id] = user
                    for _ in range(_RESERVATIONS[level]):
                        row = _reservation(draws, level, user, flights, routes)
                        row["user_id"] = user_id
                        reservations[row["reservation_id"]] = row
                        user["reservations"].append(row["reservation_id"])
                    ids.append(user_id)
                groups[split, level] = tuple(ids)
        tables: Tables = {"flights": flights, "reservations": reservations, "users": users}
        made.append(AirlineTables(tables, groups, routes))
    return tuple(made)


def day(number: int) -> str:
    """Return a day of May 2024 as an ISO date."""
    return _DAYS[number]


def free_bags(user: AirlineUser, cabin: str, passengers: int) -> int:
    """Return the number of free checked bags of a reservation."""
    return FREE_BAGS[user["membership"]][CABINS.index(cabin)] * passengers


def traveller(draws: Draws) -> PassengerRow:
    """Draw a new passenger."""
    return {"first_name": draws.pick(FIRST_NAMES), "last_name": draws.pick(LAST_NAMES), "dob": _birth(draws)}


def _birth(draws: Draws) -> str:
    return f"{draws.between(1950, 2004)}-{draws.between(1, 12):02d}-{draws.between(1, 28):02d}"


def _flights(draws: Draws) -> tuple[dict[str, Flight], Routes]:
    pairs = [(a, b) for i, a in enumerate(AIRPORTS) for b in AIRPORTS[i + 1 :]]
    routes: dict[Route, tuple[str, ...]] = {}
    flights: dict[str, Flight] = {}
    for a, b in draws.some(pairs, 38):
        fare = draws.between(60, 190)
        for origin, destination in ((a, b), (b, a)):
            numbers = []
            for _ in range(2):
                number = f"NB{101 + len(flights)}"
                flights[number] = _flight(draws, number, origin, destination, fare)
                numbers.append(number)
            routes[origin, destination] = tuple(numbers)
    return flights, routes


def _flight(draws: Draws, number: str, origin: str, destination: str, fare: int) -> Flight:
    start, length = draws.between(6, 17), draws.between(1, 5)
    departure, arrival = (
        f"{start:02d}:{draws.pick(('00', '15', '30', '45'))}:00",
        f"{start + length:02d}:40:00",
    )
    dates: dict[str, FlightDay] = {}
    for number_of_day in range(1, 31):
        date = day(number_of_day)
        roll = draws.below(100)
        if roll < 4:
            dates[date] = {"status": "cancelled"}
        elif number_of_day < TODAY or (number_of_day == TODAY and start + length < 15):
            dates[date] = {
                "status": "landed",
                "actual_departure_time_est": f"{date}T{departure}",
                "actual_arrival_time_est": f"{date}T{arrival}",
            }
        elif number_of_day == TODAY and start < 15:
            dates[date] = {
                "status": "flying",
                "actual_departure_time_est": f"{date}T{departure}",
                "estimated_arrival_time_est": f"{date}T{arrival}",
            }
        elif number_of_day == TODAY:
            dates[date] = {
                "status": draws.pick(("on time", "delayed")),
                "estimated_departure_time_est": f"{date}T{departure}",
                "estimated_arrival_time_est": f"{date}T{arrival}",
            }
        else:
            basic = fare + draws.below(40)
            economy = basic + draws.between(15, 70)
            prices = (basic, economy, economy * 2 + draws.between(40, 200))
            dates[date] = {
                "status": "available",
                "available_seats": {cabin: draws.between(3, 20) for cabin in CABINS},
                "prices": dict(zip(CABINS, prices, strict=True)),
            }
    return {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": departure,
        "scheduled_arrival_time_est": arrival,
        "dates": dates,
    }


def _user(draws: Draws, level: str) -> tuple[str, AirlineUser]:
    first, last = draws.pick(FIRST_NAMES), draws.pick(LAST_NAMES)
    user_id = f"{first}_{last}_{draws.number(4)}".lower()
    methods: PaymentMethods = {}
    sources = ("credit_card", "gift_card") if level != "hard" else ("credit_card", "gift_card", "certificate")
    for source in sources:
        method: PaymentMethod = {"source": source}
        if source == "credit_card":
            method |= {
                "brand": draws.pick(("visa", "mastercard")),
                "last_four": str(draws.between(1000, 9999)),
            }
        elif source == "gift_card":
            method["amount"] = draws.pick((25, 60, 130, 280, 650, 900))
        else:
            method["amount"] = draws.pick((100, 150, 250))
        method["id"] = f"{source}_{draws.number(7)}"
        methods[method["id"]] = method
    user: AirlineUser = {
        "name": {"first_name": first, "last_name": last},
        "address": address(draws),
        "email": f"{first}.{last}{user_id[-4:]}@example.org".lower(),
        "dob": _birth(draws),
        "payment_methods": methods,
        "saved_passengers": [traveller(draws) for _ in range(0 if level == "easy" else 1)],
        "membership": draws.pick(("regular", "regular", "silver", "gold")),
        "reservations": [],
    }
    return user_id, user


def _reservation(
    draws: Draws,
    level: str,
    user: AirlineUser,
    flights: dict[str, Flight],
    routes: Routes,
) -> Reservation:
    origin, destination = draws.pick(list(routes))
    trip = "one_way" if level == "easy" or draws.chance(0.5) else "round_trip"
    cabin = draws.pick(("basic_economy", "economy", "economy", "business"))
    first_day = draws.between(TODAY + 1, 25)
    if level == "hard" and draws.chance(0.08):
        first_day = draws.between(10, TODAY - 1)  # a trip whose first flight is over
        trip = "round_trip"
    stops = [(origin, destination, first_day)]
    if trip == "round_trip":
        stops.append((destination, origin, draws.between(max(first_day, TODAY) + 1, 29)))
    legs: list[Segment] = []
    for start, end, number_of_day in stops:
        date = day(number_of_day)
        numbers = routes[start, end]
        if number_of_day < TODAY:  # the trip has begun, so this flight was not cancelled
            numbers = tuple(n for n in numbers if flights[n]["dates"][date]["status"] == "landed") or numbers
        flight = flights[draws.pick(numbers)]
        known = flight["dates"][date].get("prices")
        price = known[cabin] if known else draws.between(90, 400)
        legs.append(
            {
                "origin": start,
                "destination": end,
                "flight_number": flight["flight_number"],
                "date": date,
                "price": price,
            }
        )
    people: list[PassengerRow] = [{**user["name"], "dob": user["dob"]}]
    people += [traveller(draws) for _ in range(draws.below(_PASSENGERS[level]))]
    free = free_bags(user, cabin, len(people))
    bags = draws.between(0, free + 1)
    insurance = draws.pick(("yes", "no"))
    total = sum(leg["price"] for leg in legs) * len(people)
    total += 50 * max(0, bags - free) + (30 * len(people) if insurance == "yes" else 0)
    if draws.chance(0.2):  # booked within the last 24 hours, or the day before a trip that has begun
        booked = f"{day(min(TODAY, first_day - 1))}T{draws.between(1, 13):02d}:{draws.between(10, 59)}:00"
    else:
        date = day(draws.between(1, min(TODAY - 2, first_day - 1)))
        booked = f"{date}T{draws.between(8, 22):02d}:{draws.between(10, 59)}:00"
    card = next(m for m in user["payment_methods"] if m.startswith("credit_card"))
    return {
        "reservation_id": _code(draws),
        "user_id": "",
        "origin": origin,
        "destination": destination,
        "flight_type": trip,
        "cabin": cabin,
        "flights": legs,
        "passengers": people,
        "payment_history": [{"payment_id": card, "amount": total}],
        "created_at": booked,
        "total_baggages": bags,
        "nonfree_baggages": max(0, bags - free),
        "insurance": insurance,
    }


def _code(draws: Draws) -> str:
    """Draw a new reservation id: letters with a digit, so that it cannot be mistaken for a word."""
    number, code = draws.number(7) * 97 % (24**5), ""
    for _ in range(5):
        number, place = divmod(number, 24)
        code += _LETTERS[place]
    spot = draws.between(1, 4)
    return f"{code[:spot]}{draws.between(2, 9)}{code[spot:]}"
