"""The corpus: reproducible, from training splits alone, and true."""

import random
from collections import Counter
from itertools import islice

import pytest
import sympy

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.envs.math500_hard.generator import generate
from nlac_bench.envs.tau.actions import Invalid, parse_action
from nlac_bench.envs.tau.env import TauEnv
from nlac_bench.envs.text_env import TextEnv
from workshop import corpus
from workshop.drills import drills
from workshop.mistakes import Skill

NAMES = tuple(corpus.ENVS)


@pytest.mark.slow(reason="plays every environment three times")
@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_rows(name: str) -> None:
    one = list(corpus.episodes(name, 3, seed=5))
    assert one == list(corpus.episodes(name, 3, seed=5))
    assert one[:2] == list(islice(corpus.episodes(name, 2, seed=5), 2))
    assert one != list(corpus.episodes(name, 3, seed=6))


@pytest.mark.parametrize("name", NAMES)
def test_every_answer_is_what_its_role_may_say(name: str) -> None:
    prompts, counts = CompactPrompts(), Counter[str]()
    for rows in corpus.episodes(name, 12, seed=1):
        assert rows[0].role == "policy"
        assert len(rows[0].prompt) == max(len(row.prompt) for row in rows if row.role == "policy")
        for row in rows:
            counts[row.role] += 1
            assert row.prompt.startswith(f"<|{name}|>")
            if row.role in ("successor", "backup", "aggregator"):
                assert prompts.parse_future(row.answer) == row.answer
                assert "~" not in row.answer  # a future names no row
            elif row.role == "evaluator":
                critique = prompts.parse_critique(row.answer)
                assert critique is not None and "; why: " in row.answer and "; instead: " in row.answer
            elif row.role == "picker":
                assert prompts.parse_pick(row.answer, 2) is not None
            elif name.startswith("tau"):
                assert not isinstance(parse_action(row.answer), Invalid)
            else:
                assert prompts.parse_action(row.answer) == row.answer
    assert set(counts) == set(corpus.ROLES) - {"drill"} - ({"backup"} if name == "math500_hard" else set())


def test_drills_are_right() -> None:
    (row,) = next(drills(1, seed=3))
    assert list(drills(3, seed=3)) == list(drills(3, seed=3))
    assert row.role == "drill" and row.prompt.startswith("<|math500_hard|>")
    for rows in drills(50, seed=4):
        for line in rows[0].answer.split(", "):
            left, _, right = line.strip("$").partition(" = ")
            assert f"${left}$" in rows[0].prompt
            assert sympy.sympify(left.replace(r"\cdot", "*")) == int(right)


@pytest.mark.parametrize("name", NAMES)
def test_only_training_tasks_are_played(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = []

    def make(split: str) -> TextEnv:
        splits.append(split)
        return original(split)

    original = corpus.ENVS[name]
    monkeypatch.setitem(corpus.ENVS, name, make)
    corpus.taught_tasks.cache_clear()
    assert list(corpus.episodes(name, 2, seed=0))
    corpus.taught_tasks.cache_clear()
    assert splits == ["train"]


@pytest.mark.parametrize("name", ["tau_retail", "tau_airline"])
def test_customers_of_validation_and_test_tasks_are_not_taught(name: str) -> None:
    env, taught = corpus.taught_tasks(name)
    assert isinstance(env, TauEnv) and set(taught) == set(env.task_ids)
    known = customers(env)
    for split in ("validation", "test"):
        other = corpus.ENVS[name](split)
        assert isinstance(other, TauEnv)
        assert not known & customers(other) and not set(taught) & set(other.task_ids)


def customers(env: TauEnv) -> set[str]:
    """The users of the tasks, with their orders or reservations."""
    tables = env.domain.tables
    users = {task.user_id for task in env.tasks.values()}
    owned = "orders" if "orders" in tables else "reservations"
    return users | {row for user in users for row in tables["users"][user][owned]}


@pytest.mark.slow  # hundreds of episodes of scripted players, judged step by step
@pytest.mark.parametrize("name", NAMES)
def test_players_are_mediocre_and_the_teacher_errs_as_often_as_documented(name: str) -> None:
    prompts = CompactPrompts()
    optimal, said, won = [], [], []
    for rows in corpus.episodes(name, 150, seed=2):
        won.append(next(row.truth for row in rows if row.role == "successor"))
        for row in rows:
            if row.role == "evaluator":
                critique = prompts.parse_critique(row.answer)
                assert critique is not None
                optimal.append(row.truth)
                said.append(critique.optimal)
    assert sum(map(bool, won)) / len(won) > 0.2
    assert sum(map(bool, optimal)) / len(optimal) < 0.97
    right = [s for s, truth in zip(said, optimal, strict=True) if truth]
    wrong = [s for s, truth in zip(said, optimal, strict=True) if not truth]
    assert abs(1 - sum(right) / len(right) - corpus.FALSE_ALARM) < 0.05
    assert abs(sum(wrong) / len(wrong) - corpus.OVERLOOKED) < 0.08


@pytest.mark.parametrize("name", ["tau_retail", "tau_airline", "twenty_questions"])
def test_outcomes_are_what_happens(name: str) -> None:
    """The actions of the policy rows, played again, end as the futures of those actions say."""
    env, checked = corpus.ENVS[name]("train"), 0
    for number in range(12):
        task_id = env.task_ids[number]
        rows = corpus.episode_rows(env, task_id, random.Random(number))
        first, info = env.reset(seed=random.Random(number).randrange(2**31), options={"task_id": task_id})
        state, ended = first_state(name, first, info), False
        played = [row for row in rows if row.role == "policy"][::-1]
        for row in played:
            assert not ended
            prompt = CompactPrompts().policy(state)
            assert prompt.messages[0]["content"] == row.prompt
            action = prompt.codec.decode(row.answer)
            observation, _, ended, _, info = env.step(action)
            state = state.after(action, observation, info["action_kind"])
        assert ended
        asked = {row.prompt + row.answer + "<|future|>" for row in played}
        claimed = [row.truth for row in rows if row.role == "successor" and row.prompt in asked]
        assert set(claimed) <= {info["success"]}
        checked += len(claimed)
    assert checked > 12


@pytest.mark.slow(reason="draws thousands of problems")
def test_mathematics_is_taught_with_problems_of_no_split() -> None:
    """What pre-training has seen cannot be learned from rewards any more: it is known by heart."""
    _, tasks = corpus.taught_tasks("math500_hard")
    taught = {generate(task_id).statement for task_id in tasks}
    assert len(taught) > 10_000
    for split in ("train", "validation", "test"):
        assert not taught & {generate(t).statement for t in corpus.ENVS["math500_hard"](split).task_ids}


def test_the_mediocre_player_of_twenty_questions_holds_on_to_a_refused_guess() -> None:
    env, teaching = corpus.ENVS["twenty_questions"]("train"), corpus.TEACHINGS["twenty_questions"]
    always, never = Skill("always", 1.0, 0.0), Skill("never", 0.0, 0.0)
    first, _ = env.reset(seed=0)
    history = [("Is it a piano?", "No. 19 questions left.")]
    assert teaching.act(env, first, history, always, random.Random(0)) == "Is it a piano?"
    better = teaching.act(env, first, history, never, random.Random(0))
    assert better != "Is it a piano?"
    verdict = teaching.judge(env, first, history, "Is it a piano?")
    assert verdict is not None and not verdict.optimal and verdict.instead == better
