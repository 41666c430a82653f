"""Users with fixed wishes, and agent turns in many styles with what those users have to mean in reply.

A turn names a script, what the agent says (of several messages the last one is judged), what the reply means,
words that it holds and words that it lacks. ``yes`` is a confirmation, ``no`` a correction, ``says`` an
answer that is no confirmation, ``next`` the following request, ``stop`` the end.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from nlac_bench.envs.tau.embedded.retail_parts import AMOUNT
from nlac_bench.envs.tau.embedded.retail_tasks import VOCABULARY
from nlac_bench.simulators.customer.intent.goals import (
    Goal,
    Item,
    Leg,
    Passenger,
    Payment,
    Person,
    Profile,
    Record,
    Script,
)

ADA = Person("Ada", "Lang", email="ada.lang@example.org")
BEN = Person("Ben", "Moss", zip="83712")
FLO = Person("Flo", "Reyes", user_id="flo_reyes_1234", dob="1980-02-03")
GIFT = Payment("gift_card_1111111", "gift_card", "my gift card")
PAL = Payment("paypal_3333333", "paypal", "my PayPal account", original=True)
VISA = Payment("credit_card_9999999", "credit_card", "my Visa card ending in 1234", last_four="1234")
HOME = {
    "address1": "12 Mill Street", "address2": "Apt 4", "city": "Boise", "state": "ID", "country": "USA",
    "zip": "83712",
}  # fmt: skip
CANCEL = Goal("cancel", record="#W4444444", reason="ordered by mistake")
RETURN = Goal("return", record="#W1234567", items=(Item("Trail Tent"), Item("Kite")), payment=GIFT)
JACKET = Item(
    "Rain Jacket", {"size": "M", "colour": "olive", "hood": "fixed hood"}, {"size": "L", "colour": "navy"}
)
TWINS = Goal(
    "return",
    record="#W1212121",
    items=(Item("Kite", {"form": "delta"}), Item("Kite", {"form": "box"}), Item("Webcam")),
    payment=GIFT,
)
EXCHANGE = Goal("exchange", record="#W2222222", items=(JACKET,), payment=PAL)
TOWEL = Item("Bath Towel", {"size": "sheet", "colour": "plum"}, {"size": "bath"})
TWO = Goal(
    "modify_items",
    record="#W2323232",
    items=(
        Item("Toaster", {"slots": "2 slots", "colour": "red"}, {"slots": "4 slots"}),
        Item("Monitor", {"diagonal": "24-inch", "panel": "VA"}, {"diagonal": "27-inch", "panel": "IPS"}),
    ),
    payment=VISA,
)
ADDRESS = Goal("order_address", record="#W5555555", address=HOME)
PROFILE = Goal("user_address", address=HOME)
PAY = Goal("order_payment", record="#W6666666", payment=VISA)
ASK = Goal("ask", record="#W7777777", question="how much I paid for order #W7777777 in total", answer=AMOUNT)
HINTED = Goal("cancel", hint="my order with the Hammock", reason="no longer needed")
REFUSED = Goal("cancel", record="#W8888888", reason="no longer needed", forbidden=True)
BACK = Goal("return", record="#W8888888", items=(Item("Webcam"),), payment=PAL)
FLIGHT = Goal(
    "change_flights",
    record="AB3CDE",
    legs=(Leg("NB101", "2024-05-20"), Leg("NB102", "2024-05-24")),
    payment=VISA,
)
CABIN = Goal("change_cabin", record="AB3CDE", cabin="business", payment=GIFT)
BAGS = Goal("add_bags", record="AB3CDE", bags=3, payment=VISA)
CREW = (Passenger("Flo", "Reyes", "1980-02-03"), Passenger("Ida", "Holm", "1991-07-30"))
PEOPLE = Goal("change_passengers", record="AB3CDE", passengers=CREW)
BOOK = Goal(
    "book", origin="JFK", destination="SEA", trip="one_way", cabin="economy",
    legs=(Leg("NB110", "2024-05-21"),), passengers=CREW[:1], bags=1, insurance="no", payment=VISA,
)  # fmt: skip
BOOK_TWO = replace(BOOK, passengers=CREW)
DROP = Goal("cancel", record="FG7HJK", reason="I am ill")
HURT = Goal("compensation", record="AB3CDE", reason="the airline cancelled one of its flights")


KNOWN = Profile(
    records=(
        Record(
            "AB3CDE", route=("JFK", "SEA"), legs=(Leg("NB103", "2024-05-20"), Leg("NB104", "2024-05-24")),
            passengers=(*CREW[:1], Passenger("Ann", "Lee", "1960-01-02")),
        ),
        Record("FG7HJK", passengers=(
            Passenger("Max", "Falk", "1961-02-03"), Passenger("Milo", "Tanner", "1962-03-04"),
        )),
        Record("#W6369183", address={"address1": "201 Cherry Court, Knoxville, TN", "zip": "37964"}),
        Record("#W6369184", address={**HOME, "address1": "88 Oak Drive", "address2": "Apt 31"}),
        Record("#W1010101", items=(Item("Hammock"), Item("Sun Hat"))),
        Record("#W1234567", items=tuple(map(Item, ("Trail Tent", "Kite", "Hammock", "Webcam", "Blender")))),
    ),
)  # fmt: skip
"""The trips and orders of all users."""


def _script(person: Person, *goals: Goal) -> Script:
    return Script(person, goals, "request", VOCABULARY, KNOWN)


SCRIPTS = {
    "cancel": _script(ADA, CANCEL),
    "cancel, zip": _script(BEN, CANCEL),
    "cancel, then return": _script(ADA, CANCEL, RETURN),
    "return": _script(ADA, RETURN),
    "twins": _script(ADA, TWINS),
    "exchange": _script(ADA, EXCHANGE),
    "two": _script(ADA, TWO),
    "towel": _script(BEN, Goal("exchange", record="#W2222222", items=(TOWEL,), payment=VISA)),
    "address": _script(ADA, ADDRESS),
    "profile": _script(BEN, PROFILE),
    "pay": _script(ADA, PAY),
    "ask": _script(ADA, ASK),
    "ask, then cancel": _script(ADA, ASK, CANCEL),
    "hinted": _script(ADA, HINTED),
    "refused": _script(ADA, REFUSED),
    "refused, then pay": _script(ADA, REFUSED, PAY),
    "fallback": _script(
        ADA, Goal("cancel", "#W8888888", reason="no longer needed", forbidden=True, fallback=BACK)
    ),
    "mind": _script(ADA, Goal("order_address", record="#W4444444", address=HOME, change=CANCEL)),
    "flight": _script(FLO, FLIGHT),
    "cabin": _script(FLO, CABIN),
    "bags": _script(FLO, BAGS),
    "bags, no code": _script(FLO, replace(BAGS, record=None, hint="my trip from JFK to SEA")),
    "people": _script(FLO, PEOPLE),
    "exchange, no number": _script(ADA, replace(EXCHANGE, record=None, hint="my order with the Kite")),
    "book": _script(FLO, BOOK),
    "book two": _script(FLO, BOOK_TWO),
    "drop": _script(FLO, DROP),
    "hurt": _script(FLO, HURT),
    "bare question": replace(_script(ADA, ASK), opening="bare"),
    "bare cancel": replace(_script(ADA, CANCEL), opening="bare"),
}


def turns() -> list[dict[str, Any]]:
    """All turns of ``tau_turns.jsonl``."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
