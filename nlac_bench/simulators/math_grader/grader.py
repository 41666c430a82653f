"""Grades in worker processes with limits of time and memory. Model text must only be graded this way.

    with Grader(timeout_s=3.0, memory_mb=1024, workers=2) as grader:
        grader.grade(r"\\frac{1}{2}", r"so the answer is \\boxed{0.5}").correct   # True

`grade` can be called from any thread, `agrade` from an event loop, and `default_grader()` from any process,
including forked and daemonic ones.
"""

import asyncio
import contextlib
import os
import queue
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType

from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.math_grader.compare.judge import EVALUATED, Verdict, check, quick
from nlac_bench.simulators.math_grader.extract.extract import MAX_TAIL
from nlac_bench.simulators.math_grader.worker_process import WorkerLostError, WorkerProcess

__all__ = ["Grade", "Grader", "check", "default_grader", "grade"]

_MODULE = "nlac_bench.simulators.math_grader.worker"
_WALL_FACTOR = 4.0
"""Wall time of a case as a multiple of its CPU time, so that a busy machine does not exceed it."""
_LEAST_S = 1.0
"""Smallest CPU limit in seconds of the control case, and smallest factor of `_WALL_FACTOR`."""
_CONTROL = ("x+1", "1+x")
"""A right answer that a worker must parse; if it is not graded as right, the grader does not work."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A verdict on a case. `correct` is None if it was not decided; `reason` then begins with `ungraded:`.

    The reason begins with `ungraded: grader_crash:` if the answer twice ended, stopped or broke the worker
    that judged it, and a worker graded a control case correctly after that.

    `ms` is the time in milliseconds from the start of the case, without waiting for a worker or starting one.
    """

    correct: bool | None
    reason: str
    ms: float

    def __bool__(self) -> bool:
        """Return whether the answer is right."""
        return self.correct is True

    @property
    def in_another_form(self) -> bool:
        """Whether the answer is right and is not written like the gold answer."""
        return self.reason in EVALUATED


@dataclass(slots=True)
class _Slot:
    """A place for one worker; None until it is needed."""

    worker: WorkerProcess | None = None


