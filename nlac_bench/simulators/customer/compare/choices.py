"""Answers choices and questions about one detail: which of the values offered does the user want?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from nlac_bench.simulators.customer.hear import actions, slots
from nlac_bench.simulators.customer.hear.asking import WH
from nlac_bench.simulators.customer.hear.naming import name_of, option_mentions, option_name, wanted
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.requests import is_choice
from nlac_bench.simulators.customer.hear.roles import Role
from nlac_bench.simulators.customer.hear.structure import joined
from nlac_bench.simulators.customer.intent import phrases as say
from nlac_bench.simulators.customer.intent.goals import Goal, Item, Script


@dataclass(frozen=True, slots=True)
class ChosenAnswer:
    """The user's words, and the topics that they answer."""

    text: str
    topics: frozenset[str]


def answer(heard: MessageReading, goal: Goal, script: Script, pick: say.Pick) -> ChosenAnswer | None:
    """Return the user's choice among values that ``heard`` names in a question; None if it offers none."""
    if not heard.questions or any(_ITEMS.fullmatch(unit.text) for unit in heard.questions):
        return None
    if goal.address:
        return _address_of(heard, goal)
    if goal.kind in ("exchange", "modify_items"):
        return _options(heard, goal, script, pick)
    if goal.kind == "cancel" and goal.reason:
        # "Which one applies?" refers to the values that were listed before it
        text = heard.text if "reason" not in heard.asks else joined(heard.questions)
        if any(pattern.search(text) for pattern in actions.REASONS.values()):
            reason = say.reason(goal)
            return ChosenAnswer(f"{reason[0].upper()}{reason[1:]}.", frozenset({"reason"}))
    return None


_ITEMS = re.compile(r"(?:the )?(?:items?|products?|articles?) to \w+\?")
"""A field of a form for the items, above a list of what the order contains."""


def unchanged(heard: MessageReading, goal: Goal, script: Script) -> str:
    """Return the unchanged values of the options that a question names: "Does the hood stay?"."""
    if goal.kind not in ("exchange", "modify_items"):
        return ""
    asked = heard.claims if _KEEP_IT.search(joined(heard.proposed)) else heard.proposed
    mentioned = {(product, key) for product, key, *_ in option_mentions(asked, goal, script)}
    text = joined(asked)
    parts = [
        f"{_value(thing, key)}, the same as now" for thing in goal.items for key in thing.options
        if not _changes(thing, key) and ((thing.product, key) in mentioned or option_name(key).search(text))
    ]  # fmt: skip
    named = say.join(parts) if parts else ""
    return f"{named[0].upper()}{named[1:]}." if named else ""


_KEEP_IT = re.compile(
    r"\b(?:keep|leave|want) (?:it|that|this|the same)\b|\b(?:it|that|this) (?:to )?stays?\b"
)
"""Refers to a value of the sentence before: "Your tent is green. Would you like to keep that?"."""


def subject(heard: MessageReading, goal: Goal) -> frozenset[str]:
    """Return what an open question without a noun ("Which one?", "Changed to what?") is about.

    The values that the message names determine the subject; if it names none, it is what the goal changes. A
    question of a few words has no subject.
    """
    text = heard.text
    named = {match[2] for match in slots.methods(text)} | ({"original"} if "original" in text else set())
    if goal.payment and len(named) > (goal.kind != "order_payment"):
        return frozenset({"payment"})
    if len(text.split()) < 5 or not heard.questions:
        return frozenset()
    return frozenset({_FOCUS.get(goal.kind, "record")})


def about(question: str, goal: Goal) -> frozenset[str]:
    """Return the topic of a question that names an option of the goal's goods, or one of these goods."""
    keys = [option_name(key) for thing in goal.items for key in wanted(thing)]
    if goal.kind in ("exchange", "modify_items") and WH.search(question):
        keys += [name_of(word) for thing in goal.items for word in (thing.product, _head(thing))]
        keys.append(_WHICH)
    return frozenset({"options"} if any(key.search(question) for key in keys) else ())


_WHICH = re.compile(r"\bwhich (?:one|of (?:these|those|them))\b")


