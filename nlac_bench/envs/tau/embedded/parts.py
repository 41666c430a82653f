"""Builds tasks from parts: a part is a goal of the user with the calls and outputs that it requires."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from nlac_bench.envs.tau.domain import GoldCall, Task
from nlac_bench.envs.tau.embedded.draws import Draws
from nlac_bench.envs.tau.rows import PaymentMethod
from nlac_bench.simulators.customer import goals
from nlac_bench.simulators.customer import phrases as say

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskPart:
    """A goal, the calls that fulfil it, and the outputs that the user must be told."""

    goal: goals.Goal
    calls: tuple[GoldCall, ...] = ()
    outputs: tuple[str, ...] = ()


class RecordReference(TypedDict, total=False):
    """How a user refers to an order or a reservation: by its id, or by a description."""

    record: str
    hint: str


def call(name: str, **kwargs: object) -> GoldCall:
    """Return a gold call."""
    return GoldCall(name, kwargs)


def payment(draws: Draws, level: str, method: PaymentMethod, original: bool = False) -> goals.Payment:
    """Return a payment method as a user on ``level`` names it: by id on easy, else in words."""
    source, last_four = method["source"], method.get("last_four")
    words = {
        "paypal": "my PayPal account",
        "gift_card": "my gift card",
        "certificate": "my travel certificate",
        "credit_card": f"my {str(method.get('brand', '')).capitalize()} card ending in {last_four}",
    }[source]
    if level == "easy" or draws.chance(0.3):
        words = method["id"]
    return goals.Payment(method["id"], source, words, last_four, original)


def make_task(
    draws: Draws,
    place: tuple[str, str, str],
    *,
    index: int,
    number: int,
    user_id: str,
    script: goals.Script,
    parts: Sequence[TaskPart],
) -> Task:
    """Make task ``index`` of its split and ``number`` of its level; ``place`` is (domain, split, level)."""
    domain, split, level = place
    return Task(
        task_id=f"{domain}/{split}/{level}/{number:03d}",
        index=index,
        user_id=user_id,
        instruction=instruction(script, draws.pick),
        actions=tuple(gold for part in parts for gold in part.calls),
        outputs=tuple(output for part in parts for output in part.outputs),
        level=level,
        intent={"kinds": [goal.kind for goal in script.goals], "script": script},
    )


def instruction(script: goals.Script, pick: say.Pick) -> str:
    """Return the task as text, addressed to the person or model that plays the user."""
    person = script.person
    name = f"{person.first_name} {person.last_name}"
    if person.user_id:
        known = f"your user id is {person.user_id}"
    elif person.email:
        known = f"your email is {person.email}"
    else:
        known = f"your zip code is {person.zip}; you do not have your email at hand"
    lines = [pick((f"You are {name}, and {known}.", f"Your name is {name} and {known}."))]
    starts: tuple[str, ...] = ("You want to", "You contact support to", "You would like to")
    for goal in script.goals:
        lines.append(f"{pick(starts)} {say.second_person(_wish(goal, pick))}.")
        starts = ("Then you want to", "After that you would like to", "Next, you want to")
    lines.append(
        {
            "all": pick(("You say all of that at once.", "You come straight to the point.")),
            "request": "You give details when you are asked.",
            "bare": "You are brief and say no more than you are asked.",
        }[script.opening]
    )
    return " ".join(lines)


def _wish(goal: goals.Goal, pick: say.Pick) -> str:
    text = say.request(goal, pick, full=True)
    if goal.change:
        change = say.request(goal.change, pick, full=True)
        text += f"; but when the agent asks you to confirm, you change your mind and want to {change}"
    if goal.fallback:
        text += f"; if that is refused, you want to {say.request(goal.fallback, pick, full=True)}"
    elif goal.forbidden:
        text += "; if that is refused, you accept it"
    return text


def weighted(draws: Draws, table: Sequence[tuple[T, int]]) -> T:
    """Draw one of the builders with a probability proportional to its weight."""
    at = draws.below(sum(weight for _, weight in table))
    for builder, weight in table:
        at -= weight
        if at < 0:
            return builder
    raise AssertionError("the weights must be positive")
