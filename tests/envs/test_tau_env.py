"""The τ environments: the contract, users and ends, the oracle, the floors, and bad input."""

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

from nlac_bench.envs.tau import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.tau.actions import render_call
from nlac_bench.envs.tau.domain import load_official
from nlac_bench.envs.tau.invoke import TRANSFER
from nlac_bench.envs.tau.selection import CORRECTED_GOLD, FAILING_GOLD
from nlac_bench.envs.tau.shaping import BEST
from nlac_bench.envs.tau.users import OPENING, STOP
from nlac_bench.errors import DataError, EnvInfraError, UnknownIdError
from nlac_bench.types import ChatReply, Messages, Role, Usage

ENVS = [TauRetailEnv, TauAirlineEnv]
EMBEDDED = [(env_class, split) for env_class in ENVS for split in ("train", "validation", "test")]
OFFICIAL = [
    (TauRetailEnv, "test"),
    (TauRetailEnv, "dev"),
    (TauRetailEnv, "train"),
    (TauAirlineEnv, "test"),
]
HAND_OVER = render_call(TRANSFER, {"summary": "x"})
PARTS = {"original", "strict", "r_actions", "r_outputs", *BEST}
"""The parts of the reward at a graded end."""
LOOK = {
    "tau_retail": '{"name": "list_all_product_types", "arguments": {}}',
    "tau_airline": '{"name": "list_all_airports", "arguments": {}}',
}


@pytest.fixture(params=ENVS, ids=lambda env_class: env_class.name)
def env(request: pytest.FixtureRequest) -> TauEnv:
    return request.param()


@pytest.fixture
def tau_data(official_data: Path) -> Path:
    return official_data / "tau_bench"


def play(
    env: TauEnv, act: Callable[[TauEnv], str], task_id: str | None = None, seed: int = 0
) -> dict[str, Any]:
    env.reset(seed=seed, options={"task_id": task_id} if task_id else None)
    total, ended = 0.0, False
    while not ended:
        _, reward, ended, truncated, info = env.step(act(env))
        assert not truncated
        total += reward
    return {**info, "return": total}


# --- Gymnasium's contract -----------------------------------------------------------------------


def test_check_env(env: TauEnv) -> None:
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("env_id", ["nlac_bench/TauRetail-v0", "nlac_bench/TauAirline-v0"])
def test_make(env_id: str) -> None:
    made = RecordEpisodeStatistics(gymnasium.make(env_id, split="train"))
    made.reset(seed=1)
    *_, terminated, truncated, info = made.step(HAND_OVER)
    assert (terminated, truncated) == (True, False)
    assert info["episode"]["l"] == 1
    made.close()


@pytest.mark.parametrize("env_id", ["nlac_bench/TauRetail-v0", "nlac_bench/TauAirline-v0"])
def test_make_vec(env_id: str) -> None:
    envs = gymnasium.make_vec(env_id, num_envs=3)
    first, infos = envs.reset(seed=5)
    assert len(first) == 3
    assert len(set(infos["task_id"])) > 1
    _, rewards, terminated, _, _ = envs.step([HAND_OVER, "Hello", "{"])
    assert list(terminated) == [True, False, False]
    assert rewards.shape == (3,)
    envs.close()


@pytest.mark.parametrize("env_class", ENVS)
def test_async_vector_env(env_class: type[TauEnv]) -> None:
    envs = gymnasium.vector.AsyncVectorEnv([env_class] * 2, shared_memory=False)
    first, _ = envs.reset(seed=3)
    alone, _ = env_class().reset(seed=3)
    assert first[0] == alone
    observations, *_ = envs.step((LOOK[env_class.name], "Hello"))
    assert observations[0].startswith("{")
    envs.close()


def test_the_same_seed_gives_the_same_episode(env: TauEnv) -> None:
    def record() -> list[Any]:
        rng, steps, ended = np.random.default_rng(7), [env.reset(seed=11)], False
        while not ended:
            step = env.step(env.random_action(rng))
            steps.append(step)  # type: ignore[arg-type]
            ended = step[2]
        return steps

    assert record() == record()


