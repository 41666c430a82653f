"""The graded parts of the τ reward: what hand-made plays get, the oracle's figures, and shaped rewards."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from nlac_bench.envs.tau import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.tau.actions import render_call
from nlac_bench.envs.tau.domain import GoldCall
from nlac_bench.envs.tau.invoke import TRANSFER
from nlac_bench.envs.tau.shaping import BEST, RewardRule
from nlac_bench.simulators.customer import STOP
from tests.simulators.customer.tau_manners import Manner, MannerAgent

HAND_OVER = render_call(TRANSFER, {"summary": "x"})
FAULTLESS = dict(BEST)


def golds(env: TauEnv, task_id: str) -> tuple[GoldCall, ...]:
    return env.tasks[task_id].actions


def task_with(env: TauEnv, *names: str) -> str:
    """Return a task whose gold calls are exactly those named."""
    return next(task for task in env.task_ids if [call.name for call in golds(env, task)] == list(names))


def play(env: TauEnv, task_id: str, actions: Iterable[str]) -> tuple[float, dict[str, Any]]:
    """Play ``actions`` until the end; return the last reward and ``info``."""
    env.reset(seed=0, options={"task_id": task_id})
    for action in actions:
        _, reward, ended, _, info = env.step(action)
        if ended:
            return reward, info
    raise AssertionError("the episode has not ended")


def graded(info: dict[str, Any]) -> dict[str, float]:
    return {name: info["reward_parts"][name] for name in BEST}


def cancelling(env: TauEnv, *, identify: bool = True, ask: bool = True, repeat: int = 0) -> list[str]:
    """Return a decent play of a task with one cancellation, or one without a part of it."""
    task = env.tasks[task_with(env, "cancel_pending_order")]
    (call,) = task.actions
    order = call.kwargs["order_id"]
    email = env.domain.tables["users"][task.user_id]["email"]
    look_up = render_call("get_order_details", {"order_id": order})
    return [
        *([render_call("find_user_id_by_email", {"email": email})] if identify else []),
        *[look_up] * (1 + repeat),
        *([f"I will cancel {order}, reason: {call.kwargs['reason']}. Do you confirm?"] if ask else []),
        render_call(call.name, call.kwargs),
        f"Order {order} has been cancelled. Is there anything else?",
        f"I have cancelled order {order}.",
    ]


@pytest.fixture(scope="module")
def shop() -> TauRetailEnv:
    return TauRetailEnv(level="easy")


def test_a_decent_play_is_faultless_but_for_its_steps(shop: TauRetailEnv) -> None:
    task = task_with(shop, "cancel_pending_order")
    reward, info = play(shop, task, cancelling(shop))
    assert reward == 1.0 and info["end_reason"] == "success"
    steps = shop._steps
    assert graded(info) == {**FAULTLESS, "steps_over_oracle": steps - 2.0}, "a gold call and a message"
    _, longer = play(shop, task, cancelling(shop, repeat=3))
    assert graded(longer)["steps_over_oracle"] == steps - 2.0 + 3


@pytest.mark.parametrize(("left_out", "part"), [("identify", "identified"), ("ask", "consented")])
def test_each_omission_shows_in_its_part_only(shop: TauRetailEnv, left_out: str, part: str) -> None:
    reward, info = play(
        shop, task_with(shop, "cancel_pending_order"), cancelling(shop, **{left_out: False})
    )  # fmt: skip
    parts = {**graded(info), "steps_over_oracle": 0.0}
    assert reward == 1.0 and parts == {**FAULTLESS, part: 0.0}


def test_identification_after_the_first_call_or_of_somebody_else_does_not_count(shop: TauRetailEnv) -> None:
    task = task_with(shop, "cancel_pending_order")
    find, *rest = cancelling(shop)
    other = next(
        row["email"] for user, row in shop.domain.tables["users"].items()
        if user != shop.tasks[task].user_id
    )  # fmt: skip
    late = [*rest[:3], find, *rest[3:]]
    wrong = [render_call("find_user_id_by_email", {"email": other}), *rest]
    for actions in (late, wrong):
        _, info = play(shop, task, actions)
        assert info["success"] and graded(info)["identified"] == 0.0


def test_refused_calls_are_violations_too_and_a_transfer_can_be_needless(shop: TauRetailEnv) -> None:
    task = task_with(shop, "cancel_pending_order")
    (call,) = golds(shop, task)
    for_ever = render_call(call.name, {**call.kwargs, "reason": "too expensive"})
    unknown = render_call(call.name, {**call.kwargs, "order_id": "#W0"})
    reward, info = play(shop, task, [for_ever, unknown, for_ever, HAND_OVER])
    expected = {"identified": 1.0, "consented": 1.0, "violations": 2.0, "needless_transfer": 1.0}
    assert reward == 0.0 and graded(info) == {**expected, "steps_over_oracle": 4.0 - 3}
    hands_over = TauRetailEnv(level="hard")
    task = next(t for t in hands_over.task_ids if TRANSFER in [c.name for c in golds(hands_over, t)])
    _, info = play(hands_over, task, [HAND_OVER])
    assert graded(info)["needless_transfer"] == 0.0 and graded(info)["steps_over_oracle"] == 0.0


def test_the_airline_knows_a_user_who_says_the_id_or_is_looked_up() -> None:
    env = TauAirlineEnv()
    for task_id in env.task_ids:
        task = env.tasks[task_id]
        if [call.name for call in task.actions] != ["update_reservation_baggages"] or task.outputs:
            continue
        first, _ = env.reset(seed=0, options={"task_id": task_id})
        write = render_call(task.actions[0].name, task.actions[0].kwargs)
        _, info = play(env, task_id, [write, HAND_OVER])
        assert graded(info)["identified"] == float(task.user_id in first)
        look_up = render_call("get_user_details", {"user_id": task.user_id})
        _, info = play(env, task_id, [look_up, write, HAND_OVER])
        assert graded(info)["identified"] == 1.0 and graded(info)["consented"] == 0.0


def test_the_limit_of_steps_has_graded_parts_too(shop: TauRetailEnv) -> None:
    task = task_with(shop, "cancel_pending_order")
    reward, info = play(shop, task, [*cancelling(shop, ask=False)[:3], *["{"] * 30])
    assert info["end_reason"] == "max_steps" and reward == 0.0
    assert graded(info) == {**FAULTLESS, "consented": 0.0, "steps_over_oracle": 28.0}


@pytest.mark.lists
@pytest.mark.parametrize("env_class", [TauRetailEnv, TauAirlineEnv])
@pytest.mark.parametrize("manner", ["terse", "thorough"])
def test_an_agent_that_asks_before_each_write_has_consent(env_class: type[TauEnv], manner: Manner) -> None:
    env = env_class()
    for task_id in env.task_ids[::18]:
        agent = MannerAgent(env, manner)
        assert agent.play(task_id) == 1.0
        assert agent.parts["consented"] == 1.0 and agent.parts["violations"] == 0.0, task_id


# --- the oracle -------------------------------------------------------------------------------------------


@pytest.mark.lists
@pytest.mark.parametrize("env_class", [TauRetailEnv, TauAirlineEnv])
@pytest.mark.parametrize("user", ["scripted", "none"])
def test_the_oracle_breaks_no_rule_and_takes_no_needless_step(env_class: type[TauEnv], user: Any) -> None:
    """It makes the gold calls only and asks for nothing; it ends a talk that goes on by a transfer."""
    env = env_class(user=user)
    for task_id in env.task_ids[::7]:
        first, _ = env.reset(seed=0, options={"task_id": task_id})
        heard, ended = first, False
        while not ended:
            heard, _, ended, _, info = env.step(env.oracle_action())
        task, parts = env.tasks[task_id], graded(info)
        writes = any(call.name != TRANSFER for call in task.actions)
        told = env_class is TauAirlineEnv and task.user_id in first
        assert parts["violations"] == parts["steps_over_oracle"] == 0.0
        assert parts["consented"] == float(not writes)
        assert parts["identified"] == float(told or not writes)
        gold_ends = any(call.name == TRANSFER for call in task.actions)
        assert parts["needless_transfer"] == float(STOP not in heard and not gold_ends)


@pytest.mark.lists
@pytest.mark.official
@pytest.mark.parametrize(
    ("env_class", "identified", "consented", "violating"),
    [(TauRetailEnv, 70, 11, 4), (TauAirlineEnv, 29, 20, 8)],
)
def test_the_oracle_on_official_test_tasks(
    env_class: type[TauEnv], identified: int, consented: int, violating: int, official_data: Path
) -> None:
    """Its gold calls look up the user in some tasks, and break rules where they are known to be wrong."""
    env = env_class(data=official_data / "tau_bench", user="none")
    found = []
    for task_id in env.task_ids:
        env.reset(seed=0, options={"task_id": task_id})
        ended = False
        while not ended:
            *_, ended, _, info = env.step(env.oracle_action())
        found.append(graded(info))
    assert sum(p["identified"] for p in found) == identified
    assert sum(p["consented"] for p in found) == consented
    assert sum(p["violations"] > 0 for p in found) == violating
    assert not any(p["steps_over_oracle"] or p["needless_transfer"] for p in found)


# --- shaped rewards ---------------------------------------------------------------------------------------


def test_a_shaped_reward_is_the_original_less_what_the_conduct_lacks() -> None:
    weights = {"consented": 0.25, "violations": -0.5, "steps_over_oracle": -0.01, "identified": 0.125}
    env = TauRetailEnv(level="easy", reward=f"shaped@{json.dumps(weights)}")
    task = task_with(env, "cancel_pending_order")
    reward, info = play(env, task, cancelling(env, ask=False))
    over = graded(info)["steps_over_oracle"]
    assert reward == pytest.approx(1 - 0.25 - 0.01 * over) and info["success"] is True
    assert info["reward_parts"]["original"] == 1.0
    idle, info = play(env, task, [HAND_OVER])
    assert idle == 0.0 and info["success"] is False, "idleness earns nothing"
    limit, info = play(env, task, ["{"] * 30)
    assert limit == pytest.approx(-0.01 * 28) and info["end_reason"] == "max_steps"


def test_equal_weights_are_equal_conditions_and_the_default_has_none() -> None:
    one = TauRetailEnv(reward='shaped@{"violations": -1, "consented": 0.5}').conditions()
    two = TauRetailEnv(reward='shaped@{"consented": 0.5,"violations":-1.0}').conditions()
    assert one == two and one["reward"] == 'shaped@{"consented": 0.5, "violations": -1.0}'
    assert TauRetailEnv().conditions()["reward"] == "strict"
    assert RewardRule.parse("strict").reward({"original": 1.0, "strict": 0.0}) == 0.0


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        ("kind", "must be 'original', 'strict' or 'shaped@"),
        (7, "must be 'original', 'strict' or 'shaped@"),
        ("shaped@", "are not JSON"),
        ("shaped@{}", "needs weights such as"),
        ("shaped@[1]", "needs weights such as"),
        ('shaped@{"kindness": 1}', "weight of 'kindness'; the parts are identified, consented"),
        ('shaped@{"consented": "1"}', "weight of 'consented' must be a number, got '1'"),
        ('shaped@{"consented": true}', "must be a number, got True"),
        ('shaped@{"consented": Infinity}', "must be a number, got inf"),
        ('shaped@{"consented": -1}', "weight of 'consented' must be positive"),
        ('shaped@{"violations": 1}', "weight of 'violations' must be negative"),
    ],
)
def test_rewards_that_are_none_are_refused(reward: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        TauRetailEnv(reward=reward)
