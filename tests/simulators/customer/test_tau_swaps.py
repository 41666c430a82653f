"""What an exchange gives and what it receives: users agree to the right direction only."""

import pytest

from tests.simulators.customer.tau_matrix import meaning, run, start
from tests.simulators.customer.tau_situations import facts, situations

PHRASES = (
    "I'd exchange the {old} for the {new} in {order}, the difference goes to {payment}. Shall I?",
    "So that I get this right: swap {old} for {new} (order {order}, {payment_words}). Correct?",
    "I'll change {old} to {new} in {order} and use {payment}. OK?",
    "I would replace {old} with {new} in order {order}, settled through {payment_words}. Yes?",
    "Exchange of {old} for {new}, order {order}, {payment_id}. Confirm?",
    "You give back {old} and receive {new}: order {order}, {payment}. OK?",
    "You'd return {old} and get {new} in order {order}, {payment}. OK?",
    "You get {new} in exchange for {old} in {order}, {payment}. OK?",
    "I would take back {old} from {order} and ship {new}; {payment_words}. Yes?",
    "You will get {new} for {old} ({order}), {payment}. Agreed?",
    "Once I hear your yes, the {old} for the {new} will be exchanged in {order}, with {payment}. Agreed?",
    "In {order} you'd have {new} instead of {old}, with {payment_words}, right?",
)


@pytest.mark.lists
@pytest.mark.parametrize(
    ("data", "stride"), [("embedded", 40), pytest.param("official", 25, marks=pytest.mark.official)]
)
def test_an_exchange_in_the_wrong_direction_is_refused(data: str, stride: int) -> None:
    right = wrong = 0
    for at in situations("retail", data, stride):
        known = facts(at, at.goal)
        if at.goal.kind not in ("exchange", "modify_items") or known["old_items"] == known["new_items"]:
            continue
        old, new = known["old_items"], known["new_items"]
        for phrase in PHRASES:
            if "payment" not in known:
                continue
            user = start(at.alone(), 3)
            backwards = phrase.format(**known, old=new, new=old)
            assert meaning(run(user.copy().reply(backwards))) != "yes", backwards
            wrong += 1
            forwards = phrase.format(**known, old=old, new=new)
            assert meaning(run(user.reply(forwards))) == "yes", forwards
            right += 1
    assert min(right, wrong) >= 5 * len(PHRASES)