def test_info_at_reset(env: TauEnv) -> None:
    first, info = env.reset(seed=0)
    assert info["messages"] == [
        {"role": "system", "content": info["policy"]},
        {"role": "user", "content": first},
    ]
    assert {tool["function"]["name"] for tool in info["tools"]} >= {TRANSFER, "calculate", "think"}
    assert (info["split"], info["user"], info["data_source"]) == ("test", "scripted", "embedded")
    assert len(info["data_sha256"]) == 64
    json.dumps(info, allow_nan=False)


def test_pickling_in_the_middle_of_an_episode(env: TauEnv) -> None:
    env.reset(seed=2)
    env.step(env.oracle_action())
    twin, ended = pickle.loads(pickle.dumps(env)), False
    while not ended:
        action = env.oracle_action()
        assert twin.oracle_action() == action
        step = env.step(action)
        assert twin.step(action) == step
        ended = step[2]


# --- what actions do ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[TOOL_CALLS]get_user[ARGS]{}", '<|python_tag|>get_user.call(id="7")', '<invoke name="get_user">',
        "<tool_call>get_user</tool_call>", "Let me look. <function=get_user>",
        "<｜tool▁call▁begin｜>get_user",
        '<｜DSML｜invoke name="get_user">', "<|tool_call_begin|>functions.get_user:0",
        "<|tool_call>call:get_user{}<tool_call|>",
        render_call("respond", {"content": "<|tool_call|>"}),
        'I will check.\n\n{"name":"get_user","parameters":{"id": "7"}}',
        'Action: get_user_details\nAction Input: {"user_id": "7"}', 'I call get_user_details(user_id="7").',
        "Thought: greet\nAction: respond\nAction Input: Hello", "Action: think", "<|start|>assistant Hello",
        "Thought: ask\nAction: think(the order is late)", "Action: calculate: 2+3", "Hello <seed:think>They",
        render_call("respond", {"content": "<think>They are rude.</think>Hello"}),
    ],
)  # fmt: skip
def test_the_marker_of_a_call_that_is_not_read_is_never_said_to_the_user(env: TauEnv, text: str) -> None:
    env.reset(seed=0)
    observation, _, _, _, info = env.step(text)
    assert info["action_kind"] == "invalid" and "was not sent to the user" in observation
    observation, _, _, _, info = env.step("Is a tool call (or [TOOL] and <tools>) something you need?")
    assert info["action_kind"] == "message"
    for said in ("get_user_details found you (think of it as a search).", "Action: think about it, please"):
        observation, _, _, _, info = env.step(said)
        assert info["action_kind"] == "message"


def test_a_call_a_message_and_an_invalid_action(env: TauEnv) -> None:
    env.reset(seed=0)
    seen, _, _, _, info = env.step(LOOK[env.name])
    assert seen.startswith("{")
    assert (info["action_kind"], info["tool_error"]) == ("tool", None)
    assert info["tool_name"] == json.loads(LOOK[env.name])["name"]
    seen, _, _, _, info = env.step("Could you give me your user id?")
    assert (info["action_kind"], info["tool_name"]) == ("message", None)
    assert seen == env.conversation()["turns"][-1][1]
    seen, _, _, _, info = env.step('{"name": "get_user_details"')
    assert info["action_kind"] == "invalid"
    assert "not valid JSON" in seen
    seen, _, _, _, info = env.step('{"name": "fly", "arguments": {}}')
    assert seen == "Unknown action fly"
    assert (info["action_kind"], info["tool_name"], info["tool_error"]) == ("tool", "fly", seen)
    seen, _, _, _, info = env.step('{"name": "think", "arguments": {}}')
    assert seen == "Error: Think.invoke() missing 1 required positional argument: 'thought'"
    assert info["tool_error"] == seen


def test_respond_says_the_same_as_plain_text(env: TauEnv) -> None:
    env.reset(seed=0)
    twin = env.fork()
    assert env.step("Who are you?")[0] == twin.step(render_call("respond", {"content": "Who are you?"}))[0]


