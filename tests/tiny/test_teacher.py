"""The teacher solves its tasks from any point on, and its verdicts are what really happens."""

import random

import pytest

from nlac_bench.envs.tau.actions import CallAction, parse_action
from workshop import corpus, mistakes
from workshop.curriculum import TauTeaching
from workshop.mistakes import HANDOVER, REFUSAL
from workshop.rule_player import is_write, next_action, play_on

TAU = ("tau_retail", "tau_airline")


@pytest.mark.parametrize("name", TAU)
def test_the_teacher_solves_easy_tasks(name: str) -> None:
    env = corpus.ENVS[name]("train")
    for task_id in env.task_ids[::4]:
        first, _ = env.reset(seed=3, options={"task_id": task_id})
        won, actions = play_on(env.fork(), (), first)
        assert won, (task_id, actions)


@pytest.mark.parametrize("name", TAU)
def test_the_teacher_goes_on_after_a_harmless_mistake(name: str) -> None:
    env = corpus.ENVS[name]("train")
    won = 0
    tasks = env.task_ids[:40]
    for task_id in tasks:
        first, _ = env.reset(seed=1, options={"task_id": task_id})
        history = []
        for action in (next_action(name, (), first), mistakes.IDENTIFY[name]):
            assert action is not None
            observation, *_ = env.step(action)
            history.append((action, observation))
        won += play_on(env, history, first)[0]
    assert won >= 0.95 * len(tasks)


@pytest.mark.parametrize("name", TAU)
def test_verdicts_are_what_happens(name: str) -> None:
    """An action called optimal, played and followed by the teacher, wins."""
    env, teaching, rng = corpus.ENVS[name]("train"), TauTeaching(), random.Random(0)
    seen = {True: 0, False: 0}
    for task_id in rng.sample(env.task_ids, 15):
        first, _ = env.reset(seed=2, options={"task_id": task_id})
        history: list[tuple[str, str]] = []
        ended = False
        while not ended:
            due = next_action(name, history, first)
            assert due is not None
            for action in (due, teaching.slip(env, first, history, rng)):
                verdict = teaching.judge(env, first, history, action)
                assert verdict is not None
                trial = env.fork()
                observation, _, over, _, info = trial.step(action)
                wins = (
                    info["success"] if over else play_on(trial, [*history, (action, observation)], first)[0]
                )
                assert wins or not verdict.optimal, (task_id, action)
                seen[verdict.optimal] += 1
            observation, _, ended, _, _ = env.step(due)
            history.append((due, observation))
    assert min(seen.values()) > 20


def test_habits_fit_the_tools_that_exist() -> None:
    for name in TAU:
        env = corpus.ENVS[name]("train")
        tools = {tool["function"]["name"] for tool in env.tools()}
        written = set()
        for task_id in env.task_ids[::3]:
            first, _ = env.reset(seed=0, options={"task_id": task_id})
            for action in play_on(env.fork(), (), first)[1]:
                parsed = parse_action(action)
                if isinstance(parsed, CallAction) and is_write(parsed.name):
                    written.add(parsed.name)
        assert written <= tools
        assert written - set(mistakes.HABITS) <= {"cancel_reservation"}  # which nobody is in the habit of


def test_hopeless_actions_are_called_so() -> None:
    env, teaching = corpus.ENVS["tau_retail"]("train"), TauTeaching()
    first, _ = env.reset(seed=0, options={"task_id": "retail/train/easy/003"})
    for action, why in ((HANDOVER, "hands over"), (REFUSAL, "refuses")):
        verdict = teaching.judge(env, first, (), action)
        assert verdict is not None and not verdict.optimal and why in verdict.why
