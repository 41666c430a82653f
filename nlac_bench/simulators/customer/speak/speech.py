"""Writes a scripted user's messages: openings, answers, corrections, farewells, several wordings of each."""

import re
from collections.abc import Iterable, Sequence, Set

from nlac_bench.simulators.customer.hear.identity import IDENTITY
from nlac_bench.simulators.customer.intent import phrases as say
from nlac_bench.simulators.customer.intent.goals import Goal, Person, Script

YES = (
    "Yes, please go ahead.", "Yes, please.", "Yes, that's right. Please do it.", "Yes, go ahead.",
    "Yes, that works for me.", "Yes, please do.",
)  # fmt: skip
NO = ("No, that's not right.", "No, wait.", "No, please don't do that.", "No, that isn't what I want.")
SURE = (
    "Are you sure? Please check again.",
    "Really? Could you have another look?",
    "Please have another look.",
)
YES_ALL = ("Yes, that's all.", "Yes, that is all of it.", "Yes, nothing else.")
CORRECT = ("Yes, that's right.", "Yes, that is correct.", "Yes, correct.")
THAT_ONE = ("Yes, that's the one.", "Yes, that one.", "Yes, it is.")
NOT_ALSO = ("No, thank you.", "No, thanks.", "No, thank you, not that.")
THEN = (
    "I see. Then I'd rather do something else.", "All right. In that case, something else.",
    "Okay, understood. Then let's do this instead.",
)  # fmt: skip
MIND = (
    "Sorry, I have changed my mind.", (
        "Actually, no, I have thought better of it."
    ), "Hold on, I want something else.",
)  # fmt: skip
ACCEPT = ("I see, that's a pity.", "All right, I understand.", "Okay, then leave it.")
THANKS = ("Thank you!", "Great, thanks.", "Perfect, thank you.", "Thanks a lot.", "Wonderful, thanks.")
WAIT = ("Sure, take your time.", "All right, I am waiting.", "Okay.", "Sure, no hurry.")
GO_ON = ("Yes, please.", "Yes, please do.", "Sure, go ahead.")
HOPELESS = ("We are getting nowhere, so I will leave it here.", "This does not help me. Goodbye.")
TRANSFERRED = ("All right, thanks.", "Okay, thank you.")
UNCLEAR = (
    "Sorry, I don't quite follow.", "I'm not sure what you mean.", "Sorry, what do you need from me?",
    "Could you say that again, please?",
)  # fmt: skip
UNSURE = (
    "I'm not sure, I don't know that. What does your system say?",
    "Sorry, I can't tell. What do you see in your system?",
)
HEARD = ("Okay.", "All right.", "Okay, thanks.", "Good.", "I see.")
BEFORE = ("As I said before.", "I have said that already.", "That is what I said.")
DONE = (
    "Do you mean that it is done?", "What exactly is done?", "Is that about my request?",
)  # fmt: skip

CORE = frozenset({"record", "items", "options", "reason", "address", "cabin", "flights", "route"})
"""Topics that a user tells when asked what to do; payment and extras are told only when asked for."""
ALL = CORE | {"payment", "passengers", "bags", "insurance", "trip", "complete"}
SHORT = frozenset({"record", "items", "route"})
"""Topics of a request without its details."""


def opening(script: Script, pick: say.Pick) -> str:
    """Return the first message."""
    goal, person = script.goals[0], script.person
    hello = pick(("Hi,", "Hello,", "Good day,", "Hi there,"))
    if script.opening == "bare":
        text = bare(goal, pick)
        return f"{hello} {text if text.startswith('I ') else text[0].lower() + text[1:]}"
    if script.opening == "request":
        return f"{hello} {want(goal, SHORT, pick)}"
    return f"{hello} {say.identity(person)}. {want(goal, ALL, pick)}"


def told_at_first(script: Script) -> frozenset[str]:
    """Return the topics that the user's own wording of a request states."""
    return {"all": ALL, "request": SHORT, "bare": frozenset[str]()}[script.opening]


def bare(goal: Goal, pick: say.Pick) -> str:
    """Return only the subject of a request."""
    return pick(_BARE.get(goal.kind, ("I need some help.",)))