@pytest.mark.parametrize("arguments", [{"summary": "x"}, {}, {"wrong": 1}])
def test_a_transfer_ends_the_episode_whatever_its_arguments(env: TauEnv, arguments: dict[str, Any]) -> None:
    env.reset(seed=0)
    *_, terminated, truncated, info = env.step(render_call(TRANSFER, arguments))
    assert terminated
    assert not truncated
    assert info["end_reason"] == ("success" if info["success"] else "agent_stop")
    assert set(info["reward_parts"]) == PARTS
    with pytest.raises(ResetNeeded):
        env.step("Hello?")


def test_thirty_steps_end_it_without_a_check(env: TauEnv) -> None:
    """Even where the database is right by then."""
    env.reset(seed=0)
    calls, terminated = len(env.gold_calls()), False
    for step in range(30):
        assert not terminated, step
        action = env.oracle_action() if step < calls else LOOK[env.name]
        _, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert (info["success"], info["end_reason"]) == (False, "max_steps")
    assert set(info["reward_parts"]) == PARTS - {"r_actions", "r_outputs"}
    assert info["reward_parts"]["original"] == info["reward_parts"]["strict"] == 0.0


def test_an_end_at_the_thirtieth_step_is_graded(env: TauEnv) -> None:
    env.reset(seed=0)
    for _ in range(29):
        action = env.oracle_action() if env._state.gold_done < len(env.gold_calls()) else LOOK[env.name]
        env.step(action)
    for output in env._state.task.outputs:
        env._state.said.append(output)
        env._state.answers.say(output)
    _, reward, _, _, info = env.step(HAND_OVER)
    assert (reward, info["end_reason"]) == (1.0, "success")


def test_a_new_episode_sees_nothing_of_the_last(env: TauEnv) -> None:
    before = env.domain.new_database().hash()
    task_id = env.task_ids[0]
    play(env, TauEnv.oracle_action, task_id)
    assert env.domain.new_database().hash() == before
    assert play(env, lambda _: HAND_OVER, task_id) == play(env, lambda _: HAND_OVER, task_id)


def test_gold_never_shows(env: TauEnv) -> None:
    task = env.tasks[env.task_ids[0]]
    _, info = env.reset(options={"task_id": task.task_id})
    shown = json.dumps(info)
    assert task.instruction not in shown
    for call in task.actions:
        if call.kwargs:
            assert json.dumps(dict(call.kwargs)) not in shown
    *_, info = env.step(HAND_OVER)
    assert set(info["reward_parts"]) == PARTS


# --- fork ---------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(ENVS), st.integers(0, 2**31), st.integers(0, 8), st.integers(1, 8))
def test_a_fork_never_changes_its_parent(env_class: type[TauEnv], seed: int, shared: int, apart: int) -> None:
    env, rng = cached(env_class), np.random.default_rng(seed)
    env.reset(seed=seed)

    def walk(env: TauEnv, steps: int, rng: np.random.Generator, skill: float) -> list[Any]:
        taken = []
        for _ in range(steps):
            taken.append(env.step(env.oracle_action() if rng.random() < skill else env.random_action(rng)))
            if taken[-1][2]:
                break
        return taken

    before = walk(env, shared, rng, 0.5)
    if before and before[-1][2]:
        return
    talk, steps, digest = env.conversation(), env._steps, env._state.db.hash()
    twin, other = env.fork(), env.fork()
    one = walk(twin, apart, np.random.default_rng(seed + 1), 0.7)
    assert (env.conversation(), env._steps, env._state.db.hash()) == (talk, steps, digest)
    assert walk(other, apart, np.random.default_rng(seed + 1), 0.7) == one
    assert walk(env, apart, np.random.default_rng(seed + 1), 0.7) == one


_ENVS: dict[type[TauEnv], TauEnv] = {}


