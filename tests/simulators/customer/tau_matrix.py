"""Sends every phrase of a file to every scripted user that it fits, and counts what the users misunderstand.

``python -m tests.simulators.customer.tau_matrix PHRASES.jsonl [--stride N] [--official] [--show N]`` prints
the table. The 500 official training users take part where ``NLAC_BENCH_DATA`` is set.
"""

import argparse
import json
import os
import random
import re
import string
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.users.scripted import ScriptedUser
from nlac_bench.simulators.customer import STOP
from nlac_bench.simulators.customer.intent.goals import Goal, Script
from tests.simulators.customer.tau_proposals import proposal, wrong_goals
from tests.simulators.customer.tau_situations import Situation, facts, situations

T = TypeVar("T")
PHRASES = Path(__file__).with_name("tau_phrases.jsonl")
WIDE = {"items", "options"}
"""Slots of which a wrong value shows only in phrases with the items themselves, not with their prices."""
HEARD = {
    "yes": {"yes"}, "not_no": {"yes", "says"}, "decline": {"no", "says"}, "stays": {"yes", "no", "says"},
    "refused": {"no", "says", "next"},
}  # fmt: skip
"""What a reply to an offer may amount to; "decline": of something unwanted, "refused": to a refusal."""
_NO = re.compile(r"(?i)(no|nope|wait|hold on|hmm|not quite|that is not|that's not)\b")
_YES = re.compile(
    r"(?i)(yes|yeah|yep|sure, go|correct|exactly|please do|go ahead|that's right|that is right)\b"
)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the scripted user waited for something")


def meaning(reply: str) -> str:
    """What a reply amounts to: yes, no, stop, next (the following request) or says."""
    if STOP in reply:
        return "stop"
    if "Lisbon" in reply:
        return "next"
    if _YES.match(reply):
        return "yes"
    return "no" if _NO.match(reply) else "says"


def load(path: Path) -> list[dict[str, Any]]:
    """The phrases of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def start(script: Script, seed: int) -> ScriptedUser:
    """A user who has sent its first message."""
    user = ScriptedUser()
    task = Task("matrix", 0, "u", "", (), (), intent={"script": script})
    run(user.begin(task, np.random.default_rng(seed)))
    return user


class Matrix:
    """The counts of all phrases tried: ``counts[row][outcome]`` and examples of each fault."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.phrases: dict[str, Counter[str]] = defaultdict(Counter)
        self.examples: dict[tuple[str, str], list[str]] = defaultdict(list)

    def note(self, row: str, good: bool, phrase: Mapping[str, Any], said: str, reply: str) -> None:
        """Count one message and keep an example if the reply was a fault."""
        self.counts[row]["tried"] += 1
        self.phrases[f"{row}: {phrase['text'][:90]!r}"]["tried"] += 1
        if not good:
            self.counts[row]["faults"] += 1
            self.phrases[f"{row}: {phrase['text'][:90]!r}"]["faults"] += 1
            shown = self.examples[row, str(phrase["text"])]
            if len(shown) < 2:
                shown.append(f"AGENT {said}\n      USER  {reply}")

    def rate(self, row: str) -> float:
        """The share of a row's messages that were misunderstood."""
        return self.counts[row]["faults"] / max(1, self.counts[row]["tried"])

    def table(self) -> str:
        """The counts as text."""
        rows = [f"{'row':44s} {'tried':>8s} {'faults':>7s} {'share':>8s}"]
        for row in sorted(self.counts):
            count = self.counts[row]
            rows.append(f"{row:44s} {count['tried']:8d} {count['faults']:7d} {100 * self.rate(row):7.2f}%")
        return "\n".join(rows)


def fits(phrase: Mapping[str, Any], at: Situation) -> bool:
    """Whether a phrase is meant for the user's kind of goal and domain."""
    if phrase.get("domain", at.domain.name) != at.domain.name:
        return False
    return phrase["goal"] == "any" or at.goal.kind in phrase["goal"]


def fill(text: str, values: Mapping[str, str]) -> str | None:
    """The phrase with its placeholders filled; None if the situation lacks one."""
    names = {name for _, name, _, _ in string.Formatter().parse(text) if name}
    return text.format(**values) if names <= values.keys() else None


def measure(
    phrases: Iterable[Mapping[str, Any]], users: Iterable[Situation], label: str, into: Matrix, every: int = 1
) -> None:
    """Send the phrases to the users and count the faults under ``label``.

    With ``every`` above 1 each phrase is sent to every so-many-th user only, its neighbours to other ones.
    """
    phrases = list(phrases)
    for number, at in enumerate(users):
        values, alone = facts(at, at.goal), at.alone()
        rng = random.Random(number)
        wrongs = None
        for place, phrase in enumerate(phrases):
            if (number + place) % every or not fits(phrase, at):
                continue
            category = phrase["category"]
            if (
                category in ("proposal", "confirmation", "report")
                and at.goal.kind == "ask"
                and (category != "report" or "{answer}" not in phrase["text"])
            ):
                continue
            said = fill(phrase["text"], values)
            if said is None or (phrase.get("expect") == "wanted_value" and "wanted_value" not in values):
                continue
            user = start(alone, 7 * number + place)
            if category == "proposal":
                if wrongs is None:
                    wrongs = [(s, g, facts(at, g)) for s, g in wrong_goals(at.goal, at.script, rng)]
                _proposal(phrase, said, user, wrongs, label, into)
            else:
                _other(phrase, said, user, at, values, rng, label, into)


