"""The scripted user: what it understands and confirms, and that tasks can be played through its replies."""

import contextlib
import dataclasses
import random
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlac_bench.envs.tau.actions import render_call, render_message
from nlac_bench.envs.tau.domain import Task, load_official
from nlac_bench.envs.tau.embedded import load_embedded
from nlac_bench.envs.tau.env import TauAirlineEnv, TauEnv, TauRetailEnv
from nlac_bench.envs.tau.users.official_train import script_of, vocabulary_of
from nlac_bench.envs.tau.users.scripted import ScriptedUser
from nlac_bench.errors import DataError
from nlac_bench.simulators.customer import STOP
from nlac_bench.simulators.customer.intent.goals import Goal, Script
from nlac_bench.simulators.customer.speak.talk import MAX_REPLIES
from tests.simulators.customer.official_calls import gold_calls
from tests.simulators.customer.tau_proposals import proposal, wrong_goals
from tests.simulators.customer.tau_turns import SCRIPTS, turns
from tests.timing import scans
from workshop.airline_rules import AirlineAgent
from workshop.retail_rules import RetailAgent

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the scripted user waited for something")


def user_of(script: Script, seed: int = 0) -> tuple[ScriptedUser, str]:
    """A user who plays ``script``, and its first message."""
    task = Task("retail/test/easy/000", 0, "u", "", (), (), intent={"script": script})
    user = ScriptedUser()
    return user, run(user.begin(task, np.random.default_rng(seed)))


def meaning(reply: str) -> str:
    """What a reply amounts to."""
    if STOP in reply:
        return "stop"
    return (
        "yes" if reply.startswith(("Yes", "Sure, go ahead")) else "no" if reply.startswith("No") else "says"
    )


@pytest.mark.parametrize("turn", turns(), ids=lambda turn: f"{turn['script']}: {str(turn['agent'])[:50]!r}")
def test_turn_is_understood(turn: dict[str, Any]) -> None:
    said = turn["agent"] if isinstance(turn["agent"], list) else [turn["agent"]]
    wanted = {"next": "says"}.get(turn["means"], turn["means"])
    for seed in range(3):
        user, _ = user_of(SCRIPTS[turn["script"]], seed)
        reply = ""
        for message in said:
            reply = run(user.reply(message))
        assert meaning(reply) == wanted, reply
        assert all(word in reply for word in turn["words"]), reply
        assert not any(word in reply for word in turn.get("lacks", ())), reply


def test_there_are_enough_turns() -> None:
    assert len({str(turn["agent"]) for turn in turns()}) >= 120
    assert {turn["means"] for turn in turns()} == {"yes", "no", "says", "next", "stop"}


# --- proposals ----------------------------------------------------------------------------------


def judged(script: Script, goal: Goal, message: str) -> str:
    """How a user with ``goal`` alone takes ``message``."""
    return meaning(run(user_of(dataclasses.replace(script, goals=(goal,)))[0].reply(message)))


def goals_of(scripts: list[Script]) -> Iterator[tuple[Script, Goal]]:
    """All goals that an agent has to have confirmed."""
    for script in scripts:
        for goal in script.goals:
            if goal.kind not in ("ask", "other"):
                yield script, dataclasses.replace(goal, change=None, fallback=None)


def check_proposals(scripts: list[Script]) -> None:
    """Every right proposal gets a yes, no wrong one does."""
    rng = random.Random(7)
    right = wrong = 0
    for script, goal in goals_of(scripts):
        message = proposal(goal, rng)
        assert judged(script, goal, message) == "yes", message
        right += 1
        for slot, other in wrong_goals(goal, script, rng):
            message = proposal(other, rng)
            assert judged(script, goal, message) != "yes", f"wrong {slot}: {message}"
            wrong += 1
    assert right >= len(scripts)
    assert wrong >= 3 * len(scripts)


@pytest.mark.lists
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])  # 360 users: 10 s each
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_only_right_proposals_are_confirmed(name: str, every: int) -> None:
    check_proposals([script(task) for task in load_embedded(name).tasks["test"][::every]])


@pytest.mark.slow  # makes proposals to the scripted users of 250 training tasks
@pytest.mark.official
def test_only_right_proposals_are_confirmed_in_official_tasks() -> None:
    domain = load_official("retail")
    vocabulary = vocabulary_of(domain)
    check_proposals([script_of(task.instruction, vocabulary) for task in domain.tasks["train"][::2]])


def changing(name: str, kind: str) -> list[Script]:
    """Embedded users with one goal of a kind, who change their mind about it."""
    scripts = [script(task) for split in load_embedded(name).tasks.values() for task in split]
    return [
        dataclasses.replace(each, goals=(goal,))
        for each in scripts
        for goal in each.goals
        if goal.kind == kind and goal.change
    ]