def cached(env_class: type[TauEnv]) -> TauEnv:
    return _ENVS.setdefault(env_class, env_class(split="train"))


# --- the oracle and the floors ------------------------------------------------------------------


@pytest.mark.lists
@pytest.mark.parametrize(("env_class", "split"), EMBEDDED)
@pytest.mark.parametrize("user", ["scripted", "none"])
def test_the_oracle_solves_every_embedded_task(env_class: type[TauEnv], split: str, user: Any) -> None:
    """With the scripted user, which plays no part in it but for its last reply, a third of the tasks."""
    env = env_class(split=split, user=user)
    for task_id in env.task_ids[:: 3 if user == "scripted" else 1]:
        end = play(env, TauEnv.oracle_action, task_id)
        parts = end["reward_parts"]
        assert (parts["original"], parts["strict"], end["end_reason"]) == (1.0, 1.0, "success"), task_id


@pytest.mark.lists
@pytest.mark.official
@pytest.mark.parametrize(("env_class", "split"), OFFICIAL)
def test_the_oracle_solves_every_official_task(env_class: type[TauEnv], split: str, tau_data: Path) -> None:
    for user in ("none", "scripted") if split == "train" else ("none",):
        env = env_class(split=split, data=tau_data, user=user)
        for task_id in env.task_ids[:: 3 if user == "scripted" else 1]:
            parts = play(env, TauEnv.oracle_action, task_id)["reward_parts"]
            assert (parts["original"], parts["strict"]) == (1.0, 1.0), task_id


@pytest.mark.lists
@pytest.mark.official
@pytest.mark.parametrize(
    ("env_class", "split", "solved"),
    [
        (TauRetailEnv, "test", 7),
        (TauRetailEnv, "train", 5),
        (TauRetailEnv, "dev", 1),
        (TauAirlineEnv, "test", 19),
    ],
)
def test_what_handing_over_at_once_earns(
    env_class: type[TauEnv], split: str, solved: int, tau_data: Path
) -> None:
    env = env_class(split=split, data=tau_data)
    assert sum(play(env, lambda _: HAND_OVER, t)["return"] for t in env.task_ids) == solved


@pytest.mark.official
@pytest.mark.parametrize(
    ("said", "original", "strict"), [("10", 1, 1), ("There are 100.", 1, 0), ("9", 0, 0)]
)
@pytest.mark.parametrize("rule", ["original", "strict"])
def test_the_strict_reward_wants_the_output_itself(
    rule: Any, said: str, original: float, strict: float, tau_data: Path
) -> None:
    env = TauRetailEnv(data=tau_data, reward=rule)
    env.reset(options={"task_id": "retail/test/2"})  # its one output is "10"
    while env._state.gold_done < len(env.gold_calls()):
        env.step(env.oracle_action())
    _, reward, *_, info = env.step(said)
    assert reward == {"original": original, "strict": strict}[rule]
    assert (info["reward_parts"]["original"], info["reward_parts"]["strict"]) == (original, strict)
    assert info["success"] == (reward == 1)
    assert info["end_reason"] == ("success" if reward else "user_stop")


@pytest.mark.lists
@pytest.mark.parametrize("env_class", ENVS)
def test_a_thousand_random_actions(env_class: type[TauEnv]) -> None:
    env, rng = env_class(split="train"), np.random.default_rng(0)
    env.reset(seed=0)
    errors = taken = 0
    for _ in range(1000):
        _, _, ended, _, info = env.step(env.random_action(rng))
        assert info["action_kind"] in ("tool", "message")
        taken += info["action_kind"] == "tool" and info["tool_error"] is None
        errors += info["tool_error"] is not None
        json.dumps(info, allow_nan=False)
        if ended:
            env.reset()
    assert taken > 100
    assert errors > 100


def test_constant_actions_can_all_be_played(env: TauEnv) -> None:
    for action in env.constant_actions():
        env.reset(seed=0)
        *_, info = env.step(action)
        assert info["action_kind"] != "invalid"


# --- which tasks, which user --------------------------------------------------------------------


