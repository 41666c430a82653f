"""A scripted user answers a vague message without what it has not said before."""

import numpy as np
import pytest

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.users.scripted import ScriptedUser
from tests.simulators.customer.tau_matrix import run
from tests.simulators.customer.tau_situations import facts, situations

VAGUE = ("Hmm.", "Let me see.", "One moment, please.", "I see. Thanks for telling me.", "Sorry, once more?")
SECRETS = ("payment_id", "new_address", "email", "zip", "user_id", "new_dob")
"""Values that a user tells an agent that asks for them."""


@pytest.mark.lists
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("retail", "embedded"), ("airline", "embedded"),
        pytest.param("retail", "official", marks=pytest.mark.official),
    ],
)  # fmt: skip
def test_a_vague_message_is_told_nothing_new(name: str, data: str) -> None:
    withheld = 0
    for number, at in enumerate(situations(name, data, 24)):
        user = ScriptedUser()
        task = Task("vague", 0, "u", "", (), (), intent={"script": at.alone()})
        said = run(user.begin(task, np.random.default_rng(number)))
        known = {key: value for key, value in facts(at, at.goal).items() if key in SECRETS and value}
        hidden = {key: value for key, value in known.items() if value not in said}
        withheld += len(hidden)
        for message in VAGUE:
            reply = run(user.reply(message))
            assert not [key for key, value in hidden.items() if value in reply], (message, said, reply)
    assert withheld > 20
