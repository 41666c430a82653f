"""Grades in worker processes with limits of time and memory. Model text must only be graded this way.

    with Grader(timeout_s=3.0, memory_mb=1024, workers=2) as grader:
        grader.grade(r"\\frac{1}{2}", r"so the answer is \\boxed{0.5}").correct   # True

`grade` can be called from any thread, `agrade` from an event loop, and `default_grader()` from any process,
including forked and daemonic ones.
"""

import asyncio
import contextlib
import json
import os
import queue
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import nlac_bench
from nlac_bench.envs.math500_hard.grading.extract import MAX_TAIL
from nlac_bench.envs.math500_hard.grading.judge import check, quick
from nlac_bench.errors import EnvInfraError

__all__ = ["Grade", "Grader", "check", "default_grader", "grade"]

_MODULE = "nlac_bench.envs.math500_hard.grading.worker"
START_S = 120.0
"""Seconds in which a worker must load its libraries; not counted in the time of a case."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict. `correct` is None if the case was not decided; `reason` then begins with `ungraded:`.

    `ms` is the time in milliseconds from the start of the case, without waiting for a worker or starting one.
    """

    correct: bool | None
    reason: str
    ms: float


class Grader:
    """A pool of worker processes, started when first needed.

    Args:
        timeout_s: time limit of a case in seconds; the worker is then killed and the case is ungraded.
        memory_mb: memory limit of a case in megabytes, in addition to that of the libraries.
        workers: number of cases that are graded at the same time.
    """

    def __init__(self, timeout_s: float = 3.0, memory_mb: int = 1024, workers: int = 1) -> None:
        if not timeout_s > 0 or memory_mb < 64 or workers < 1:
            raise ValueError(
                "timeout_s must be positive, memory_mb at least 64 and workers at least 1, got "
                f"timeout_s={timeout_s}, memory_mb={memory_mb}, workers={workers}"
            )
        self.timeout_s, self.memory_mb, self.workers = timeout_s, memory_mb, workers
        self._closed = False
        self._prepare()
        _graders.add(self)

    def _prepare(self) -> None:
        """Reset to no workers and threads; also called in a forked child, whose parent keeps the workers."""
        self._slots: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(self.workers):
            self._slots.put(None)
        self._running: set[_Worker] = set()
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _stop, self._running, os.getpid())

    def grade(self, gold: str, pred: str) -> Grade:
        """Grade one case; blocks until a worker is free and has finished.

        Raises:
            EnvInfraError: no worker can be started, or the grader is closed.
        """
        begun = time.perf_counter()
        gold, pred = gold[-MAX_TAIL:], pred[-MAX_TAIL:]
        verdict = quick(gold, pred)
        if verdict is not None:
            return Grade(*verdict, ms=(time.perf_counter() - begun) * 1e3)
        slots = self._slots
        worker = slots.get()
        try:
            if worker is not None and not worker.alive():
                self._discard(worker)
                worker = None
            if worker is None:
                worker = self._start()
            worker.wait_until_ready()
            begun = time.perf_counter()
            verdict = worker.judge(gold, pred, self.timeout_s)
            ms = (time.perf_counter() - begun) * 1e3
            if not worker.usable:
                self._discard(worker)
                worker = (
                    None if self._closed else self._start()
                )  # it loads its libraries before a case waits for it
            return Grade(*verdict, ms=ms)
        finally:
            slots.put(worker)

    async def agrade(self, gold: str, pred: str) -> Grade:
        """Grade one case like `grade`, without blocking the event loop."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="math-grader")
            executor = self._executor
        return await asyncio.get_running_loop().run_in_executor(executor, self.grade, gold, pred)

    def _start(self) -> "_Worker":
        with self._lock:
            if self._closed:
                raise EnvInfraError("the grader is closed; make a new Grader or use default_grader()")
            fresh = _Worker(self.memory_mb)
            self._running.add(fresh)
        return fresh

    def _discard(self, worker: "_Worker") -> None:
        worker.stop()
        with self._lock:
            self._running.discard(worker)

    def close(self) -> None:
        """Terminate the workers; a case that is being graded is returned as ungraded."""
        with self._lock:
            self._closed = True
        for _ in range(self._slots.qsize()):
            try:
                idle = self._slots.get_nowait()
            except queue.Empty:
                break
            if idle is not None:
                self._discard(idle)
            self._slots.put(None)
        self._finalizer()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> "Grader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _after_fork(self) -> None:
        """Close the child's copies of the pipes to the parent's workers, which continue to run."""
        self._finalizer.detach()
        for worker in self._running:
            worker.let_go()
        self._prepare()


class _Worker:
    """A process and two pipes to it. Daemonic processes cannot use `multiprocessing`, so this does not."""

    def __init__(self, memory_mb: int) -> None:
        self.usable, self._ready = True, False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        root = str(Path(nlac_bench.__file__).parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # thread pools use address space
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE, str(os.getpid()), str(memory_mb)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, bufsize=0,
            env={**os.environ, "PYTHONPATH": path, **threads},
            start_new_session=True,  # the parent handles Ctrl-C
        )  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN | select.POLLHUP)

    def alive(self) -> bool:
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Block until the process has loaded its libraries.

        Raises:
            EnvInfraError: the process ended before that.
        """
        try:
            self._ready = self._ready or bool(self._receive(time.monotonic() + START_S))
        except TimeoutError:
            self.kill()
        if not self._ready:
            raise EnvInfraError(f"a grader worker did not start ({self._ending()})")

    def judge(self, gold: str, pred: str, timeout_s: float) -> tuple[bool | None, str]:
        request = json.dumps({"gold": gold, "pred": pred, "timeout_s": timeout_s}).encode()
        deadline = time.monotonic() + timeout_s
        try:
            self._send(struct.pack(">I", len(request)) + request)
            reply = self._receive(deadline)
        except TimeoutError:
            self.usable = False
            return None, f"ungraded: time-out after {timeout_s:g} s"
        except BrokenPipeError:
            reply = None
        if reply is None:
            self.usable = False
            return None, f"ungraded: the grader's worker died ({self._ending()})"
        self.usable = not reply["last"]
        return reply["correct"], reply["reason"]

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._requests.write(view) or 0 :]

    def _receive(self, deadline: float) -> dict[str, Any] | None:
        """Return the next message, or None if the process has closed its end.

        Raises:
            TimeoutError: the deadline passed and there is nothing to read.
        """
        header = self._read(4, deadline)
        body = self._read(struct.unpack(">I", header)[0], deadline) if header else b""
        return json.loads(body) if body else None

    def _read(self, size: int, deadline: float) -> bytes:
        data = b""
        while len(data) < size:
            # Poll at least once: a reply may have been ready while this process was not scheduled.
            if not self._poll.poll(max(0.0, deadline - time.monotonic()) * 1e3):
                raise TimeoutError
            part = self._replies.read(size - len(data))
            if not part:
                return b""
            data += part
        return data

    def _ending(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f"exit status {self._process.returncode}" + (f": {lines[-1][:200]}" if lines else "")

    def kill(self) -> None:
        self.usable = False
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        self.kill()
        self.let_go()

    def let_go(self) -> None:
        """Close this process's ends of the pipes; workers of a parent process are not affected."""
        for stream in (self._requests, self._replies, self._log):
            with contextlib.suppress(OSError):
                stream.close()
        if self._process.returncode is None:
            self._process.returncode = 0  # not a child of this process: do not wait or warn


def _stop(workers: set[_Worker], owner: int) -> None:
    if os.getpid() == owner:
        for worker in list(workers):
            worker.kill()  # its pipes may be in use: the reader sees their end and closes them


class _Default:
    """The process's default grader, with a lock so that two threads do not make two."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.grader: Grader | None = None

    def get(self) -> Grader:
        with self.lock:
            if self.grader is None:
                self.grader = Grader()
            return self.grader


_graders: "weakref.WeakSet[Grader]" = weakref.WeakSet()
_default = _Default()


def default_grader() -> Grader:
    """Return the process's default grader with one worker, made on first use and closed at exit."""
    return _default.get()


def grade(gold: str, pred: str) -> Grade:
    """Grade one case with `default_grader()`, with limits of time and memory."""
    return default_grader().grade(gold, pred)


def _after_fork() -> None:
    _default.lock = threading.Lock()  # another thread of the parent may have held the lock
    for one in list(_graders):
        one._after_fork()


os.register_at_fork(after_in_child=_after_fork)