@pytest.mark.parametrize("env_class", ENVS)
def test_levels_part_the_tasks(env_class: type[TauEnv]) -> None:
    every = set(env_class().task_ids)
    parts = [set(env_class(level=level).task_ids) for level in ("easy", "medium", "hard")]
    assert all(parts)
    assert sum(map(len, parts)) == len(every)
    assert set().union(*parts) == every


def test_tasks_are_chosen_by_id_or_index() -> None:
    ids = TauRetailEnv().task_ids
    assert TauRetailEnv(tasks=[ids[3], 1, 3]).task_ids == (ids[3], ids[1])
    assert TauRetailEnv(tasks="clean").task_ids == ids
    for wrong in (["retail/test/9999"], [-1], ["nothing"]):
        with pytest.raises(UnknownIdError, match=str(wrong[0])):
            TauRetailEnv(tasks=wrong)
    with pytest.raises(ValueError, match="clean"):
        TauRetailEnv(tasks="dirty")
    with pytest.raises(ValueError, match="no task"):
        TauRetailEnv(tasks=[])


@pytest.mark.official
@pytest.mark.parametrize(("env_class", "split"), OFFICIAL)
def test_clean_leaves_out_what_is_known_to_be_wrong(
    env_class: type[TauEnv], split: str, tau_data: Path
) -> None:
    env = env_class(split=split, data=tau_data)
    part = f"{env.domain_name}/{split}"
    failing = set()
    for task in load_official(env.domain_name, tau_data).tasks[split]:
        env.reset(options={"task_id": task.task_id})
        for call in task.actions:
            if call.name == TRANSFER:
                continue
            *_, info = env.step(render_call(call.name, call.kwargs))
            if info["tool_error"] and not call.name.startswith(
                ("get_", "find_", "search_", "list_", "calculate")
            ):
                failing.add(task.index)
    assert failing == FAILING_GOLD.get(part, frozenset())
    wrong = failing | CORRECTED_GOLD.get(part, frozenset())
    kept = env_class(split=split, data=tau_data, tasks="clean").task_ids
    assert kept == tuple(t for t in env.task_ids if int(t.rpartition("/")[2]) not in wrong)


@pytest.mark.parametrize(
    ("arguments", "error", "names"),
    [
        ({"split": "dev"}, UnknownIdError, "train"),
        ({"level": "insane"}, UnknownIdError, "easy"),
        ({"reward": "kind"}, ValueError, "strict"),
        ({"user": "robot"}, ValueError, "reflection"),
        ({"user": "llm"}, ValueError, "chat"),
        ({"user": "replay"}, ValueError, "replies"),
        ({"user": "none", "replies": "x.jsonl"}, ValueError, "replies"),
        ({"user": "replay", "replies": "none.jsonl"}, DataError, "none.jsonl"),
        ({"data": "/nowhere/at/all"}, DataError, "/nowhere/at/all"),
        ({"render_mode": "human"}, ValueError, "ansi"),
    ],
)
@pytest.mark.parametrize("env_class", ENVS)
def test_wrong_arguments_are_named(
    env_class: type[TauEnv], arguments: dict[str, Any], error: type[Exception], names: str
) -> None:
    with pytest.raises(error, match=names):
        env_class(**arguments)


@pytest.mark.official
@pytest.mark.parametrize(("env_class", "split"), OFFICIAL)
def test_users_of_official_tasks(env_class: type[TauEnv], split: str, tau_data: Path) -> None:
    env = env_class(split=split, data=tau_data)
    if split == "train":
        assert (env.user_kind, env.floors_only) == ("scripted", False)
        return
    first, info = env.reset(seed=0)
    assert (first, info["user"], env.floors_only) == (OPENING, "none", True)
    seen, *_, info = env.step("How can I help?")
    assert seen == STOP
    assert info["end_reason"] in ("user_stop", "success")
    with pytest.raises(ValueError, match="leak the answer"):
        env_class(split=split, data=tau_data, user="scripted")
    modelled = env_class(split=split, data=tau_data, chat=Model())
    assert (modelled.user_kind, modelled.remote, modelled.floors_only) == ("llm", True, False)


