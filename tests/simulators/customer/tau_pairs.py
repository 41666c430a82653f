"""Messages made of two known ones: pairs of questions, and reports of what was never agreed.

``python -m tests.simulators.customer.tau_pairs [--stride N] [--show N]`` prints the table of all users.
"""

import argparse
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nlac_bench.simulators.customer import STOP
from tests.simulators.customer.tau_matrix import Matrix, fill, fits, load, meaning, run, start
from tests.simulators.customer.tau_proposals import wrong_goals
from tests.simulators.customer.tau_situations import Situation, facts, situations

WHO = {
    "retail": (
        "Could you confirm your email, or your name and zip code?",
        "What's the email address on your account?",
        "To get started, I need to verify your identity: please share your email, or your full name and zip.",
        "May I have your email address so that I can find your account?",
    ),
    "airline": (
        "Could you confirm your user ID?",
        "What's the user ID on your account?",
        "To get started, I need to verify your identity: please share your user ID.",
        "May I have your user ID so that I can find your profile?",
    ),
}
SLOTS = {
    "record": ("And which order is this about?", "Also, what's the order number?"),
    "reservation": ("And which reservation is it?", "Also, could you tell me the confirmation code?"),
    "items": ("And which items would you like to return?", "Which items should be sent back?"),
    "options": (
        "And what would you like instead?",
        "Which item is it, and what should it be exchanged for?",
    ),
    "reason": ("And why would you like to cancel?", "Could you also tell me the reason?"),
    "payment": ("How would you like to pay?", "And which payment method should I use?"),
    "address": ("And what is the new address?", "Where should it go instead?"),
    "cabin": ("And which cabin would you like?", "Which class should it be?"),
    "bags": ("And how many bags do you want in total?", "How many checked bags will there be altogether?"),
    "passengers": ("And who is travelling?", "Could you give me each passenger's name and date of birth?"),
    "flights": ("And which flights would you like?",),
    "insurance": ("And would you like travel insurance?",),
    "route": ("Where are you flying from and to?",),
}
"""Questions for one slot of a request."""


def slots_of(at: Situation) -> list[str]:
    """The slots of the user's goal that an agent may ask for."""
    goal = at.goal
    held = {
        "record": goal.record and at.domain.name == "retail",
        "reservation": goal.record and at.domain.name == "airline",
        "items": goal.kind == "return",
        "options": goal.kind == "exchange",
        "reason": goal.kind == "cancel" and goal.reason,
        "payment": goal.payment,
        "address": goal.address,
        "cabin": goal.cabin,
        "bags": goal.bags is not None,
        "passengers": goal.kind == "book",
        "flights": goal.legs,
        "insurance": goal.insurance,
        "route": goal.origin,
    }
    return [slot for slot in SLOTS if held[slot]]


def values_in(reply: str, at: Situation) -> set[str]:
    """The values of the user's identity and goal that a reply holds."""
    goal, person = at.goal, at.script.person
    payment = [goal.payment.words.removeprefix("my "), goal.payment.id] if goal.payment else []
    found = [person.email, person.zip, person.user_id, goal.record, goal.hint, *payment]
    found += [thing.product for thing in goal.items]
    found += [value for thing in goal.items for value in (thing.wanted or {}).values()]
    found += [leg.number for leg in goal.legs] + [other.dob for other in goal.passengers]
    found += [goal.address["address1"] if goal.address else None, goal.origin, goal.destination]
    found += [(goal.cabin or "").replace("_", " ").capitalize(), "mistake", "no longer need"]
    found.append((goal.reason or "").removeprefix("my "))
    found += [f"{goal.bags} checked", "No checked", "No insurance", "with insurance"]
    return {value for value in found if value and value.lower() in reply.lower()}


def questions(at: Situation, number: int, label: str, into: Matrix) -> None:
    """Ask for two things at once what the user tells when it is asked for each alone."""
    rng = random.Random(number)
    who = rng.choice(WHO[at.domain.name])
    single: list[tuple[str | None, str]] = [(None, who)]
    single += [(slot, rng.choice(SLOTS[slot])) for slot in slots_of(at)]
    fresh = start(at.alone(), number)
    for first, one in single:
        for second, two in single:
            if first == second or (first is None and rng.random() < 0.3):
                continue
            alone = [values_in(run(fresh.copy().reply(text)), at) for text in (one, two)]
            said = f"{one} {two}"
            reply = run(fresh.copy().reply(said))
            good = (alone[0] | alone[1]) <= values_in(reply, at) and all(alone)
            into.note(f"{label} two questions: one not answered", good, {"text": said}, said, reply)


def reports(
    at: Situation, number: int, label: str, into: Matrix, phrases: Sequence[Mapping[str, Any]]
) -> None:
    """Report what the user wants, and the same with one slot wrong, without having asked for a yes.

    Phrases that are "agreed" only tell what will be, or that it is done, which is a report after a yes only.
    """
    values, rng = facts(at, at.goal), random.Random(number)
    wrongs = [
        (slot, facts(at, goal))
        for slot, goal in wrong_goals(at.goal, at.script, rng)
        if len(goal.items) >= len(at.goal.items)  # a report may name some of the items only
    ]
    for place, phrase in enumerate(phrases):
        said = fill(phrase["text"], values) if fits(phrase, at) else None
        if said is None or phrase.get("agreed") or (number + place) % 3:
            continue
        fresh = start(at.alone(), 7 * number + place)
        user = fresh.copy()
        replies = [run(user.reply(said))]
        while STOP not in replies[-1] and len(replies) < 7:
            replies.append(run(user.reply(said)))
        accepted = any(meaning(reply) in ("next", "stop") for reply in replies[:2])
        into.note(
            f"{label} report without a yes: not accepted", accepted, phrase, said, " / ".join(replies[:2])
        )
        loop = max(replies.count(reply) for reply in replies)
        into.note(f"{label} same text three times", loop < 3, phrase, said, " / ".join(replies))
        for slot, other in wrongs:
            wrong = fill(phrase["text"], other)
            if wrong and wrong != said:
                reply = run(fresh.copy().reply(wrong))
                good = meaning(reply) not in ("next", "stop", "yes")
                into.note(f"{label} wrong report accepted", good, phrase, f"[{slot}] {wrong}", reply)


def measure(users: Iterable[Situation], label: str, into: Matrix) -> None:
    """Send all pairs and reports to the users."""
    from tests.simulators.customer.test_tau_matrix import FILES

    phrases = [p for path in FILES for p in load(path) if p["category"] == "report"]
    for number, at in enumerate(users):
        if at.goal.kind != "ask":
            questions(at, number, label, into)
            reports(at, number, label, into, phrases)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--stride", type=int, default=60)
    parser.add_argument("--show", type=int, default=0)
    options = parser.parse_args()
    matrix = Matrix()
    sets = [("retail", "embedded"), ("airline", "embedded")]
    if os.environ.get("NLAC_BENCH_DATA"):
        sets.append(("retail", "official"))
    for name, data in sets:
        stride = options.stride if data == "embedded" else max(1, options.stride // 4)
        measure(situations(name, data, stride), name if data == "embedded" else "official", matrix)
    print(matrix.table())
    worst = sorted(matrix.phrases.items(), key=lambda pair: -pair[1]["faults"])
    for text, count in worst[: options.show]:
        if count["faults"]:
            print(f"\n{count['faults']} of {count['tried']}  {text}")
            for (r, phrase), shown in matrix.examples.items():
                if f"{r}: {phrase[:90]!r}" == text:
                    print("      " + "\n      ".join(shown))


if __name__ == "__main__":
    main()
