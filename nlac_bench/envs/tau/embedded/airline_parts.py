"""Draws goals of the embedded airline. A builder returns None if tables or policy allow no such goal."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.embedded.airline_tables import (
    CABINS,
    TODAY,
    AirlineTables,
    day,
    free_bags,
    traveller,
)
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.embedded.parts import RecordReference, TaskPart, call, payment
from nlac_bench.envs.tau.rows import AirlineUser, FlightDay, PassengerRow, Reservation, Segment
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

AMOUNT = r"\$ ?\d{2,}|\b\d{2,}(\.\d+)? ?(dollars|usd)|\b\d{2,4}\b"
PLANS = "my plans have changed"
COVERED = ("I am ill", "the weather is bad")
"""Reasons that insurance covers."""
CANCELLED = "the airline cancelled one of its flights"


@dataclass(slots=True)
class Traveller:
    """The user of one task, and the rows that its earlier parts use."""

    draws: Draws
    level: str
    user_id: str
    made: AirlineTables
    used: set[str] = field(default_factory=set)
    """Reservations that an earlier part changes; a second change could contradict the first."""
    spent: set[str] = field(default_factory=set)
    """goals.Payment methods whose balance an earlier part changes."""
    booked: bool = False

    @property
    def user(self) -> AirlineUser:
        """The user's row."""
        row: AirlineUser = self.made.tables["users"][self.user_id]
        return row

    def trips(self) -> list[Reservation]:
        """Return the user's unused reservations."""
        rows = [self.made.tables["reservations"][code] for code in self.user["reservations"]]
        return [row for row in rows if row["reservation_id"] not in self.used]

    def take(self, fits: Callable[[Reservation], bool]) -> Reservation | None:
        """Draw an unused reservation for which ``fits`` is true and mark it as used; None if none fits."""
        fitting = [trip for trip in self.trips() if fits(trip)]
        if not fitting:
            return None
        trip = self.draws.pick(fitting)
        self.used.add(trip["reservation_id"])
        return trip

    def named(self, trip: Reservation) -> RecordReference:
        """Return how the user refers to the reservation: by its id, or on higher levels by its route."""
        rows = [self.made.tables["reservations"][code] for code in self.user["reservations"]]
        same = [r for r in rows if (r["origin"], r["destination"]) == (trip["origin"], trip["destination"])]
        if self.level == "easy" or len(same) > 1 or self.draws.chance(0.6):
            return {"record": trip["reservation_id"]}
        return {"hint": f"my trip from {trip['origin']} to {trip['destination']}"}

    def status(self, leg: Segment) -> str:
        """Return the status of a flight."""
        status: str = self.made.tables["flights"][leg["flight_number"]]["dates"][leg["date"]]["status"]
        return status

    def offer(self, number: str, date: str, cabin: str, seats: int) -> int | None:
        """Return the price of a flight on a date, or None if it cannot be booked."""
        dates: dict[str, FlightDay] = self.made.tables["flights"][number]["dates"]
        flight = dates.get(date)
        if flight is None or flight["status"] != "available" or flight["available_seats"][cabin] < seats:
            return None
        return flight["prices"][cabin]

    def paying(self, amount: int) -> goals.Payment:
        """Draw a credit card, or a gift card with a balance of at least ``amount``."""
        methods = []
        for row in self.user["payment_methods"].values():
            card = row["source"] == "gift_card" and row["id"] not in self.spent and row["amount"] >= amount
            if row["source"] == "credit_card" or card:
                methods.append(row)
        method = self.draws.pick(methods)
        self.spent.add(method["id"])
        return payment(self.draws, self.level, method)


def whole(traveller_: Traveller, trip: Reservation) -> bool:
    """Return whether no flight of the trip has been flown."""
    return all(leg["date"] > day(TODAY) for leg in trip["flights"])


def cancellable(user: Traveller, trip: Reservation) -> str | None:
    """Return the reason for which policy allows the trip to be cancelled, or None."""
    if not whole(user, trip):
        return None
    if any(user.status(leg) == "cancelled" for leg in trip["flights"]):
        return CANCELLED
    if trip["insurance"] == "yes" and trip["cabin"] != "business":
        return user.draws.pick(COVERED)
    if trip["cabin"] == "business" or trip["created_at"] > f"{day(TODAY - 1)}T15":
        return PLANS
    return None


