"""A rule-based airline agent; like the shop agent in ``retail_rules``, it sees only what the user says."""

import re
from dataclasses import dataclass, field

from nlac_bench.envs.tau.rows import Reservation
from workshop.service_agent import Over, TalkingAgent

CODE = re.compile(r"\b(?=[A-Z]*\d)[A-Z0-9]{6}\b")
HINT = re.compile(r"my trip from ([A-Z]{3}) to ([A-Z]{3})")
METHOD = re.compile(r"(?:credit_card|gift_card|certificate)_\d+")
LEG = re.compile(r"(NB\d{3}) on (\d{4}-\d\d-\d\d)")
PERSON = re.compile(r"([A-Z]\w+) ([A-Z]\w+) \(born (\d{4}-\d\d-\d\d)\)")
CABINS = ("basic_economy", "economy", "business")
FREE = {"regular": (0, 1, 2), "silver": (1, 2, 3), "gold": (2, 3, 3)}
TODAY, YESTERDAY = "2024-05-15", "2024-05-14T15"


@dataclass
class AirlineAgent(TalkingAgent):
    """The agent that serves the user of an airline task."""

    trips: dict[str, Reservation] = field(default_factory=dict)

    def authenticate(self) -> None:
        """Ask for the user id and look the user up."""
        request = self.heard
        while not self.user_id:
            match = re.search(r"\b[a-z]+_[a-z]+_\d{4}\b", self.heard)
            if match:
                self.user_id = match[0]
            else:
                self.tell("What is your user id?")
        self.user = self.read("get_user_details", user_id=self.user_id)
        self.heard = request

    def kind(self, text: str) -> str | None:
        """Return the kind of request in ``text``; None if it contains none."""
        for kind, pattern in (
            ("other", r"got lost|my dog|wheelchair|pilot"),
            ("ask", r"\b(know|find out) "),
            ("compensation", r"compensat"),
            ("book", r"book a flight|new booking|need a flight"),
            ("bags", r"checked bags (to|on)"),
            ("passengers", r"change the passengers"),
            ("cabin", r"the cabin (class )?of"),
            ("flights", r"change the flights|rebook"),
            ("cancel", r"\b(cancel|call off) (reservation|my)|cancelled"),
        ):
            if re.search(pattern, text):
                return kind
        return None

    # --- slots ----------------------------------------------------------------------------------

    def _trip(self, text: str) -> Reservation:
        code, hint = CODE.search(text), HINT.search(text)
        if code:
            return self._row(code[0])
        if hint:
            for reservation in self.user["reservations"]:
                row = self._row(reservation)
                if (row["origin"], row["destination"]) == hint.groups():
                    return row
        return self._trip(self.tell("What is the reservation id?"))

    def _row(self, code: str) -> Reservation:
        if code not in self.trips:
            self.trips[code] = self.read("get_reservation_details", reservation_id=code)
        return self.trips[code]

    def _method(self, text: str) -> str:
        for _ in range(3):
            match = METHOD.search(text)
            if match:
                return match[0]
            for row in self.user["payment_methods"].values():
                words = {"gift_card": "gift card", "certificate": "certificate"}.get(
                    row["source"], row.get("last_four")
                )
                if words and str(words) in text:
                    return str(row["id"])
            text = self.tell("Which payment method would you like to use?")
        return ""

    def _free(self, cabin: str, people: int) -> int:
        return FREE[self.user["membership"]][CABINS.index(cabin)] * people

    @staticmethod
    def _cabin_of(text: str) -> str | None:
        match = re.search(
            r"\b(?:to|in) (basic economy|economy|business)\b|\b(basic economy|economy|business), please",
            text.lower(),
        )
        return (match[1] or match[2]).replace(" ", "_") if match else None

    @staticmethod
    def _flown(trip: Reservation) -> bool:
        return any(leg["date"] < TODAY for leg in trip["flights"])

    def _price(self, origin: str, destination: str, number: str, date: str) -> dict[str, int]:
        offers = self.read("search_direct_flight", origin=origin, destination=destination, date=date)
        return next(dict(offer["prices"]) for offer in offers if offer["flight_number"] == number)

    def _is_cancelled(self, trip: Reservation) -> bool:
        # an upcoming flight that no search returns has been cancelled
        for leg in trip["flights"]:
            offers = self.read(
                "search_direct_flight", origin=leg["origin"], destination=leg["destination"], date=leg["date"]
            )
            if all(offer["flight_number"] != leg["flight_number"] for offer in offers):
                return True
        return False

    # --- requests -------------------------------------------------------------------------------

    def do_other(self, text: str) -> None:
        """Transfer the user to a human agent."""
        self.call("transfer_to_human_agents", summary=text)
        raise Over

    def do_cancel(self, text: str) -> None:
        """Cancel a reservation if the rules allow it."""
        trip = self._trip(text)
        if self._flown(trip):
            return self.do_other(text)
        for _ in range(2):
            if re.search(r"plans|ill\b|weather|airline cancelled", text):
                break
            text = self.tell("What is the reason for the cancellation?")
        covered = trip["insurance"] == "yes" and re.search(r"\bill\b|weather", text)
        allowed = covered or trip["cabin"] == "business" or trip["created_at"] > YESTERDAY
        if not allowed and not ("airline cancelled" in text and self._is_cancelled(trip)):
            return self.refuse("under our rules this reservation cannot be cancelled.")
        code = trip["reservation_id"]
        if self.confirmed(f"I will cancel reservation {code}."):
            self.act(f"Reservation {code} has been cancelled.", "cancel_reservation", reservation_id=code)
        return None

    def do_flights(self, text: str) -> None:
        """Change the flights."""
        trip = self._trip(text)
        if trip["cabin"] == "basic_economy":
            return self.refuse("flights in basic economy cannot be changed.")
        legs = LEG.findall(text) or LEG.findall(self.tell("Which flights would you like instead?"))
        method = self._method(text if METHOD.search(text) or "card" in text else self.heard)
        flights = [{"flight_number": number, "date": date} for number, date in legs]
        line = " and ".join(f"{number} on {date}" for number, date in legs)
        code = trip["reservation_id"]
        if self.confirmed(f"I will change the flights of reservation {code} to {line}, using {method}."):
            self.act(
                "The flights have been changed.",
                "update_reservation_flights",
                reservation_id=code,
                cabin=trip["cabin"],
                flights=flights,
                payment_id=method,
            )
        return None

    def do_cabin(self, text: str) -> None:
        """Change the cabin."""
        trip = self._trip(text)
        cabin = self._cabin_of(text) or self._cabin_of(self.tell("Which cabin would you like?"))
        method = self._method(text if METHOD.search(text) or "card" in text else self.heard)
        flights = [{"flight_number": leg["flight_number"], "date": leg["date"]} for leg in trip["flights"]]
        code, words = trip["reservation_id"], str(cabin).replace("_", " ")
        if self.confirmed(f"I will change the cabin of reservation {code} to {words}, using {method}."):
            self.act(
                "The cabin has been changed.",
                "update_reservation_flights",
                reservation_id=code,
                cabin=cabin,
                flights=flights,
                payment_id=method,
            )

    def do_bags(self, text: str) -> None:
        """Add bags."""
        trip = self._trip(text)
        pattern = re.compile(r"(\d+) checked bag|(no) checked", re.IGNORECASE)
        match = pattern.search(text) or pattern.search(self.tell("How many bags should there be in all?"))
        assert match is not None, self.heard
        bags = int(match[1] or 0)
        method = self._method(text if METHOD.search(text) or "card" in text else self.heard)
        unpaid = max(0, bags - self._free(trip["cabin"], len(trip["passengers"])))
        code = trip["reservation_id"]
        proposal = (
            f"Reservation {code} will have {bags} checked bags in all, {unpaid} of them paid, using {method}."
        )
        if self.confirmed(proposal):
            self.act(
                "The bags have been added.",
                "update_reservation_baggages",
                reservation_id=code,
                total_baggages=bags,
                nonfree_baggages=unpaid,
                payment_id=method,
            )

    def do_passengers(self, text: str) -> None:
        """Change the passengers."""
        trip = self._trip(text)
        people = PERSON.findall(text) or PERSON.findall(
            self.tell("Who are the passengers, with dates of birth?")
        )
        if len(people) != len(trip["passengers"]):
            return self.refuse("the number of passengers cannot be changed.")
        rows = [{"first_name": first, "last_name": last, "dob": dob} for first, last, dob in people]
        line = " and ".join(f"{first} {last} (born {dob})" for first, last, dob in people)
        code = trip["reservation_id"]
        if self.confirmed(f"I will change the passengers of reservation {code} to {line}."):
            self.act(
                "The passengers have been changed.",
                "update_reservation_passengers",
                reservation_id=code,
                passengers=rows,
            )
        return None

    def do_compensation(self, text: str) -> None:
        """Send a certificate to users who are entitled to one."""
        trip = self._trip(text)
        entitled = (
            self.user["membership"] != "regular" or trip["insurance"] == "yes" or trip["cabin"] == "business"
        )
        if not entitled or not self._is_cancelled(trip):
            return self.refuse("you are not eligible for compensation.")
        amount = 100 * len(trip["passengers"])
        if self.confirmed(f"I will send you a certificate of ${amount} as compensation."):
            self.act(
                "The certificate has been sent.", "send_certificate", user_id=self.user_id, amount=amount
            )
        return None

    def do_book(self, text: str) -> None:
        """Book a direct flight."""
        if not LEG.search(text):
            text += " " + self.tell("Which flight, on what date, in which cabin, and from where to where?")
        if not PERSON.search(text):
            text += " " + self.tell("Who are the passengers, how many bags, and do you want insurance?")
        route = re.search(r"[Ff]rom ([A-Z]{3}) to ([A-Z]{3})", text)
        leg, people = LEG.search(text), PERSON.findall(text)
        bags = re.search(r"(\d+) checked bag", text)
        assert route and leg, text
        cabin = self._cabin_of(text) or "economy"
        insurance = "yes" if re.search(r"with travel insurance|with insurance", text) else "no"
        method = self._method(text)
        count = int(bags[1]) if bags else 0
        unpaid = max(0, count - self._free(cabin, len(people)))
        price = self._price(route[1], route[2], leg[1], leg[2])[cabin]
        total = price * len(people) + 50 * unpaid + (30 * len(people) if insurance == "yes" else 0)
        rows = [{"first_name": first, "last_name": last, "dob": dob} for first, last, dob in people]
        line = " and ".join(f"{first} {last}" for first, last, _ in people)
        proposal = (
            f"I will book {leg[1]} on {leg[2]} from {route[1]} to {route[2]} in {cabin.replace('_', ' ')} "
            f"for {line}, {count} checked bags, {'with' if insurance == 'yes' else 'without'} insurance, "
            f"for ${total} with {method}."
        )
        if self.confirmed(proposal):
            self.act(
                "Your flight has been booked.",
                "book_reservation",
                user_id=self.user_id,
                origin=route[1],
                destination=route[2],
                flight_type="one_way",
                cabin=cabin,
                flights=[{"flight_number": leg[1], "date": leg[2]}],
                passengers=rows,
                payment_methods=[{"payment_id": method, "amount": total}],
                total_baggages=count,
                nonfree_baggages=unpaid,
                insurance=insurance,
            )

    def do_ask(self, text: str) -> None:
        """Answer a question."""
        fare = re.search(
            r"flight (NB\d{3}) from ([A-Z]{3}) to ([A-Z]{3}) on (\S+) costs in "
            r"(basic economy|economy|business)",
            text,
        )
        if "gift card" in text:
            card = next(row for row in self.user["payment_methods"].values() if row["source"] == "gift_card")
            answer = f"The balance is ${card['amount']}."
        elif fare:
            price = self._price(fare[2], fare[3], fare[1], fare[4])[fare[5].replace(" ", "_")]
            answer = f"It costs ${price}."
        else:
            answer = f"You paid ${self._trip(text)['payment_history'][0]['amount']}."
        self.tell(f"{answer} Is there anything else?")
