"""Of the numbers in a proposal of checked bags, the user compares the new total alone."""

import dataclasses
import json
from pathlib import Path

import pytest

from nlac_bench.simulators.counting import NUMBERS
from tests.simulators.customer.tau_turns import BAGS, SCRIPTS
from tests.simulators.customer.test_tau_scripted import meaning, run, user_of

TEXTS = [json.loads(line) for line in Path(__file__).with_name("tau_bags.jsonl").read_text().splitlines()]
"""Proposals with the present number, what is free, what is paid for and the new total."""


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    ("goal", "free", "present"), [(4, 3, 2), (3, 2, 1), (3, 4, 1), (5, 3, 2), (2, 1, 1), (2, 3, 1)]
)
def test_only_the_total_is_compared(text: str, goal: int, free: int, present: int) -> None:
    script = dataclasses.replace(SCRIPTS["bags"], goals=(dataclasses.replace(BAGS, bags=goal),))
    for total in (goal - 1, goal, goal + 1):
        unpaid = max(0, total - free)
        if (total <= present and total != goal) or ("{unpaid" in text and not unpaid):
            continue
        said = text.format(
            present=present, free=free, free_word=NUMBERS[free], each=free // 2 or 1, total=total,
            added=total - present, unpaid=unpaid, unpaid_word=NUMBERS[unpaid], cost=50 * unpaid,
        )  # fmt: skip
        reply = run(user_of(script, goal)[0].reply(said))
        assert (meaning(reply) == "yes") == (total == goal), (said, reply)
