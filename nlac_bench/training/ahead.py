"""Plays the episodes of the next iteration while the learner learns from this one: one step off-policy."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from nlac_bench.types import Episode

T = TypeVar("T")


class Ahead:
    """Plays one iteration ahead with the weights before this iteration's update.

    At the same time, the learner computes in its own thread. ``learn`` returns after both have ended, so the
    weights change only between episodes, and those that play are older by exactly one update.

    Args:
        play: plays the training episodes of an iteration.
        device: of the learner.
        may_play: returns whether to play the next iteration ahead.
    """

    def __init__(
        self,
        play: Callable[[int], Awaitable[list[Episode]]],
        device: torch.device,
        may_play: Callable[[], bool] = lambda: True,
    ) -> None:
        self._play, self._may_play = play, may_play
        self._next: asyncio.Future[list[Episode]] | None = None

        def choose_device() -> None:  # each thread has a current CUDA device of its own
            if device.type == "cuda":
                torch.cuda.set_device(device)

        self._thread = ThreadPoolExecutor(1, "nlac-bench-learner", choose_device)

    async def episodes(self, iteration: int) -> list[Episode]:
        """Return the episodes of ``iteration``; begin to play the next ones if ``may_play``."""
        episodes = await (self._next or self._play(iteration))
        self._next = asyncio.ensure_future(self._play(iteration + 1)) if self._may_play() else None
        return episodes

    async def learn(self, steps: Callable[[], T]) -> T:
        """Call ``steps`` in the learner's thread; return when the next episodes have been played, too."""
        learned = asyncio.get_running_loop().run_in_executor(self._thread, steps)
        await asyncio.wait([future for future in (learned, self._next) if future is not None])
        return learned.result()

    def played(self) -> list[Episode]:
        """Return the episodes that have been played for the next iteration, which may be none."""
        ended = self._next is not None and self._next.done() and not self._next.exception()
        return self._next.result() if self._next and ended else []

    def resume(self, episodes: list[Episode]) -> None:
        """Take ``episodes`` as those that have been played for the next iteration."""
        self._next = asyncio.get_running_loop().create_future()
        self._next.set_result(episodes)

    def unused_steps(self) -> int:
        """Return the number of environment steps of the episodes that were played last."""
        return sum(len(e.turns) for e in self.played())

    async def close(self) -> None:
        """Stop playing and learning."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
            if not self._next.cancelled():
                self._next.exception()  # marks the error as retrieved: the episodes are not used
        self._thread.shutdown()
