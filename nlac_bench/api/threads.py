"""Calls functions that run event loops of their own, also where one runs already, as in a notebook."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

INTERRUPT_DELAY_S = 1.0  # the most that Ctrl-C can take


class StoppableLoop:
    """Runs coroutines in the thread that calls ``run``; another thread can stop them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._stopped = False
        self._cancel: Callable[[], object] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``coroutine``, in a new event loop.

        Raises:
            asyncio.CancelledError: ``stop`` was called.
        """

        async def stoppable() -> T:
            loop, task = asyncio.get_running_loop(), asyncio.current_task()
            assert task is not None
            with self._guard:
                self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
                if self._stopped:
                    task.cancel()
            try:
                return await coroutine
            finally:
                with self._guard:
                    self._cancel = None

        return asyncio.run(stoppable())

    def stop(self) -> None:
        """Cancel what runs, and everything that is started later."""
        with self._guard:
            self._stopped = True
            if self._cancel is not None:
                self._cancel()


def call(work: Callable[[StoppableLoop], T]) -> T:
    """Return the result of ``work``; it is called in another thread if an event loop runs in this one.

    Raises:
        KeyboardInterrupt: Ctrl-C. ``work`` has been stopped, and has ended.
    """
    loop = StoppableLoop()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work(loop)
    # Locks, and not events or conditions: an interrupt inside those can leave their own lock held for ever.
    waiting, running = threading.Lock(), threading.Lock()
    waiting.acquire()
    running.acquire()

    def begin() -> T:
        waiting.acquire()  # a pool that is interrupted while it starts a thread would not wait for its work
        try:
            return work(loop)
        finally:
            running.release()

    with ThreadPoolExecutor(1, "nlac-bench-run") as pool:
        try:
            future = pool.submit(begin)
            waiting.release()
            # A signal that arrives just before a wait does not end it; it is handled after the wait.
            while not running.acquire(timeout=INTERRUPT_DELAY_S):
                pass
        except KeyboardInterrupt:
            loop.stop()
            if waiting.locked():
                waiting.release()
            raise
        return future.result()


async def acall(work: Callable[[StoppableLoop], T]) -> T:
    """Return the result of ``work``, which is called in another thread; this event loop goes on meanwhile.

    If the task is cancelled, ``work`` is stopped, and the cancellation waits until it has ended.
    """
    loop = StoppableLoop()
    with ThreadPoolExecutor(1, "nlac-bench-run") as pool:
        future = asyncio.get_running_loop().run_in_executor(pool, work, loop)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            loop.stop()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()  # it has been seen; asyncio would log it otherwise
            raise
