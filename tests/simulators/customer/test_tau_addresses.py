"""Scripted users never agree to an address that is not theirs, wherever the present one is named."""

import random
from collections.abc import Iterator

import pytest

from nlac_bench.simulators.customer.intent.goals import Goal
from tests.simulators.customer.tau_matrix import meaning, run, start
from tests.simulators.customer.tau_situations import Situation, facts, situations
from tests.simulators.customer.tau_turns import BEN, HOME, _script

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
    "Your profile would then show {new} ({old} is what's there today). Okay?",
    "Default address: {new} (currently {old}). Confirm?",
    "I'd make {new} your default address, not {old} any more. Right?",
    "Your default address would be {new} in lieu of {old}. Shall I?",
    "Out goes {old}, in comes {new} as your default address. OK?",
    "In your profile {old} gets replaced by {new}. Shall I go ahead?",
    "Default address: {old} → {new}. Proceed?",
    "I see {old} in your profile; that would become {new}. OK?",
    "At present your profile says {old}. After the change it says {new}. Is that right?",
    "{new} will replace {old}, which is on file now, as your default address. Shall I do it?",
    "I take {old} off your profile and put {new} on. Fine?",
    "I'd let {new} supersede {old} in your profile. Do you agree?",
    "{old} is what we have now; you want {new} as your default address. Correct?",
    "Your default address changes to {new}; {old} will no longer be used. Okay?",
    "New default address: {new} — the one there now is {old}. Shall I save it?",
    "Default address {new} (was: {old}). Shall I apply this?",
    "Your default address was previously {old}, now it will be {new}. Yes?",
    "You have {old} on file. You'd like {new} as your default address instead. Is that correct?",
    "I'd delete {old} and save {new} as your default address. May I?",
    "Default address\nBefore: {old}\nAfter: {new}\n\nShall I?",
    "{old} would go, and {new} would be your default address. OK?",
    "Your default address would be {new} ({old} is the one on file at the moment). Okay?",
    "Your default address would be {new}, and {old} is gone. Okay?",
    "I'd set {new} as your default address ({old} is there now). Shall I?",
    "I'd set {new} as your default address ({old} drops out). Shall I?",
    "I'd set {new} as your default address ({old} is the old one). Shall I?",
    "Your default address: {new} (you had {old}). Shall I?",
    "Your default address: {new} (up to now: {old}). Shall I?",
    "{new} goes into your profile and {old} comes out. OK?",
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


ELSEWHERE = {**MOBILE, "address1": "201 Cherry Court", "city": "Knoxville", "state": "TN", "zip": "37964"}


@pytest.mark.lists
@pytest.mark.parametrize("separator", [", ", " ", "\n"])
@pytest.mark.parametrize("text", SWAPS[:7])
def test_one_wrong_part_beside_the_old_address_is_never_agreed_to(text: str, separator: str) -> None:
    for own in (MOBILE, HOME):
        script = _script(BEN, Goal("user_address", address=own))
        for old in (
            ELSEWHERE,
            {**own, "address1": "88 Oak Drive"},
            {**own, "city": "Toledo", "zip": "10203"},
        ):
            for other in WRONG_PARTS:
                wrong = text.format(old=_spelled(old, separator), new=_spelled(own, separator, **other))
                assert meaning(run(start(script, 1).reply(wrong))) != "yes", wrong
        right = text.format(old=_spelled(ELSEWHERE, ", "), new=_spelled(own, separator))
        assert meaning(run(start(script, 1).reply(right))) == "yes", right


@pytest.mark.parametrize("text", SWAPS)
def test_only_the_proposed_address_is_compared(text: str) -> None:
    """The new address decides: not the old one beside it, and not the user's own where it is the old one."""
    for own in (MOBILE, HOME):
        script = _script(BEN, Goal("user_address", address=own))
        for old in (ELSEWHERE, {**own, "address1": "88 Oak Drive", "address2": "Apt 31"}):
            right = text.format(old=_spelled(old, ", "), new=_spelled(own, ", "))
            assert meaning(run(start(script, 1).reply(right))) == "yes", right
        for other in (ELSEWHERE, {**own, "city": "Toledo"}, {**own, "zip": "36665"}):
            for wrong in (
                text.format(old=_spelled(own, ", "), new=_spelled(other, ", ")),
                text.format(old=_spelled(ELSEWHERE, ", "), new=_spelled(other, ", ")),
            ):
                assert meaning(run(start(script, 1).reply(wrong))) != "yes", wrong


SEPARATORS = (", ", " ", "\n", " / ", " - ", "; ", " · ", ",", "\n\n", "\n- ")
LINES = (
    "I'd set your default address to {}. OK?", "Your new default address would be:\n{}\nShall I save it?",
    "Default address: {}. Do you confirm (yes/no)?",
    "Update the default address of your profile, new address {}. Would you like me to proceed with this?",
)  # fmt: skip
PLACES = (
    MOBILE, HOME,
    {**MOBILE, "address1": "379 Pebble Lane", "city": "Tulsa", "state": "OK", "zip": "74185"},
    {**MOBILE, "address1": "12 Creek Side", "address2": "Unit 50", "city": "Eugene", "state": "OR",
     "zip": "97405"},
    {**MOBILE, "address1": "953 Park Avenue", "address2": "Suite 613", "city": "New York", "state": "NY",
     "zip": "10064"},
)  # fmt: skip


