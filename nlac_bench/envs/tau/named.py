"""Decides whether a text names the action and the object of a call that changes the database."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nlac_bench.envs.tau.database import Row
from nlac_bench.envs.tau.writes import Write
from nlac_bench.simulators.customer import goals

_CHANGES = (
    r"\b(?:chang|updat|modif|switch|mov(?:e|ing)|set\b|put\b|replac|correct|edit|adjust|amend|swap|us(?:e|"
    r"ing)\b|enter|register|sav(?:e|ing)\b|new\b|(?:re)?direct|forward)"
)
_SHIPS = r"\b(?:ship|deliver|sen[dt]\b|sending)"
_PAYS = r"\b(?:pay(?!pal)|paid|charg|bill|debit)"
_GROWS = r"\b(?:add|increas|bring|check(?:ed)?\b|includ|rais|more\b)"
_CANCELS = r"\b(?:cancel|call(?:ed|ing)? off|void|annul|scrap|terminat|withdr|drop\b)"

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "cancel_pending_order": (_CANCELS,),
    "return_delivered_order_items": (
        r"\breturn|\b(?:sen[dt]|tak|giv|go|com)\w*\b.{0,60}?\bback\b|\bback to us\b|\brefund",
    ),
    "exchange_delivered_order_items": (r"\bexchang|\bswap|\breplac|\btrade|\bswitch|\bchang",),
    "modify_pending_order_items": (rf"{_CHANGES}|\bexchang|\btrade|\bsubstitut",),
    "modify_pending_order_address": (rf"{_CHANGES}|{_SHIPS}", rf"\baddress|{_SHIPS}"),
    "modify_user_address": (_CHANGES, r"\baddress"),
    "modify_pending_order_payment": (
        rf"{_CHANGES}|{_PAYS}",
        rf"{_PAYS}|\bmethod|\bpaypal|\bcard\b|\bvisa\b|\bmastercard\b",
    ),
    "book_reservation": (r"\b(?:re)?book|\breserv(?:e\b|ing\b|ation\b)|\bpurchas|\bbuy|\btickets?\b",),
    "cancel_reservation": (_CANCELS,),
    "send_certificate": (r"\b(?:sen[dt]\b|sending|issu|offer|giv|grant|add|provid|compensat)",
                         r"\bcertificate|\bvoucher|\bcompensat"),
    "update_reservation_baggages": (rf"{_CHANGES}|{_GROWS}", r"\bbag(?:s|gages?)?\b|\bluggage|\bsuitcase"),
    "update_reservation_passengers": (
        rf"{_CHANGES}|\badd|\bremov|\bsubstitut|\bin place of\b|\binstead of\b",
        r"\bpassenger|\btravell?|\bname\b|\bticket|\breplac|\bin place of\b",
    ),
}  # fmt: skip
"""Tool → patterns, all of which a text matches that names the tool's action."""
_FLIGHTS = (
    rf"{_CHANGES}|\brebook|\breschedul|\bbook|\bfly",
    r"\bflights?\b|\bitinerary|\bsegment|\brebook|\b[a-z]{2,3}\d{3}\b",
)
_CABIN = (
    rf"{_CHANGES}|\bupgrad|\bdowngrad|\bbook|\bfly",
    r"\bcabin|\bclass\b|\bupgrad|\bdowngrad|\beconomy|\bbusiness\b",
)


def names_action(text: str, write: Write) -> bool:
    """Return whether ``text``, in lower case, names the action of ``write`` and does not deny it."""
    text = _DENIED.sub(" ", text)
    return any(all(re.search(part, text) for part in action) for action in _actions(write))


_DENIED = re.compile(
    r"(?:\b(?:will|shall|would|do|does|can|could|am|are|is) not|\b(?:won't|cannot|never)|n't|\brather than|"
    r"\binstead of) (?:be )?(?:able to )?\w+"
)
"""An action that is not proposed: "I will not cancel it", "instead of returning it"."""


def proposes(text: str, write: Write) -> bool:
    """Return whether ``text``, in lower case, names the object of ``write``, and its action or its result."""
    return names_object(text, write) and (names_action(text, write) or _states_result(text, write))


def _states_result(text: str, write: Write) -> bool:
    """Return whether ``text`` states what a change leads to: the new address, flight or variant."""
    spoken, arguments = _plain(text), write.arguments
    if "address" in write.name:
        return any(_names(spoken, _street(arguments))) and not _OTHERWISE.search(text)
    if write.name == "modify_pending_order_payment":
        method = str(arguments.get("payment_method_id", ""))
        return any(_names(spoken, [method])) and not _OTHERWISE.search(text)
    if write.name == "update_reservation_baggages":
        total, bags = re.escape(str(arguments.get("total_baggages"))), r"\b(?:bag|luggage|suitcase)"
        return bool(re.search(rf"\b{total}\b[^.?]{{0,20}}{bags}|{bags}[^.?]{{0,20}}\b{total}\b", spoken))
    if write.name == "update_reservation_passengers":
        return any(_names(spoken, _new_names(write)))
    if write.name == "book_reservation":
        return any(_names(spoken, _trip_names(write))) and any(_names(spoken, _new_names(write)))
    if write.name == "update_reservation_flights":
        new = {number for number, _ in legs(write.listed("flights"))}
        cabin = str(arguments.get("cabin", "")).replace("_", " ")
        return any(_names(spoken, [cabin, *map(str, new)]))
    changed = [item for item in _goods(write) if _key(item) in write.listed("item_ids")]
    return "new_item_ids" in arguments and any(len(_mentions(item, spoken)) > 1 for item in changed)


