"""Runs coroutines from synchronous code: without an event loop, or on one event loop in the background."""

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import TypeVar

T = TypeVar("T")


def run_without_waiting(coroutine: Coroutine[object, None, T]) -> T:
    """Run a coroutine that never suspends, without the cost of an event loop.

    Raises:
        RuntimeError: the coroutine suspends.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        "the environment awaited something that was not ready but does not set `remote = True`"
    )


def run_in_background(coroutines: Sequence[Coroutine[object, None, T]]) -> list[T]:
    """Run coroutines that may suspend together on the event loop in the background; return their results.

    Exceptions are caught in each coroutine's own task: ``SystemExit`` and ``KeyboardInterrupt`` would end the
    loop's thread, and this and every later call would wait for ever. The first one is raised here.
    """

    async def caught(coroutine: Coroutine[object, None, T]) -> tuple[list[T], BaseException | None]:
        try:
            return [await coroutine], None
        except BaseException as error:
            return [], error

    async def together() -> list[tuple[list[T], BaseException | None]]:
        return await asyncio.gather(*map(caught, coroutines))

    ended = asyncio.run_coroutine_threadsafe(together(), _background_loop()).result()
    for _, error in ended:
        if error is not None:
            raise error
    return [result for results, _ in ended for result in results]


_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()


def _forget_loop() -> None:
    global _loop, _loop_lock
    _loop, _loop_lock = None, threading.Lock()


# A forked child (AsyncVectorEnv's worker) inherits the loop object but not the thread that runs it.
if hasattr(os, "register_at_fork"):  # not on Windows, which never forks
    os.register_at_fork(after_in_child=_forget_loop)


def _background_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop for synchronous calls to remote simulators; it runs in its own thread.

    All calls share one loop, because an HTTP connection pool belongs to the loop that opened it.
    """
    global _loop  # noqa: PLW0603
    with _loop_lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="nlac-bench-env", daemon=True).start()
        return _loop