def _others(own: dict[str, str]) -> Iterator[tuple[str, str]]:
    """A wrong value for each part of an address."""
    number, street = own["address1"].split(maxsplit=1)
    yield from (("address1", f"1{number} {street}"), ("address1", f"{number} Bay Street"))
    yield from (("city", "Denver"), ("city", "Salt Lake City"), ("country", "Canada"))
    yield from (("state", "NM"), ("state", "Georgia"), ("zip", own["zip"][:-1] + "9"))
    yield from (("address2", "Apt 7"), ("address2", "Suite 70"))


@pytest.mark.parametrize("seed", range(40))
def test_parts_are_read_in_any_order(seed: int) -> None:
    rng = random.Random(seed)
    own, separator, text = rng.choice(PLACES), rng.choice(SEPARATORS), rng.choice(LINES)
    keys = [key for key in own if own[key]]
    rng.shuffle(keys)
    script = _script(BEN, Goal("user_address", address=own))
    right = text.format(separator.join(own[key] for key in keys))
    assert meaning(run(start(script, 1).reply(right))) == "yes", right
    for part, value in _others(own):
        order = keys if part in keys else [*keys, part]
        wrong = text.format(separator.join({**own, part: value}[key] for key in order))
        assert meaning(run(start(script, 1).reply(wrong))) != "yes", wrong


LABELLED = (
    "Default address:\n- Street: {a1}\n- Apt: {a2}\n- City: {c}\n- State: {s}\n- Zip: {z}\n- Country: "
    "{k}\n\nShall I save it?",
    "| Field | Old | New |\n|---|---|---|\n| Street | {o1} | {a1} |\n| Unit | {o2} | {a2} |\n| City | "
    "{oc} | {c} |\n| State | {os} | {s} |\n| Zip | {oz} | {z} |\n| Country | {ok} | {k} |\n\nShall I "
    "update your default address?",
    "Your default address:\nStreet: {o1} -> {a1}\nApt: {o2} -> {a2}\nCity: {oc} -> {c}\nState: {os} -> "
    "{s}\nZip: {oz} -> {z}\nCountry: {ok} -> {k}\nOK?",
    "Default address, street {a1}, {a2}, city {c}, state {s}, zip {z}, country {k}. Right?",
    "I'd save as your default address: address1 = {a1}, address2 = {a2}, city = {c}, state = {s}, zip "
    "= {z}, country = {k}. OK?",
    'update default address {{"address1": "{a1}", "address2": "{a2}", "city": "{c}", "state": "{s}", '
    '"country": "{k}", "zip": "{z}"}}. Do you confirm?',
    "Default address: **{a1}**, **{a2}**, **{c}**, **{s}** **{z}**, **{k}**. Is that right?",
    "Your default address would be {a1} ({a2}) in {c}, {s}, zip code {z}, {k}. Shall I?",
    "Your new default address is {a1}, {a2}. City: {c}. State: {s}. Zip: {z}. Country: {k}. Ok?",
    "Country: {k}\nState: {s}\nZip: {z}\nCity: {c}\nUnit: {a2}\nStreet: {a1}\n\nIs this your new "
    "default address?",
    "I'd set your default address to:\n1. {a1}\n2. {a2}\n3. {c}\n4. {s}\n5. {z}\n6. {k}\nOK?",
    "Default address: {z} {c}, {s}, {a1}, {a2}, {k}. Shall I?",
    "Default address → {a1} · {a2} · {c} · {s} · {z} · {k}. Shall I?",
    "| Street | Unit | City | State | Zip | Country |\n|---|---|---|---|---|---|\n| {a1} | {a2} | {c} "
    "| {s} | {z} | {k} |\n\nShall I make this your default address?",
    "Before I update your default address: is {a1}, {a2}, {c}, {s} {z}, {k} correct?",
    "Default address will be {a1}, {a2}, {c} {s}-{z} ({k}); correct?",
    "Default address: {a1}, {a2}, {c}, {s} {z}, {k}, is it?",
    "Let me read it back: {a1}. {a2}. {c}, {s}. {z}. {k}. Shall I put it in your profile?",
)
OLD = {"address1": "88 Oak Drive", "address2": "Apt 31", "city": "Boise", "state": "ID", "zip": "83701"}


@pytest.mark.parametrize("text", LABELLED)
def test_parts_are_read_with_their_labels(text: str) -> None:
    script = _script(BEN, Goal("user_address", address=HOME))

    def said(**parts: str) -> str:
        new, before = {**HOME, **parts}, {**OLD, "country": "USA"}
        short = dict(zip(("a1", "a2", "c", "s", "z", "k"), ("address1", "address2", "city", "state", "zip",
                     "country"), strict=True))  # fmt: skip
        old = dict(zip(("o1", "o2", "oc", "os", "oz", "ok"), short.values(), strict=True))
        return text.format(**{key: new[part] for key, part in short.items()},
                           **{key: before[part] for key, part in old.items()})  # fmt: skip

    for right in (said(), said(state="Idaho"), said(country="United States")):
        assert meaning(run(start(script, 1).reply(right))) == "yes", right
    for part, value in (*_others(HOME), ("city", "New Haven"), ("address2", "Apt 40"), ("zip", OLD["zip"])):
        wrong = said(**{part: value})
        assert meaning(run(start(script, 1).reply(wrong))) != "yes", wrong
