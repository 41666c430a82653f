"""Writes a scripted user's messages: openings, details on request, corrections, farewells."""

import re
from collections.abc import Sequence

from nlac_bench.envs.tau.users.scripted import phrases as say
from nlac_bench.envs.tau.users.scripted.intent import Goal, Person, Script

IDENTITY = frozenset({"email", "zip", "name", "user_id", "identity"})
"""Topics of questions about the user's identity."""

YES = ("Yes, please go ahead.", "Yes, please.", "Yes, that is right. Please do it.", "Yes, go ahead.")
NO = ("No, that is not right.", "No, wait.", "No, please do not do that.")
SURE = ("Are you sure? Please check again.", "Please have another look.")
THEN = (
    "I see. Then I would rather do something else:",
    "All right. In that case:",
    "Understood. Then this instead:",
)
MIND = (
    "Sorry, I have changed my mind.",
    "Actually, no, I have thought better of it.",
    "Hold on, I want something else.",
)
ACCEPT = ("I see, that is a pity.", "All right, I understand.", "Okay, then leave it.")
THANKS = ("Thank you!", "Great, thanks.", "Perfect, thank you.", "Thanks a lot.")
WAIT = ("Sure, take your time.", "All right, I am waiting.", "Okay.")
GO_ON = ("Yes, please.", "Yes, please do.", "Sure, go ahead.")
HOPELESS = ("We are getting nowhere, so I will leave it here.", "This does not help me. Goodbye.")
TRANSFERRED = ("All right, thanks.", "Okay, thank you.")
WHICH_GOODS = ("I cannot tell which item you mean.", "I am not sure that we mean the same item.")


def opening(script: Script, pick: say.Pick) -> str:
    """Return the first message."""
    goal, person = script.goals[0], script.person
    hello = pick(("Hi,", "Hello,", "Good day,", "Hi there,"))
    if script.opening == "bare":
        return f"{hello} {pick(_BARE.get(goal.kind, ('I need some help.',)))}"
    if script.opening == "request":
        return f"{hello} {_like(pick).replace('Please', 'please')} {say.request(goal, pick, full=False)}."
    return f"{hello} {say.identity(person)}. {_like(pick)} {say.request(goal, pick, full=True)}."


def following(goal: Goal, script: Script, pick: say.Pick) -> str:
    """Return the message with the next request."""
    also = pick(("I would also like to", "Next, I want to", "There is one more thing: I would like to"))
    return f"{also} {say.request(goal, pick, full=script.opening == 'all')}."


def want(goal: Goal, pick: say.Pick) -> str:
    """Return the complete request."""
    return f"{_like(pick)} {say.request(goal, pick, full=True)}."


def identity(asks: frozenset[str], person: Person, pick: say.Pick) -> str:
    """Return the identity data that were asked for, as far as the user has them."""
    name = f"{person.first_name} {person.last_name}"
    if person.user_id:
        if "user_id" in asks or not asks & {"name", "zip", "email"}:
            return pick(
                (f"My user id is {person.user_id}.", f"It is {person.user_id}.", f"Sure, {person.user_id}.")
            )
        return f"My name is {name}, and my user id is {person.user_id}."
    if person.email:
        if asks & {"email", "identity", "user_id"} or "zip" in asks:
            lead = "I do not know my user id, but my" if asks & IDENTITY == {"user_id"} else "My"
            also = f" My name is {name}." if "name" in asks else ""
            return (
                pick((f"{lead} email is {person.email}.", f"{lead} email address is {person.email}.")) + also
            )
        return f"My name is {name}, and my email is {person.email}."
    lead = "I do not have my email at hand. " if asks & IDENTITY == {"email"} else ""
    return lead + pick(
        (f"I am {name}, zip code {person.zip}.", f"My name is {name} and my zip code is {person.zip}.")
    )


def identity_again(person: Person, pick: say.Pick) -> str:
    """Return the identity data again, after the agent did not find the user."""
    return f"{pick(('That is odd.', 'Please look again.'))} {say.identity(person).replace('my', 'My', 1)}."


def details(asks: frozenset[str] | set[str], goal: Goal, pick: say.Pick) -> str:
    """Return the slots that were asked for, as far as the goal has them; empty if it has none of them."""
    found = [told for topic in _ORDER if topic in asks and (told := _detail(topic, goal, pick))]
    return " ".join(dict.fromkeys(found))