def cancel(user: Traveller) -> TaskPart | None:
    """Goal: cancel a reservation that policy allows to be cancelled."""
    trip = user.take(lambda row: cancellable(user, row) is not None)
    if trip is None:
        return None
    goal = goals.Goal("cancel", **user.named(trip), reason=cancellable(user, trip))
    return TaskPart(goal, (call("cancel_reservation", reservation_id=trip["reservation_id"]),))


def refused_cancel(user: Traveller) -> TaskPart | None:
    """Goal: cancel a reservation although policy forbids it; usually followed by a question."""
    trip = user.take(lambda row: whole(user, row) and cancellable(user, row) is None)
    if trip is None:
        return None
    goal = goals.Goal("cancel", record=trip["reservation_id"], reason=PLANS, forbidden=True)
    return _then_ask(user, goal, trip)


def flown(user: Traveller) -> TaskPart | None:
    """Goal: cancel a trip that has begun: the agent must transfer the user. It must be the last part."""
    trip = user.take(lambda row: not whole(user, row))
    if trip is None:
        return None
    goal = goals.Goal("cancel", record=trip["reservation_id"], reason=PLANS, forbidden=True)
    summary = f"The customer wants to cancel {trip['reservation_id']}, which is partly flown."
    return TaskPart(goal, (call("transfer_to_human_agents", summary=summary),))


def change_flights(user: Traveller) -> TaskPart | None:
    """Goal: other flights on the same route."""
    trip = user.take(lambda row: row["cabin"] != "basic_economy" and whole(user, row))
    if trip is None:
        return None
    moved = _moved(user, trip)
    if moved is None:
        return None
    legs, difference = moved
    paid = user.paying(difference)
    goal = goals.Goal("change_flights", **user.named(trip), legs=legs, payment=paid)
    return TaskPart(goal, (flights_call(trip, trip["cabin"], legs, paid),))


def _moved(user: Traveller, trip: Reservation) -> tuple[tuple[goals.Leg, ...], int] | None:
    """Draw an itinerary with another last flight; return it with the price difference, or None."""
    seats, cabin = len(trip["passengers"]), trip["cabin"]
    *kept, last = trip["flights"]
    earliest = int(kept[-1]["date"][-2:]) if kept else TODAY + 1
    choices = []
    for number in user.made.routes[last["origin"], last["destination"]]:
        for place in range(max(earliest, TODAY) + 1, 31):
            price = user.offer(number, day(place), cabin, seats)
            if price is not None and (number, day(place)) != (last["flight_number"], last["date"]):
                choices.append((number, day(place), price))
    if not choices:
        return None
    number, date, price = user.draws.pick(choices)
    legs = (*(goals.Leg(leg["flight_number"], leg["date"]) for leg in kept), goals.Leg(number, date))
    return legs, (price - last["price"]) * seats


def flights_call(trip: Reservation, cabin: str, legs: tuple[goals.Leg, ...], paid: goals.Payment) -> GoldCall:
    """Return the call that sets flights and cabin."""
    return call(
        "update_reservation_flights",
        reservation_id=trip["reservation_id"],
        cabin=cabin,
        flights=[{"flight_number": leg.number, "date": leg.date} for leg in legs],
        payment_id=paid.id,
    )


def refused_flights(user: Traveller) -> TaskPart | None:
    """Goal: other flights in basic economy, which policy forbids."""
    trip = user.take(lambda row: row["cabin"] == "basic_economy" and whole(user, row))
    if trip is None:
        return None
    moved = _moved(user, trip)
    paid = user.paying(0)
    if moved is None:
        return None
    goal = goals.Goal(
        "change_flights", record=trip["reservation_id"], legs=moved[0], payment=paid, forbidden=True
    )
    return _then_ask(user, goal, trip)


def change_cabin(user: Traveller) -> TaskPart | None:
    """Goal: the same flights in another cabin."""
    trip = user.take(lambda row: whole(user, row))
    if trip is None:
        return None
    cabin = user.draws.pick([cabin for cabin in CABINS if cabin != trip["cabin"]])
    swap = _cabin(user, trip, cabin)
    if swap is None:
        return None
    paid, gold = swap
    goal = goals.Goal("change_cabin", **user.named(trip), cabin=cabin, payment=paid)
    return TaskPart(goal, (gold,))


