"""Generates the mistakes of a mediocre service agent and a critic's words about them.

A *habit* is a mistake that is more probable than the right action for one kind of request, so that even the
most probable action of a model trained on it is wrong there. A *slip* is a rare mistake that can occur
anywhere.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlac_bench.envs.tau.actions import CallAction, parse_action, render_call
from workshop.rule_player import CONFIRM, is_write

HANDOVER = render_call("transfer_to_human_agents", {"summary": "The user needs help."})
REFUSAL = "I am sorry, but I cannot help you with that."
IDENTIFY = {
    "tau_retail": "May I have your email address, or your full name and zip code?",
    "tau_airline": "What is your user id?",
}
_METHOD = re.compile(r"(?:credit_card|gift_card|paypal|certificate)_\d+")
_ITEM = re.compile(r'"item_id": "(\d{10})"')
_ANY = re.compile(r"(?:credit_card|gift_card|paypal|certificate)_\d+|#W\d+|\b[a-z]+_[a-z]+_\d+\b|\b\d{10}\b")


@dataclass(frozen=True, slots=True)
class Skill:
    """The skill of a player that imitates the rule agent: its probabilities of a habit and of a slip."""

    name: str
    habit: float
    slip: float


SKILLS = (Skill("poor", 0.85, 0.08), Skill("middling", 0.6, 0.04), Skill("good", 0.2, 0.02))
SKILL_SHARES = (0.4, 0.4, 0.2)

HABITS: Mapping[str, str] = {
    "cancel_pending_order": "hasty_reason",
    "return_delivered_order_items": "hasty_payment",
    "modify_pending_order_payment": "handover",
    "modify_pending_order_address": "drop_unit",
    "modify_user_address": "claim",
    "exchange_delivered_order_items": "hasty_item",
    "modify_pending_order_items": "hasty_item",
    "update_reservation_baggages": "miscount",
    "update_reservation_flights": "hasty_payment",
    "update_reservation_passengers": "claim",
    "book_reservation": "miscount",
    "send_certificate": "refuse",
}


@dataclass(frozen=True, slots=True)
class ServiceSituation:
    """The situation in which a mistake is made: the teacher's remaining actions and the text so far."""

    env: str
    plan: Sequence[str]
    text: str

    @property
    def due(self) -> str:
        """The teacher's next action."""
        return self.plan[0]

    @property
    def write(self) -> CallAction | None:
        """The next call in the teacher's plan that changes the database, or None."""
        for action in self.plan:
            parsed = parse_action(action)
            if isinstance(parsed, CallAction) and is_write(parsed.name):
                return parsed
        return None

    @property
    def report(self) -> str | None:
        """The teacher's message after that call, or None."""
        for action, following in zip(self.plan, self.plan[1:], strict=False):
            parsed = parse_action(action)
            if isinstance(parsed, CallAction) and is_write(parsed.name):
                return following
        return None

    @property
    def decisive(self) -> bool:
        """Whether all lookups are done and the teacher's next action is a proposal or a change."""
        parsed = parse_action(self.due)
        return is_write(parsed.name) if isinstance(parsed, CallAction) else CONFIRM in self.due


def act(now: ServiceSituation, skill: Skill, rng: random.Random) -> str:
    """Return the action of an agent with ``skill``."""
    if rng.random() < skill.slip:
        return slip(now, rng)
    if now.decisive and now.write is not None and rng.random() < skill.habit:
        habit = HABITS.get(now.write.name)
        return (_MAKERS[habit](now, rng) if habit else None) or now.due
    return now.due


def slip(now: ServiceSituation, rng: random.Random) -> str:
    """Return a random mistake that is possible in this situation."""
    makers = list(_SLIPS)
    rng.shuffle(makers)
    for maker in makers:
        action = maker(now, rng)
        if action is not None:
            return action
    return REFUSAL


def _hasty(now: ServiceSituation, change: Callable[[dict[str, Any]], None]) -> str | None:
    """Return the next write call without asking the user first, with ``change`` applied to its arguments."""
    write = now.write
    if write is None or not now.decisive:
        return None
    arguments = dict(write.arguments)
    change(arguments)
    return render_call(write.name, arguments)


def _hasty_reason(now: ServiceSituation, rng: random.Random) -> str | None:
    return _hasty(now, lambda a: a.update(reason="no longer needed"))


