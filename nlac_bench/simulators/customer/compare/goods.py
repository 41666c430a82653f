"""Compares the products and variants that an agent proposes with those that the user wants."""

import re
from collections.abc import Sequence

from nlac_bench.simulators.customer.hear.actions import RETAIL_ID, names_action
from nlac_bench.simulators.customer.hear.naming import mentions, name_of, option_mentions, wanted
from nlac_bench.simulators.customer.hear.roles import Role
from nlac_bench.simulators.customer.hear.signals import ONLY
from nlac_bench.simulators.customer.hear.slots import methods
from nlac_bench.simulators.customer.hear.structure import Unit
from nlac_bench.simulators.customer.intent.goals import Goal, Script

_ITEM_ID = re.compile(r"\b\d{10}\b")
_SEVERAL = re.compile(
    r"\b(?:both|two|2 ?x?|three|3 ?x?|each|all|every)(?: of)?(?: (?:the|your|these|those))?"
    r"(?: [a-z-]+){0,2} $"
)
"""A number of pieces before a product's name: "both helmets", "2 x Kite"."""
_TOO = re.compile(r"\b(?:as well|too|also|likewise)\b")
_PREPARING = re.compile(
    r"\bbefore i (?:\w+ ){0,2}?(?:prepare|set|submit|do|go|process|create|file|make|place|start|"
    r"finali[sz]e)\b[^,:;.?]*[,:]"
)
"""Introduces a question about a detail and proposes nothing: "before I prepare the exchange, …"."""


def acts_on_own(units: Sequence[Unit], goal: Goal, script: Script) -> bool:
    """Return whether ``units`` name all of the goal's products, and no action governs another product."""
    named = [mention for unit in units for mention in mentions(unit, goal, script)]
    own = {thing.product for thing in goal.items}
    return own <= {product for product, _ in named} and own >= {
        product for product, role in named if role == "new"
    }


def wrong_items(units: Sequence[Unit], goal: Goal, script: Script, others: Sequence[Goal]) -> bool:
    """Return whether ``units`` propose goods that are not in the goal, or omit some that are.

    A foreign product counts if the goal's action governs it; listing an order's contents and naming what the
    user keeps are not proposals.
    """
    if not goal.items:
        return False
    own = [thing.product for thing in goal.items]
    elsewhere = {thing.product for other in others for thing in other.items}
    named: dict[Role, list[str]] = {}
    for unit in units:
        for product, role in mentions(unit, goal, script):
            also = role == "none" and product not in own and _TOO.search(unit.text)  # "the webcam as well"
            named.setdefault("new" if also else role, []).append(product)
    acted, plain = named.get("new", []), named.get("none", [])
    if set(acted) - set(own) - elsewhere:
        return True
    complete = set(own) <= set(acted)
    if not complete and set(plain) - set(own) - elsewhere:
        return True
    mentioned = acted if complete or (goal.kind == "return" and set(acted) & set(own)) else [*acted, *plain]
    mentioned = [product for product in mentioned if product in own]
    text = _PREPARING.sub("", "\n".join(unit.full for unit in units))
    if mentioned:
        if set(mentioned) < set(own):  # "The colour goes from navy to red, is that so?" is about one of them
            only = any(ONLY.search(unit.text) for unit in units)
            several = sum(bool(mentions(unit, goal, script)) for unit in units) > 1
            return only or several or names_action(text) or bool(RETAIL_ID.search(text)) or any(methods(text))
        if any(
            mentioned.count(name) < own.count(name) and not _several(text, name) for name in set(mentioned)
        ):
            return True
    else:
        listed = set(named.get("context", []))
        if listed - set(own) - elsewhere:
            return True  # "The order contains a kite and a tent. Shall I return it?"
        if set() < listed & set(own) < set(own) and names_action(text):
            return True  # "I'd update the order so that it contains the kite": and the tent?
        if set(named.get("kept", [])) & set(own) and not any(option_mentions(units, goal, script)):
            return True  # "Shall the size of the rug stay M?" keeps no rug
    return goal.kind == "return" and len(set(_ITEM_ID.findall(text))) > len(own) and not complete


def _several(text: str, product: str) -> bool:
    """Return whether ``text`` names several pieces of ``product`` at once: in the plural or with a number."""
    return any(
        match[0] != name.lower() or _SEVERAL.search(text, max(0, match.start() - 40), match.start())
        for name in (product, product.rsplit(maxsplit=1)[-1])
        for match in name_of(name).finditer(text)
    )


def wrong_options(units: Sequence[Unit], goal: Goal, script: Script) -> bool:
    """Return whether ``units`` propose a value of an option that differs from the one the user wants."""
    stated: dict[tuple[str, str], list[tuple[str, Role]]] = {}
    for product, key, value, role in option_mentions(units, goal, script):
        stated.setdefault((product, key), []).append((value, role))
    for (product, key), mentioned in stated.items():
        things = [thing for thing in goal.items if thing.product == product]
        if any(thing.wanted is None for thing in things):
            continue
        old = {thing.options[key] for thing in things if key in thing.options}
        new = {wanted(thing).get(key, thing.options.get(key, "")) for thing in things}
        aimed, plain, kept = ({v for v, r in mentioned if r == role} for role in ("new", "none", "kept"))
        named = {value for value, _ in mentioned}
        if old - new and old | new == named:  # the present variant and the wanted one, and nothing else
            if _reverses(mentioned, new):
                return True
            continue
        if named - old - new and not new <= named:  # another value is named, in any role, but not this
            return True
        if (aimed | plain) - old - new:
            return True
        if (aimed | plain) and not new <= (aimed | plain):
            return True
        if len(things) == 1 and aimed and not new <= aimed:
            return True
        if not aimed | plain and kept - new:
            return True  # "Do you want to keep size M?"
    return False


def _reverses(mentioned: Sequence[tuple[str, Role]], new: set[str]) -> bool:
    """Return whether a message that names the present and the ``new`` value aims at the present one.

    Unless a word marks the new value as proposed, the last value that is not marked as present counts: agents
    name what the user has before what the user gets.
    """
    if any(value in new and role == "new" for value, role in mentioned):
        return False
    aims = [value for value, role in mentioned if role != "present"]
    return (aims or [value for value, _ in mentioned])[-1] not in new
