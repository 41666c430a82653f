"""Whatever an environment or an agent raises ends its episode as a failure; nothing waits for ever."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import gymnasium
import numpy as np
import pytest

from nlac_bench.envs import Outcome
from nlac_bench.envs.vector import vectorized
from nlac_bench.errors import Terminated
from nlac_bench.rollout.driver import Driver, EpisodeSpec, Failure
from nlac_bench.types import ChatReply, Episode, Messages, Role
from tests.rollout.stubs import CallAgent, Guess

WAIT_S = 30.0
"""Longer than every case; a case that would wait for ever fails after it."""


class OwnError(BaseException):
    """Not an ``Exception``, so that ``except Exception`` lets it pass."""


RAISED = [asyncio.CancelledError, GeneratorExit, OwnError, SystemExit, StopIteration, StopAsyncIteration]
ORACLE = CallAgent(lambda _n, env, _o: env.oracle_action())


def play(make_env: Callable[[], Any], agent: Any = ORACLE) -> list[Episode | Failure]:
    specs = [EpisodeSpec("guess", str(i), 0, i) for i in range(8)]

    async def all_of_them() -> list[Episode | Failure]:
        async with (
            asyncio.timeout(WAIT_S),
            aclosing(Driver(agent, make_env, concurrency=3).run(specs)) as run,
        ):
            return [result async for result in run]

    return asyncio.run(all_of_them())


def failures(results: list[Episode | Failure]) -> list[Failure]:
    assert len(results) == 8
    return [each for each in results if isinstance(each, Failure)]


async def hint(messages: Messages, role: Role) -> ChatReply:
    await asyncio.sleep(0)
    return ChatReply("a hint")


class Raises(Guess):
    """Raises ``kind`` in one task; with ``chat`` its step waits for a model."""

    kind: type[BaseException]

    async def _respond(self, action: str) -> Outcome:
        if self.task_id == "5":
            raise self.kind
        return await super()._respond(action)


class Renamed(gymnasium.Wrapper[str, str, str, str]):
    """A user's wrapper, which makes the driver step the environment in a thread."""


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("how", ["plain", "waiting", "in a thread"])
def test_an_episode_whose_environment_raises_fails_and_the_others_are_played(
    kind: type[BaseException], how: str
) -> None:
    class Env(Raises):
        pass

    Env.kind = kind
    chat = None if how == "plain" else hint
    make = (lambda: Renamed(Env(chat=chat))) if how == "in a thread" else (lambda: Env(chat=chat))
    (failure,) = failures(play(make))
    assert (failure.spec.task_id, failure.kind) == ("5", "crash")
    assert failure.message and "test_foreign_exceptions.py" in failure.traceback


@pytest.mark.parametrize("kind", RAISED)
def test_an_agent_and_a_constructor_that_raise(kind: type[BaseException]) -> None:
    def act(_n: int, env: Any, _o: str) -> str:
        if env.task_id == "5":
            raise kind
        return str(env.oracle_action())

    assert [each.spec.task_id for each in failures(play(Guess, CallAgent(act)))] == ["5"]

    def make() -> Guess:
        raise kind

    assert len(failures(play(make))) == 8


@pytest.mark.parametrize("kind", [Terminated, KeyboardInterrupt])
def test_signals_end_the_run(kind: type[BaseException]) -> None:
    class Env(Raises):
        pass

    Env.kind = kind
    with pytest.raises(kind):
        play(Env)


@pytest.mark.parametrize("kind", [*RAISED, KeyboardInterrupt])
def test_a_synchronous_step_that_waits_raises_and_later_steps_work(kind: type[BaseException]) -> None:
    """``SystemExit`` would end the thread in which all environments wait for their simulators."""

    class Env(Raises):
        pass

    Env.kind = kind
    for env in (Env(chat=hint), vectorized(Env)(2, chat=hint)):
        single = isinstance(env, Env)
        for task in ("5", "6"):
            env.reset(seed=0, options={"task_id": task})
            action: Any = "1" if single else ("1", "1")
            if task == "5":
                with pytest.raises((kind, RuntimeError)):
                    env.step(action)
            else:
                assert np.all(env.step(action)[0] == ("a hint" if single else ("a hint", "a hint")))
