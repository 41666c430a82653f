"""Sends requests to an engine process, and finds out when it has died or no longer answers."""

import contextlib
import itertools
import os
import queue
import threading
from concurrent.futures import Future, InvalidStateError
from typing import Any

from nlac_bench.child_process import ChildProcess, encode
from nlac_bench.rollout.engines.engine import EngineError
from nlac_bench.rollout.engines.hf.wire import error_of

WAIT_S = 30.0
"""Seconds of one wait for a message. The process sends one every second."""
SILENT = 2
"""Number of waits without any message after which the process is killed."""


class EngineChild(ChildProcess):
    """A process that runs ``worker`` and answers requests. Thread-safe.

    Args:
        name: for messages.
        threads: number of CPU threads.

    Raises:
        EngineError: the operating system does not start another process.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.tokens = 0
        """Number of tokens that it has generated."""
        self.prompts = 0, 0, 0
        """Number of tokens of its prompts, of those that were cached, and of those that were computed."""
        self.wait_s = WAIT_S
        # A thread that waits must not compute: the learner uses all cores while this process is idle.
        count = str(threads)
        openmp = {"OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count, "OMP_WAIT_POLICY": "passive"}
        environment = {k: v for k, v in os.environ.items() if k != "GOMP_SPINCOUNT"} | openmp
        module = "nlac_bench.rollout.engines.hf.worker"
        try:
            super().__init__(module, environment=environment, stalled_s=WAIT_S)
        except OSError as error:
            raise EngineError(f"{name} cannot be started: {error}", "connection") from error
        self._numbers = itertools.count()
        self._lock = threading.RLock()  # the garbage collector may call ``close`` in any thread
        self._pending: dict[int, Future[Any]] = {}
        self._ended: EngineError | None = None
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        for function in (self._read, self._write):
            threading.Thread(target=function, name=f"nlac-bench-{function.__name__}", daemon=True).start()

    def call(self, name: str, **arguments: object) -> "Future[Any]":
        """Send a request; return the future of its result, which always ends.

        Cancelling the future cancels the request in the process.

        Raises:
            EngineError: the process has ended.
        """
        number = next(self._numbers)
        frame = encode({"id": number, "call": name, **arguments})
        future: Future[Any] = Future()
        with self._lock:
            if self._ended is not None:
                raise EngineError(str(self._ended), self._ended.kind)
            self._pending[number] = future
        self._outbox.put(frame)
        future.add_done_callback(lambda done: self._cancel(number) if done.cancelled() else None)
        return future

    def close(self) -> None:
        """End the process; requests that have not ended fail with ``EngineError``."""
        if os.getpid() == self._owner:  # a forked copy of this process must not end it
            self._end(EngineError(f"{self.name} is closed", "closed"))

    def _cancel(self, number: int) -> None:
        with self._lock:
            if self._pending.pop(number, None) is None:
                return
        self._outbox.put(encode({"id": number, "call": "cancel"}))

    def _write(self) -> None:
        while (frame := self._outbox.get()) is not None:
            try:
                self.send(frame)
            except TimeoutError:
                return self._lost(f"read nothing for {WAIT_S:g} s")
            except OSError:
                return  # the connection is closed; the reading thread finds out why

    def _read(self) -> None:
        try:
            while True:
                self._take(self.receive(self.wait_s, SILENT))
        except EOFError:
            self._lost("ended")
        except TimeoutError:
            self._lost(f"sent nothing for {SILENT * self.wait_s:g} s")

    def _take(self, message: dict[str, Any]) -> None:
        self.tokens, *prompts = message["tokens"]
        self.prompts = prompts[0], prompts[1], prompts[2]
        with self._lock:
            future = self._pending.pop(message.get("id", -1), None)
        if future is None:  # a message of a living process, or the reply to a cancelled request
            return
        with contextlib.suppress(InvalidStateError):  # it may be cancelled at the same time
            if "error" in message:
                future.set_exception(error_of(message["error"]))
            else:
                future.set_result(message["result"])

    def _lost(self, how: str) -> None:
        self._end(EngineError(f"{self.name} {how}", "connection"))

    def _end(self, error: EngineError) -> None:
        """End the process, and all requests with ``error``."""
        with self._lock:
            if self._ended is not None:
                return
            self._ended = error
            pending, self._pending = list(self._pending.values()), {}
        self._outbox.put(None)
        self.kill()
        if error.kind != "closed":
            error.args = (f"{error} ({self.ending()})",)
        self.let_go()
        for future in pending:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)
