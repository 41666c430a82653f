"""The level ``conditional`` of ``shop_worlds``: two procedures of a kind, a visible condition, one repair."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from nlac_bench.envs.shop_worlds.conditions import CONDITIONS, LEAST_ORDERS, LEAST_PAID
from nlac_bench.envs.shop_worlds.domain import load_world
from nlac_bench.envs.shop_worlds.env import ShopWorldsEnv
from nlac_bench.envs.shop_worlds.office import DELAY, ON_HOLD, UNDONE
from nlac_bench.envs.shop_worlds.plan import STAYS, plan
from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure
from nlac_bench.envs.shop_worlds.tasks import TASKS, Case, case_of, cases, conditional_cases
from nlac_bench.envs.shop_worlds.worlds import HELD_OUT, MEASURED, OPEN, SPARE, ShopWorld, world_of
from nlac_bench.envs.tau.actions import CallAction, render_call, render_message
from nlac_bench.envs.tau.embedded import load_embedded

SHOP = load_embedded("retail").tables
OF_KIND: dict[str, list[str]] = {
    kind: [c.task_id for c in conditional_cases()["test"] if c.requests[0].goal.kind == kind]
    for kind in KINDS
}
"""Kind of request → the test tasks that have this request."""


def conditional(world: int = 0, **more: Any) -> ShopWorldsEnv:
    return ShopWorldsEnv(level="conditional", world=world, **more)


def fact(case: Case, condition: str) -> bool:
    order: Any = SHOP["orders"][case.requests[0].order_id]
    user: Any = SHOP["users"][case.user_id]
    return CONDITIONS[condition].holds(order, user)


def demanded(case: Case, world: int) -> Procedure:
    return case.demanded(world_of(world, conditional=True))[case.requests[0].goal.kind]


def attempt(env: ShopWorldsEnv, case: Case, procedure: Procedure) -> tuple[list[str], float, bool]:
    """Handle the request by ``procedure`` and wait for the check; return what was seen, reward and end."""
    kind = case.requests[0].goal.kind
    seen: list[str] = []
    actions = [*plan(case.script.person, case.user_id, case.requests, {kind: procedure})]
    for due in actions:
        calls = isinstance(due, CallAction)
        action = render_call(due.name, due.arguments) if calls else render_message(due.content)  # type: ignore[union-attr]
        said, reward, ended, _, _ = env.step(action)
        seen.append(said)
        if ended:
            return seen, reward, True
    said, reward, ended, _, _ = env.step(STAYS)
    return [*seen, said], reward, ended


def others(case: Case, world: int) -> list[Procedure]:
    right = demanded(case, world)
    return [p for p in KINDS[case.requests[0].goal.kind].procedures if p != right]


# --- worlds and tasks -----------------------------------------------------------------------------------


def test_the_other_levels_are_unchanged() -> None:
    """Policies, tasks and right calls of the levels easy, medium and hard, to the byte."""
    digest = hashlib.sha256()
    for world in (0, 5, 1000, 1003, 1011):
        for rules in ("told", "hidden"):
            domain = load_world(world, rules)
            digest.update(domain.policy.encode())
            for split in domain.tasks.values():
                for task in split:
                    calls = [[call.name, call.kwargs] for call in task.actions]
                    row = [task.task_id, task.index, task.user_id, task.level, calls]
                    digest.update(json.dumps(row).encode())
    assert digest.hexdigest() == ("699907751c722bdafada911b26039b77342f25f25345cfdc32cb8c8f84e59af4")
    assert ShopWorldsEnv().task_ids == tuple(case.task_id for case in cases()["test"])
    assert ShopWorldsEnv().source.sha256 != conditional().source.sha256


def test_held_out_worlds_are_balanced_and_conditions_matter() -> None:
    worlds = {world: world_of(world, conditional=True) for world in HELD_OUT}
    for group, times in ((MEASURED, 2), (SPARE, 1)):
        chosen = [worlds[world] for world in group]
        assert Counter(each.condition for each in chosen) == dict.fromkeys(CONDITIONS, times)
        for name, kind in KINDS.items():
            for side in ([w.procedures for w in chosen], [dict(w.otherwise or {}) for w in chosen]):
                assert Counter(each[name] for each in side) == dict.fromkeys(kind.procedures, times)
    for number in (*HELD_OUT, *OPEN[:200]):
        world = world_of(number, conditional=True)
        assert all(world.procedures[name] != (world.otherwise or {})[name] for name in KINDS)
        assert number in HELD_OUT or world not in worlds.values()


def test_splits_are_apart_and_conditions_hold_for_half_of_the_requests_of_each_kind() -> None:
    found = conditional_cases()
    users = [{case.user_id for case in found[split]} for split in TASKS]
    assert not (users[0] & users[1] or users[0] & users[2] or users[1] & users[2])
    elsewhere = {split: {case.user_id for case in cases()[split]} for split in TASKS}
    for split, count in TASKS.items():
        for other in set(TASKS) - {split}:  # nor with the tasks of other levels
            assert not {case.user_id for case in found[split]} & elsewhere[other]
        chosen = found[split]
        assert Counter(case.requests[0].goal.kind for case in chosen) == dict.fromkeys(KINDS, count // 6)
        assert all(len(case.requests) == 1 for case in chosen)
        for kind in KINDS:
            of_kind = [case for case in chosen if case.requests[0].goal.kind == kind]
            for condition in CONDITIONS:
                share = np.mean([fact(case, condition) for case in of_kind])
                assert 0.25 <= share <= 0.75 if split == "validation" else 0.4 <= share <= 0.6


def test_the_tools_show_each_condition() -> None:
    """A reader of the two look-ups knows whether a condition holds."""
    read: Mapping[str, Callable[[Any, Any], bool]] = {
        "value": lambda order, user: order["payment_history"][0]["amount"] >= LEAST_PAID,
        "regular": lambda order, user: len(user["orders"]) >= LEAST_ORDERS,
        "coloured": lambda order, user: '"colour"' in json.dumps(order["items"]),
        "paypal": lambda order, user: "paypal" in order["payment_history"][0]["payment_method_id"],
    }
    env = conditional()
    for task_id in env.task_ids[::10]:
        case = case_of(task_id)
        env.reset(seed=0, options={"task_id": task_id})
        order = json.loads(env.step(_read("get_order_details", order_id=case.requests[0].order_id))[0])
        user = json.loads(env.step(_read("get_user_details", user_id=case.user_id))[0])
        assert {name: see(order, user) for name, see in read.items()} == {
            name: fact(case, name) for name in CONDITIONS
        }


def _read(name: str, **arguments: str) -> str:
    return render_call(name, arguments)


# --- rules ----------------------------------------------------------------------------------------------


def test_hidden_rules_list_all_conditions_and_told_rules_state_one() -> None:
    hidden = {conditional(world).policy() for world in (*OPEN[:20], *HELD_OUT)}
    told = {world: conditional(world, rules="told").policy() for world in HELD_OUT}
    assert len(hidden) == 1 and len(set(told.values())) == len(HELD_OUT)
    (text,) = hidden
    for condition in CONDITIONS.values():
        assert condition.rule in text and condition.opposite in text
    for kind in KINDS.values():
        assert all(rule in text for choice in kind.choices for rule in choice.rules.values())
    for world, policy in told.items():
        stated = [name for name, condition in CONDITIONS.items() if condition.rule in policy]
        assert stated == [world_of(world, conditional=True).condition]
    for policy in (text, *told.values()):
        assert "is undone" in policy
    assert "is undone" not in ShopWorldsEnv().policy()


def read_rules(policy: str) -> ShopWorld:
    """Return what the told rules state, read from their text alone."""
    sections = re.split(r"\nIf (.+):\n", policy)[1:]
    sides: list[dict[str, Procedure]] = []
    for text in sections[1::2]:
        lines = {line[2:].partition(":")[0]: line for line in text.splitlines() if line.startswith("- ")}
        sides.append({
            name: tuple(
                option for choice in kind.choices for option, rule in choice.rules.items()
                if rule in lines[kind.title]
            )
            for name, kind in KINDS.items()
        })  # fmt: skip
    condition = next(name for name, each in CONDITIONS.items() if each.rule == sections[0])
    return ShopWorld(sides[0], condition, sides[1])


@pytest.mark.parametrize("world", [MEASURED[0], MEASURED[4], MEASURED[6]])
def test_a_reader_of_told_rules_wins_and_a_reader_of_one_side_does_not(world: int) -> None:
    env = conditional(world, rules="told")
    read = read_rules(env.policy())
    assert read == world_of(world, conditional=True)
    assert read.otherwise is not None and read.condition is not None
    won: dict[str, list[bool]] = {"both": [], "one": [], "other": []}
    for task_id in env.task_ids[:48:3]:
        case = case_of(task_id)
        kind = case.requests[0].goal.kind
        sides = {"both": case.demanded(read), "one": read.procedures, "other": read.otherwise}
        for name, side in sides.items():
            env.reset(seed=0, options={"task_id": task_id})
            _, reward, ended = attempt(env, case, side[kind])
            won[name].append(reward == 1.0)
            assert ended == (reward == 1.0), "a failed first attempt does not end the episode"
    assert all(won["both"])
    # One of the two sides is right for each request, and never both.
    assert [one ^ other for one, other in zip(won["one"], won["other"], strict=True)] == [True] * 16
    assert 0 < sum(won["one"]) < 16


# --- the repair -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_call_can_be_repaired_once_by_the_right_procedure(kind: str) -> None:
    world = MEASURED[2]
    env = conditional(world)
    for task_id in (OF_KIND[kind][0], OF_KIND[kind][7]):
        case = case_of(task_id)
        (request,) = case.requests
        for wrong in others(case, world):
            env.reset(seed=0, options={"task_id": task_id})
            start = env._state.db.fork()
            seen, _, ended = attempt(env, case, wrong)
            assert not ended and f"{KINDS[kind].complaint}: order {request.order_id} is {UNDONE}" in seen[-1]
            assert env._state.db.same_as(start), "the order and the gift card are as before"
            assert request.order_id in seen[-1].partition(UNDONE)[2], "the customer states the request again"
            seen, reward, ended = attempt(env, case, demanded(case, world))
            assert ended and reward == 1.0, (task_id, wrong, seen)
            assert "It should have been" in seen[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_failure_puts_the_order_on_hold(kind: str) -> None:
    world = MEASURED[3]
    env = conditional(world)
    task_id = OF_KIND[kind][3]
    case = case_of(task_id)
    wrong, again, _ = others(case, world)
    for second in (wrong, again):
        env.reset(seed=0, options={"task_id": task_id})
        attempt(env, case, wrong)
        seen, reward, ended = attempt(env, case, second)
        assert ON_HOLD in seen[-1] and not ended
        while not ended:
            said, reward, ended, _, _ = env.step(STAYS)
            seen.append(said)
        assert reward == 0.0 and "It should have been" in seen[-1]
        assert env._state.db.get("orders", case.requests[0].order_id)["status"] == ON_HOLD


def test_the_yes_for_the_first_attempt_does_not_count_for_the_second() -> None:
    """Otherwise a request that was agreed could not be repaired where the shop wants no yes."""
    kind, tried = "modify_items", 0
    for world in MEASURED:
        for task_id in OF_KIND[kind][:6]:
            case = case_of(task_id)
            right = demanded(case, world)
            if right[1] != "at_once" or tried == 4:
                continue
            tried += 1
            env = conditional(world)
            env.reset(seed=0, options={"task_id": task_id})
            attempt(env, case, (right[0], "confirmed"))
            assert attempt(env, case, right)[1] == 1.0
    assert tried == 4


def test_the_check_that_undoes_a_call_comes_two_steps_after_it() -> None:
    world, kind = MEASURED[0], "order_address"
    task_id = OF_KIND[kind][0]
    case, env = case_of(task_id), conditional(world)
    wrong = others(case, world)[0]
    env.reset(seed=0, options={"task_id": task_id})
    gold = case.requests[0].gold(wrong)
    look_up = _read("get_order_details", order_id=gold.kwargs["order_id"])
    before = env.step(look_up)[0]
    env.step(render_call(gold.name, gold.kwargs))
    for _ in range(DELAY - 1):
        assert env.step(look_up)[0] != before
    assert env.step(look_up)[0] == before
    assert UNDONE in env.step("One moment, please.")[0]


def test_an_order_that_was_changed_again_is_not_undone() -> None:
    world, kind = MEASURED[0], "order_address"
    task_id = OF_KIND[kind][0]
    case, env = case_of(task_id), conditional(world)
    env.reset(seed=0, options={"task_id": task_id})
    gold = case.requests[0].gold(others(case, world)[0])
    env.step(render_call(gold.name, gold.kwargs))  # without any look-up: no procedure of this kind
    env.step(render_call(gold.name, {**gold.kwargs, "city": "Elsewhere"}))
    env.step(STAYS)
    assert env._state.db.get("orders", gold.kwargs["order_id"])["status"] == ON_HOLD


def test_leaving_before_the_check_earns_nothing() -> None:
    world, kind = MEASURED[1], "cancel"
    case = case_of(OF_KIND[kind][0])
    env = conditional(world)
    env.reset(seed=0, options={"task_id": case.task_id})
    reason = demanded(case, world)[0]
    gold = case.requests[0].gold(next(p for p in others(case, world) if p[0] != reason))
    env.step(render_call(gold.name, gold.kwargs))
    _, reward, ended, _, _ = env.step(render_call("transfer_to_human_agents", {"summary": ""}))
    assert ended and reward == 0.0


def test_there_is_no_repair_at_the_other_levels() -> None:
    env = ShopWorldsEnv(world=MEASURED[1], level="easy")
    env.reset(seed=0)
    assert env._state.repairs == 0


# --- players --------------------------------------------------------------------------------------------


def test_the_oracle_wins_and_repairs_what_others_did_before() -> None:
    for world in (OPEN[0], MEASURED[5]):
        env = conditional(world)
        for task_id in env.task_ids[::7]:
            for fails_first in (False, True):
                env.reset(seed=1, options={"task_id": task_id})
                if fails_first:
                    case = case_of(task_id)
                    attempt(env, case, others(case, world)[0])
                twin = env.fork()
                ends = []
                for each in (env, twin):
                    ended = False
                    while not ended:
                        _, reward, ended, _, info = each.step(each.oracle_action())
                    ends.append((reward, info["end_reason"]))
                assert ends == [(1.0, "success")] * 2, task_id


def test_nothing_before_the_first_consequence_depends_on_a_hidden_world() -> None:
    for kind, task_ids in OF_KIND.items():
        case = case_of(task_ids[1])
        procedure = KINDS[kind].procedures[1]
        played, rewards = [], set()
        for world in (0, 1, *MEASURED):
            env = conditional(world)
            first, info = env.reset(seed=0, options={"task_id": case.task_id})
            seen, reward, _ = attempt(env, case, procedure)
            played.append((first, info, seen[:-1]))
            rewards.add(reward)
        assert rewards == {0.0, 1.0}
        assert all(each == played[0] for each in played)


def test_worlds_are_described_with_their_condition() -> None:
    for world in (3, *MEASURED[:2]):
        described = conditional(world).describe_world()
        condition = world_of(world, conditional=True).condition
        assert all(f" if {condition}, else " in name for name in described["procedures"].values())
