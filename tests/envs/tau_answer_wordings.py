"""Messages of agents that answer a user's question, with what the tools have shown before."""

import json
from collections.abc import Mapping
from typing import Any

ORDER = {
    "order_id": "#W3548644", "user_id": "amir_holm_3674",
    "address": {"address1": "2 Cherry Court", "address2": "Apt 19", "city": "Wichita", "zip": "67260"},
    "items": [
        {"name": "Floor Lamp", "product_id": "1008201565", "item_id": "1055844382", "price": 131.66,
         "options": {"shade": "linen", "stand": "tripod"}},
        {"name": "Sun Hat", "product_id": "1008201777", "item_id": "2055844111", "price": 33.2,
         "options": {"brim": "wide", "colour": "white"}},
        {"name": "Plant Pot", "product_id": "1008201888", "item_id": "3055844222", "price": 18.45,
         "options": {"height": "low", "glaze": "cream"}},
    ],
    "fulfillments": [{"tracking_id": ["746342064230"],
                      "item_ids": ["1055844382", "2055844111", "3055844222"]}],
    "status": "delivered",
    "payment_history": [
        {"transaction_type": "payment", "amount": 183.31, "payment_method_id": "paypal_2696612"}
    ],
}  # fmt: skip
SECOND = {
    **ORDER, "order_id": "#W5283070", "fulfillments": [{"tracking_id": ["509644415516"]}],
    "items": [{"name": "Chef Knife", "price": 72.5, "item_id": "4055844333", "options": {"blade": "18"}}],
    "payment_history": [{"amount": 72.5, "payment_method_id": "paypal_2696612"}],
}  # fmt: skip
USER = {
    "name": {"first_name": "Amir", "last_name": "Holm"}, "email": "amir.holm3674@example.org",
    "payment_methods": {
        "gift_card_6075630": {"source": "gift_card", "balance": 86, "id": "gift_card_6075630"},
        "credit_card_1111111": {"source": "credit_card", "last_four": "8564", "id": "credit_card_1111111"},
    },
    "orders": ["#W3548644", "#W5283070"],
}  # fmt: skip
PRODUCT = {
    "name": "Rain Jacket", "product_id": "7008201565",
    "variants": {
        str(9_000_000_000 + i): {
            "item_id": str(9_000_000_000 + i), "available": i not in (3, 7), "price": 92.15 + i,
            "options": {"size": "SML"[i % 3], "colour": ("yellow", "olive", "navy", "red")[i % 4]},
        }
        for i in range(12)
    },
}  # fmt: skip
TRIP = {
    "reservation_id": "ZFA04Y", "user_id": "sara_doe_496", "origin": "JFK", "destination": "SEA",
    "cabin": "economy", "flight_type": "round_trip",
    "flights": [{"flight_number": "HAT083", "date": "2024-05-22", "price": 137},
                {"flight_number": "HAT136", "date": "2024-05-24", "price": 214}],
    "passengers": [{"first_name": "Sara", "last_name": "Doe", "dob": "1990-03-07"},
                   {"first_name": "Ben", "last_name": "Doe", "dob": "1992-11-19"}],
    "payment_history": [{"payment_id": "gift_card_2696612", "amount": 762}],
    "total_baggages": 3, "nonfree_baggages": 1, "insurance": "yes",
}  # fmt: skip
FLIGHTS = [
    {"flight_number": f"HAT{n}", "origin": "JFK", "destination": "SEA",
     "scheduled_departure_time_est": "06:00:00", "scheduled_arrival_time_est": "12:30:00",
     "available_seats": {"basic_economy": 16, "economy": 10, "business": 13},
     "prices": {"basic_economy": 61 + n, "economy": 152 + n, "business": 381 + n}}
    for n in (69, 83, 276)
]  # fmt: skip
TRAVELLER = {
    "name": {"first_name": "Sara", "last_name": "Doe"}, "membership": "silver",
    "payment_methods": {"gift_card_2696612": {"source": "gift_card", "amount": 198},
                        "certificate_1": {"source": "certificate", "amount": 250, "id": "certificate_1"}},
    "reservations": ["ZFA04Y", "4WQ150", "VAAOXJ"],
}  # fmt: skip

