"""Makes scripted users from the official retail training tasks, whose instructions have six sentence forms.

Each instruction consists of a person, some traits, and sentences of these forms (every id is in the text and
nothing is conditional)::

    Your name is A B and your email is E.          (or: your zip code is Z.)
    Cancel order #W because R.
    Return #W via P: Product; Product {options};
    For #W, exchange Product {options} to {changed options}; …; via P.
    For #W, modify Product {options} to {changed options}; …; via P.
    For #W, change address to {address} (same as #W).
    For #W, change payment to P.

Therefore all of them can be played without a model.
"""

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from nlac_bench.envs.tau.domain import Domain
from nlac_bench.errors import DataError
from nlac_bench.simulators.customer import goals

_HEAD = re.compile(
    r"Your name is (?P<first>\S+) (?P<last>\S+) and your "
    r"(?:email is (?P<email>\S+)|zip code is (?P<zip>\d+))\. (?:You are (?P<traits>[^.]*)\. )?"
)
_SENTENCES: Sequence[tuple[str, re.Pattern[str]]] = (
    ("cancel", re.compile(r"Cancel order (?P<order>#W\d+) because (?P<reason>[^.]+)\. ")),
    ("return", re.compile(
        r"Return (?P<order>#W\d+) via (?P<payment>\w+): "
        r"(?P<items>(?:[A-Za-z -]+(?: \{[^{}]*\})?; )+)"
    )),
    ("swap", re.compile(
        r"For (?P<order>#W\d+), (?P<verb>exchange|modify) "
        r"(?P<items>(?:[A-Za-z -]+ \{[^{}]*\} to \{[^{}]*\}; )+)"
        r"via (?P<payment>\w+)\. "
    )),
    ("address", re.compile(
        r"For (?P<order>#W\d+), change address to (?P<address>\{[^{}]*\})(?: \(same as (?P<same>[^)]*)\))?\. "
    )),
    ("payment", re.compile(r"For (?P<order>#W\d+), change payment to (?P<payment>\w+)\. ")),
)  # fmt: skip
_RETURN = re.compile(r"([A-Za-z -]+?)(?: (\{[^{}]*\}))?; ")
_SWAP = re.compile(r"([A-Za-z -]+) (\{[^{}]*\}) to (\{[^{}]*\}); ")
_SOURCE = re.compile(r"(credit_card|gift_card|paypal)_\d+")
_WORDS = {"credit_card": "my credit card", "gift_card": "my gift card", "paypal": "my PayPal account"}


def script_of(instruction: str, vocabulary: goals.Vocabulary | None = None) -> goals.Script:
    """Return the user that an instruction of the official retail training split describes.

    Raises:
        DataError: the instruction does not follow the six forms.
    """
    text = instruction.rstrip() + " "
    head = _HEAD.match(text)
    if head is None:
        raise DataError(
            f"no scripted user for the instruction {instruction[:80]!r}: it does not match the patterns of "
            "the official retail split 'train'. Use user='llm', 'replay' or 'human' for it"
        )
    at, wishes = head.end(), []
    while at < len(text):
        for form, pattern in _SENTENCES:
            match = pattern.match(text, at)
            if match:
                wishes.append(_goal(form, match))
                at = match.end()
                break
        else:
            raise DataError(
                f"no scripted user for the instruction {instruction[:80]!r}: "
                f"cannot read {text[at : at + 80]!r}"
            )
    person = goals.Person(head["first"], head["last"], email=head["email"], zip=head["zip"])
    openings: tuple[Literal["all"], Literal["request"]] = ("all", "request")
    # The traits in the instruction determine whether the user states details at once or only when asked.
    reserved = any(trait in (head["traits"] or "") for trait in ("shy", "insecure", "dependent", "busy"))
    # An episode has 30 steps, which is too few to ask for every detail of many requests.
    return goals.Script(person, tuple(wishes), openings[reserved and len(wishes) <= 2], vocabulary or {})


def vocabulary_of(domain: Domain) -> goals.Vocabulary:
    """Return the goods and options in the training instructions of ``domain``, to find them in messages."""
    key = domain.name, domain.source.sha256
    if key not in _vocabularies:
        _vocabularies[key] = _vocabulary(domain)
    return _vocabularies[key]


_vocabularies: dict[tuple[str, str], goals.Vocabulary] = {}
"""Cache: parsing 500 instructions takes 50 ms, which is too long for every new environment."""


def _vocabulary(domain: Domain) -> goals.Vocabulary:
    products: dict[str, dict[str, dict[str, None]]] = {}
    for task in domain.tasks.get("train", ()):
        try:
            wishes = script_of(task.instruction).goals
        except DataError:
            continue
        for thing in (thing for goal in wishes for thing in goal.items):
            known = products.setdefault(thing.product, {})
            for options in (thing.options, thing.wanted or {}):
                for key, value in options.items():
                    known.setdefault(key, {})[value] = None
    return {name: {key: tuple(values) for key, values in known.items()} for name, known in products.items()}


def _goal(form: str, match: re.Match[str]) -> goals.Goal:
    order = match["order"]
    if form == "cancel":
        return goals.Goal("cancel", record=order, reason=match["reason"])
    if form == "return":
        returned = _RETURN.findall(match["items"])
        things = tuple(
            goals.Item(name.strip(), _literal(options) if options else {}) for name, options in returned
        )
        return goals.Goal("return", record=order, items=things, payment=_payment(match["payment"]))
    if form == "swap":
        swaps = tuple(
            goals.Item(name.strip(), _literal(old), _literal(new))
            for name, old, new in _SWAP.findall(match["items"])
        )
        kind: Literal["exchange", "modify_items"] = (
            "exchange" if match["verb"] == "exchange" else "modify_items"
        )
        return goals.Goal(kind, record=order, items=swaps, payment=_payment(match["payment"]))
    if form == "address":
        place = _literal(match["address"])
        place.pop("order_id", None)
        return goals.Goal("order_address", record=order, address=place)
    return goals.Goal("order_payment", record=order, payment=_payment(match["payment"]))


def _payment(method: str) -> goals.Payment:
    source = _SOURCE.fullmatch(method)
    if source is None:
        raise DataError(f"{method!r} is not a payment method")
    return goals.Payment(method, source[1], f"{_WORDS[source[1]]} ({method})")


@lru_cache(maxsize=2048)
def _parsed(text: str) -> tuple[tuple[str, str], ...]:
    """Parse a Python literal of a dict of strings, without evaluating anything."""
    if len(text) > 2_000:
        raise DataError(f"{text[:60]!r}… is too long for options or an address")
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise DataError(f"{text!r} cannot be read as options or an address") from error
    if not isinstance(value, dict) or not all(isinstance(x, str) for pair in value.items() for x in pair):
        raise DataError(f"{text!r} is not a list of options or an address")
    return tuple(value.items())


def _literal(text: str) -> dict[str, str]:
    return dict(_parsed(text))
