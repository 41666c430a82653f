"""Scripted users never agree to an address that is not theirs, wherever the present one is named."""

import pytest

from nlac_bench.envs.tau.users.scripted.intent import Goal
from tests.envs.tau_matrix import meaning, run, start
from tests.envs.tau_situations import Situation, facts, situations
from tests.envs.tau_turns import BEN, HOME, _script

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


SWAPS = (
    "I'd swap out {old} on your profile and put in {new}. That only touches your default address; your "
    "order #W6369183 still ships to {old}. Look good to you?",
    "I'd change your default address from {old} to {new}. Okay?",
    "I'll put {new} in your profile instead of {old}. OK?",
    "Replacing {old}, your new default address will be {new}. Shall I save it?",
    "So {new} takes the place of {old} as your default address, yes?",
    "Want me to overwrite {old} with {new} on your profile?",
    "Old default address: {old}. New default address: {new}. Confirm?",
)
MOBILE = {"address1": "13 Canal Street", "address2": "", "city": "Mobile", "state": "AL", "country": "USA",
          "zip": "36656"}  # fmt: skip
WRONG_PARTS = (
    {"number": "31"}, {"number": "113"}, {"street": "Bay Street"}, {"street": "Canal Avenue"},
    {"city": "Denver"}, {"state": "NM"}, {"state": "Georgia"}, {"zip": "36665"}, {"zip": "63656"},
    {"country": "Canada"}, {"address2": "Apt 7"}, {"address2": "Suite 70"},
)  # fmt: skip


def _spelled(address: dict[str, str], separator: str, **parts: str) -> str:
    number, street = address["address1"].split(maxsplit=1)
    said = {**address, "number": number, "street": street, **parts}
    line = (f"{said['number']} {said['street']}", said["address2"], said["city"],
            f"{said['state']} {said['zip']}", said["country"])  # fmt: skip
    return separator.join(part for part in line if part)


@pytest.mark.parametrize("separator", [", ", " ", "\n"])
@pytest.mark.parametrize("text", SWAPS)
def test_one_wrong_part_beside_the_old_address_is_never_agreed_to(text: str, separator: str) -> None:
    for own in (MOBILE, HOME):
        script = _script(BEN, Goal("user_address", address=own))
        elsewhere = {**MOBILE, "address1": "201 Cherry Court", "city": "Knoxville", "state": "TN",
                     "zip": "37964"}  # fmt: skip
        for old in (
            elsewhere,
            {**own, "address1": "88 Oak Drive"},
            {**own, "city": "Toledo", "zip": "10203"},
        ):
            for other in WRONG_PARTS:
                wrong = text.format(old=_spelled(old, separator), new=_spelled(own, separator, **other))
                assert meaning(run(start(script, 1).reply(wrong))) != "yes", wrong
        right = text.format(old=_spelled(elsewhere, ", "), new=_spelled(own, separator))
        assert meaning(run(start(script, 1).reply(right))) == "yes", right
