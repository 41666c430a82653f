"""Agent turns in many styles, with what the scripted user has to mean in reply.

Each turn is (script, message, expectation, words): ``yes`` a confirmation, ``no`` a correction that holds the
words, ``says`` an answer that holds the words and is no confirmation, ``next`` the following request, ``stop``
the end. Messages in a list are said one after the other; the last one is judged.
"""

from nlac_bench.envs.tau.embedded.retail_tasks import VOCABULARY
from nlac_bench.envs.tau.scripted_intent import Goal, Item, Leg, Passenger, Payment, Person, Script

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
EXCHANGE = Goal("exchange", record="#W2222222", items=(JACKET,), payment=PAL)
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
ASK = Goal("ask", record="#W7777777", question="how much I paid for order #W7777777 in total", answer=r"\d\.\d\d|\$ ?\d")
HINTED = Goal("cancel", hint="my order with the Hammock", reason="no longer needed")
REFUSED = Goal("cancel", record="#W8888888", reason="no longer needed", forbidden=True)
BACK = Goal("return", record="#W8888888", items=(Item("Webcam"),), payment=PAL)
FLIGHT = Goal(
    "change_flights", record="AB3CDE", legs=(Leg("NB101", "2024-05-20"), Leg("NB102", "2024-05-24")), payment=VISA
)
CABIN = Goal("change_cabin", record="AB3CDE", cabin="business", payment=GIFT)
BAGS = Goal("add_bags", record="AB3CDE", bags=3, payment=VISA)
CREW = (Passenger("Flo", "Reyes", "1980-02-03"), Passenger("Ida", "Holm", "1991-07-30"))
PEOPLE = Goal("change_passengers", record="AB3CDE", passengers=CREW)
BOOK = Goal(
    "book", origin="JFK", destination="SEA", trip="one_way", cabin="economy", legs=(Leg("NB110", "2024-05-21"),),
    passengers=CREW[:1], bags=1, insurance="no", payment=VISA,
)  # fmt: skip
DROP = Goal("cancel", record="FG7HJK", reason="I am ill")
HURT = Goal("compensation", record="AB3CDE", reason="the airline cancelled one of its flights")


def _script(person: Person, *goals: Goal) -> Script:
    return Script(person, goals, "request", VOCABULARY)


SCRIPTS = {
    "cancel": _script(ADA, CANCEL),
    "cancel, zip": _script(BEN, CANCEL),
    "cancel, then return": _script(ADA, CANCEL, RETURN),
    "return": _script(ADA, RETURN),
    "exchange": _script(ADA, EXCHANGE),
    "two": _script(ADA, TWO),
    "address": _script(ADA, ADDRESS),
    "profile": _script(BEN, PROFILE),
    "pay": _script(ADA, PAY),
    "ask": _script(ADA, ASK),
    "ask, then cancel": _script(ADA, ASK, CANCEL),
    "hinted": _script(ADA, HINTED),
    "refused": _script(ADA, REFUSED),
    "refused, then pay": _script(ADA, REFUSED, PAY),
    "fallback": _script(ADA, Goal("cancel", "#W8888888", reason="no longer needed", forbidden=True, fallback=BACK)),
    "mind": _script(ADA, Goal("order_address", record="#W4444444", address=HOME, change=CANCEL)),
    "flight": _script(FLO, FLIGHT),
    "cabin": _script(FLO, CABIN),
    "bags": _script(FLO, BAGS),
    "people": _script(FLO, PEOPLE),
    "book": _script(FLO, BOOK),
    "drop": _script(FLO, DROP),
    "hurt": _script(FLO, HURT),
}