SHOWN: Mapping[str, tuple[Any, ...]] = {
    "total": (USER, ORDER, SECOND), "price": (USER, ORDER), "spent": (USER, ORDER, SECOND),
    "tracking": (USER, ORDER),
    "card": (USER,), "variants": (PRODUCT,), "trip": (TRAVELLER, TRIP), "fare": (TRAVELLER, FLIGHTS),
    "gift": (TRAVELLER, TRIP),
}  # fmt: skip
"""Question → the results of the calls that were made before the answer."""
OUTPUTS: Mapping[str, tuple[str, ...]] = {
    "total": ("183.31",), "price": ("33.2",), "spent": ("255.81",), "tracking": ("746342064230",),
    "card": ("86",), "variants": ("10",), "trip": ("762",), "fare": ("235",), "gift": ("198",),
}  # fmt: skip

RIGHT: Mapping[str, tuple[str, ...]] = {
    "total": (
        "You paid $183.31 for order #W3548644.",
        "The total was 183.31 dollars.",
        "The total is $183.31, that is $131.66 + $33.20 + $18.45.",
        "$131.66 + $33.20 + $18.45 = $183.31",
        "Order #W3548644 has three items: a Floor Lamp ($131.66), a Sun Hat ($33.20), a Plant Pot ($18.45)."
        " In total you paid **$183.31** with PayPal.",
        "Here is the breakdown:\n- Floor Lamp: $131.66\n- Sun Hat: $33.20\n- Plant Pot: $18.45\n\n"
        "Total: $183.31\n\nIs there anything else I can help you with?",
        "1. Floor Lamp – $131.66\n2. Sun Hat – $33.20\n3. Plant Pot – $18.45\nYou paid $183.31 altogether.",
        "| Item | Price |\n| --- | --- |\n| Floor Lamp | $131.66 |\n| Sun Hat | $33.20 |\n"
        "| Plant Pot | $18.45 |\n| **Total** | **$183.31** |",
        "The lamp cost $131.66, the hat $33.20 and the pot $18.45, so in total you paid $183.31.",
        "That order came to $183.31, paid with PayPal (paypal_2696612).",
        "Thanks, Amir! The total for order #W3548644 was $183.31. A refund would take 5 to 7 business days.",
        "Your order of 3 items, sent to 2 Cherry Court, Apt 19, Wichita 67260, cost USD 183.31 in total.",
        "The order total is 183.31.",
        "I see a payment of $183.31. Without the lamp ($131.66) it would have been $51.65.",
        "You paid $183.31, which is $110.81 more than for order #W5283070 ($72.50).",
        "It's $183.31 - the lamp, the hat and the pot together. Anything else? I'm here 24/7.",
    ),
    "price": (
        "The Sun Hat cost $33.20.",
        "The Sun Hat in order #W3548644 cost $33.20; the whole order was $183.31.",
        "In this order you bought a lamp for $131.66, a Sun Hat for $33.20 and a Plant Pot for $18.45.",
        "- Floor Lamp: $131.66\n- Sun Hat: $33.20\n- Plant Pot: $18.45",
        "33.2",
        "It was 33.20 dollars (white, wide brim, item 2055844111).",
        "The price of the hat was $33.20, of a total of $183.31 for 3 items.",
    ),
    "spent": (
        "Together they cost $255.81.",
        "Order #W3548644 was $183.31 and order #W5283070 was $72.50, so all together $255.81.",
        "$183.31 + $72.50 = $255.81.",
        "You have 2 orders:\n1. #W3548644: $183.31\n2. #W5283070: $72.50\nTotal: $255.81",
        "For your 2 orders you paid $183.31 and $72.50, $255.81 in total.",
        "The sum of all your orders is 255.81 dollars, none of them cancelled.",
    ),
    "tracking": (
        "The tracking number is 746342064230.",
        "Order #W3548644 was shipped with tracking ID 746342064230 (items 1055844382, 2055844111 and "
        "3055844222).",
        "Tracking number: 746342064230\nStatus: delivered",
        "It is 746342064230. The order has 3 items and cost $183.31.",
    ),
    "card": (
        "Your gift card has $86 left.",
        "The balance of gift card gift_card_6075630 is $86.00.",
        "86 dollars.",
        "There is 86 left on your gift card; your other method is the credit card ending in 8564.",
        "Your gift card's balance is $86. You have 2 payment methods and 2 orders on file.",
        "The balance is 86.",
    ),
    "variants": (
        "There are 10 variants of the Rain Jacket available right now.",
        "10 of the 12 variants are available.",
        "We have 12 variants in total; 2 are sold out, so 10 are available.",
        "10 variants are in stock, in 3 sizes and 4 colours.",
        "10",
        "10. Is there anything else?",
        "The Rain Jacket comes in 12 variants, of which 10 are available. Prices: $92.15 to $103.15.",
        "Currently available: 10 (out of 12).",
        "I counted 10 available options: 4 in S, 3 in M and 3 in L.",
        "There are 10 available variants. The other 2 are unavailable at the moment.",
    ),
    "trip": (
        "You paid $762 for reservation ZFA04Y.",
        "The total was $762: two passengers, 137 + 214 = 351 dollars each, plus $60 for insurance.",
        "The total price is 762 dollars, charged to gift_card_2696612.",
        "Reservation ZFA04Y (JFK to SEA, May 22 and May 24, 2 passengers) cost $762.",
        "The fare is $137 out and $214 back, $351 each; with 2 passengers and the extras you paid $762.",
        "Total: $762",
        "You paid 762 for 2 passengers, 3 bags and insurance.",
        "HAT083 on 2024-05-22 is $137, HAT136 on 2024-05-24 is $214. In total the trip came to $762.00.",
        "It was $762, and the extra bag was $50 of that.",
    ),
    "fare": (
        "Flight HAT083 costs $235 in economy.",
        "HAT083 from JFK to SEA on May 20, 2024, leaves at 06:00 and arrives at 12:30; economy is $235.",
        "The fares of HAT083 are $144 in basic economy, $235 in economy and $464 in business.",
        "Economy is $235 with 10 seats left; business would be $464 with 13 seats left.",
        "- Basic economy: $144\n- Economy: $235\n- Business: $464",
        "| Flight | Economy |\n|---|---|\n| HAT69 | $221 |\n| HAT083 | $235 |\n| HAT276 | $428 |",
        "A seat on HAT083 in economy is 235 dollars, so for 2 passengers it would be 470 dollars.",
        "235",
        "The economy fare on that flight is $235 per passenger. It is a 6 hour flight.",
    ),
    "gift": (
        "Your gift card has $198 left.",
        "There is $198 on your gift card and $250 on your certificate.",
        "Gift card: $198\nCertificate: $250",
        "The balance is 198 dollars.",
        "Balance of gift_card_2696612: $198. Your last reservation cost $762.",
    ),
}  # fmt: skip
"""Question → messages that answer it, most with other numbers from the conversation."""