def _cabin(user: Traveller, trip: Reservation, cabin: str) -> tuple[goals.Payment, GoldCall] | None:
    difference = 0
    for leg in trip["flights"]:
        price = user.offer(leg["flight_number"], leg["date"], cabin, len(trip["passengers"]))
        if price is None:
            return None
        difference += (price - leg["price"]) * len(trip["passengers"])
    paid = user.paying(difference)
    legs = tuple(goals.Leg(leg["flight_number"], leg["date"]) for leg in trip["flights"])
    return paid, flights_call(trip, cabin, legs, paid)


def other_cabin(user: Traveller) -> TaskPart | None:
    """Goal: a change of cabin; when asked to confirm or refused, the user wants another one instead."""
    trip = user.take(lambda row: row["cabin"] == "basic_economy" and whole(user, row))
    if trip is None:
        return None
    swap = _cabin(user, trip, "economy")
    if swap is None:
        return None
    paid, gold = swap
    goal = goals.Goal("change_cabin", **user.named(trip), cabin="business", payment=paid)
    return TaskPart(replace(goal, change=replace(goal, cabin="economy")), (gold,))


def add_bags(user: Traveller) -> TaskPart | None:
    """Goal: more checked bags."""
    trip = user.take(lambda row: whole(user, row))
    if trip is None:
        return None
    free = free_bags(user.user, trip["cabin"], len(trip["passengers"]))
    bags = trip["total_baggages"] + user.draws.between(1, 2)
    unpaid = max(0, bags - free)
    paid = user.paying(50 * max(0, unpaid - trip["nonfree_baggages"]))
    goal = goals.Goal("add_bags", **user.named(trip), bags=bags, payment=paid)
    gold = call(
        "update_reservation_baggages",
        reservation_id=trip["reservation_id"],
        total_baggages=bags,
        nonfree_baggages=unpaid,
        payment_id=paid.id,
    )
    return TaskPart(goal, (gold,))


def change_passengers(user: Traveller) -> TaskPart | None:
    """Goal: replace the last passenger by another person."""
    trip = user.take(lambda row: whole(user, row))
    if trip is None:
        return None
    people = [person.copy() for person in trip["passengers"]]
    people[-1] = traveller(user.draws)
    goal = goals.Goal(
        "change_passengers", **user.named(trip), passengers=tuple(goals.Passenger(**p) for p in people)
    )
    gold = call("update_reservation_passengers", reservation_id=trip["reservation_id"], passengers=people)
    return TaskPart(goal, (gold,))


def refused_passenger(user: Traveller) -> TaskPart | None:
    """Goal: remove a passenger, which is impossible."""
    trip = user.take(lambda row: len(row["passengers"]) > 1 and whole(user, row))
    if trip is None:
        return None
    people = tuple(goals.Passenger(**person) for person in trip["passengers"][:-1])
    goal = goals.Goal("change_passengers", record=trip["reservation_id"], passengers=people, forbidden=True)
    return _then_ask(user, goal, trip)


def compensation(user: Traveller) -> TaskPart | None:
    """Goal: a certificate for a cancelled flight, for a user who is entitled to it."""
    trip = user.take(lambda row: _cancelled(user, row) and _entitled(user, row))
    if trip is None:
        return None
    goal = goals.Goal("compensation", **user.named(trip), reason=CANCELLED)
    amount = 100 * len(trip["passengers"])
    return TaskPart(goal, (call("send_certificate", user_id=user.user_id, amount=amount),))


def refused_compensation(user: Traveller) -> TaskPart | None:
    """Goal: compensation for a user who is not entitled to it, or for a flight that was not cancelled."""
    trip = user.take(lambda row: whole(user, row) and not (_cancelled(user, row) and _entitled(user, row)))
    if trip is None:
        return None
    goal = goals.Goal("compensation", record=trip["reservation_id"], reason=CANCELLED, forbidden=True)
    return _then_ask(user, goal, trip)


def _cancelled(user: Traveller, trip: Reservation) -> bool:
    return any(user.status(leg) == "cancelled" for leg in trip["flights"])


def _entitled(user: Traveller, trip: Reservation) -> bool:
    return user.user["membership"] != "regular" or trip["insurance"] == "yes" or trip["cabin"] == "business"