def test_a_refused_cabin_leads_to_the_second_wish_and_other_refusals_to_the_first() -> None:
    refusals = "I'm sorry, your gift card cannot cover the difference.", "Unfortunately, I cannot do that."
    for refusal in refusals:
        for users in (cabins := changing("airline", "change_cabin")), changing("retail", "return"):
            assert len(users) > 20
            for each in users:
                user, _ = user_of(each)
                replies = [run(user.reply(refusal)) for _ in range(3)]
                assert ("to economy" in replies[0]) == (users is cabins), replies
                assert [STOP in reply for reply in replies] == [False, users is not cabins, True], replies
        sure = dataclasses.replace(cabins[0], goals=(dataclasses.replace(cabins[0].goals[0], change=None),))
        assert "to business" in run(user_of(sure)[0].reply(refusal))


# --- tasks are playable -------------------------------------------------------------------------


def script(task: Task) -> Script:
    """The script of an embedded task."""
    assert task.intent is not None
    found = task.intent["script"]
    assert isinstance(found, Script)
    return found


def play(env: TauEnv, task_id: str) -> tuple[float, int, list[str]]:
    """Let the rule-based agent play a task: reward, steps and what the user said."""
    first, _ = env.reset(seed=1, options={"task_id": task_id})
    heard, steps, reward, over = [first], 0, 0.0, False

    def step(action: str) -> str:
        nonlocal steps, reward, over
        if over:
            raise EpisodeOver
        observation, reward, over, _, _ = env.step(action)
        steps += 1
        return observation

    def say(text: str) -> str:
        heard.append(step(render_message(text)))
        return heard[-1]

    agent = AirlineAgent if isinstance(env, TauAirlineEnv) else RetailAgent
    with contextlib.suppress(EpisodeOver):
        agent(say, lambda name, **kwargs: step(render_call(name, kwargs))).play(first)
    return reward, steps, heard


class EpisodeOver(Exception):
    """The environment's own limit was reached."""


@pytest.mark.lists
@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])  # 600 tasks a level: 10 s
@pytest.mark.parametrize(("level", "most"), [("easy", 8), ("medium", 20), ("hard", 30)])
@pytest.mark.parametrize("env_class", [TauRetailEnv, TauAirlineEnv])
def test_embedded_tasks_are_solved_by_conversation(
    env_class: type[TauEnv], level: Any, most: int, every: int
) -> None:
    """And the user never says what only the database knows."""
    for split in ("train", "test"):
        env = env_class(split=split, level=level, reward="strict")
        results = {task_id: play(env, task_id) for task_id in env.task_ids[::every]}
        assert len(results) >= 20
        assert [task_id for task_id, (reward, _, _) in results.items() if reward != 1.0] == []
        assert max(steps for _, steps, _ in results.values()) <= most
        for task_id, (_, _, heard) in results.items():
            task, said = env.tasks[task_id], " ".join(heard)
            gold = {
                value for call in task.actions for key in call.kwargs for value in _leaves(call.kwargs[key])
            }
            hidden = {value for value in gold if value.isdigit() and len(value) == 10}
            assert not hidden & set(said.replace(",", " ").split()), task_id
            assert not [out for out in task.outputs if len(out) > 3 and out in said], task_id


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)


@pytest.mark.official
@pytest.mark.lists
@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_official_train_is_played_offline(every: int) -> None:
    env = TauRetailEnv(data="official", split="train", user="scripted")
    assert len(env.task_ids) == 500
    played = env.task_ids[::every]
    solved = [task_id for task_id in played if play(env, task_id)[0] == 1.0]
    print(f"official train: {len(solved)} of {len(played)} solved by the rule-based agent")
    assert len(solved) >= 0.98 * len(played)


# --- the official training instructions ---------------------------------------------------------


@pytest.mark.official
def test_official_train_parses_into_the_gold_calls() -> None:
    domain = load_official("retail")
    tasks = domain.tasks["train"]
    equal, calls = 0, 0
    for task in tasks:
        derived = gold_calls(script_of(task.instruction), domain.tables)
        equal += derived == task.actions
        calls += sum(mine == gold for mine, gold in zip(derived, task.actions, strict=True))
    print(f"official train: {equal} of {len(tasks)} instructions, {calls} calls")
    assert (equal, len(tasks), calls) == (500, 500, 768)


