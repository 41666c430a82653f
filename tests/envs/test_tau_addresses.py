"""Scripted users never agree to an address that is not theirs, wherever the present one is named."""

import pytest

from tests.envs.tau_matrix import meaning, run, start
from tests.envs.tau_situations import Situation, facts, situations

PROPOSALS = (
    "Order {order} will go to the following address rather than to {old}:\n\n{street}\n{city}, {state} "
    "{zip}\nUSA\n\nMay I apply this?",
    "I'll change order {order} from {old} to {street}, {city}, {state} {zip}. Okay?",
    "New address for {order}: {street}, {city}, {state} {zip} (instead of {old}). Do you confirm?",
    "Order {order}, shipping address:\n- Street: {street}\n- City: {city}\n- State: {state}\n"
    "- Zip: {zip}\n\nShall I?",
    "| | Old | New |\n|---|---|---|\n| Address | {old} | {street}, {city}, {state} {zip} |\n\n"
    "Proceed with {order}?",
    "I replace {old} by:\n{street}\n{city} {state}\n{zip}\nfor order {order}. Fine?",
)
OTHERS = ({"street": "77 Harbour Lane"}, {"city": "Springdale"}, {"zip": "10101"}, {"state": "ZZ"})


@pytest.fixture(scope="module")
def movers() -> list[Situation]:
    """Users who want an order sent to another address."""
    return [at for at in situations("retail", "embedded", 80) if at.goal.kind == "order_address"]


@pytest.mark.parametrize("text", PROPOSALS)
def test_only_the_users_own_address_is_agreed_to(movers: list[Situation], text: str) -> None:
    assert movers
    for at in movers:
        known, new = facts(at, at.goal), at.goal.address
        assert new
        street = ", ".join(part for part in (new["address1"], new["address2"]) if part)
        own = {"order": known["order"], "old": known["old_address"], "street": street,
               "city": new["city"], "state": new["state"], "zip": new["zip"]}  # fmt: skip
        assert meaning(run(start(at.alone(), 1).reply(text.format(**own)))) == "yes"
        for other in OTHERS:
            wrong = text.format(**{**own, **other})
            assert meaning(run(start(at.alone(), 1).reply(wrong))) != "yes", wrong