def book(user: Traveller) -> TaskPart | None:
    """Goal: book a direct flight for the user, and on higher levels also for a saved passenger."""
    if user.booked:
        return None
    draws = user.draws
    origin, destination = draws.pick(list(user.made.routes))
    number = draws.pick(user.made.routes[origin, destination])
    date, cabin = day(draws.between(TODAY + 1, 30)), draws.pick(CABINS)
    people: list[PassengerRow] = [{**user.user["name"], "dob": user.user["dob"]}]
    if user.user["saved_passengers"] and draws.chance(0.4):
        people.append(user.user["saved_passengers"][0].copy())
    price = user.offer(number, date, cabin, len(people))
    if price is None:
        return None
    bags, insurance = draws.between(0, 3), draws.pick(("yes", "no", "no"))
    unpaid = max(0, bags - free_bags(user.user, cabin, len(people)))
    total = price * len(people) + 50 * unpaid + (30 * len(people) if insurance == "yes" else 0)
    paid = user.paying(total)
    user.booked = True
    goal = goals.Goal(
        "book", origin=origin, destination=destination, trip="one_way", cabin=cabin,
        legs=(goals.Leg(number, date),), passengers=tuple(goals.Passenger(**person) for person in people),
        bags=bags, insurance=insurance, payment=paid,
    )  # fmt: skip
    gold = call(
        "book_reservation", user_id=user.user_id, origin=origin, destination=destination,
        flight_type="one_way", cabin=cabin, flights=[{"flight_number": number, "date": date}],
        passengers=people, payment_methods=[{"payment_id": paid.id, "amount": total}],
        total_baggages=bags, nonfree_baggages=unpaid, insurance=insurance,
    )  # fmt: skip
    return TaskPart(goal, (gold,))


def ask_total(user: Traveller) -> TaskPart | None:
    """Goal: ask what a reservation cost."""
    trips = user.trips()
    if not trips:
        return None
    trip = user.draws.pick(trips)
    named = user.named(trip)
    what = f"reservation {trip['reservation_id']}" if "record" in named else named["hint"]
    question = user.draws.pick((f"how much I paid for {what}", f"the total price of {what}"))
    goal = goals.Goal("ask", **named, question=question, answer=AMOUNT)
    return TaskPart(goal, (), (str(trip["payment_history"][0]["amount"]),))


def ask_fare(user: Traveller) -> TaskPart | None:
    """Goal: ask what a flight costs."""
    origin, destination = user.draws.pick(list(user.made.routes))
    number = user.draws.pick(user.made.routes[origin, destination])
    date, cabin = day(user.draws.between(TODAY + 1, 30)), user.draws.pick(CABINS)
    price = user.offer(number, date, cabin, 1)
    if price is None:
        return None
    words = say.CABINS[cabin]
    question = f"what flight {number} from {origin} to {destination} on {date} costs in {words}"
    return TaskPart(goals.Goal("ask", question=question, answer=AMOUNT), (), (str(price),))


def ask_balance(user: Traveller) -> TaskPart | None:
    """Goal: ask for the balance of the gift card, before another part changes it."""
    card = next(m for m in user.user["payment_methods"].values() if m["source"] == "gift_card")
    if user.spent:
        return None
    question = user.draws.pick(("the balance of my gift card", "how much is left on my gift card"))
    return TaskPart(goals.Goal("ask", question=question, answer=AMOUNT), (), (str(card["amount"]),))


def beyond_tools(user: Traveller) -> TaskPart | None:
    """Goal: something that only a human agent can do. It ends the conversation: it must be the last part."""
    wish = user.draws.pick(
        (
            "report a bag that got lost at the airport",
            "book a seat for my dog in the hold",
            "arrange a wheelchair at the gate",
            "apply for a job as a pilot",
        )
    )
    goal = goals.Goal("other", question=wish, forbidden=True)
    return TaskPart(goal, (call("transfer_to_human_agents", summary=f"The customer wants to {wish}."),))


def _then_ask(user: Traveller, goal: goals.Goal, trip: Reservation) -> TaskPart:
    """Return a forbidden goal, usually followed by a question, so that inaction earns no reward."""
    if user.draws.chance(0.2):
        return TaskPart(goal)
    question = f"what I paid for reservation {trip['reservation_id']}"
    ask = goals.Goal("ask", record=trip["reservation_id"], question=question, answer=AMOUNT)
    return TaskPart(replace(goal, fallback=ask), (), (str(trip["payment_history"][0]["amount"]),))