class Model:
    """A user's model that hangs up at its third message, or fails."""

    def __init__(self, fail_at: int = 99) -> None:
        self.calls, self.fail_at = 0, fail_at

    async def __call__(self, messages: Messages, role: Role) -> ChatReply:
        self.calls += 1
        if self.calls == self.fail_at:
            raise ConnectionError("server is down")
        said = sum(m["role"] == "assistant" for m in messages)
        return ChatReply("Thanks. ###STOP###" if said >= 2 else f"Line {said}", Usage(1, 7, 3))


def test_a_model_as_user_is_counted(env: TauEnv) -> None:
    env = type(env)(user="llm", chat=Model())
    assert env.remote
    assert env.reset(seed=0)[0] == "Line 0"
    seen, _, _, _, info = env.step("Hello")
    assert seen == "Line 1"
    assert info["usage"]["user"]["calls"] == 2
    assert info["usage"]["user"]["prompt_tokens"] == 14
    *_, info = env.step(LOOK[env.name])
    assert info["usage"] == {}
    *_, terminated, _, info = env.step("Done")
    assert terminated
    assert info["usage"]["user"]["calls"] == 1
    assert info["end_reason"] in ("user_stop", "success")


@pytest.mark.parametrize("fail_at", [1, 2])
def test_a_failing_model_is_never_scored(env: TauEnv, fail_at: int) -> None:
    env = type(env)(user="llm", chat=Model(fail_at))
    with pytest.raises(EnvInfraError, match="server is down"):
        env.reset(seed=0)
        env.step("Hello")


def test_a_conversation_is_replayed(env: TauEnv, tmp_path: Path) -> None:
    def act(env: TauEnv) -> str:
        return f"Message {len(env.conversation()['turns'])}"

    recorded = type(env)(user="llm", chat=Model())
    task_id = recorded.task_ids[4]
    end = play(recorded, act, task_id)
    path = tmp_path / "users.jsonl"
    path.write_text(json.dumps(recorded.conversation()) + "\n", encoding="utf-8")
    again = type(env)(user="replay", replies=path)
    assert not again.remote
    replayed = play(again, act, task_id)
    assert {**replayed, "usage": {}} == {**end, "usage": {}}
    assert again.conversation() == recorded.conversation()
    again.reset(options={"task_id": task_id})
    with pytest.raises(EnvInfraError, match="Something else"):
        again.step("Something else")


# --- bad input ----------------------------------------------------------------------------------


def hostile() -> Iterator[Any]:
    yield "x" * 10_000_000
    yield "{" * 10_000_000
    yield '{"a":' * 3_000
    yield "\ud800"
    yield '{"name": "think", "arguments": {"thought": "\\ud800"}}'
    yield "\x00" * 1000
    yield None
    yield b"bytes"
    yield 5


def test_hostile_actions_are_counted_invalid_steps_or_messages(env: TauEnv) -> None:
    env.reset(seed=0)
    for steps, action in enumerate(hostile(), 1):
        seen, reward, _, _, info = env.step(action)
        seen.encode("utf-8")
        assert reward == 0.0
        assert info["action_kind"] == ("message" if action == "\x00" * 1000 else "invalid")
        assert env._steps == steps


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.lists
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ENVS), st.data())
def test_no_argument_breaks_a_tool(env_class: type[TauEnv], data: st.DataObject) -> None:
    env = cached(env_class)
    env.reset(seed=0)
    for _ in range(4):
        function = data.draw(st.sampled_from(env.tools()))["function"]
        names = st.sampled_from([*function["parameters"]["properties"], "data", "extra"])
        arguments = data.draw(st.dictionaries(names, JSON))
        seen, _, ended, _, info = env.step(json.dumps({"name": function["name"], "arguments": arguments}))
        seen.encode("utf-8")
        json.dumps(info)
        if ended:
            break
    env._state.db.hash()
