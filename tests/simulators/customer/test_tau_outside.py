"""What scripted users do not agree to: messages outside their request get an objection, right ones a yes."""

import pytest

from nlac_bench.simulators.customer.intent.goals import Goal, Item, Payment, Person, Profile, Record, Script
from tests.simulators.customer.tau_matrix import Matrix, load, meaning, run, start
from tests.simulators.customer.tau_outside import LISTS, ROWS, SETS, judge, measure_outside
from tests.simulators.customer.tau_situations import situations

pytestmark = pytest.mark.lists

MOST = {"agreed by mistake": 0.03, "off topic": 0.05, "false no": 0.05}
"""Largest share of messages that may get a wrong kind of reply, over all lists."""


def check(label: str, stride: int, every: int) -> None:
    """No row of the table exceeds its bound."""
    matrix = Matrix()
    for path in LISTS:
        measure_outside(load(path), situations(*SETS[label], stride), label, matrix, every)
    print(matrix.table())
    assert set(matrix.counts) == {f"{label} {row}" for row in ROWS}
    rates = {row: matrix.rate(f"{label} {row}") for row in ROWS}
    assert {row: rate for row, rate in rates.items() if rate > MOST[row]} == {}


@pytest.mark.parametrize("label", ["retail", "airline"])
def test_users_agree_only_to_what_they_asked_for(label: str) -> None:
    check(label, stride=40, every=4)


@pytest.mark.slow  # sends every message to every 32nd embedded user, if it fits
@pytest.mark.parametrize("label", ["retail", "airline"])
def test_more_users_agree_only_to_what_they_asked_for(label: str) -> None:
    check(label, stride=4, every=8)


@pytest.mark.official
def test_official_users_agree_only_to_what_they_asked_for() -> None:
    check("official", stride=20, every=2)


ANN = Person("Ann", "Lee", email="ann@example.org")
CARD = Payment("gift_card_1111111", "gift_card", "my gift card")
ORDER = Record("#W4444444", items=(Item("Kite"), Item("Webcam")), amounts=(87.0, 26.0, 61.0))
SCRIPT = Script(
    ANN,
    (Goal("return", record="#W4444444", items=(Item("Kite"),), payment=CARD),),
    profile=Profile("ann@example.org", records=(ORDER,), payments=("gift_card_1111111", "gift_card")),
)
RIGHT = "I'll return the Kite of order #W4444444 and refund $26.00 to your gift card."


@pytest.mark.parametrize(
    ("message", "means", "words"),
    [
        (f"{RIGHT} OK?", "yes", ()),
        (f"{RIGHT} You'll get an email with a label. Once that's done, it can't be undone. OK?", "yes", ()),
        (f"{RIGHT} I'll also close your account. OK?", "no", ("did not ask you to close my account",)),
        (f"{RIGHT} There is a $20 fee. OK?", "no", ("fee",)),
        ("I'll return the Kite of order #W4444444 and refund $62.00 to your gift card. OK?", "no", ()),
        (f"{RIGHT} And then I'll cancel the rest of the order. OK?", "no", ("cancel the rest",)),
        ("Is it because you found it cheaper elsewhere?", "no", ("reason",)),
        ("Am I speaking with Ann Lee?", "yes", ()),
        ("Am I speaking with John Smith?", "no", ()),
        ("Which of our warehouses packed it?", "says", ("system",)),
        ("Sure, what is it?", "says", ("Kite",)),
    ],
)
def test_replies_name_what_is_wrong(message: str, means: str, words: tuple[str, ...]) -> None:
    reply = run(start(SCRIPT, 1).reply(message))
    assert meaning(reply) == means, reply
    assert all(word in reply for word in words), reply


def test_an_objection_withdraws_the_agreement() -> None:
    user = start(SCRIPT, 1)
    run(user.reply(f"{RIGHT} I'll also close your account. OK?"))
    assert not user._now.agreed
    assert meaning(run(user.reply(f"{RIGHT} Nothing else. OK?"))) == "yes"
    assert user._now.agreed


def test_the_judge_tells_replies_apart() -> None:
    goal = SCRIPT.goals[0]
    assert judge("no", "Yes, please.", goal, ()) == ("agreed by mistake", False)
    assert judge("no", "No, I did not ask for that.", goal, ()) == ("off topic", True)
    assert judge("no", "Okay. Please use my gift card.", goal, ()) == ("off topic", False)
    assert judge("unknown", "I'm not sure. What does your system say?", goal, ()) == ("off topic", True)
    assert judge("yes", "No, wait.", goal, ()) == ("false no", False)
    assert judge("answer", "It is the Kite.", goal, ("kite",)) == ("off topic", True)
    assert judge("open", "I want to return the Kite.", goal, ()) == ("off topic", True)
