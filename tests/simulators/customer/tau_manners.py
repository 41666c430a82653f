"""A terse and a thorough agent of the same skill: they know the gold actions and differ only in their words.

The thorough one lists the order's contents and what stays, names the present state, numbers its points and
mentions emails and refund times; the terse one writes a line.
"""

import dataclasses
from collections.abc import Mapping
from typing import Literal, TypeAlias

from nlac_bench.envs.tau.actions import render_call, render_message
from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.env import TauEnv
from nlac_bench.simulators.customer.intent.goals import Goal
from tests.simulators.customer.tau_situations import Situation, facts, record_of

Manner: TypeAlias = Literal["terse", "thorough"]


class Over(Exception):
    """The episode has ended."""


class MannerAgent:
    """Serves one embedded task in a manner; ``play`` returns the reward, ``parts`` are those of it."""

    def __init__(self, env: TauEnv, manner: Manner) -> None:
        self.env, self.manner, self.reward, self.over = env, manner, 0.0, False
        self.parts: Mapping[str, float] = {}

    def play(self, task_id: str, seed: int = 0) -> float:
        """Serve the user of ``task_id`` until the conversation ends."""
        self.env.reset(seed=seed, options={"task_id": task_id})
        task = self.env.tasks[task_id]
        assert task.intent is not None
        script = task.intent["script"]
        gold = list(task.actions)
        outputs = list(task.outputs)
        try:
            self._say(self._identity(script.person.user_id is not None))
            for goal in script.goals:
                at = Situation(self.env.domain, task, script, goal, record_of(self.env.domain, task, goal))
                self._serve(at, goal, gold, outputs)
            for _ in range(4):
                self._say("Is there anything else I can help you with?")
        except Over:
            pass
        return self.reward

    def _serve(self, at: Situation, goal: Goal, gold: list[GoldCall], outputs: list[str]) -> None:
        if goal.forbidden and gold and gold[0].name == "transfer_to_human_agents" and not goal.fallback:
            self._do(gold.pop(0))
            return
        if goal.forbidden:
            self._say(self._refusal())
            if goal.fallback:
                self._serve(dataclasses.replace(at, goal=goal.fallback), goal.fallback, gold, outputs)
            return
        if goal.kind == "ask":
            self._say(self._answer(outputs.pop(0)))
            return
        if goal.change:
            self._say(propose(self.manner, at, dataclasses.replace(goal, change=None)))
            goal = goal.change
            at = dataclasses.replace(at, goal=goal)
        for _ in range(2):
            if self._say(propose(self.manner, at, goal)).startswith("Yes"):
                self._do(gold.pop(0))
                self._say(self._report(goal, facts(at, goal)))
                return
        gold.pop(0)

    def _say(self, text: str) -> str:
        return self._step(render_message(text))

    def _do(self, call: GoldCall) -> None:
        self._step(render_call(call.name, dict(call.kwargs)))

    def _step(self, action: str) -> str:
        if self.over:
            raise Over
        observation, self.reward, self.over, _, info = self.env.step(action)
        if self.over:
            self.parts = info["reward_parts"]
            raise Over
        return str(observation)

    # --- words ----------------------------------------------------------------------------------

    def _identity(self, airline: bool) -> str:
        if self.manner == "terse":
            return "User id?" if airline else "Email, or name and zip?"
        what = (
            "1. Your **user ID**"
            if airline
            else "1. Your **email address**, or\n2. Your **first and last name** and **zip code**"
        )
        return (
            "Thank you for reaching out! I'd be happy to help you with that today. To protect your "
            "account, could "
            f"you please share the following first?\n\n{what}\n\nOnce I have found your profile, we "
            "can go on."
        )

    def _refusal(self) -> str:
        if self.manner == "terse":
            return "Sorry, I can't do that."
        return (
            "Thank you for your patience. I have looked into this carefully, and I completely understand how "
            "frustrating it is. Unfortunately, our policy does not allow this, so I'm not able to do "
            "it for you."
        )

    def _answer(self, output: str) -> str:
        if self.manner == "terse":
            return f"{output if len(output) > 8 or '.' not in output else '$' + output}."
        amount = f"${output}" if "." in output else output
        return (
            f"Thank you for waiting! I've checked this for you: the answer is **{amount}** in total. "
            "Is there anything else?"
        )

    def _report(self, goal: Goal, known: Mapping[str, str]) -> str:
        if self.manner == "terse":
            return "Done."
        what = known.get("order") or known.get("reservation") or "your request"
        return (
            f"Great news! I've successfully processed everything for {what}, and you will receive an "
            "email with "
            "all the details shortly. Is there anything else I can help you with today?"
        )


