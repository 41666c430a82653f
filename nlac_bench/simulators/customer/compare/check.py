"""Compares what an agent proposes or reports with what the user wants, slot by slot.

Only the agent's message is compared with what the user knows; nothing is compared with gold calls. A slot
that is not mentioned does not cause an objection, and neither does a value that is named as the present state
or as what stays (``roles``): only the proposed state is compared.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from nlac_bench.simulators.customer.compare.bags import states_bags, wrong_bags
from nlac_bench.simulators.customer.compare.goods import acts_on_own, wrong_items, wrong_options
from nlac_bench.simulators.customer.compare.part import named_part
from nlac_bench.simulators.customer.compare.trips import wrong_flights, wrong_insurance, wrong_passengers
from nlac_bench.simulators.customer.hear.actions import (
    REASONS,
    RESERVATION_ID,
    RETAIL_ID,
    fits,
    wrong_kind,
)
from nlac_bench.simulators.customer.hear.naming import names_items, option_mentions
from nlac_bench.simulators.customer.hear.places import short, wrong_address
from nlac_bench.simulators.customer.hear.reading import MessageReading
from nlac_bench.simulators.customer.hear.roles import item_roles, proposes
from nlac_bench.simulators.customer.hear.signals import FAREWELL, FUTURE
from nlac_bench.simulators.customer.hear.slots import (
    PAYMENT_ID,
    names_payment,
    wrong_cabin,
    wrong_payment,
)
from nlac_bench.simulators.customer.hear.structure import Unit, joined
from nlac_bench.simulators.customer.intent.goals import Goal, Script


def objections(
    units: Sequence[Unit], goal: Goal, script: Script, current: int, reported: bool = False
) -> list[str]:
    """Return the topics on which ``units`` contradict ``goal``; empty if there are none.

    ``current`` is the goal's index in ``script``; values of the user's other goals are not contradictions.
    ``reported``: ``units`` report what has been done, so their present tense states the result.
    """
    wrong = []
    others = [other for i, other in enumerate(script.goals) if i != current]
    checks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("kind", lambda: wrong_kind(units, goal)),
        ("record", lambda: _wrong_record(units, goal, others)),
        ("reason", lambda: _wrong_reason(joined(units), goal)),
        ("items", lambda: wrong_items(units, goal, script, others)),
        ("options", lambda: wrong_options(units, goal, script)),
        ("payment", lambda: wrong_payment(units, goal)),
        ("address", lambda: wrong_address(units, goal)),
        ("cabin", lambda: wrong_cabin(units, goal)),
        ("flights", lambda: wrong_flights(units, goal)),
        ("bags", lambda: wrong_bags(units, goal, reported)),
        ("passengers", lambda: wrong_passengers(units, goal)),
        ("insurance", lambda: wrong_insurance(joined(units), goal)),
    )
    for topic, check in checks:
        if check():
            wrong.append(topic)
    return wrong


def known_slots(text: str, goal: Goal) -> bool:
    """Return whether ``text`` states at least one of the goal's values, so that a bare "yes" is safe."""
    spots: list[str] = [goal.record or "", goal.reason or "", (goal.cabin or "").replace("_", " ")]
    spots += [thing.product.split()[-1] for thing in goal.items]
    spots += [leg.number for leg in goal.legs] + [person.last_name for person in goal.passengers]
    if goal.address:
        spots.append(goal.address["address1"])
    if goal.payment:
        spots += [goal.payment.id, goal.payment.source.replace("_", " ")]
    return any(spot and spot.lower() in text for spot in spots)


def misreported(
    heard: MessageReading, goal: Goal, script: Script, current: int, agreed: bool = False
) -> list[str]:
    """Return the topics on which a report that ``goal`` is done contradicts it.

    The sentence that reports it decides on the action; the values of the whole message are compared, with the
    part of the goal that they are about. A report of an ``agreed`` change may contain more, such as the rest
    of the order: it contradicts the goal only where it does not state the goal's own values.
    """
    wrong = _misreported(heard, goal, script, current)
    return [topic for topic in wrong if not (agreed and _states(topic, heard.stated, goal, script))]


def _misreported(heard: MessageReading, goal: Goal, script: Script, current: int) -> list[str]:
    part = named_part(heard.reports, goal, script)
    reported = objections(heard.reports, part, script, current, reported=True)
    if reported:
        return reported
    part = named_part(heard.stated, goal, script)
    stated = objections(heard.stated, part, script, current, reported=True)
    return [topic for topic in stated if topic != "kind"]


def _states(topic: str, units: Sequence[Unit], goal: Goal, script: Script) -> bool:
    """Return whether ``units`` state the goal's values of ``topic``, even if they also name other values."""
    match topic:
        case "items":
            return acts_on_own(units, goal, script)
        case "options":
            return states_target(units, goal, script)
        case "bags":
            return states_bags(units, goal)
        case "payment":
            return names_payment(units, goal)
        case "passengers":
            return goal.passengers[-1].last_name.lower() in joined(units)
        case "record":
            return bool(goal.record) and (goal.record or "").lower() in joined(units)
    return False


def passed_over(heard: MessageReading, goal: Goal, script: Script, current: int) -> list[str]:
    """Return the topics of the wrong values in a message that also asks about the payment."""
    stated = [unit for unit in heard.claims if unit not in heard.questions and proposes(unit)]
    return [topic for topic in objections(stated, goal, script, current) if topic in _SETTLED]


TRAVEL = frozenset({"cabin", "flights", "bags", "passengers", "insurance"})
"""Topics of a trip, which a question for the right one may state: "Is that the trip you want?"."""
_SETTLED = TRAVEL | {"items", "options", "address"}


