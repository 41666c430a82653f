"""Speed of math500_hard: making problems, resets, graded steps, whole oracle episodes.

pytest benchmarks/bench_math_env.py --benchmark-only
"""

import itertools
from typing import Any

import pytest

from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.math500_hard.generator import draft, task_ids


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_make_one_problem(benchmark: Any, level: int) -> None:
    """One generated problem, answer and second method included; the families of a level in turn."""
    turn = itertools.cycle(task_ids("train", (level,), 500))
    benchmark.pedantic(lambda: draft(next(turn)), rounds=500, warmup_rounds=5)


def test_list_the_test_tasks(benchmark: Any) -> None:
    """The 500 distinct test problems of level 5, listed without being solved."""
    seeds = itertools.count(1)
    benchmark.pedantic(lambda: task_ids("test", (5,), 500, next(seeds)), rounds=5)


def test_reset(benchmark: Any) -> None:
    """A reset to a problem that was not played before."""
    env = Math500HardEnv(split="train")
    turn = itertools.cycle(env.task_ids)
    benchmark.pedantic(lambda: env.reset(options={"task_id": next(turn)}), rounds=500, warmup_rounds=5)


def test_oracle_episode(benchmark: Any) -> None:
    """Reset, a worked solution, grading."""
    env = Math500HardEnv()
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        assert env.step(env.oracle_action())[1] == 1.0

    benchmark.pedantic(episode, rounds=400, warmup_rounds=100)


def test_wrong_answer_episode(benchmark: Any) -> None:
    """Reset, a wrong symbolic answer, grading: what a weak policy costs."""
    env = Math500HardEnv()
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        assert env.step(r"\boxed{\frac{\sqrt{987}}{654}}")[1] == 0.0

    benchmark.pedantic(episode, rounds=200, warmup_rounds=20)