def correction(wrong: Sequence[str], goal: Goal, pick: say.Pick) -> str:
    """Return a message with the correct values."""
    if {"kind", "record"} & set(wrong):
        return want(goal, pick)
    told = details(set(wrong), goal, pick)
    return told or want(goal, pick)


def looks_like(answer: str, claims: str) -> bool:
    """Return whether ``claims`` match the form of an answer, apart from ids of orders and payments."""
    return bool(re.search(answer, _IDS.sub(" ", claims)))


def says_done(reports: str) -> bool:
    """Return whether a report states in general words that something is done."""
    return bool(_DONE.search(reports))


def is_write(text: str) -> bool:
    """Return whether a proposal without names is one to change something, not one to look something up."""
    return not _LOOKS.search(text)


def _like(pick: say.Pick) -> str:
    return pick(("I would like to", "I want to", "I'd like to", "Please help me, I need to"))


def _detail(topic: str, goal: Goal, pick: say.Pick) -> str:
    match topic:
        case "record":
            if goal.record:
                return f"It is {say.record(goal)}."
            return f"I do not have the number, it is {goal.hint}." if goal.hint else ""
        case "items" | "options" if goal.items:
            if goal.items[0].wanted is None:
                return f"It is {say.items(goal.items)}." if topic == "items" else ""
            return f"I would like to {say.exchanges(goal.items, 'exchange')}."
        case "reason" if goal.reason:
            return f"{say.reason(goal)[0].upper()}{say.reason(goal)[1:]}."
        case "payment" if goal.payment:
            return pick((f"Please use {goal.payment.words}.", f"{_upper(goal.payment.words)}, please."))
        case "address" if goal.address:
            return f"The new address is {say.address(goal.address)}."
        case "cabin" if goal.cabin:
            return f"{_upper(say.CABINS[goal.cabin])}, please."
        case "flights" | "date" if goal.legs:
            return f"I want {say.flights(goal)}."
        case "route" if goal.origin:
            return f"From {goal.origin} to {goal.destination}."
        case "trip" if goal.trip:
            return "One way." if goal.trip == "one_way" else "A round trip."
        case "passengers" if goal.passengers:
            return f"The passengers are {say.passengers(goal.passengers)}."
        case "bags" if goal.bags is not None:
            return f"{_upper(say.bags(goal))} in all."
        case "insurance" if goal.insurance:
            return "Yes, with insurance." if goal.insurance == "yes" else "No insurance, thanks."
        case "request":
            return want(goal, pick)
        case "complete" if goal.items:
            return "That is everything."
    return ""


def _upper(text: str) -> str:
    return (
        text
        if text.startswith(("paypal_", "credit_card_", "gift_card_", "certificate_"))
        else text[:1].upper() + text[1:]
    )


_ORDER = (
    "request", "record", "items", "options", "reason", "address", "trip", "route", "date", "flights", "cabin",
    "passengers",
    "bags", "insurance", "payment", "complete",
)  # fmt: skip
_IDS = re.compile(r"#? ?w ?\d{5,}|\b(?:credit_card|gift_card|paypal|certificate)_\d+")
_DONE = re.compile(
    r"\b(done|completed?|success\w*|all set|went through|processed|finished|submitted|sorted|requested)\b"
)
_LOOKS = re.compile(r"\b(look|check|search|find|see|pull up|verify|access|review)\b")
_BARE = {
    "cancel": ("I need to cancel something.", "There is something that I want to cancel."),
    "return": ("I have something to return.", "I want to send something back."),
    "exchange": ("I would like to exchange something.", "I need to swap something I bought."),
    "modify_items": ("I need to change what I ordered.", "Something in my order should be changed."),
    "order_address": ("An order of mine should go to another address.", "I need another shipping address."),
    "order_payment": ("I would like to pay for an order differently.", "I need to change how I pay."),
    "user_address": ("My address has changed.", "I have moved."),
    "ask": ("I have a question.", "I would like to know something."),
    "book": ("I would like to book a flight.", "I need a flight."),
    "change_flights": ("I need to change my flights.", "My flights should be changed."),
    "change_cabin": ("I would like another cabin class.", "I need to change my cabin."),
    "add_bags": ("I need more checked bags.", "I would like to add bags."),
    "change_passengers": ("A passenger has to be changed.", "I need to change who is flying."),
    "compensation": ("I have a complaint about my flight.", "I am not happy about my trip."),
}  # fmt: skip
