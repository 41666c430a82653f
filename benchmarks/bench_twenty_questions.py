"""Measures twenty_questions: loading the objects, resets, steps, parsing new questions, oracle episodes.

pytest benchmarks/bench_twenty_questions.py --benchmark-only
The official objects are measured if NLAC_BENCH_DATA is set to the folder with the public data.
"""

import itertools
import os
from typing import Any

import pytest

from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv
from nlac_bench.envs.twenty_questions.objects import official_world
from nlac_bench.simulators.oracle20 import embedded_world, find_question

QUESTIONS = (
    "Is it alive?",
    "Is it an animal that lives in Africa?",
    "Is it made of wood or metal?",
    "Would you find it in a kitchen?",
    "Is it bigger than a breadbox?",
    "Okay. Based on that, is it something that people wear on their head?",
)

needs_data = pytest.mark.skipif("NLAC_BENCH_DATA" not in os.environ, reason="NLAC_BENCH_DATA is not set")
DATA = ("embedded", pytest.param("official", marks=needs_data))


@needs_data
def test_open_the_official_objects(benchmark: Any) -> None:
    """Read the 1,823 words and their ancestors, and compute the closure of the facts under the rules."""
    benchmark.pedantic(lambda: official_world.__wrapped__("official"), rounds=5)


def test_read_a_new_question(benchmark: Any) -> None:
    """Find and parse a question that the parser has not seen before."""
    world, turn = embedded_world(), itertools.cycle(QUESTIONS)

    def read() -> None:
        world.parser.read(find_question(next(turn)).words)

    benchmark(read)


@pytest.mark.parametrize("data", DATA)
def test_reset(benchmark: Any, data: str) -> None:
    """Start a new game."""
    env = TwentyQuestionsEnv(data=data)
    benchmark(env.reset)


@pytest.mark.parametrize("data", DATA)
def test_step(benchmark: Any, data: str) -> None:
    """Ask a question; start a new game after twenty."""
    env = TwentyQuestionsEnv(data=data)
    env.reset(seed=0)
    turn = itertools.cycle(QUESTIONS)

    def step() -> None:
        if env.step(next(turn))[2]:
            env.reset()

    benchmark(step)


@pytest.mark.parametrize("data", DATA)
def test_oracle_episode(benchmark: Any, data: str) -> None:
    """Play a whole game with the information-theoretic player."""
    env = TwentyQuestionsEnv(data=data)
    turn = itertools.cycle(env.task_ids)

    def episode() -> None:
        env.reset(options={"task_id": next(turn)})
        ended = False
        while not ended:
            ended = env.step(env.oracle_action())[2]

    episode()  # computes the player's table of questions, which is then cached
    benchmark.pedantic(episode, rounds=50)