def states_target(units: Sequence[Unit], goal: Goal, script: Script) -> bool:
    """Return whether ``units`` state the new values of ``goal``; False for a cancellation."""
    text = joined(units)
    if goal.kind in ("exchange", "modify_items"):
        named = {(product, key, value) for product, key, value, _ in option_mentions(units, goal, script)}
        aims = {
            (item.product, key, value) for item in goal.items for key, value in (item.wanted or {}).items()
        }
        return bool(aims) and aims <= named
    if goal.kind == "return":
        return all(names_items(units, replace(goal, items=(thing,))) for thing in goal.items)
    spots: list[str] = []
    match goal.kind:
        case "change_flights" | "book":
            spots = [leg.number for leg in goal.legs]
        case "order_address" | "user_address":
            text, spots = short(text), [short((goal.address or {}).get("address1", "").lower())]
        case "change_cabin":
            spots = [(goal.cabin or "").replace("_", " ")]
        case "change_passengers":
            spots = [goal.passengers[-1].last_name]
        case "add_bags":
            return states_bags(units, goal)
        case "order_payment" if goal.payment:
            return known_slots(text, replace(goal, record=None)) or names_payment(units, goal)
    return bool(spots) and all(spot.lower() in text for spot in spots)


def tells_result(heard: MessageReading, goal: Goal, script: Script) -> bool:
    """Return whether a message that asks nothing states the goal's values, or says goodbye."""
    if heard.confirm or heard.announced or heard.wait or heard.questions or heard.refused:
        return False
    if FAREWELL.search(heard.text):
        return True
    stated = [unit for unit in heard.stated if not FUTURE.search(unit.text)]
    return states_target(stated, goal, script)


def names_target(units: Sequence[Unit], goal: Goal, script: Script) -> bool:
    """Return whether ``units`` state the new values of ``goal``; for a cancellation, its record or reason."""
    if goal.kind == "cancel":
        text = joined(units)
        return bool(_reasons(text) & _own_reasons(goal) or (goal.record and goal.record.lower() in text))
    return states_target(units, goal, script)


_ALTERNATIVES = re.compile(
    r"\bno longer (?:need|want)\w*[^.;:()]{0,12}(?:/|\bor\b|\band\b|,)[^.;:()]{0,24}\bmistake\b|"
    r"\bmistake\b[^.;:()]{0,12}(?:/|\bor\b|\band\b|,)[^.;:()]{0,12}\bno longer (?:need|want)\w*"
)
"""A list of the valid reasons: "we accept two (no longer needed / ordered by mistake)"."""


_OF_ORDERS = frozenset({"no longer needed", "ordered by mistake"})
_GIVEN = re.compile(
    r"\b(?:with|using|under|state|give|giving|record(?:ing)?|list(?:ing)?)\b[^.;:\n]{1,60}?"
    r"\bas (?:the|your|its) (?:\w+ )?reason\b"
)
"""Names the reason explicitly, whatever else the sentence says about the order."""


def awaits_yes(heard: MessageReading, goal: Goal, script: Script) -> bool:
    """Return whether a message states the whole change, asks for nothing else and does not report it.

    Such a message waits for confirmation, whatever its last sentence is: "One short nod, and off it goes."
    """
    if heard.reports or heard.wait or heard.more or heard.left_open or heard.asks - {"unclear"}:
        return False
    return (
        fits(joined(heard.claims), goal)
        and names_target(heard.claims, goal, script)
        and any(proposes(unit) for unit in heard.claims)
    )


def _wrong_record(units: Sequence[Unit], goal: Goal, others: Sequence[Goal]) -> bool:
    if goal.record is None:
        return False
    own = goal.record.lower()
    allowed = {own} | {other.record.lower() for other in others if other.record}
    retail = own.startswith("#")
    records: set[str] = set()
    proposed: set[str] = set()
    for unit in units:
        text, offset = unit.full, len(unit.full) - len(unit.text)
        spans = [
            (match.start(), match.end(), f"#w{match[1]}" if retail else match[0])
            for match in (RETAIL_ID if retail else RESERVATION_ID).finditer(
                PAYMENT_ID.sub(lambda m: "-" * len(m[0]), text)
            )
            if match.start() >= offset
        ]
        roles = item_roles(text, [(start, end) for start, end, _ in spans])
        records |= {code for _, _, code in spans}
        proposed |= {code for (_, _, code), role in zip(spans, roles, strict=True) if role in ("new", "none")}
    return bool(records) and (own not in records or bool(proposed - allowed))


def _wrong_reason(text: str, goal: Goal) -> bool:
    if goal.kind != "cancel" or not goal.reason:
        return False
    besides = _ALTERNATIVES.sub(" ", text)
    text = besides if _reasons(besides) else text
    own = _own_reasons(goal)
    named = _reasons(" ".join(match[0] for match in _GIVEN.finditer(text)))
    reasons = named or _reasons(text)
    if not own & _OF_ORDERS:
        reasons -= _OF_ORDERS  # "so you no longer want to fly" gives no reason for it
    return bool(reasons) and bool(own) and not reasons & own


def _own_reasons(goal: Goal) -> set[str]:
    """Return the names of the reasons that fit the one which the user gives."""
    reason = goal.reason or ""
    return _reasons(reason.lower()) | (REASONS.keys() & {reason})


def _reasons(text: str) -> set[str]:
    """Return the names of the reasons that ``text`` gives."""
    return {name for name, pattern in REASONS.items() if pattern.search(text)}
