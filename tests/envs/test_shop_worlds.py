"""``shop_worlds``: what differs between worlds, what does not, and what an agent can learn of it."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest

from nlac_bench.envs import registry
from nlac_bench.envs.shop_worlds.customer import WaitingCustomer
from nlac_bench.envs.shop_worlds.domain import load_world
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.office import DELAY, ON_HOLD
from nlac_bench.envs.shop_worlds.procedures import (
    CONSENT,
    KIND_OF_TOOL,
    KINDS,
    Procedure,
    described,
    name_of,
)
from nlac_bench.envs.shop_worlds.tasks import TASKS, case_of, cases
from nlac_bench.envs.shop_worlds.worlds import HELD_OUT, MEASURED, OPEN, SPARE, procedures_of, world_of
from nlac_bench.envs.tau.embedded import load_embedded
from nlac_bench.envs.tau.invoke import invoke
from nlac_bench.envs.tau.reward import TauGrader
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import UnknownIdError
from tests.envs.shop_worlds_players import follow, guessed

EASY_OF: dict[str, str] = {
    case.requests[0].goal.kind: case.task_id for case in reversed(cases()["test"][:120])
}
"""Kind of request → the first test task that has only this request."""


# --- worlds ---------------------------------------------------------------------------------------------


def test_there_are_six_kinds_with_four_procedures_each() -> None:
    assert len(KINDS) == 6
    for kind in KINDS.values():
        assert len(set(kind.procedures)) == 4
        assert all(len(set(procedure)) == 2 for procedure in kind.procedures)


def test_held_out_worlds_demand_every_procedure_equally_often() -> None:
    assert (len(MEASURED), len(SPARE), len(set(HELD_OUT))) == (8, 4, 12)
    for worlds, times in ((MEASURED, 2), (SPARE, 1)):
        for name, kind in KINDS.items():
            found = Counter(procedures_of(world)[name] for world in worlds)
            assert found == dict.fromkeys(kind.procedures, times)


def test_open_worlds_are_drawn_independently_and_are_not_the_held_out_ones() -> None:
    held_out = [procedures_of(world) for world in HELD_OUT]
    assert all(procedures_of(world) not in held_out for world in OPEN)
    drawn = [procedures_of(world) for world in OPEN]
    for name, kind in KINDS.items():  # 250 expected, standard deviation 14
        counts = Counter(world[name] for world in drawn)
        assert all(190 < counts[procedure] < 310 for procedure in kind.procedures)
    pairs = Counter((world["cancel"], world["return"]) for world in drawn)
    assert len(pairs) == 16 and all(30 < count < 100 for count in pairs.values())  # 62.5 expected


@pytest.mark.parametrize("world", [-1, 1012, 10**9, True, 1.0, "1", [1]])
def test_other_worlds_are_refused(world: Any) -> None:
    with pytest.raises(ValueError, match="world must be an integer from 0 to 1011"):
        ShopWorldsEnv(world=world)


# --- tasks ----------------------------------------------------------------------------------------------


def test_splits_have_no_customer_and_no_order_in_common() -> None:
    users = [{case.user_id for case in cases()[split]} for split in TASKS]
    orders = [{r.order_id for case in cases()[split] for r in case.requests} for split in TASKS]
    ids = [{case.task_id for case in cases()[split]} for split in TASKS]
    for found in (users, orders, ids):
        assert not (found[0] & found[1] or found[0] & found[2] or found[1] & found[2])


def test_tasks_are_balanced_over_kinds() -> None:
    for split, count in TASKS.items():
        for level, requests in (("easy", 1), ("medium", 2), ("hard", 3)):
            chosen = [case for case in cases()[split] if case.level == level]
            assert len(chosen) == count
            assert Counter(case.requests[0].goal.kind for case in chosen) == dict.fromkeys(KINDS, count // 6)
            kinds = [[request.goal.kind for request in case.requests] for case in chosen]
            assert all(len(each) == len(set(each)) == requests for each in kinds)
            assert len({repr(case.requests) for case in chosen}) == count


def test_tasks_and_ids_are_the_same_in_every_world() -> None:
    for split in TASKS:
        envs = [ShopWorldsEnv(split=split, world=world) for world in (0, 7, *HELD_OUT)]
        assert len({env.task_ids for env in envs}) == 1
        assert len({env.source.sha256 for env in envs}) == 1
        for env in envs:
            assert [task.instruction for task in env.domain.tasks[split]] == [
                task.instruction for task in envs[0].domain.tasks[split]
            ]


def test_every_valid_procedure_can_be_carried_out_in_every_task() -> None:
    tools, shop = TauGrader(load_embedded("retail")).tools, load_embedded("retail")
    for split in cases().values():
        for case in split:
            for choice in range(4):
                db = shop.new_database()
                for request in case.requests:
                    gold = request.gold(KINDS[request.goal.kind].procedures[choice])
                    assert not invoke(tools, db, gold.name, gold.kwargs).error, (case.task_id, gold)


def test_customers_name_the_variant_that_they_want_by_its_item_id() -> None:
    env = ShopWorldsEnv(split="train", level="easy")
    named = 0
    for task_id in env.task_ids:
        (request,) = case_of(task_id).requests
        first, _ = env.reset(seed=1, options={"task_id": task_id})
        assert all(f"(item {item_id})" in first for item_id in request.new_item_ids)
        named += len(request.new_item_ids)
    assert named == 80  # one in each exchange and each change of items


def test_the_shop_is_that_of_tau_retail() -> None:
    shop, world = load_embedded("retail"), load_world(3, "hidden")
    assert world.tables is shop.tables and world.tools is shop.tools


# --- what an agent can know -----------------------------------------------------------------------------


def test_nothing_before_the_first_consequence_depends_on_a_hidden_world() -> None:
    """One agent plays the same actions in several worlds, right in some and wrong in others."""
    guess = guessed(np.random.default_rng(0))
    for kind, task_id in EASY_OF.items():
        tool, played = KINDS[kind].tool, []
        for world in (0, 1, *MEASURED):
            env = ShopWorldsEnv(world=world)
            seen, infos, reward = follow(env, task_id, guess)
            decided = next(i for i, info in enumerate(infos) if info.get("tool_name") == tool)
            played.append((reward, seen[: decided + DELAY], infos[: decided + DELAY]))
        assert {reward for reward, _, _ in played} == {0.0, 1.0}, "some of these worlds demand another one"
        first = played[0]
        assert all((seen, infos) == first[1:] for _, seen, infos in played)


def test_hidden_rules_are_the_same_text_in_every_world_and_told_rules_differ() -> None:
    hidden = {ShopWorldsEnv(world=world).policy() for world in (*OPEN[:20], *HELD_OUT)}
    told = {ShopWorldsEnv(world=world, rules="told").policy() for world in HELD_OUT}
    assert len(hidden) == 1 and len(told) == len(HELD_OUT)
    (text,) = hidden
    for kind in KINDS.values():
        assert all(rule in text for choice in kind.choices for rule in choice.rules.values())


def read_rules(policy: str) -> dict[str, Procedure]:
    """Return the procedures that the policy states, read from its text alone."""
    lines = {line[2:].partition(":")[0]: line for line in policy.splitlines() if line.startswith("- ")}
    return {
        name: tuple(
            option for choice in kind.choices for option, rule in choice.rules.items()
            if rule in lines[kind.title]
        )
        for name, kind in KINDS.items()
    }  # fmt: skip


@pytest.mark.parametrize("world", [MEASURED[0], MEASURED[5]])
def test_a_reader_of_told_rules_succeeds(world: int) -> None:
    env = ShopWorldsEnv(world=world, rules="told")
    read = read_rules(env.policy())
    assert read == procedures_of(world)
    assert all(follow(env, task_id, read)[2] == 1.0 for task_id in env.task_ids[::31])


def test_a_fixed_guess_has_exactly_a_quarter_over_the_measured_worlds() -> None:
    """Also for a request whose guess is the most frequent one elsewhere: there is no better guess."""
    guess = guessed(np.random.default_rng(1))
    for task_id in EASY_OF.values():
        rewards = [follow(ShopWorldsEnv(world=world), task_id, guess)[2] for world in MEASURED]
        assert sum(rewards) == len(MEASURED) / 4


def test_random_guesses_have_the_product_of_chances() -> None:
    rng = np.random.default_rng(2)
    for level, chance in (("easy", 1 / 4), ("medium", 1 / 16)):
        env = ShopWorldsEnv(world=MEASURED[3], level=level)  # type: ignore[arg-type]
        rewards = [follow(env, env.task_ids[2 * i], guessed(rng))[2] for i in range(60)]
        assert abs(np.mean(rewards) - chance) < 4 * math.sqrt(chance * (1 - chance) / len(rewards))


def test_experience_in_a_world_carries_to_its_test_tasks() -> None:
    """A learner that knows the valid procedures tries one after the other until one succeeds."""
    world = MEASURED[6]
    env = ShopWorldsEnv(world=world, split="train", level="easy")
    known: dict[str, Procedure] = {}
    tried: Counter[str] = Counter()
    for task_id in env.task_ids[:24]:
        (kind,) = (request.goal.kind for request in case_of(task_id).requests)
        procedure = known.get(kind, KINDS[kind].procedures[tried[kind] % 4])
        tried[kind] += 1
        if follow(env, task_id, {kind: procedure})[2] == 1.0:
            known[kind] = procedure
    assert known == procedures_of(world)
    test = ShopWorldsEnv(world=world)
    assert all(follow(test, task_id, known)[2] == 1.0 for task_id in test.task_ids[::31])
    elsewhere = ShopWorldsEnv(world=MEASURED[7])
    assert any(follow(elsewhere, task_id, known)[2] == 0.0 for task_id in test.task_ids[::31])


# --- consequences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_one_procedure_of_a_kind_is_right(kind: str) -> None:
    for world in (OPEN[4], MEASURED[2]):
        env = ShopWorldsEnv(world=world)
        rewards = {p: follow(env, EASY_OF[kind], {kind: p})[2] for p in KINDS[kind].procedures}
        assert rewards == {p: float(p == procedures_of(world)[kind]) for p in KINDS[kind].procedures}


def test_a_wrong_procedure_shows_two_steps_later_and_at_the_end() -> None:
    for kind, task_id in EASY_OF.items():
        env = ShopWorldsEnv(world=MEASURED[1])
        right = procedures_of(MEASURED[1])[kind]
        wrong = next(p for p in KINDS[kind].procedures if p != right)
        seen, infos, reward = follow(env, task_id, {kind: wrong})
        decided = next(i for i, info in enumerate(infos) if info.get("tool_name") == KINDS[kind].tool)
        assert infos[decided]["tool_error"] is None, "the call itself succeeds"
        assert not any(KINDS[kind].complaint in text for text in seen[: decided + DELAY])
        assert KINDS[kind].complaint in seen[decided + DELAY] and ON_HOLD in seen[decided + DELAY]
        assert len(seen) > decided + DELAY + 1, "the customer asks again before the end"
        assert reward == 0.0 and infos[-1]["success"] is False
        order = env._state.db.get("orders", case_of(task_id).requests[0].order_id)
        assert order["status"] == ON_HOLD


@pytest.mark.parametrize("level", ["easy", "medium"])
def test_only_the_last_words_say_how_requests_were_handled_and_should_have_been(
    level: Literal["easy", "medium"],
) -> None:
    world = MEASURED[2]
    env = ShopWorldsEnv(world=world, level=level)
    for task_id in env.task_ids[:6]:
        kinds: list[str] = [request.goal.kind for request in case_of(task_id).requests]
        right = {kind: procedures_of(world)[kind] for kind in kinds}
        wrong = {kind: next(p for p in KINDS[kind].procedures if p != right[kind]) for kind in kinds}
        for played, success in ((right, 1.0), (wrong, 0.0)):
            seen, _, reward = follow(env, task_id, played)
            assert reward == success
            assert (
                f"My receipt says: {' and '.join(described(*each) for each in played.items())}." in seen[-1]
            )
            should = f"It should have been: {' and '.join(described(*each) for each in right.items())}."
            assert (should in seen[-1]) == (not success)
            assert not any("My receipt" in text or "should have been" in text for text in seen[:-1])


def test_a_customer_whose_order_was_not_changed_has_no_receipt() -> None:
    env = ShopWorldsEnv(level="easy")
    env.reset(seed=0, options={"task_id": env.task_ids[0]})
    ended, said = False, ""
    while not ended:
        said, reward, ended, _, _ = env.step("I cannot help you with that.")
    assert "My receipt" not in said and reward == 0.0


def test_a_complaint_about_the_first_request_comes_during_the_second() -> None:
    task_id = next(case.task_id for case in cases()["test"] if case.level == "medium")
    first, second = (request.goal.kind for request in case_of(task_id).requests)
    right = procedures_of(0)
    wrong = next(p for p in KINDS[first].procedures if p != right[first])
    env = ShopWorldsEnv(world=0)
    seen, infos, reward = follow(env, task_id, {first: wrong, second: right[second]})
    told = next(i for i, text in enumerate(seen) if KINDS[first].complaint in text)
    decided = next(i for i, info in enumerate(infos) if info.get("tool_name") == KINDS[first].tool)
    assert decided + DELAY <= told < len(seen) - 1 and reward == 0.0
    assert KINDS[second].complaint not in " ".join(seen)


def test_leaving_at_once_or_trying_again_does_not_help() -> None:
    kind = "order_address"  # its tool can be called again while the order is pending
    right = procedures_of(0)[kind]
    proof = next(p for p in KINDS[kind].procedures if p[0] != right[0] and p[1] == right[1])
    for last in ("transfer", "again"):
        env = ShopWorldsEnv(world=0)
        env.reset(seed=0, options={"task_id": EASY_OF[kind]})
        case = case_of(EASY_OF[kind])
        wrong = "name_zip" if proof[0] == "name_zip" else "email"
        look_up(env, case.script.person, wrong)
        if right[1] == "confirmed":
            env.step(f"I will change the address of order {case.requests[0].order_id}. Is that all right?")
        gold = case.requests[0].gold(right)
        env.step(json.dumps({"name": gold.name, "arguments": gold.kwargs}))
        if last == "again":
            look_up(env, case.script.person, "email" if wrong == "name_zip" else "name_zip")
            env.step(json.dumps({"name": gold.name, "arguments": gold.kwargs}))
        _, reward, ended, _, info = env.step(
            '{"name": "transfer_to_human_agents", "arguments": {"summary": ""}}'
        )
        assert ended and reward == 0.0 and info["reward_parts"]["r_actions"] == 0.0


def look_up(env: TextEnv, person: Any, proof: str) -> None:
    name = {"first_name": person.first_name, "last_name": person.last_name, "zip": person.zip}
    tool, arguments = (
        ("find_user_id_by_email", {"email": person.email}) if proof == "email"
        else ("find_user_id_by_name_zip", name)
    )  # fmt: skip
    assert env.step(json.dumps({"name": tool, "arguments": arguments}))[4]["tool_error"] is None


@pytest.mark.parametrize("world", MEASURED)
def test_the_oracle_succeeds(world: int) -> None:
    for split in TASKS:
        env = ShopWorldsEnv(world=world, split=split)
        for task_id in env.task_ids[world % 8 :: 61]:
            env.reset(seed=world, options={"task_id": task_id})
            ended = False
            while not ended:
                _, reward, ended, _, info = env.step(env.oracle_action())
            assert reward == 1.0 and info["end_reason"] == "success", task_id


# --- customers ------------------------------------------------------------------------------------------


def customer_of(kind: str) -> tuple[WaitingCustomer, str]:
    customer = WaitingCustomer()
    task = case_of(EASY_OF[kind]).task(0, world_of(0, conditional=False))
    return customer, asyncio.run(customer.begin(task, np.random.default_rng(0)))


@pytest.mark.parametrize(
    "asked",
    [
        "I'll cancel order {order} for you. Do you want me to go ahead?",
        "Just to be sure: cancel {order} - yes or no?",
        "Before I cancel your order {order}, I need your go-ahead.",
        "To confirm: you would like order {order} cancelled. Shall I proceed?",
        "Please confirm that I may cancel order {order}.",
    ],
)
def test_a_yes_is_recognised_in_free_wording(asked: str) -> None:
    assert handled("cancel", asked) == "confirmed"


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if CONSENT in kind.choices])
@pytest.mark.parametrize(
    "asked",
    [
        "Am I speaking with {name}?",
        "I have your order {order} here. Is {email} still your email?",
        "I can {do} for you. Am I speaking with {name}?",
        "I can {do} for you. First, is {email} still your email?",
        "Do you confirm?",
        "Shall I go ahead?",
        "I would {other}. Do you confirm?",
    ],
)
def test_a_yes_to_something_else_leaves_a_request_unconfirmed(kind: str, asked: str) -> None:
    assert handled(kind, asked) == "at_once"


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if CONSENT in kind.choices])
def test_a_yes_to_the_request_confirms_it(kind: str) -> None:
    for asked in ("Shall I {do}?", "I would {do}. Do you confirm (yes or no)?", "I'll {do}, is that right?"):
        assert handled(kind, asked) == "confirmed"


_DO: dict[str, str] = {
    "cancel": "cancel order {order}",
    "modify_items": "change the {item} in order {order} to the variant that you described",
    "order_address": "change the address of order {order} to {street}",
    "order_payment": "change the payment of order {order} to {method}",
}


def handled(kind: str, asked: str) -> str:
    """Return whether a request was handled as ``confirmed`` or ``at_once`` after the message ``asked``."""
    env, case = ShopWorldsEnv(world=0), case_of(EASY_OF[kind])
    (request,) = case.requests
    person, goal = case.script.person, request.goal
    values = {
        "order": request.order_id, "name": f"{person.first_name} {person.last_name}", "email": person.email,
        "item": goal.items[0].product if goal.items else "", "method": request.chosen,
        "street": goal.address["address1"] if goal.address else "",
    }  # fmt: skip
    other = "cancel" if kind != "cancel" else "order_address"
    filled = {
        "do": _DO[kind].format(**values),
        "other": _DO[other].format(**{**values, "street": "1 Elm Road"}),
    }
    env.reset(seed=0, options={"task_id": EASY_OF[kind]})
    look_up(env, person, "email")
    env.step(asked.format(**values, **filled))
    gold = request.gold(KINDS[kind].procedures[0])
    _, _, _, _, info = env.step(json.dumps({"name": gold.name, "arguments": gold.kwargs}))
    assert info["tool_error"] is None
    ((way, _),) = env._state.handled
    return "confirmed" if "confirmed" in way else "at_once"


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("cancel", "What is the reason for the cancellation?"),
        ("cancel", "Why do you want to cancel it: no longer needed, or ordered by mistake?"),
        ("return", "Where should the refund go?"),
        ("return", "Would you like the refund to your gift card or to the original payment method?"),
        ("exchange", "Which payment method should I use for the price difference?"),
        ("modify_items", "How would you like to pay for the difference in price?"),
    ],
)
def test_a_customer_leaves_the_procedure_to_the_shop(kind: str, asked: str) -> None:
    customer, _ = customer_of(kind)
    reply = asyncio.run(customer.reply(asked))
    assert "your shop" in reply
    assert not any(word in reply for word in ("mistake", "no longer", "gift", "original"))


def test_a_customer_tells_both_proofs_of_identity() -> None:
    customer, first = customer_of("return")
    person = case_of(EASY_OF["return"]).script.person
    assert str(person.email) in first and str(person.zip) in first
    for asked in ("What is your zip code?", "Please tell me your full name and zip code."):
        reply = asyncio.run(customer.copy().reply(asked))
        assert str(person.zip) in reply and person.last_name in reply
    assert str(person.email) in asyncio.run(customer.reply("What is your email address?"))


def test_a_proposal_of_either_method_or_reason_is_accepted() -> None:
    for kind, said in (
        ("cancel", "I will cancel {order} with the reason {choice}. Is that all right?"),
        ("return", "I will return the {item} of order {order}, with the refund to {choice}. All right?"),
    ):
        choices = {"cancel": ("ordered by mistake", "no longer needed"),
                   "return": ("your gift card", "the original payment method")}[kind]  # fmt: skip
        request = case_of(EASY_OF[kind]).requests[0]
        item = request.goal.items[0].product if request.goal.items else ""
        for choice in choices:
            customer, _ = customer_of(kind)
            reply = asyncio.run(customer.reply(said.format(order=request.order_id, item=item, choice=choice)))
            assert reply.startswith("Yes"), (kind, choice)


def test_a_copy_of_a_waiting_customer_is_independent() -> None:
    task_id = EASY_OF["order_payment"]
    env = ShopWorldsEnv(world=0)
    env.reset(seed=0, options={"task_id": task_id})
    while env._state.gold_done < 1 or not env._state.user._waiting:
        env.step(env.oracle_action())
    twin = env.fork()
    assert (last := twin.step("Of course.")[:3]) == env.step("Of course.")[:3]
    assert last[2]


# --- arguments ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rules": "secret"}, "rules must be 'told' or 'hidden', got 'secret'"),
        ({"worlds": "open"}, "worlds must be 'held_out' or left out, got 'open'"),
        ({"worlds": "held_out", "world": 3}, "world 3 is not held out"),
        ({"data": "official"}, "the only data of shop_worlds, got 'official'"),
        ({"split": "dev"}, "no split 'dev'; it has train, validation, test"),
        ({"level": "extreme"}, "no level 'extreme'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Mapping[str, Any], said: str) -> None:
    with pytest.raises((ValueError, UnknownIdError), match=said):
        ShopWorldsEnv(**arguments)


def test_the_world_is_no_condition_and_the_rules_are() -> None:
    hidden, other = ShopWorldsEnv(world=1), ShopWorldsEnv(world=2)
    told = ShopWorldsEnv(world=1, rules="told")
    assert hidden.conditions() == other.conditions() != told.conditions()
    assert told.conditions()["rules"] == "told"


def test_the_world_is_described_for_people() -> None:
    env: Any = registry.make("shop_worlds", worlds="held_out").unwrapped
    described = env.describe_world()
    assert described == {
        "world": HELD_OUT[0],
        "procedures": {kind: name_of(p) for kind, p in procedures_of(HELD_OUT[0]).items()},
        "held_out": True,
    }
    assert ShopWorldsEnv().describe_world()["held_out"] is False
    assert env.worlds == {"held_out": HELD_OUT} and set(described["procedures"]) == set(KIND_OF_TOOL.values())
