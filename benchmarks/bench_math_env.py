"""Measures math500_hard: generating problems, resets, graded steps and whole oracle episodes.

pytest benchmarks/bench_math_env.py --benchmark-only
"""

import itertools
from typing import Any

import pytest

from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.math500_hard.generator import draft, task_ids


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_make_one_problem(benchmark: Any, level: int) -> None:
    """Generate one problem with its answer by two methods; the families of the level take turns."""
    turn = itertools.cycle(task_ids("train", (level,), 500))
    benchmark.pedantic(lambda: draft(next(turn)), rounds=500, warmup_rounds=5)


def test_list_the_test_tasks(benchmark: Any) -> None:
    """List the 500 distinct test problems of level 5 without solving them."""
    seeds = itertools.count(1)
    benchmark.pedantic(lambda: task_ids("test", (5,), 500, next(seeds)), rounds=5)


def test_reset(benchmark: Any) -> None:
    """Reset to a problem that was not played before."""
    env = Math500HardEnv(split="train")
    turn = itertools.cycle(env.task_ids)
    benchmark.pedantic(lambda: env.reset(options={"task_id": next(turn)}), rounds=500, warmup_rounds=5)


def test_oracle_episode(benchmark: Any) -> None:
    """Reset, play the worked solution and grade it."""
    env = Math500HardEnv()
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        assert env.step(env.oracle_action())[1] == 1.0

    benchmark.pedantic(episode, rounds=400, warmup_rounds=100)


def test_wrong_answer_episode(benchmark: Any) -> None:
    """Reset, play a wrong symbolic answer and grade it, as with a weak policy."""
    env = Math500HardEnv()
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        assert env.step(r"\boxed{\frac{\sqrt{987}}{654}}")[1] == 0.0

    benchmark.pedantic(episode, rounds=200, warmup_rounds=20)