def _head(thing: Item) -> str:
    return thing.product.lower().split()[-1]


_FOCUS = {
    "return": "items", "exchange": "options", "modify_items": "options", "order_address": "address",
    "user_address": "address", "order_payment": "payment", "change_flights": "flights",
    "change_cabin": "cabin", "add_bags": "bags", "compensation": "reason", "change_passengers": "passengers",
    "book": "flights", "cancel": "record",
}  # fmt: skip


def _address_of(heard: MessageReading, goal: Goal) -> ChosenAnswer | None:
    """Return whether the address is meant for an order or for the profile, if the message offers both."""
    if not any(_ORDER.search(unit.text) and _PROFILE.search(unit.text) for unit in heard.questions):
        return None
    own = (
        "For the default address in my profile" if goal.kind == "user_address" else f"For {say.record(goal)}"
    )
    return ChosenAnswer(f"{own}, please.", frozenset({"record"}))


_ORDER = re.compile(r"\borders?\b")
_PROFILE = re.compile(r"\b(?:profile|default|account)\b")


def _options(heard: MessageReading, goal: Goal, script: Script, pick: say.Pick) -> ChosenAnswer | None:
    """Return the wanted value of each option for which the question, or the list before it, names a value."""
    asked: dict[tuple[str, str], set[str]] = {}
    roles: set[Role] = set()
    for source in (
        heard.questions,
        heard.claims if heard.asks & {"options", "unclear", "items", "flights", "record"} else (),
    ):
        for product, key, value, role in option_mentions(source, goal, script):
            asked.setdefault((product, key), set()).add(value)
            roles.add(role)
        if asked:
            break
    parts: list[str] = []
    same: list[str] = []
    for (product, key), values in asked.items():
        thing = next(thing for thing in goal.items if thing.product == product)
        alone = sum(other.product == product for other in goal.items) == 1
        if alone and (
            len(values) > 1
            or heard.choice
            or option_name(key).search(joined(heard.questions))
            or len(asked) == 1
        ):
            (parts if _changes(thing, key) else same).append(_value(thing, key))
    if (not parts and roles == {"present"}) or _describes(heard, asked, goal):
        return None  # "what would you like in place of the plum towel?" asks for something else than plum
    if any(_SEVERAL.search(unit.text) and not is_choice(unit.text) for unit in heard.questions):
        # "what size and finish would you like?": an attribute may have another name than the option
        parts += [
            value for thing in goal.items for key in wanted(thing)
            if any(product == thing.product for product, _ in asked)
            and _changes(thing, key) and (value := _value(thing, key)) not in parts
        ]  # fmt: skip
    parts += [f"{value}, the same as now" for value in same]
    only_payment = "payment" in heard.asks and not heard.asks & {"options", "items", "record", "flights"}
    if not parts or (only_payment and len(parts) < 2 and not heard.choice):
        return None
    text = say.join(parts)
    return ChosenAnswer(f"{text[0].upper()}{text[1:]}, please.", frozenset({"options"}))


_SEVERAL = re.compile(
    r"\b(?:what|which)(?: [\w-]+){1,4}?(?:,| and| &| ?/) (?!(?:what|which|how|who|where|when)\b)[\w-]+(?: "
    r"[\w-]+)?"
    r"(?:,|\?| and| would| do| should| shall| are)"
)
"""Asks for several attributes at once: "which material, capacity and type?"."""


def _describes(heard: MessageReading, asked: Mapping[tuple[str, str], set[str]], goal: Goal) -> bool:
    """Return whether present values only describe what an open question is about: "What for the red one?"."""
    text = joined(heard.questions)
    present = {(thing.product, key): {value} for thing in goal.items for key, value in thing.options.items()}
    one = all(values == present.get(option) for option, values in asked.items())
    return (
        one
        and not heard.choice
        and bool(WH.search(text))
        and not any(option_name(key).search(text) for _, key in asked)
    )


def _changes(thing: Item, key: str) -> bool:
    return wanted(thing).get(key, thing.options.get(key)) != thing.options.get(key)


def _value(thing: Item, key: str) -> str:
    return say.options({key: wanted(thing).get(key, thing.options.get(key, ""))})