class Grader:
    """A pool of worker processes, started when first needed.

    A limit of the case's own (CPU time, memory, size of numbers, nesting) makes it ungraded. A worker that
    dies, does not answer, or raises an exception may be a fault of the machine: the case is judged once more,
    in a new worker. If that fails too, a control case determines whether the answer or the grader is at
    fault.

    Args:
        timeout_s: limit of a case's CPU time in seconds. Its wall time is limited to four times that, and at
            least 4 seconds.
        memory_mb: memory limit of a case in megabytes, in addition to that of the libraries.
        workers: number of cases that are graded at the same time.
    """

    def __init__(self, timeout_s: float = 3.0, memory_mb: int = 1024, workers: int = 1) -> None:
        if not 0 < timeout_s <= 1e5 or not 64 <= memory_mb <= 2**20 or not 1 <= workers <= 1024:
            raise ValueError(
                "timeout_s must be positive and at most 100,000, memory_mb at least 64 and at most 2**20 and "
                f"workers 1 to 1,024, got timeout_s={timeout_s}, memory_mb={memory_mb}, workers={workers}"
            )
        self.timeout_s, self.memory_mb, self.workers = timeout_s, memory_mb, workers
        self._closed = False
        self._prepare()
        _graders.add(self)

    def _prepare(self) -> None:
        """Reset to no workers and threads; also called in a forked child, whose parent keeps the workers."""
        self._slots: queue.LifoQueue[_Slot] = queue.LifoQueue()
        for _ in range(self.workers):
            self._slots.put(_Slot())
        self.running: set[WorkerProcess] = set()
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _stop, self.running)

    def grade(self, gold: str, pred: str) -> Grade:
        """Grade one case; blocks until a worker is free and has finished.

        Raises:
            EnvInfraError: no worker can be started, or none grades a control case correctly, or the grader is
                closed.
        """
        begun = time.perf_counter()
        gold, pred = gold[-MAX_TAIL:], pred[-MAX_TAIL:]
        verdict = quick(gold, pred)
        if verdict is not None:
            return Grade(*verdict, ms=(time.perf_counter() - begun) * 1e3)
        slots = self._slots
        slot = slots.get()
        try:
            return self._judge_twice(slot, gold, pred)
        finally:
            slots.put(slot)

    def _judge_twice(self, slot: _Slot, gold: str, pred: str) -> Grade:
        """Judge a case; if the worker is lost, judge it in a new one, and then determine what is at fault."""
        faults = []
        for _ in range(2):
            self._make_ready(slot)
            begun = time.perf_counter()
            try:
                verdict = self._judge(slot, gold, pred, self.timeout_s)
            except WorkerLostError as error:
                faults.append(str(error))
            else:
                return Grade(*verdict, ms=(time.perf_counter() - begun) * 1e3)
        ms = (time.perf_counter() - begun) * 1e3
        self._make_ready(slot)
        what = f"a worker {faults[0]}, and then a new one {faults[1]}"
        try:
            correct, reason = self._judge(slot, *_CONTROL, max(self.timeout_s, _LEAST_S))
        except WorkerLostError as error:
            correct, reason = None, f"a third one {error}"
        if not correct:
            raise EnvInfraError(f"the grader does not work: {what}; a control case failed too ({reason})")
        return Grade(None, f"ungraded: grader_crash: {what}; a control case was graded correctly", ms)

    def _judge(self, slot: _Slot, gold: str, pred: str, cpu_s: float) -> Verdict:
        """Judge a case in the slot's worker, and replace the worker if it must not be used again."""
        worker = slot.worker
        assert worker is not None
        try:
            return worker.judge(gold, pred, cpu_s)
        except WorkerLostError:
            worker.usable = False
            raise
        finally:
            if not worker.usable:
                self._discard(worker)
                slot.worker = None
                with contextlib.suppress(EnvInfraError):  # raised where a case needs the worker
                    slot.worker = self._start()  # it loads its libraries before a case waits for it

    def _make_ready(self, slot: _Slot) -> None:
        """Put a worker that waits for cases into ``slot``; start one if necessary, and once more if it dies.

        Raises:
            EnvInfraError: both workers died, a worker did not start in time, or the grader is closed.
        """
        if slot.worker is not None and not slot.worker.alive():
            self._discard(slot.worker)
            slot.worker = None
        for last in (False, True):
            worker = slot.worker or self._start()
            try:
                worker.wait_until_ready()
            except (WorkerLostError, EnvInfraError) as error:
                self._discard(worker)
                slot.worker = None
                if isinstance(error, EnvInfraError):
                    raise
                if last:
                    raise EnvInfraError(f"a grader worker {error}") from None
            else:
                slot.worker = worker
                return

    async def agrade(self, gold: str, pred: str) -> Grade:
        """Grade one case like `grade`, without blocking the event loop."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="math-grader")
            executor = self._executor
        return await asyncio.get_running_loop().run_in_executor(executor, self.grade, gold, pred)

    def _start(self) -> WorkerProcess:
        with self._lock:
            if self._closed:
                raise EnvInfraError("the grader is closed; make a new Grader or use default_grader()")
            wall_s = _WALL_FACTOR * max(self.timeout_s, _LEAST_S)
            fresh = WorkerProcess(_MODULE, self.memory_mb, wall_s)
            self.running.add(fresh)
        return fresh

    def _discard(self, worker: WorkerProcess) -> None:
        worker.stop()
        with self._lock:
            self.running.discard(worker)

    def close(self) -> None:
        """Terminate the workers; `grade` raises EnvInfraError for a case that is being graded."""
        with self._lock:
            self._closed = True
        for _ in range(self._slots.qsize()):
            try:
                idle = self._slots.get_nowait()
            except queue.Empty:
                break
            if idle.worker is not None:
                self._discard(idle.worker)
            self._slots.put(_Slot())
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
        """Close the child's copies of the connections to the parent's workers, which continue to run."""
        self._finalizer.detach()
        for worker in self.running:
            worker.let_go()
        self._prepare()


def _stop(workers: set[WorkerProcess]) -> None:
    for worker in list(workers):
        worker.kill()  # another thread may use the connection; it reads the end of the stream and closes it


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