def propose(manner: Manner, at: Situation, goal: Goal) -> str:
    """What an agent of ``manner`` writes to have ``goal`` confirmed."""
    known = facts(at, goal)
    if manner == "terse":
        return _TERSE[goal.kind if at.domain.name == "retail" or goal.kind != "cancel" else "trip"].format(
            **known
        )
    before = ""
    if "contents_numbers" in known:
        before = (
            f"Here is what's in your order {known['order']} "
            f"({known['status']}):\n{known['contents_numbers']}\n\n"
        )
    elif "reservation" in known:
        before = (
            f"I've pulled up your reservation {known['reservation']}: {known['route']}, "
            f"{known['old_flights']}, "
            f"currently in {known['old_cabin']}.\n\n"
        )
    if "kept" in known:
        before += f"The {known['kept']} isn't part of this and stays with you. "
    text = _THOROUGH[goal.kind if at.domain.name == "retail" or goal.kind != "cancel" else "trip"].format(
        **known
    )
    return (
        f"Thank you, {known['first']}! {before}This is what I would do for you:\n\n{text}\n\nYou'll "
        "get an email with "
        "the details, and any refund takes 5 to 7 business days. Would you like me to proceed? (yes/no)"
    )


_TERSE = {
    "cancel": "Cancel {order}, {reason}, ok?",
    "trip": "Cancel {reservation}, ok?",
    "return": "Return {item_names} from {order}, refund to {payment}, ok?",
    "exchange": "Exchange {swaps} in {order}, {payment}, ok?",
    "modify_items": "Change {swaps} in {order}, {payment}, ok?",
    "order_address": "Ship {order} to {new_address}, ok?",
    "user_address": "New default address {new_address}, ok?",
    "order_payment": "Pay {order} with {payment}, ok?",
    "book": (
        "Book {new_flights}, {route}, {cabin}, {passengers}, {total_bags} bags in total, "
        "{insurance_words}, {payment}, ok?"
    ),
    "change_flights": "Change {reservation} to {new_flights}, {payment}, ok?",
    "change_cabin": "Change {reservation} to {cabin}, {payment}, ok?",
    "add_bags": "{total_bags} bags in total on {reservation}, {payment}, ok?",
    "change_passengers": "Passengers of {reservation} to {passengers}, ok?",
    "compensation": "Certificate of {amount} as compensation, ok?",
}
_THOROUGH = {
    "cancel": (
        "1. **Action:** cancel the whole order {order}\n2. **Reason:** {reason}\n3. **Refund:** "
        "{total}, to the original payment method"
    ),
    "trip": (
        "1. **Action:** cancel reservation {reservation}\n2. **Refund:** {total}, to the original "
        "payment method"
    ),
    "return": "1. **Items to return:** {items}\n2. **Order:** {order}\n3. **Refund to:** {payment}",
    "exchange": (
        "1. **Exchange:** {swaps}\n2. **Order:** {order}\n3. **Price difference:** {difference}, "
        "with {payment}"
    ),
    "modify_items": (
        "1. **Change:** {swaps}\n2. **Order:** {order}\n3. **Price difference:** {difference}, with {payment}"
    ),
    "order_address": (
        "1. **Order:** {order}\n2. **Current address:** {old_address}\n3. **New address:** "
        "{new_address}\n4. The items and the payment stay the same"
    ),
    "user_address": (
        "1. **Current default address:** {old_address}\n2. **New default address:** "
        "{new_address}\n3. Your existing orders are not affected"
    ),
    "order_payment": (
        "1. **Order:** {order}\n2. **Present payment method:** {old_payment}\n3. **New payment "
        "method:** {payment}"
    ),
    "book": (
        "1. **Flight:** {new_flights}\n2. **Route:** {route}\n3. **Cabin:** {cabin}\n4. "
        "**Passengers:** {passengers}\n5. **Checked bags:** {total_bags}\n6. **Travel insurance:** "
        "{insurance}\n7. **Payment:** {payment}"
    ),
    "change_flights": (
        "1. **Current flights:** {old_flights}\n2. **New flights:** {new_flights}\n3. **Price "
        "difference:** with {payment}\n4. The cabin and the passengers stay the same"
    ),
    "change_cabin": (
        "1. **Current cabin:** {old_cabin}\n2. **New cabin:** {cabin}\n3. **Price difference:** with "
        "{payment}\n4. The flights stay the same"
    ),
    "add_bags": (
        "1. **New total:** {total_bags} checked bags, of which {free_bags} are free and {paid_bags} "
        "are paid\n2. **Payment:** {payment}"
    ),
    "change_passengers": (
        "1. **Current passengers:** {old_passengers}\n2. **New passengers:** {passengers}\n3. The "
        "flights and the cabin stay the same"
    ),
    "compensation": "1. **Travel certificate:** {amount}, as compensation for the cancelled flight",
}