def following(goal: Goal, topics: Set[str], pick: say.Pick) -> str:
    """Return the message with the next request."""
    also = pick(
        (
            "I would also like to",
            "I also want to",
            "There is one more thing: I would like to",
            "Next, I'd like to",
        )
    )
    return _request(goal, topics, also, pick)


def want(goal: Goal, topics: Set[str], pick: say.Pick) -> str:
    """Return the request with the details in ``topics``; without its record and items, only its subject."""
    if not topics & SHORT and goal.kind in _BARE:
        return bare(goal, pick)
    return _request(goal, topics, pick(("I would like to", "I want to", "I'd like to", "I need to")), pick)


def identity(asks: Set[str], person: Person, pick: say.Pick) -> str:
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
    lead = "I don't have my email at hand. " if asks & IDENTITY == {"email"} else ""
    return lead + pick(
        (f"I am {name}, zip code {person.zip}.", f"My name is {name} and my zip code is {person.zip}.")
    )


def identity_key(asks: Set[str], person: Person) -> str:
    """Return which field of ``identity`` identifies the user: user_id, email or zip."""
    if person.user_id:
        return "user_id"
    by_name = person.zip and (not person.email or ("zip" in asks and "email" not in asks))
    return "zip" if by_name else "email"


def identity_again(person: Person, given: Set[str], pick: say.Pick) -> str:
    """Return identity data that were not ``given`` yet, after the agent did not find the user by those.

    A user who has nothing else repeats them with the name, and says so.
    """
    odd = pick(("That is odd.", "Please look again.", "Hm, that's strange."))
    name = f"{person.first_name} {person.last_name}"
    if person.user_id:
        born = f", born on {person.dob}" if person.dob else ""
        return f"{odd} I am {name}{born}, and my user id is {person.user_id}."
    if person.email and person.zip and "email" in given:
        return f"{odd} Then by name: I am {name}, zip code {person.zip}."
    if person.email:
        return f"{odd} I am {name}, and {person.email} is the only email address that I have."
    return f"{odd} I am {name}, zip code {person.zip}; I don't have my email at hand."


def details(asked: Iterable[Set[str]], goal: Goal, pick: say.Pick) -> str:
    """Return the slots of each question, in order, as far as the goal has them; empty if it has none."""
    topics = dict.fromkeys(topic for asks in asked for topic in _ORDER if topic in asks)
    texts = [text for topic in topics if (text := _detail(topic, goal, pick))]
    return " ".join(dict.fromkeys(texts))


def objection(text: str, at: int) -> str:
    """Return the objection to what a unit says around ``at``; empty if the user cannot know about it."""
    if _OFFERS.search(text):
        return NOT_ALSO[0]
    if _WHY.search(text):
        return "No, that is not the reason."
    acts = [act for act in _ACT.finditer(text, 0, at + 1) if not _CUT.search(text, act.end(), at)]
    if acts and not text.endswith("?"):
        clause = _CUT.split(text[acts[-1].end() :], maxsplit=1)[0]
        if clause:
            return f"No, I did not ask you to {_first_person(clause)}."
    if text.endswith("?") or _SAID.search(text):
        return "No, that is not right." if _SAID.search(text) or _ACT.search(text) else ""
    begin = max((cut.end() for cut in _CUT.finditer(text, 0, at)), default=0)
    return f'No, I did not ask for that: "{_CUT.split(text[begin:], maxsplit=1)[0].strip()}".'


_OFFERS = re.compile(
    r"^(?:\w+,? ){0,3}(?:would you (?:\w+ )?(?:like|prefer|want|rather)|do you (?:also )?want|"
    r"(?:shall|should|may|can) i)\b"
    r".*\?$"
)
_WHY = re.compile(r"\b(?:because|reason)\b")
_ACT = re.compile(
    r"\b(?:(?:i|we)(?:'ll|'d| will| would| can| could| shall| should| have to| am going to|'m going "
    r"to| want to)|"
    r"(?:shall|should|may|can|could) (?:i|we)|(?:want|like) (?:me|us) to|let (?:me|us))"
    r"(?: (?:also|then|now|just|have to|need to|have|go ahead and|be able to|\w+ly))* (?!be\b|need\b|have\b)"
)
_CUT = re.compile(r"[.,;:?!](?=\s|$)| and (?=i\b|then\b|also\b|\w+ your\b)| - ")
_SAID = re.compile(r"\b(?:you|your|yours|you're|you've|you'd)\b(?! (?:system|screen))")