SHARED_WRONG = (
    " ".join(map(str, range(2_500))),
    "\n".join(f"${n}" for n in range(10, 2_500)),
    " ".join(f"It is ${n}." for n in range(10, 2_500)),
    ", ".join(f"{n / 100:.2f}" for n in range(1_000, 14_000)),
    "\n".join(f"{n}. " for n in range(1, 2_500)),
    " or ".join(map(str, range(30))),
)
"""Messages that list all numbers that come into question."""
WRONG: Mapping[str, tuple[str, ...]] = {
    "total": (
        "It is $183.31 or $190.00.",
        "You paid $131.66, $33.20, $18.45 or $183.31.",
        "The total was $180.00, and the total was $183.31.",
        json.dumps(ORDER),
        json.dumps(ORDER, indent=1),
        "131.66 33.20 18.45 183.31 72.50",
        "You paid $131.66. You paid $33.20. You paid $183.31.",
        "It is not $1183.31.",
    ),
    "price": ("$131.66, $33.20, $18.45", "It cost $131.66. It cost $33.20.", "Either $33.20 or $18.45."),
    "variants": (
        "8, 9, 10, 11 or 12.",
        "There are 9 variants. There are 10 variants.",
        "10 or 11",
        "There are 7, 8, 9, 10, 11.",
        "5 10 15 19",
    ),
    "card": ("It is $85, $86 or $87.", "Order #W86.", "gift_card_86x", "$860", "86 or 75"),
    "tracking": ("746342064230 or 746342064231", "1055844382, 2055844111, 746342064230", "7463420642301"),
    "trip": ("$761, $762 and $763.", json.dumps(TRIP), "It is $761. It is $762.", "$137 $214 $762"),
    "fare": (json.dumps(FLIGHTS), "$144, $235, $464", "One of 144, 221, 235, 312, 344, 428, 464, 541, 657."),
    "gift": ("$198 or $250", json.dumps(TRAVELLER), "$198, $250 or $762"),
}  # fmt: skip
"""Question → messages in which the answer stands and competes with other numbers, or does not stand."""
