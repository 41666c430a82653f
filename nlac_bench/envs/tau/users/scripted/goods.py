"""Finds the products and variants that an agent's message names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from nlac_bench.envs.tau.users.scripted.intent import Goal, Item, Script

_ITEM_ID = re.compile(r"\b\d{10}\b")
_PLURAL = re.compile(r"\b(both|two|2 ?x|2|three|3|each|all|every)\b")
_GOODS = re.compile(
    r"\b(?:return|exchang|swap|replac|chang|modif)\w*(?: of)? (?:the|your|a|an|one) "
    r"(?!items?\b|products?\b|order|following)[a-z]"
)
_TO = re.compile(r"(?:\b(?:to|for|into|with|become|new(?: item| variant| one)?|instead)\b:?|->|=>|>)")


def mentions(text: str, product: str) -> bool:
    """Return whether ``text`` names ``product``, also by its head word alone."""
    name = product.lower()
    return bool(_name(name).search(text) or _name(name.split()[-1]).search(text))


def _names(text: str, product: str, things: Sequence[Item]) -> bool:
    """Return ``mentions``, but accept the head word only if it names no other of ``things``."""
    head = product.lower().split()[-1]
    other = [thing.product.lower().split()[-1] for thing in things if thing.product != product]
    words = [
        word for thing in things for key, value in thing.options.items() for word in f"{key} {value}".split()
    ]
    if head in other or head in (word.lower() for word in words):
        return bool(_name(product.lower()).search(text))
    return mentions(text, product)


def hides_items(text: str, goal: Goal) -> bool:
    """Return whether ``text`` is about particular goods without naming any of the goal's."""
    if not goal.items or any(mentions(text, thing.product) for thing in goal.items):
        return False
    return bool(_ITEM_ID.search(text) or _GOODS.search(text))


def wrong_items(text: str, goal: Goal, script: Script, others: Sequence[Goal]) -> bool:
    """Return whether ``text`` names goods that are not in the goal, or omits some that are."""
    if not goal.items:
        return False
    text = text.replace(goal.hint.lower(), " ") if goal.hint else text
    own = [thing.product for thing in goal.items]
    named = [product for product in own if _names(text, product, goal.items)]
    values = {
        value.lower() for thing in goal.items for value in (*thing.options.values(), *_wanted(thing).values())
    }
    foreign = {
        product
        for product in script.vocabulary
        if product not in own
        and product.lower() in text
        # "laptop compartment" of a backpack does not name a laptop
        and (_thing if product.lower() in values else _name)(product.lower()).search(text)
    }
    if foreign - {thing.product for other in others for thing in other.items}:
        return True
    if (named or foreign) and len(set(named)) < len(set(own)):
        return True
    for product in set(named):
        times = len(_name(product.split()[-1].lower()).findall(text))
        if times < own.count(product) and not _PLURAL.search(text):
            return True
    return goal.kind == "return" and len(set(_ITEM_ID.findall(text))) > len(own)


def wrong_options(text: str, goal: Goal, script: Script) -> bool:
    """Return whether ``text`` states a value of an option that differs from the one the user wants."""
    for things, stretch in _segments(text, goal.items):
        if any(thing.wanted is None for thing in things):
            continue
        product, segment = things[0].product, stretch
        for name in (product, *(key for key in things[0].options if "/" in key)):
            segment = segment.replace(name.lower(), " ")  # "bath towel", "bagged/bagless" contain values
        target = _target(segment)
        known = script.vocabulary.get(product, {})
        for key in {key for thing in things for key in (*thing.options, *_wanted(thing))}:
            old = {thing.options[key] for thing in things if key in thing.options}
            new = {_wanted(thing).get(key, thing.options.get(key, "")) for thing in things}
            values = {*known.get(key, ()), *old, *new} - {""}
            # "a silver frame and blue lenses": a value of another option does not contradict this one
            values -= {v for thing in things for v in _others(thing, key)} - old - new
            said, aimed = _said(segment, key, values), _said(target, key, values)
            if (
                said - old - new
                or (aimed and len(things) == 1 and not new <= aimed)
                or (said and not new <= said)
            ):
                return True
    return False


def _said(text: str, key: str, values: Iterable[str]) -> set[str]:
    """Return which of an option's values ``text`` names; "Wi-Fi + Cellular" does not name "Wi-Fi"."""
    said: set[str] = set()
    for named in (True, False):  # first next to the option's name, if that is written out
        for value in sorted(values, key=len, reverse=True):
            pattern = _value(value, key, named)
            if pattern.search(text):
                said.add(value)
                text = pattern.sub(" ", text)
        if said:
            break
    return said


def _others(thing: Item, key: str) -> set[str]:
    """Return the values of the thing's other options, before and after the exchange."""
    return {v for options in (thing.options, _wanted(thing)) for k, v in options.items() if k != key}


def _segments(text: str, things: Sequence[Item]) -> Iterable[tuple[list[Item], str]]:
    """Yield each product's things, and the part of ``text`` from its name to the next product's name."""
    spots: list[tuple[int, list[Item]]] = []
    for product in dict.fromkeys(thing.product for thing in things):
        name = product.lower()
        found = _thing(name).search(text) or _name(name).search(text) or _name(name.split()[-1]).search(text)
        if found:
            spots.append((found.start(), [thing for thing in things if thing.product == product]))
    spots.sort(key=lambda spot: spot[0])
    for place, (start, same) in enumerate(spots):
        # the text before the only name may describe it: "the red, 2-slot toaster"
        begin = 0 if len(spots) == 1 else start
        end = spots[place + 1][0] if place + 1 < len(spots) else len(text)
        yield same, text[begin:end]


def _target(segment: str) -> str:
    """Return the text after the first word that separates the old from the new variant."""
    found = _TO.search(segment)
    return segment[found.end() :] if found else segment


@lru_cache(maxsize=4096)
def _name(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}(?:e?s)?\b")


def _wanted(thing: Item) -> Mapping[str, str]:
    return thing.wanted or {}


@lru_cache(maxsize=4096)
def _thing(name: str) -> re.Pattern[str]:
    """Return a pattern of the name after an article or at the start of a list, not within another name."""
    return re.compile(
        rf"(?:\b(?:the|your|an?|my|one|that|this|item:?) |^[-+ \d.)]*){re.escape(name)}\b", re.MULTILINE
    )


_SIZES = {"S": "(?:s|small)", "M": "(?:m|medium)", "L": "(?:l|large)", "XL": "(?:xl|x-large|extra[- ]large)"}


@lru_cache(maxsize=8192)
def _value(value: str, key: str, named: bool) -> re.Pattern[str]:
    """Return a pattern of an option value as a whole word: by the option's name if ``named``, else anywhere.

    Words such as yes and no match only next to the option's name.
    """
    plain = _SIZES.get(value) or re.escape(value.lower()).replace(r"\-", "[- ]?").replace(r"\ ", "[- ]?")
    word = re.escape(key.lower())
    if named:
        return re.compile(rf"\b{word}(?: is| to| of| =|:)*:? ?[\"(]?{plain}(?![\w-])")
    if value in ("yes", "no", "none"):
        last = re.escape(key.lower().split()[-1])
        return re.compile(rf"\b{last}(?: is| to|:)*:? ?\"?{plain}\b")
    return re.compile(rf"(?<![\w.'-]){plain}(?![\w'-])")