def _first_person(text: str) -> str:
    """Return a part of an agent's sentence as the user says it: "your card" becomes "my card"."""
    return _SECOND.sub(lambda match: _AS_USER[match[0]], text).strip()


_AS_USER = {"your": "my", "yours": "mine", "you": "me", "me": "you", "my": "your", "us": "you", "our": "your"}
_SECOND = re.compile(rf"\b(?:{'|'.join(_AS_USER)})\b")


def once(text: str) -> str:
    """Return ``text`` without the sentences that it repeats."""
    return " ".join(dict.fromkeys(re.split(r"(?<=[.!?]) ", text)))


def correction(wrong: Sequence[str], goal: Goal, told: Set[str], pick: say.Pick) -> str:
    """Return a message with the correct values."""
    if {"kind", "record"} & set(wrong):
        return want(goal, told | SHORT | set(wrong), pick)
    return details([set(wrong)], goal, pick) or want(goal, told | SHORT, pick)


def _request(goal: Goal, topics: Set[str], lead: str, pick: say.Pick) -> str:
    """Return a request as one or two sentences that begin with ``lead``."""
    what = say.record(goal) if "record" in topics else "my order" if goal.kind in _ORDERS else "my trip"
    paid = goal.payment.words if goal.payment and "payment" in topics else ""
    match goal.kind:
        case "cancel":
            why = (
                f"{pick((', because ', ', as ', ' since '))}{say.reason(goal)}"
                if goal.reason and "reason" in topics
                else ""
            )
            return f"{lead} {pick(('cancel', 'call off'))} {what}{why}."
        case "return":
            then = (
                pick((f" Please put the refund on {paid}.", f" The refund should go to {paid}."))
                if paid
                else ""
            )
            return (
                f"{lead} {pick(('return', 'send back'))} "
                f"{say.items(goal.items)}{_source(goal, topics)}.{then}"
            )
        case "exchange" | "modify_items":
            verb = pick(("exchange", "swap") if goal.kind == "exchange" else ("change", "switch"))
            things = (
                say.exchanges(goal.items, verb) if "options" in topics else f"{verb} {say.items(goal.items)}"
            )
            where = _source(goal, topics, "from" if goal.kind == "exchange" else "in")
            then = pick(
                (f" Please use {paid} for any price difference.", f" Any price difference can go on {paid}.")
            )
            return f"{lead} {things}{',' if where else ''}{where}.{then if paid else ''}"
        case "order_address":
            verb = pick((f"change the shipping address of {what}", f"have {what} sent elsewhere"))
            new = (
                f" The new address is {say.address(goal.address)}."
                if goal.address and "address" in topics
                else ""
            )
            return f"{lead} {verb}.{new}"
        case "order_payment":
            verb = pick((f"change the payment method of {what}", f"pay for {what} differently"))
            return f"{lead} {verb}." + (
                pick((f" Please use {paid} instead.", f" I want to use {paid}.")) if paid else ""
            )
        case "user_address":
            verb = pick(("change my default address", "update the address in my profile"))
            new = (
                f" The new address is {say.address(goal.address)}."
                if goal.address and "address" in topics
                else ""
            )
            return f"{lead} {verb}.{new}"
        case "ask":
            return f"{lead} {pick(('know', 'find out'))} {goal.question}."
        case "other":
            return f"{lead} {goal.question}."
        case _:
            return _airline_request(goal, topics, lead, what, pick)


