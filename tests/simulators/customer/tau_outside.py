"""Sends messages outside a request to every scripted user that they fit, and counts wrong kinds of replies.

``python -m tests.simulators.customer.tau_outside LIST.jsonl [--stride N] [--set NAME] [--show N]`` prints the
table. A line of a list has ``domain``, ``goal`` (kinds of goal, or "any"), ``text`` with the placeholders of
``tau_situations.facts``, and what a good reply does (``expect``): it objects ("no"), does not know or objects
("unknown"), confirms a fact ("true"), answers with one of the texts in ``contains`` ("answer"), states the
request ("open"), or agrees to a right proposal ("yes").
"""

import argparse
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nlac_bench.simulators.customer.intent.goals import Goal
from tests.simulators.customer.tau_matrix import Matrix, fill, load, meaning, run, start
from tests.simulators.customer.tau_situations import Situation, facts, situations

LISTS = sorted(Path(__file__).parent.glob("outside*.jsonl"))
ROWS = ("agreed by mistake", "off topic", "false no")
SETS = {
    "retail": ("retail", "embedded"),
    "airline": ("airline", "embedded"),
    "official": ("retail", "official"),
}
_OBJECTS = re.compile(r"(?i)\bno\b|\bnot\b|n't\b|\bnever\b|\bwait\b|\binstead of that\b|\brather\b")
_UNSURE = re.compile(
    r"(?i)\bnot sure\b|\b(?:do not|don't|can't|cannot) (?:know|say|tell)\b|\bno idea\b|system say"
)
_REASONS = {"no longer needed": "no longer need", "ordered by mistake": "by mistake"}


def judge(expect: str, reply: str, goal: Goal, wanted: Iterable[str]) -> tuple[str, bool]:
    """The row of a message, and whether the reply is good."""
    heard, text = meaning(reply), reply.lower()
    if expect in ("no", "unknown"):
        if heard in ("yes", "next") or re.search(r"(?i)(?:^|[.!] )yes\b", reply):
            return "agreed by mistake", False
        if expect == "no" or heard == "no":
            return "off topic", bool(_OBJECTS.search(text) or _UNSURE.search(text))
        return "off topic", bool(_UNSURE.search(text) or _OBJECTS.search(text))
    if expect == "true":
        return "false no", heard == "yes"
    if expect == "yes":
        return "false no", heard == "yes"
    if expect == "open":
        return "off topic", heard == "says" and _states(text, goal)
    return "off topic", any(_holds(text, value) for value in wanted)


def _holds(text: str, value: str) -> bool:
    """Whether a reply states a value, or all parts of a list of values."""
    if value == "0":
        return bool(re.search(r"\bno\b|\b0\b|\bnone\b", text))
    parts = re.split(r", | and ", _REASONS.get(value, value).lower())
    return all(part in text for part in parts)


def _states(text: str, goal: Goal) -> bool:
    """Whether a reply states the request, at least its subject."""
    words = {
        "cancel": "cancel|call off", "return": "return|send", "exchange": "exchange|swap",
        "modify_items": "change|switch", "order_address": "address|sent|another", "order_payment": "pay",
        "user_address": "address|moved", "ask": "know|find out|question", "book": "book|flight",
        "change_flights": "flight|rebook", "change_cabin": "cabin", "add_bags": "bag",
        "change_passengers": "passenger|flying", "compensation": "compensat|complain|not happy",
    }  # fmt: skip
    return bool(re.search(words[goal.kind], text))


def measure_outside(
    phrases: Iterable[Mapping[str, Any]], users: Iterable[Situation], label: str, into: Matrix, every: int = 1
) -> None:
    """Send the phrases to the users; with ``every`` above 1 each phrase to every so-many-th user only."""
    phrases = list(phrases)
    for number, at in enumerate(users):
        values, alone = facts(at, at.goal), at.alone()
        for place, phrase in enumerate(phrases):
            kinds = phrase["goal"]
            if (number + place) % every or phrase["domain"] != at.domain.name:
                continue
            if not (kinds == "any" or at.goal.kind in kinds):
                continue
            said = fill(phrase["text"], values)
            if said is None:
                continue
            user = start(alone, 7 * number + place)
            wanted = [text for part in phrase.get("contains", ()) if (text := fill(part, values))]
            if phrase["expect"] == "answer" and not wanted:
                continue
            reply = run(user.reply(said))
            row, good = judge(phrase["expect"], reply, at.goal, wanted)
            if phrase["expect"] in ("no", "unknown"):
                into.note(f"{label} agreed by mistake", row != "agreed by mistake", phrase, said, reply)
            if row != "agreed by mistake":
                into.note(f"{label} {row}", good, phrase, said, reply)


def main() -> None:
    """Print the table of a list."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("phrases", type=Path, nargs="*", default=LISTS)
    parser.add_argument("--stride", type=int, default=10, help="use every N-th task")
    parser.add_argument(
        "--show", type=int, default=0, help="print examples of the N phrases with most faults"
    )
    parser.add_argument("--set", default="", choices=("", *SETS), help="measure these users only")
    options = parser.parse_args()
    matrix = Matrix()
    for label, (name, data) in SETS.items():
        if options.set not in ("", label):
            continue
        if data == "official" and not os.environ.get("NLAC_BENCH_DATA"):
            print("the official users are left out: NLAC_BENCH_DATA is not set")
        else:
            for path in options.phrases:
                measure_outside(load(path), situations(name, data, options.stride), label, matrix)
    print(matrix.table())
    worst = sorted(matrix.phrases.items(), key=lambda pair: -pair[1]["faults"])
    for text, count in worst[: options.show]:
        if count["faults"]:
            print(f"\n{count['faults']} of {count['tried']}  {text}")
            for (row, phrase), shown in matrix.examples.items():
                if f"{row}: {phrase[:90]!r}" == text:
                    print("      " + "\n      ".join(shown))


if __name__ == "__main__":
    main()