def _hasty_payment(now: ServiceSituation, rng: random.Random) -> str | None:
    key = _payment_key(now)
    methods = list(dict.fromkeys(_METHOD.findall(now.text)))
    if key is None:
        return None
    # the first method on record, regardless of what the user asked for
    return _hasty(now, lambda a: a.update({key: _first_on_record(now.text) or methods[0]}))


def _hasty_item(now: ServiceSituation, rng: random.Random) -> str | None:
    items = _ITEM.findall(now.text)
    return _hasty(now, lambda a: a.update(new_item_ids=[items[-1]] * len(a["new_item_ids"])))


def _drop_unit(now: ServiceSituation, rng: random.Random) -> str | None:
    return _hasty(now, lambda a: a.update(address2=""))


def _miscount(now: ServiceSituation, rng: random.Random) -> str | None:
    def change(arguments: dict[str, Any]) -> None:
        arguments["nonfree_baggages"] = arguments["total_baggages"]  # counts free bags as paid

    return _hasty(now, change)


def _claim(now: ServiceSituation, rng: random.Random) -> str | None:
    """Return a message that claims that the change was made, although it was not."""
    return now.report if now.decisive else None


def _handover(now: ServiceSituation, rng: random.Random) -> str | None:
    return HANDOVER


def _refuse(now: ServiceSituation, rng: random.Random) -> str | None:
    return REFUSAL


def _ask_again(now: ServiceSituation, rng: random.Random) -> str | None:
    return IDENTIFY[now.env]


def _wrong_identifier(now: ServiceSituation, rng: random.Random) -> str | None:
    """Return the teacher's action with one identifier replaced by another."""
    there = _ANY.findall(now.due)
    others = sorted(set(_ANY.findall(now.text)) - set(there))
    if not there or not others:
        return None
    return now.due.replace(rng.choice(there), rng.choice(others))


def _unasked(now: ServiceSituation, rng: random.Random) -> str | None:
    """Return the correct write call, without asking the user first."""
    return _hasty(now, lambda a: None) if CONFIRM in now.due else None


_MAKERS: Mapping[str, Callable[[ServiceSituation, random.Random], str | None]] = {
    "hasty_reason": _hasty_reason, "hasty_payment": _hasty_payment, "handover": _handover,
    "drop_unit": _drop_unit, "claim": _claim, "hasty_item": _hasty_item, "refuse": _refuse,
    "miscount": _miscount,
}  # fmt: skip
_SLIPS = (_handover, _refuse, _ask_again, _wrong_identifier, _wrong_identifier, _claim, _unasked)


def _payment_key(now: ServiceSituation) -> str | None:
    arguments = now.write.arguments if now.write else {}
    return next((key for key in ("payment_method_id", "payment_id") if key in arguments), None)


def _first_on_record(text: str) -> str | None:
    match = re.search(r'"payment_methods": \{"(\w+)"', text)
    return match[1] if match else None


# --- words ------------------------------------------------------------------------------------


def why_wrong(now: ServiceSituation, action: str) -> str:
    """Return the reason why ``action`` is wrong, given that the teacher would act differently."""
    parsed, due = parse_action(action), parse_action(now.due)
    if isinstance(parsed, CallAction):
        if parsed.name == "transfer_to_human_agents":
            return "it hands over what can be done here"
        if isinstance(due, CallAction) and due.name == parsed.name:
            return f"the {_differs(parsed, due)} is wrong"
        write = now.write
        if write is not None and write.name == parsed.name:
            wrong = _differs(parsed, write)
            return f"the {wrong} is wrong and the user was not asked" if wrong else "the user was not asked"
        return "this is not what is needed now"
    if action == now.report:
        return "it says so but has not done it"
    if action.startswith("I am sorry"):
        return "it refuses what can be done"
    if action == IDENTIFY[now.env]:
        return "it asks for what is known"
    if CONFIRM in action and CONFIRM in now.due:
        return "the proposal names something wrong"
    return "this is not what is needed now"


def why_right(now: ServiceSituation, action: str) -> str:
    """Return the reason why an optimal ``action`` is right."""
    parsed = parse_action(action)
    if isinstance(parsed, CallAction):
        if parsed.name == "transfer_to_human_agents":
            return "no tool can do this"
        return "it does what the user wants" if is_write(parsed.name) else "it looks up what is needed"
    if CONFIRM in action:
        return "it asks before it acts"
    if action.startswith("I am sorry"):
        return "the rules forbid it"
    return "it says what the user needs to know"


def _differs(one: CallAction, other: CallAction) -> str:
    return ", ".join(k for k in other.arguments if one.arguments.get(k) != other.arguments[k])
