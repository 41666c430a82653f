"""Steps an environment for the driver: asynchronously if it can be awaited, else by a plain call."""

import asyncio
import concurrent.futures
import contextvars
import functools
from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.types import Info, StepResult

_TRANSPARENT = (OrderEnforcing, PassiveEnvChecker)
"""Wrappers that ``gymnasium.make`` adds and that may be bypassed; a user's wrappers may not."""
_BLOCKING_STEPS = 32
"""Number of threads for wrapped environments that wait for a model inside a synchronous ``step``."""


class Stepper(Protocol):
    """An environment with asynchronous ``reset`` and ``step``."""

    unwrapped: Any

    async def reset(self, seed: int, task_id: str | None) -> tuple[str, Info]:
        """Start an episode."""

    async def step(self, action: str) -> StepResult:
        """Take an action."""


class _AsyncStepper:
    """Awaits a TextEnv, so that 1,000 of them can wait for their simulators on one thread."""

    def __init__(self, env: TextEnv) -> None:
        self.unwrapped = env
        self.step = env.astep

    async def reset(self, seed: int, task_id: str | None) -> tuple[str, Info]:
        return await self.unwrapped.areset(
            seed=seed, options=None if task_id is None else {"task_id": task_id}
        )


class _SyncStepper:
    """Calls any other Gymnasium environment in the event loop's thread; its ``step`` should be fast."""

    def __init__(self, env: gymnasium.Env[str, str]) -> None:
        self.env = env
        self.unwrapped = env.unwrapped

    async def reset(self, seed: int, task_id: str | None) -> tuple[str, Info]:
        return await self._call(
            functools.partial(
                self.env.reset, seed=seed, options=None if task_id is None else {"task_id": task_id}
            )
        )

    async def step(self, action: str) -> StepResult:
        return await self._call(functools.partial(self.env.step, action))

    async def _call(self, function: Callable[[], Any]) -> Any:
        return function()


class _ThreadStepper(_SyncStepper):
    """Calls a wrapped TextEnv that waits for a model in another thread.

    In the event loop's thread, its synchronous ``step`` would block all other episodes.
    """

    async def _call(self, function: Callable[[], Any]) -> Any:
        context = contextvars.copy_context()  # recorded calls read the episode from it
        loop = asyncio.get_running_loop()
        result, error = await loop.run_in_executor(_executor(), context.run, _caught, function)
        if error is not None:
            raise error
        return result


def _caught(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return the result of a call, or what it raised: a future with ``StopIteration`` is never ready."""
    try:
        return function(), None
    except BaseException as error:
        return None, error


@functools.cache
def _executor() -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(_BLOCKING_STEPS, thread_name_prefix="nlac-bench-step")


def stepper(env: gymnasium.Env[str, str]) -> Stepper:
    """Return the fastest stepper for ``env`` that keeps the effects of its wrappers."""
    inner: Any = env
    while isinstance(inner, _TRANSPARENT):
        inner = inner.env
    if isinstance(inner, TextEnv):
        return _AsyncStepper(inner)
    if getattr(env.unwrapped, "remote", False):
        return _ThreadStepper(env)
    return _SyncStepper(env)