@pytest.mark.official
@pytest.mark.parametrize(("name", "split"), [("retail", "test"), ("retail", "dev"), ("airline", "test")])
def test_other_official_tasks_have_no_scripted_user(name: str, split: str) -> None:
    domain = load_official(name)
    for task in domain.tasks[split]:
        with pytest.raises(DataError, match="no scripted user"):
            run(ScriptedUser(domain).begin(task, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "does not match the patterns"),
        ("Your name is A B and your zip code is 12345. You are shy. Burn order #W1.", "cannot read"),
        ("Your name is A B and your zip code is 1. For #W1, modify Kite {open('x')} to {}; via paypal_1. ",
         "cannot be read"),
        ("Your name is A B and your zip code is 12345. For #W1, change address to {'a': 1}. ", "not a list"),
        ("Your name is A B and your zip code is 12345. Return #W1 via cash: Kite; ", "not a payment method"),
    ],
)  # fmt: skip
def test_a_strange_instruction_is_refused(text: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        script_of(text)


# --- conduct ------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_conversation() -> None:
    messages = [
        "Which order is it?",
        "May I have your email?",
        "Shall I cancel #W4444444, ordered by mistake?",
    ]
    talks = []
    for seed in (3, 3, 4):
        user, first = user_of(SCRIPTS["cancel"], seed)
        talks.append([first, *(run(user.reply(message)) for message in messages)])
    assert talks[0] == talks[1] != talks[2]


def test_a_copy_goes_its_own_way() -> None:
    user, _ = user_of(SCRIPTS["cancel, then return"])
    twin = user.copy()
    assert "#W1234567" in run(user.reply("Order #W4444444 has been cancelled. Anything else?"))
    assert "#W4444444" in run(twin.reply("Which order is it?"))
    assert "#W1234567" in run(user.reply("Which order is it?"))


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(
    "message",
    ["", "Hm.", "One moment please.", "Which order?", "What is your email?", "Shall I cancel #W9999999?",
     "Sorry, I cannot do that.", "Is there anything else?", "Shall I go ahead?", "Done.", "{}"],
)  # fmt: skip
def test_the_user_leaves_an_agent_that_gets_nowhere(name: str, message: str) -> None:
    user, _ = user_of(SCRIPTS[name])
    replies = [run(user.reply(message)) for _ in range(MAX_REPLIES)]
    assert STOP in replies[24]
    assert replies[-1] == STOP


@pytest.mark.parametrize("name", ["two", "exchange"])
@pytest.mark.parametrize(
    "question",
    ["Then tell me which options you'd like instead for:\n- the **Toaster**\n- the **Monitor**\n- the jacket",
     "What is it that you'd like to have instead, and which item is it about? What should be exchanged?"],
)  # fmt: skip
def test_each_sentence_is_said_once(name: str, question: str) -> None:
    for seed in range(5):
        user, _ = user_of(SCRIPTS[name], seed)
        reply = run(user.reply(f"To look you up, please give me your email. {question}"))
        assert SCRIPTS[name].goals[0].items[0].product in reply
        sentences = reply.split(". ")
        assert len(sentences) == len(set(sentences)), reply


def test_a_change_of_mind_comes_once() -> None:
    user, _ = user_of(SCRIPTS["mind"])
    first = run(
        user.reply("I will send #W4444444 to 12 Mill Street, Apt 4, Boise, ID 83712. Do you confirm?")
    )
    assert "mistake" in first
    assert meaning(first) == "says"
    assert meaning(run(user.reply("Cancel #W4444444 then, as ordered by mistake. Do you confirm?"))) == "yes"
    assert STOP in run(user.reply("Order #W4444444 has been cancelled."))


def test_no_yes_after_a_wrong_proposal_was_repeated() -> None:
    user, _ = user_of(SCRIPTS["cancel"])
    replies = [run(user.reply("I will cancel order #W4444440. Do you confirm?")) for _ in range(8)]
    assert "yes" not in map(meaning, replies)
    assert any(STOP in reply for reply in replies)


@pytest.mark.lists
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SCRIPTS)), st.lists(st.text(max_size=300), min_size=1, max_size=4))
def test_any_text_gets_an_answer(name: str, messages: list[str]) -> None:
    user, _ = user_of(SCRIPTS[name])
    for message in messages:
        reply = run(user.reply(message))
        assert reply
        assert len(reply) < 2000


@pytest.mark.parametrize(
    "piece", ["confirm ", "a", "? ", "or ", "#W1234567 ", "cancel the tent\n", "1. ", "\u2028", "((("]
)
def test_a_huge_message_is_read_in_time(piece: str) -> None:
    user, _ = user_of(SCRIPTS["two"])
    text = piece * (100_000 // len(piece))
    assert scans(lambda: run(user.reply(text)), text, tries=1) < 500


def test_a_foreign_task_is_refused() -> None:
    task = Task("retail/test/1", 1, "u", "You are nobody. You want to return everything.", (), ())
    with pytest.raises(DataError, match="no scripted user"):
        run(ScriptedUser().begin(task, np.random.default_rng(0)))


def test_embedded_instructions_lend_no_vocabulary() -> None:
    assert vocabulary_of(load_embedded("retail")) == {}