TURNS: tuple[tuple[str, str | list[str], str, tuple[str, ...]], ...] = (
    # who are you
    ("cancel", "Email?", "says", ("ada.lang@example.org",)),
    ("cancel", "Happy to help! Could you please share the email address on your account so I can verify your identity?", "says", ("ada.lang@example.org",)),
    ("cancel, zip", "what's ur email adress pls", "says", ("Ben Moss", "83712")),
    ("cancel, zip", "I'd be glad to assist. To get started, please provide either:\n- your email address, or\n- your first name, last name and zip code", "says", ("Ben Moss", "83712")),
    ("cancel", "Before we go on I need to authenticate you. May I have your full name and ZIP?", "says", ("Ada Lang", "ada.lang@example.org")),
    ("cancel", "Unfortunately, I need to verify your identity first. What is your email?", "says", ("ada.lang@example.org",)),
    ("cancel, zip", "I could not find an account with these details. Could you double-check them?", "says", ("Ben Moss", "83712")),
    ("book", "Sure thing. Can I have your user ID?", "says", ("flo_reyes_1234",)),
    ("bags", "**Step 1** – identify you. Please tell me your `user id`.", "says", ("flo_reyes_1234",)),
    # what do you want
    ("cancel", "Hello! How can I help you today?", "says", ("#W4444444", "mistake")),
    ("return", "Thanks, Ada, I found your profile. What would you like me to do?", "says", ("#W1234567", "Trail Tent", "Kite", "gift card")),
    ("cancel", "Which order is it?", "says", ("#W4444444",)),
    ("cancel", "Can you give me the order number and tell me why you want to cancel it?", "says", ("#W4444444", "mistake")),
    ("hinted", "Could I get the order ID, please?", "says", ("Hammock",)),
    ("return", "Which items do you want to send back, and where should the refund go?", "says", ("Trail Tent", "Kite", "gift card")),
    ("return", "Would you like the refund on your PayPal (paypal_3333333) or on your gift card (gift_card_1111111)?", "says", ("gift card",)),
    ("cancel", "Is the reason 'no longer needed' or 'ordered by mistake'?", "says", ("mistake",)),
    ("cancel", "Please confirm the reason for the cancellation.", "says", ("mistake",)),
    ("exchange", "What size and colour would you like instead?", "says", ("L", "navy")),
    ("exchange", "These are available:\n1. size L, colour navy, fixed hood - $105.10\n2. size L, colour yellow, fixed hood - $99.00\n3. size S, colour navy, zip-off hood - $101.50\nWhich one would you like?", "says", ("L", "navy")),
    ("exchange", "Which payment method shall I use for the price difference of $4.20?", "says", ("PayPal",)),
    ("address", "No problem! What's the new address? Please include street, city, state and zip.", "says", ("12 Mill Street", "Apt 4", "Boise", "83712")),
    ("pay", "how do you want to pay instead?", "says", ("1234",)),
    ("flight", "Which flights and dates would you prefer, and how would you like to pay the difference?", "says", ("NB101", "2024-05-20", "NB102", "1234")),
    ("cabin", "Which cabin class would you like: basic economy, economy or business?", "says", ("usiness",)),
    ("bags", "How many checked bags should there be in total?", "says", ("3",)),
    ("people", "Please give me the full names and dates of birth of all passengers.", "says", ("Ida Holm", "1991-07-30")),
    ("book", "From where to where would you like to fly, and on what date?", "says", ("JFK", "SEA", "2024-05-21")),
    ("book", "Is it one-way or round trip, which cabin, how many bags, and do you want travel insurance?", "says", ("ne way", "conomy", "1 checked bag", "o insurance")),
    ("drop", "May I ask for the reason of the cancellation? (change of plans, airline cancelled the flight, other)", "says", ("ill",)),
    ("return", "Are there any other items in this order that you would like to return?", "says", ("everything",)),
    # proposals that are right
    ("cancel", "I will cancel order #W4444444 (reason: ordered by mistake). Do you confirm (yes/no)?", "yes", ()),
    ("cancel", "cancel #W4444444, mistake, ok?", "yes", ()),
    ("cancel", "Thank you. Your order #W4444444 is pending, so it can be cancelled. The refund of $59.30 will go to your PayPal account within 5 to 7 business days. Shall I go ahead?", "yes", ()),
    ("cancel", "Plese cofirm: W4444444 will be canceled becuase it was orderd by mistake. Correct?", "yes", ()),
    ("return", "Here is a summary:\n\n**Order:** #W1234567\n**Items to return:**\n- Trail Tent (4 person, green), item 1111111111\n- Kite (delta, long tail), item 2222222222\n**Refund to:** gift_card_1111111\n\nPlease reply \"yes\" to proceed.", "yes", ()),
    ("return", "So that's the tent and the kite from #W1234567, money back onto your gift card. Sound good?", "yes", ()),
    ("return", "I'd return the Trail Tent and the Kite of order #W1234567 with the refund going to your gift card. The Hammock stays as it is. Is that correct?", "yes", ()),
    ("exchange", "Exchange in #W2222222: Rain Jacket size M, colour olive, fixed hood -> Rain Jacket size L, colour navy, fixed hood. Difference $3.10 via paypal_3333333. Confirm? (yes/no)", "yes", ()),
    ("exchange", "I can swap your olive rain jacket in size M for the navy one in size L and charge the difference to PayPal. Would you like me to proceed?", "yes", ()),
    ("exchange", "Just to make sure I have got everything: you would like to exchange the Rain Jacket from order #W2222222 for one in L and navy, and settle any difference with your PayPal account. Please note that an order can only be exchanged once. If you confirm, I will submit it.", "yes", ()),
    ("two", "In #W2323232 I'll change:\n1) Toaster (2 slots, red) to Toaster (4 slots, red)\n2) Monitor (24-inch, VA) to Monitor (27-inch, IPS)\nPayment: credit_card_9999999\nAfter this the order cannot be changed again. OK?", "yes", ()),
    ("address", "To confirm, order #W5555555 should be shipped to 12 Mill Street, Apt 4, Boise, ID 83712, USA?", "yes", ()),
    ("profile", "I'll set your default address to 12 Mill Street, Apt 4, Boise, ID, 83712, USA. May I proceed?", "yes", ()),
    ("pay", "I will change the payment of #W6666666 from paypal_3333333 to credit_card_9999999. Do you agree?", "yes", ()),
    ("pay", "Switch order #W6666666 to the Visa ending in 1234 - yes or no?", "yes", ()),
    ("flight", "New itinerary for AB3CDE: NB101 on 2024-05-20 and NB102 on 2024-05-24, extra cost $80 on credit_card_9999999. Shall I book the change?", "yes", ()),
    ("cabin", "Upgrade reservation AB3CDE from economy to business, $310 from your gift card. Do I have your go-ahead?", "yes", ()),
    ("bags", "AB3CDE would then have 3 checked bags, one of them paid ($50, Visa ending in 1234). Is that okay?", "yes", ()),
    ("people", "Passengers of AB3CDE will be Flo Reyes (1980-02-03) and Ida Holm (1991-07-30). Correct?", "yes", ()),
    ("book", "Booking: NB110, JFK to SEA, 2024-05-21, one way, economy, Flo Reyes (1980-02-03), 1 checked bag, no insurance, $143 on credit_card_9999999. Please confirm.", "yes", ()),
    ("drop", "Reservation FG7HJK will be cancelled because of illness, which your insurance covers. Proceed?", "yes", ()),
    ("hurt", "I can offer you a certificate of $100 for the cancelled flight in AB3CDE. Shall I send it?", "yes", ()),
    ("hinted", "I found it: order #W9090909 holds the Hammock. Cancel it because it is no longer needed? (yes/no)", "yes", ()),
    ("cancel", "Would you like me to look up your order first?", "yes", ()),
    # proposals with something wrong in them
    ("cancel", "I will cancel order #W4444443 (reason: ordered by mistake). Do you confirm (yes/no)?", "no", ("#W4444444",)),
    ("cancel", "I will cancel order #W4444444 because it is no longer needed. Do you confirm?", "no", ("mistake",)),
    ("cancel", "Shall I return order #W4444444 for you?", "no", ("#W4444444",)),
    ("cancel", "So both #W4444444 and #W5656565 will be cancelled, right?", "no", ("#W4444444",)),
    ("return", "I will return the Trail Tent from order #W1234567 with the refund to gift_card_1111111. Yes?", "no", ("Trail Tent", "Kite")),
    ("return", "I will return the Trail Tent, the Kite and the Hammock from #W1234567 to gift_card_1111111. Yes?", "no", ("Trail Tent", "Kite")),
    ("return", "I will return the Trail Tent and the Kite from order #W1234567 with the refund to your PayPal account. Confirm?", "no", ("gift card",)),
    ("return", "I will return the Trail Tent and the Kite from #W1234567, refund to the original payment method. Confirm?", "no", ("gift card",)),
    ("return", "Let me exchange the Trail Tent and the Kite from #W1234567 then. OK?", "no", ("#W1234567",)),
    ("exchange", "Rain Jacket (M, olive) -> Rain Jacket (L, yellow), order #W2222222, paypal_3333333. Confirm (yes/no)?", "no", ("navy",)),
    ("exchange", "I'll exchange the Rain Jacket in #W2222222 for size XL, colour navy via paypal_3333333. Correct?", "no", ("L", "navy")),
    ("exchange", "I'll exchange the Rain Jacket in #W2222222 for size L, colour navy via gift_card_1111111. Correct?", "no", ("PayPal",)),
    ("exchange", "I'll exchange the Sun Hat in #W2222222 for size L, colour navy via paypal_3333333. Correct?", "no", ("Rain Jacket",)),
    ("exchange", "I'd swap it for the Rain Jacket in L, navy, with the zip-off hood, difference by PayPal. Fine?", "no", ("Rain Jacket",)),
    ("two", "I'll change the Toaster (2 slots, red) to 4 slots, red in #W2323232 using credit_card_9999999. Correct?", "no", ("Monitor",)),
    ("two", "I'll change the Toaster (2 slots, red) to 4 slots, chrome and the Monitor (24-inch, VA) to 27-inch, IPS in #W2323232 using credit_card_9999999. Correct?", "no", ("Toaster",)),
    ("address", "So #W5555555 goes to 12 Mill Street, Apt 4, Boise, ID 83721. Right?", "no", ("83712",)),
    ("address", "Ship #W5555555 to 14 Mill Street, Apt 4, Boise, ID 83712 - correct?", "no", ("12 Mill Street",)),
    ("address", "I'll update your default address to 12 Mill Street, Apt 4, Boise, ID 83712. OK?", "no", ("#W5555555",)),
    ("pay", "I will change the payment of #W6666666 to paypal_3333333. Do you agree?", "no", ("1234",)),
    ("pay", "Use the Visa ending in 4321 for #W6666666 - yes or no?", "no", ("1234",)),
    ("flight", "New itinerary for AB3CDE: NB101 on 2024-05-20 and NB105 on 2024-05-24, on credit_card_9999999. OK?", "no", ("NB102",)),
    ("flight", "AB3CDE: NB101 on 2024-05-20 and NB102 on 2024-05-25, on credit_card_9999999. Shall I proceed?", "no", ("2024-05-24",)),
    ("cabin", "I will move reservation AB3CDE to economy and refund your gift card. Is this right?", "no", ("usiness",)),
    ("bags", "That makes 4 checked bags for AB3CDE on your Visa ending in 1234. Do you confirm?", "no", ("3",)),
    ("people", "The passengers of AB3CDE will be Flo Reyes (1980-02-03) and Ida Holm (1991-03-30). Okay?", "no", ("1991-07-30",)),
    ("book", "NB110, JFK to SEA, 2024-05-21, business, Flo Reyes, 1 checked bag, no insurance, credit_card_9999999. Confirm?", "no", ("conomy",)),
    ("book", "NB110 on 2024-05-21, economy, Flo Reyes, 1 checked bag, with travel insurance, credit_card_9999999. Confirm?", "no", ("insurance",)),
    ("ask", "I will cancel order #W7777777. Do you confirm?", "no", ("#W7777777",)),
    # reports
    ("cancel", "Done! Order #W4444444 has been cancelled.", "stop", ()),
    ("cancel, then return", "Your order has been successfully cancelled. Is there anything else I can do for you?", "next", ("#W1234567",)),
    ("cancel", ["Cancel #W4444444 as ordered by mistake? (yes/no)", "All done! Anything else?"], "stop", ()),
    ("return", "I've submitted the return of the tent and the kite. You'll receive an email with instructions.", "stop", ()),
    ("cancel", "I have cancelled order #W4444440.", "no", ("#W4444444",)),
    ("bags", "Your reservation AB3CDE has been updated: it now has 3 checked bags.", "stop", ()),
    # refusals
    ("refused", "I'm sorry, but a delivered order can't be cancelled.", "stop", ()),
    ("refused, then pay", "Unfortunately, our policy does not allow cancelling processed orders.", "next", ("#W6666666",)),
    ("fallback", "That order was already delivered, so I am unable to cancel it.", "says", ("Webcam", "#W8888888")),
    ("cancel", "I'm afraid that is not possible.", "says", ("#W4444444",)),
    ("cancel", ["I'm afraid that is not possible.", "Sorry, I really can't cancel it."], "stop", ()),
    # questions of one's own
    ("ask", "You paid $121.40 in total for that order.", "stop", ()),
    ("ask, then cancel", "The total was 121.40 dollars. Do you need anything else?", "next", ("#W4444444",)),
    ("ask", "Let me check that for you, one moment please.", "says", ()),
    ("ask", "Which order are you asking about?", "says", ("#W7777777",)),
    # second thoughts
    ("mind", "Change the shipping address of #W4444444 to 12 Mill Street, Apt 4, Boise, ID 83712? (yes/no)", "says", ("mistake", "#W4444444")),
    # how models write
    ("cancel", "To assist you with the cancellation, I'll need to verify your identity first. Could you please provide your email address, or alternatively your full name and zip code?", "says", ("ada.lang@example.org",)),
    ("drop", "Unfortunately, I need the reservation ID to proceed with the cancellation. Once you have it, please let me know, and I'll be happy to assist you further.", "says", ("FG7HJK",)),
    ("cabin", "To proceed, I'll need your user ID and the reservation ID. Could you please provide those details?", "says", ("flo_reyes_1234",)),
    ("drop", "I can assist you with cancelling your reservation. Please provide your user ID and the reservation ID, along with the reason for cancellation, so I can proceed.", "says", ("flo_reyes_1234", "FG7HJK", "ill")),
    ("book", "Thank you, Flo. Could you please let me know the following details for your booking?\n\n1. **Trip type:** Is it one-way or round-trip?\n2. **Cabin class:** Would you prefer basic economy, economy, or business?\n3. **Passengers:** Please provide the first name, last name, and date of birth for each passenger.\n4. **Payment method:** Please confirm the payment method(s) you'd like to use from your profile.\n5. **Baggage:** How many checked bags will you have?\n6. **Insurance:** Would you like to buy travel insurance?", "says", ("ne way", "conomy", "Flo Reyes", "1 checked bag", "o insurance", "1234")),
    ("flight", "Here are the updated details:\n\n- **Reservation ID**: AB3CDE\n- **Flights**:\n  - NB101 on May 20, 2024\n  - NB102 on May 24th\n- **Payment**: Visa card ending in 1234\n\nPlease confirm if you would like to proceed with this change.", "yes", ()),
    ("flight", "Here are the updated details:\n\n- **Reservation ID**: AB3CDE\n- **Flights**:\n  - NB101 on May 21, 2024\n  - NB102 on May 24th\n- **Payment**: Visa card ending in 1234\n\nPlease confirm if you would like to proceed with this change.", "no", ("2024-05-20",)),
    ("people", "I will update the passenger list of AB3CDE to Flo Reyes (born February 3, 1980) and Ida Holm (born 30 July 1991). Would you like me to proceed?", "yes", ()),
    ("people", "I will update the passenger list of AB3CDE to Flo Reyes only. Would you like me to proceed?", "no", ("Ida Holm",)),
    ("cabin", "To upgrade your reservation, here are the details of the action:\n\n- **Reservation ID**: AB3CDE\n- **Current cabin**: economy\n- **New cabin**: business\n- **Payment**: gift_card_1111111\n\nPlease confirm (yes) to proceed.", "yes", ()),
    ("cabin", "Your reservation has been successfully upgraded to business class. If you need any further assistance, feel free to ask!", "stop", ()),
    ("return", "I see that your order #W1234567 has been delivered and contains these items:\n1. Trail Tent (4 person, green) - $210.33\n2. Kite (delta, long tail) - $30.17\n3. Hammock (double, cotton) - $61.01\n\nWhich of these would you like to return, and which payment method should receive the refund?", "says", ("Trail Tent", "Kite", "gift card")),
    ("return", "Thank you for the details. Here's what I have:\n\n- Return: **Trail Tent**, **Kite**\n- Order: **#W1234567**\n- Refund method: **Gift card (gift_card_1111111)**\n\nOnce you confirm, I'll submit the return request and you'll receive an email with instructions on how to send the items back. Do you want me to go ahead?", "yes", ()),
    ("return", "Your return request for order #W1234567 has been received. Before I submit it, can you confirm that you want the Trail Tent and the Kite returned, with the refund issued to gift_card_1111111?", "yes", ()),
    ("exchange", "Great news! The variant you want is available:\n\n**Current item:** Rain Jacket - size M, colour olive, fixed hood ($110.20)\n**New item:** Rain Jacket - size L, colour navy, fixed hood ($113.30)\n**Price difference:** $3.10, charged to paypal_3333333\n\nDo you confirm this exchange? Please answer yes or no.", "yes", ()),
    ("exchange", "Great news! The variant you want is available:\n\n**Current item:** Rain Jacket - size M, colour olive, fixed hood ($110.20)\n**New item:** Rain Jacket - size L, colour olive, fixed hood ($113.30)\n**Price difference:** $3.10, charged to paypal_3333333\n\nDo you confirm this exchange? Please answer yes or no.", "no", ("navy",)),
    ("exchange", "I'm sorry, that variant is currently not available. Would you like a different colour?", "says", ("navy",)),
    ("address", "Just to double-check before I make any changes: order #W5555555 will now ship to\n\n12 Mill Street\nApt 4\nBoise, ID 83712\nUSA\n\nShould I update it?", "yes", ()),
    ("address", "Just to double-check before I make any changes: order #W5555555 will now ship to\n\n12 Mill Street\nApt 14\nBoise, ID 83712\nUSA\n\nShould I update it?", "no", ("Apt 4",)),
    ("cancel", "Would you like me to transfer you to a human agent?", "no", ("#W4444444",)),
    ("cancel", "I'm sorry to hear that. Let me pull up the order. Meanwhile, could you tell me whether the order was placed by mistake or whether you no longer need it?", "says", ("mistake",)),
    ("cancel", ["Cancel #W4444444 as ordered by mistake? (yes/no)", "Your order #W4444444 has been cancelled successfully, and the refund will be processed within 5 to 7 business days. If there's anything else you need, feel free to let me know!"], "stop", ()),
    ("refused", "I understand your frustration. However, per our policy only pending orders can be cancelled, and yours has already been delivered. I'm not able to cancel it.", "stop", ()),
    ("pay", "Sure! At the moment #W6666666 is paid with PayPal. You have the following methods on file: PayPal (paypal_3333333), Visa ending in 1234 (credit_card_9999999). Which would you like to use instead?", "says", ("1234",)),
    ("pay", "Alright, so the payment method for order #W6666666 will be changed from PayPal to your Visa card ending in 1234. The total is $84.15. Shall I make the change?", "yes", ()),
    ("two", "Thanks! Items to modify in #W2323232:\n| old | new |\n|---|---|\n| Toaster, 2 slots, red | Toaster, 4 slots, red |\n| Monitor, 24-inch, VA | Monitor, 27-inch, IPS |\n\nDifference to be paid with credit card ending in 1234. Is everything listed here? Once confirmed I can't modify the order again.", "yes", ()),
    ("hurt", "I am sorry about the cancelled flight. What would you like us to do about it, and which reservation is it?", "says", ("AB3CDE",)),
    ("hinted", "You have three orders: #W1010101, #W2020202 and #W3030303. Which one do you mean?", "says", ("Hammock",)),
    ("cancel", "Got it. Do u want me 2 cancel order W4444444 (mistake)? y/n", "yes", ()),
    ("cancel", "WHICH ORDER???", "says", ("#W4444444",)),
    ("ask, then cancel", "According to our records the total for order #W7777777 was $121.40, paid by PayPal. How else can I help?", "next", ("#W4444444",)),
    # other
    ("cancel", "I am transferring you to a human agent now.", "stop", ()),
    ("cancel", "", "says", ("#W4444444",)),
    ("cancel", "asdkjh qwe zzz", "says", ("#W4444444",)),
    ("cancel", "{\"name\": \"cancel_pending_order\"}", "says", ("#W4444444",)),
    ("cancel", ["Cancel #W4444444 as ordered by mistake? (yes/no)", "Great, one moment while I process this."], "says", ()),
)
