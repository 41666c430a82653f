"""Names the actions of goals, and finds proposals of another action."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from nlac_bench.simulators.customer.hear.places import short
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.hear.topics import compiled
from nlac_bench.simulators.customer.intent.goals import Goal

REASONS = compiled(
    {
        "ordered by mistake": r"\bmistake|\baccident|\berror\b|\bunintention",
        "no longer needed": r"\bno longer (need|want|requir)|\b(not|n't) (need|want)|\bunneeded",
        "health": r"\bhealth|\bsick|\bill(ness)?\b|\bmedical",
        "weather": r"\bweather|\bstorm|\bsnow",
        "change of plans": r"\bchange of plan|\bplans? (have |has )?changed|\bchanged? (my|your|the) plan",
        "airline": r"\bairline (has )?cancel|\bcancel\w* by the airline|\bflight was cancel",
    }
)
ACTIONS = compiled(
    {
        "cancel": (
            r"\bcancel|\bcall(ed|ing)? off|\bvoid|\b(annul|scrap|terminat|rescind|undo|nix)|"
            r"\b(drop|withdraw|abort|kill)(p?ing)?(?= (the |your |this |that |whole |entire |complete )*"
            r"(order|booking|reservation|trip|itinerary|# ?w|w?\d|[a-z0-9]*\d))|\bdrop(?=\?)"
        ),
        "return": r"\breturn(?! (flight|trip|leg|date))|\bsen[dt](ing)? (it |them )?back|\bgive back|"
        r"\btak(?:e|ing) [^.;:?]{1,40} back\b",
        "exchange": r"\bexchang|\bswap|\breplac|\btrade",
        "modify": (
            r"\bmodif|(?<!plans )(?<!plans have )(?<!plan has )\bchang(?!e of plan)|\bupdat|"
            r"\bswitch(?! types?\b)|"
            r"\bedit(?:s|ed|ing)?\b|\badjust(?!able)|\bamend|\bmov(e|ed|ing)\b|\bset (?:it|the|your|up|to)\b"
        ),
        "address": r"\baddress|\b(ship|deliver|sent|send)\w* to\b",
        "payment": (
            r"\bpa(y|id|yment|ying)\b|\bcharg|"
            r"\b(to|with|on|use|using) (the |your |my )?(visa|mastercard|paypal|gift|credit)"
        ),
        "book": (
            r"(?<!your )(?<!this )(?<!that )(?<!\ba )(?<!the )\bbook(ed|ing)?\b"
            r"(?! (id|number|code|ref|(?=[a-z]*\d)[a-z0-9]{6}\b))|\breserve\b|\bpurchas|"
            r"\b(mak|creat|plac|complet|finali[sz]|submit|new)\w*( (a|the|this|your|new))* (booking|"
            r"reservation(?! \w*\d|'s))\b"
        ),
        "flights": r"\bflights?\b|\bitinerary|\brebook",
        "cabin": r"\bcabin|\bclass\b|\bupgrad|\bdowngrad|\beconomy|\bbusiness\b(?! (days?|hours?|trip|"
        r"card)\b)",
        "bags": r"\bbags?\b|\bbaggages?\b|\bluggage|\bsuitcase",
        "passengers": r"\bpassenger|\btravell?er|\bname\b",
        "compensation": r"\bcertificate|\bcompensat|\bvoucher",
    }
)
FITTING: Mapping[str, tuple[str, ...]] = {
    "cancel": ("cancel",),
    "return": ("return",),
    "exchange": ("exchange", "modify"),
    "modify_items": ("modify", "exchange"),
    "order_address": ("address",),
    "user_address": ("address",),
    "order_payment": ("payment",),
    "book": ("book",),
    "change_flights": ("flights", "modify"),
    "change_cabin": ("cabin",),
    "add_bags": ("bags",),
    "change_passengers": ("passengers",),
    "compensation": ("compensation",),
    "other": (),
    "ask": (),
}
"""Words that can name the action of a goal of that kind."""
RETAIL_ID = re.compile(r"#? ?w ?(\d{5,})\b")
RESERVATION_ID = re.compile(r"\b(?![a-z]{2,3}\d{3}\b)(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6}\b")
"""Six letters and digits that are not a flight number."""
_DECISIVE = ("cancel", "return", "exchange", "modify", "book", "compensation")
_STRONG = tuple(action for action in _DECISIVE if action != "modify")
"""Actions that a proposal must name correctly if it names any of them."""


def fits(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names the goal's kind of action."""
    if goal.address and short(goal.address["address1"].lower()) in short(text):
        return True
    if goal.kind in ("exchange", "modify_items") and any(
        text.count(thing.product.lower()) > 1 for thing in goal.items
    ):
        return True  # the old variant and the new one
    if goal.kind == "book" and "booking" in text:
        return True
    if goal.kind == "order_payment" and goal.payment and goal.payment.id in text:
        return True
    if goal.kind == "change_flights" and any(leg.number.lower() in text for leg in goal.legs):
        return True
    if goal.kind == "change_passengers" and goal.passengers[-1].last_name.lower() in text:
        return True
    return any(ACTIONS[action].search(text) for action in FITTING[goal.kind])


