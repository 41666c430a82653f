"""Of the numbers in a proposal of checked bags, the user compares the new total alone."""

import dataclasses

import pytest

from nlac_bench.envs.counting import NUMBERS
from tests.envs.tau_turns import BAGS, SCRIPTS
from tests.envs.test_tau_scripted import meaning, run, user_of

TEXTS = (
    "You have {present} bags now, {free_word} are free with your membership, with {total} {unpaid_word} is paid: $50; shall I update to {total}?",
    "You have {present} bags now, {free_word} are free with your membership; shall I update to {total}?",
    "Right now the booking has {present} checked bag(s). {free} are free for you, so {total} bags in total would cost ${cost}. Shall I go ahead?",
    "You currently have {present} bags. Your membership covers {free} bags for free. I'd update the reservation to {total} bags. Confirm?",
    "Each passenger has {free} free bags. You have {present}, and you'd go up to {total}. OK?",
    "{free} of the bags are free and {unpaid} will be charged. New total {total}. Shall I proceed?",
    "I'll raise your bags from {present} to {total}. {free} bags are free; you pay for {unpaid}. Yes?",
    "Gold members get {free} free bags. Currently: {present}. Requested: {total}. Would you like me to update it?",
    "Free allowance: {free} bags. Current bags: {present}. New total: {total} bags. Extra charge ${cost}. Confirm (yes/no)?",
    "With {total} bags you'd pay for {unpaid} ($50 each), since {free} are included. You have {present} today. Proceed?",
    "As your fare includes {free} free checked bags, going from {present} to {total} bags costs ${cost}. Shall I?",
    "- Current: {present} bags\n- Free: {free} bags\n- New: {total} bags\n\nDo you confirm?",
    "You now have {present}; {free} would be free; the update makes it {total}. Good to go?",
    "So that's {total} checked bags in total ({free} free, {unpaid} paid). You have {present} at the moment. Is that right?",
    "Your {present} existing bags stay. I would add {added} more for a total of {total}, {free} of which are free. Shall I?",
    "Including your allowance of {free} free bags, I'd set the number of checked bags to {total} (it is {present} now). All right?",
    "Two passengers at {each} free bags each makes {free} free. I'd change your {present} bag(s) to {total}. OK?",
    "You may check {free} bags for free. I can bring your {present} to {total}; may I?",
)
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