_OTHERWISE = re.compile(r"\b(?:cancel|exchang|return|refund)")
"""Names an action of which an address or a payment method may be a detail."""


def belongs_to_action(word: str, write: Write) -> bool:
    """Return whether ``word`` is one of those that name the action of ``write``, or a part of its object."""
    if write.name == "book_reservation" and word in ("bag", "passenger", "insur"):
        return True
    return any(re.search(part, word) for action in _actions(write) for part in action)


def names_object(text: str, write: Write) -> bool:
    """Return whether ``text``, in lower case, names what ``write`` changes.

    An order or a reservation is named by its id, the goods or the flights in it, its route, or the new value.
    Where the text names goods of an order, all goods that the call changes must be among them.
    """
    spoken = _plain(text)
    if write.name in ("cancel_pending_order", "modify_pending_order_address", "modify_pending_order_payment"):
        goods = [bool(_mentions(item, spoken)) for item in _goods(write)]
        return any((*_names(spoken, _order_names(write)), *goods))
    if write.name == "modify_user_address":
        street = _names(spoken, _street(write.arguments))
        return any(street) or bool(re.search(r"\b(?:default|profile|account|home|your address)\b", spoken))
    if write.name == "send_certificate":
        return bool(re.search(rf"\b{re.escape(str(write.arguments.get('amount')))}\b", spoken))
    if write.name in ("book_reservation", "cancel_reservation") or write.name.startswith("update_"):
        return any(_names(spoken, _trip_names(write))) or _route_is_named(spoken, write)
    named = {_key(item): bool(_mentions(item, spoken)) for item in _goods(write)}
    changed = write.listed("item_ids")
    if any(named.values()):
        return all(named.get(str(item_id), False) for item_id in changed)
    if write.name == "modify_pending_order_items" and not _OF_GOODS.search(spoken):
        return False  # "change order #W1" may be about its address
    return any(_names(spoken, [*_order_names(write), *map(str, write.listed("new_item_ids"))]))


_OF_GOODS = re.compile(r"\b(?:items?|products?|variants?|options?|articles?|goods|exchange)\b")


def _actions(write: Write) -> Sequence[tuple[str, ...]]:
    if write.name != "update_reservation_flights":
        return (ACTIONS[write.name],)
    reservation = write.record("reservations", "reservation_id")
    same_cabin = reservation is not None and reservation["cabin"] == write.arguments.get("cabin")
    if same_cabin:
        return (_FLIGHTS,)
    same = reservation is not None and legs(reservation["flights"]) == legs(write.listed("flights"))
    return (_CABIN,) if same else (_FLIGHTS, _CABIN)


def legs(flights: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the numbers and dates of flights."""
    return [(leg.get("flight_number"), leg.get("date")) for leg in flights if isinstance(leg, dict)]


def _plain(text: str) -> str:
    return text.replace("-", " ")


def _names(spoken: str, names: Sequence[str]) -> Iterator[bool]:
    """Yield for each of ``names`` whether the plain text contains it as a whole."""
    for name in names:
        yield bool(name) and bool(re.search(rf"(?<!\w){re.escape(_plain(name.lower()))}(?!\w)", spoken))


def _order_names(write: Write) -> list[str]:
    number = str(write.arguments.get("order_id", ""))
    new = _street(write.arguments)
    if write.name == "modify_pending_order_payment":
        new = [str(write.arguments.get("payment_method_id", ""))]
    return [number, number.removeprefix("#"), number.removeprefix("#W"), *new]


def _street(arguments: Mapping[str, Any]) -> list[str]:
    """Return house number and first word of the street of a new address, which are rarely abbreviated."""
    words = str(arguments.get("address1", "")).split()
    return [" ".join(words[:2])] if len(words) > 1 else []


def _goods(write: Write) -> list[Row]:
    order = write.record("orders", "order_id")
    return [] if order is None else order["items"]


def _key(item: Row) -> str:
    return str(item["item_id"])


def _mentions(item: Row, spoken: str) -> list[str]:
    """Return where an item is named by its id or its product: "Mechanical Keyboard", "the keyboard"."""
    last = _plain(item["name"].lower()).split()[-1].rstrip("s")
    return re.findall(rf"\b(?:{re.escape(_key(item))}|{re.escape(last)}(?:e?s)?)\b", spoken)


def _trip_names(write: Write) -> list[str]:
    numbers = [str(number) for number, _ in legs(write.listed("flights"))]
    reservation = write.record("reservations", "reservation_id")
    if write.name == "book_reservation":
        return numbers
    if reservation is None:
        return [str(write.arguments.get("reservation_id", ""))]
    numbers += [leg["flight_number"] for leg in reservation["flights"]]
    replaced = write.name == "update_reservation_passengers"
    people = [passenger["last_name"] for passenger in reservation["passengers"]] if replaced else []
    return [reservation["reservation_id"], *numbers, *people]


def _new_names(write: Write) -> list[str]:
    """Return the last names of passengers that the reservation does not have."""
    names = [str(p.get("last_name", "")) for p in write.listed("passengers") if isinstance(p, dict)]
    reservation = write.record("reservations", "reservation_id") or {"passengers": []}
    old = {passenger["last_name"] for passenger in reservation["passengers"]}
    return [name for name in names if name not in old]


def _route_is_named(spoken: str, write: Write) -> bool:
    trip: Mapping[str, Any] = write.record("reservations", "reservation_id") or write.arguments
    ends = [str(trip.get(end, "")) for end in ("origin", "destination")]
    return all(any(_names(spoken, [end, goals.AIRPORTS.get(end, "")])) for end in ends)