def names_action(text: str) -> bool:
    """Return whether ``text`` names an action that changes the database."""
    return any(ACTIONS[action].search(text) for action in (*_DECISIVE, "address", "cabin", "bags"))


def names_other(text: str, goal: Goal) -> bool:
    """Return whether ``text`` names another action than the goal's; "update" fits every kind of change."""
    text = _besides_goods(text, goal)
    text = _ANY_CHANGE.sub(" ", text)
    named = {action for action in _DECISIVE if ACTIONS[action].search(text)} - set(FITTING[goal.kind])
    if goal.kind not in ("cancel", "return", "book", "compensation", "ask"):
        named.discard("modify")
    if goal.legs:
        named.discard("return")  # the flight back
    return bool(named)


def _besides_goods(text: str, goal: Goal) -> str:
    """Return ``text`` without the goal's products: "the luggage set to your gift card" names no bags."""
    for thing in goal.items:
        text = text.replace(thing.product.lower(), " ")
    return text


_ANY_CHANGE = re.compile(
    r"\b(?:the|this|that|your) (?:requested )?(?:change|update|modification)s?\b(?! (?:of|to|in)\b)"
)
"""A noun for any request: "the change is in the system"."""


def wrong_kind(units: Sequence[Unit], goal: Goal) -> bool:
    text = _REPLACED.sub(" ", joined(units))
    if goal.kind == "other":
        return False
    if goal.kind == "ask":
        return any(ACTIONS[action].search(text) for action in ("cancel", "return", "exchange", "modify"))
    if goal.kind == "order_address" and re.search(r"\b(default|profile|account) address", text):
        return not ("order" in text or RETAIL_ID.search(text))
    if goal.kind == "user_address" and RETAIL_ID.search(text):
        return not re.search(r"\b(default|profile|account|your address|user)\b", text)
    if goal.kind == "cancel" and _KEEPING.search(text):
        return True
    acting = "\n".join(clause for unit in units for clause in _ACTING.findall(_REPLACED.sub(" ", unit.text)))
    named = {action for action in _STRONG if ACTIONS[action].search(acting)}
    if goal.kind in ("change_flights", "change_cabin", "add_bags", "change_passengers"):
        named -= {"book", "exchange"}
    if goal.kind in ("order_address", "user_address", "order_payment") and _EXCHANGES_DATA.search(
        acting + text
    ):
        named.discard("exchange")
    if named and not named & set(FITTING[goal.kind]):
        return True
    if fits(text, goal):
        return False
    texts = [*(_besides_goods(unit.text, goal) for unit in units), ""]
    return names_other(text, goal) or any(
        _asks_for_change(one) or (goal.kind != "book" and _offers_change(one, after))
        for one, after in pairwise(texts)
    )


def _asks_for_change(text: str) -> bool:
    """Return whether a question is about a cabin, bags or an address: "Would you like to upgrade?"."""
    return text.endswith("?") and any(ACTIONS[action].search(text) for action in ("address", "cabin", "bags"))


def _offers_change(text: str, after: str) -> bool:
    """Return whether a statement offers a cabin or bags, and the question after it asks for a yes only."""
    named = any(ACTIONS[action].search(text) for action in ("cabin", "bags"))
    return named and after.endswith("?") and not names_action(after)


_EXCHANGES_DATA = re.compile(
    r"\breplac|\b(?:swap|trad|exchang)\w* (?:[\w-]+ ){0,4}?(?:address|payment|method|card)\b"
)
"""Replaces an address or a payment method, and no goods: "I'll swap your account address"."""
_REPLACED = re.compile(
    r"\b(?:rather than|instead of) (?:an? |the |your )?(?:return|exchange|cancel|swap|modif|refund)\w*|"
    r"\bnor (?:can|could|will|would|may|shall) (?:i|we|you)\b[^.;?]*"
)
"""An action that is not offered: "an exchange rather than a return", "nor can I return anything else"."""
_KEEPING = re.compile(
    r"\b(?:should|shall|may|can) i (?:just )?(?:keep|leave)\b|\b(?:like|want|prefer) (?:me )?to keep "
    r"(?:it|the|your|this|that)\b"
)
_ACTING = re.compile(
    r"\b(?:i'll|i will|i'd|i would|i can|i could|i am going to|i'm going to|shall i|should i|may i|"
    r"can i|could i|want me to|like me to|"
    r"do you want to|would you like to|let me)\b (?:also |now |just |then |still |instead |please |"
    r"go ahead and |proceed to |proceed with |be )*(?!not\b|need\b|keep\b|\w+(?<!e)ed\b)"
    r"(\w+(?: (?:it|this|that|them|your|the|a|an|certificate|you|travel|of|order))*)"
)