def _airline_request(goal: Goal, topics: Set[str], lead: str, what: str, pick: say.Pick) -> str:
    paid = goal.payment.words if goal.payment and "payment" in topics else ""
    settle = (
        pick((f" Please use {paid} for the difference.", f" The difference can go on {paid}."))
        if paid
        else ""
    )
    match goal.kind:
        case "change_flights":
            new = f" to {say.flights(goal)}" if "flights" in topics else ""
            return f"{lead} {pick((f'change the flights of {what}', f'rebook {what}'))}{new}.{settle}"
        case "change_cabin":
            new = f" to {say.CABINS[goal.cabin or 'economy']}" if "cabin" in topics else ""
            verb = pick((f"change the cabin of {what}", f"switch the cabin class of {what}"))
            return f"{lead} {verb}{new}.{settle}"
        case "add_bags":
            count = f", so that I have {say.bags(goal)} in all" if "bags" in topics else ""
            use = f" Please use {paid} for it." if paid else ""
            verb = pick((f"add checked bags to {what}", f"bring more checked bags on {what}"))
            return f"{lead} {verb}{count}.{use}"
        case "change_passengers":
            new = f" to {say.passengers(goal.passengers)}" if "passengers" in topics else ""
            return f"{lead} change the passengers of {what}{new}."
        case "compensation":
            why = f", because {goal.reason}" if goal.reason and "reason" in topics else ""
            return f"{lead} {pick((f'get compensation for {what}', f'be compensated for {what}'))}{why}."
    trip = f" from {goal.origin} to {goal.destination}" if goal.origin and "route" in topics else ""
    way = f", {'one way' if goal.trip == 'one_way' else 'round trip'}" if trip and goal.trip else ""
    text = f"{lead} {pick(('book a flight', 'make a new booking'))}{trip}{way}"
    if "flights" in topics:
        text += f": {say.flights(goal)} in {say.CABINS[goal.cabin or 'economy']}"
    if "passengers" in topics:
        text += f", for {say.passengers(goal.passengers)}"
    if "bags" in topics:
        text += f", {say.bags(goal)}, {'with' if goal.insurance == 'yes' else 'without'} travel insurance"
    return f"{text}, paid with {paid}." if paid else f"{text}."


def _source(goal: Goal, topics: Set[str], word: str = "from") -> str:
    """Return which order the goods are from; empty if the user knows the order only by its goods."""
    if "record" not in topics or (goal.record is None and any(t.product in goal.hint for t in goal.items)):
        return ""
    return f" {word} {say.record(goal)}"


def _detail(topic: str, goal: Goal, pick: say.Pick) -> str:
    match topic:
        case "record":
            if goal.record:
                return pick((f"It is {say.record(goal)}.", f"It's {say.record(goal)}."))
            return f"I do not have the number, it is {goal.hint}." if goal.hint else ""
        case "items" | "options" if goal.items:
            if goal.items[0].wanted is None:
                return f"It is {say.items(goal.items)}." if topic == "items" else ""
            verb = "exchange" if goal.kind == "exchange" else "change"
            return f"I would like to {say.exchanges(goal.items, verb)}."
        case "options" if goal.kind in _CHANGED:  # "What would you like instead?"
            return _detail(_CHANGED[goal.kind], goal, pick)
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
            verb = "The passenger is" if len(goal.passengers) == 1 else "The passengers are"
            return f"{verb} {say.passengers(goal.passengers)}."
        case "bags" if goal.bags is not None:
            return f"{_upper(say.bags(goal))} in all." if goal.bags else f"{_upper(say.bags(goal))}."
        case "insurance" if goal.insurance:
            return "Yes, with insurance." if goal.insurance == "yes" else "No insurance, thanks."
        case "request":
            return want(goal, CORE, pick)
        case "complete" if goal.items:
            return "That is everything."
    return ""


def _upper(text: str) -> str:
    ids = ("paypal_", "credit_card_", "gift_card_", "certificate_")
    return text if text.startswith(ids) else f"{text[0].upper()}{text[1:]}"


_ORDER = (
    "request", "record", "items", "options", "reason", "route", "trip", "flights", "date", "cabin", "address",
    "passengers", "bags", "insurance", "payment", "complete",
)  # fmt: skip
_CHANGED = {"change_flights": "flights", "change_cabin": "cabin", "change_passengers": "passengers"}
_ORDERS = frozenset({"cancel", "return", "exchange", "modify_items", "order_address", "order_payment"})
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