def _proposal(
    phrase: Mapping[str, Any], said: str, user: ScriptedUser, wrongs: list[tuple[str, Goal, dict[str, str]]],
    label: str, into: Matrix,
) -> None:  # fmt: skip
    fresh = user.copy()
    reply = run(user.reply(said))
    into.note(f"{label} proposal: false no", meaning(reply) == "yes", phrase, said, reply)
    seen = {said}
    for slot, _, values in wrongs:
        wrong = fill(phrase["text"], values)
        if wrong is None or wrong in seen or re.sub(r"\$[\d.]+", "", wrong) == re.sub(r"\$[\d.]+", "", said):
            continue
        if slot == "items" and "item" not in phrase["text"] and "swap" not in phrase["text"]:
            continue  # only {kept} or prices differ
        seen.add(wrong)
        reply = run(fresh.copy().reply(wrong))
        into.note(f"{label} proposal: false yes", meaning(reply) != "yes", phrase, f"[{slot}] {wrong}", reply)


def _other(
    phrase: Mapping[str, Any], said: str, user: ScriptedUser, at: Situation, values: Mapping[str, str],
    rng: random.Random, label: str, into: Matrix,
) -> None:  # fmt: skip
    category, person = phrase["category"], at.script.person
    if category == "confirmation":
        body = proposal(at.goal, rng, ask=f" {said}")
        reply = run(user.reply(body))
        into.note(f"{label} confirmation: not recognised", meaning(reply) == "yes", phrase, body, reply)
        return
    if category == "report" and at.goal.kind != "ask":
        run(user.reply(proposal(at.goal, rng)))
    reply = run(user.reply(said))
    heard = meaning(reply)
    if category == "identity":
        given = (
            [person.user_id]
            if person.user_id
            else [person.email]
            if person.email
            else [person.last_name, person.zip]
        )
        good = all(value and value in reply for value in given) and heard == "says"
        into.note(f"{label} identity: not given", good, phrase, said, reply)
    elif category == "report":
        into.note(f"{label} report: not noticed", heard == "next", phrase, said, reply)
    elif category == "note":
        into.note(f"{label} note: goal lost", heard not in ("next", "stop"), phrase, said, reply)
        into.note(f"{label} note: false no or yes", heard == "says", phrase, said, reply)
    else:
        expect = phrase["expect"]
        if expect in HEARD:
            good = heard in HEARD[expect]
        elif expect == "insurance":
            good = bool(re.search(r"(?i)\byes\b|with insurance", reply)) == (values["insurance"] == "yes")
        else:
            good = _holds(reply, values[expect], expect, at.goal) and heard not in ("stop", "next")
        into.note(f"{label} offer: not answered", good, phrase, said, reply)


def _holds(reply: str, value: str, expect: str, goal: Goal) -> bool:
    text = reply.lower()
    if goal.payment and expect.startswith("payment"):
        named = (
            goal.payment.id,
            goal.payment.words.removeprefix("my "),
            goal.payment.source.replace("_", " "),
        )
        return any(name.lower() in text for name in named)
    if expect == "item_names":
        return all(thing.product.lower() in text for thing in goal.items)
    if expect == "new_address" and goal.address:
        return goal.address["address1"].lower() in text and goal.address["zip"] in text
    if expect == "reason":
        reason = goal.reason or ""
        keys = {"no longer needed": "no longer need", "ordered by mistake": "by mistake"}
        return keys.get(reason, reason).lower() in text
    words = [value, value.replace("_", " ")]
    if value.isdigit() and value == "0":
        words += ["no checked", "no bags", "none"]
    if value.isdigit() and int(value) < 10:
        words.append(
            ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")[int(value)]
        )
    return any(re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", text) for word in words)


def main() -> None:
    """Print the table of a file of phrases."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("phrases", type=Path, nargs="?", default=PHRASES)
    parser.add_argument("--stride", type=int, default=1, help="use every N-th task")
    parser.add_argument(
        "--show", type=int, default=0, help="print examples of the N phrases with most faults"
    )
    parser.add_argument("--only", default="", help="measure this category only")
    parser.add_argument("--set", default="", help="retail, airline or official: measure these users only")
    options = parser.parse_args()
    phrases = [p for p in load(options.phrases) if options.only in ("", p["category"])]
    sets = [("retail", "embedded"), ("airline", "embedded")]
    if os.environ.get("NLAC_BENCH_DATA"):
        sets.append(("retail", "official"))
    matrix = Matrix()
    for name, data in sets:
        label = name if data == "embedded" else "official"
        if options.set in ("", label):
            measure(phrases, situations(name, data, options.stride), label, matrix)
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
