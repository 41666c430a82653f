"""An event loop in a thread of its own, for engines that are used from several event loops and threads."""

import asyncio
import atexit
import functools
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

END_S = 5.0
"""Seconds for requests that run when the process ends to be cancelled."""


def submit(coroutine: Coroutine[object, object, T]) -> "Future[T]":
    """Run ``coroutine`` on the loop, which is the same for all callers in this process."""
    return asyncio.run_coroutine_threadsafe(coroutine, _loop())


def call(coroutine: Coroutine[object, object, T]) -> T:
    """Run ``coroutine`` on the loop and return its result."""
    return submit(coroutine).result()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="nlac-bench-servers", daemon=True)
    thread.start()

    async def cancel() -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=END_S)

    def stop() -> None:
        asyncio.run_coroutine_threadsafe(cancel(), loop).result(2 * END_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(END_S)

    atexit.register(stop)
    return loop
