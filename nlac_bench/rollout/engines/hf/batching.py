"""Batching: one thread decodes the requests of all callers together."""

import atexit
import contextlib
import queue
import threading
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from nlac_bench.errors import NlacBenchError
from nlac_bench.rollout.engines.engine import EngineError, Sample, SampleRequest, Slot
from nlac_bench.rollout.engines.hf.decoder import Decoder
from nlac_bench.rollout.engines.hf.row import Row

_running: "weakref.WeakSet[Batching]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """Stop every worker thread: a thread inside torch at interpreter shutdown aborts the process."""
    for engine in list(_running):
        engine.close()


T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Job:
    """A request in progress. ``rows`` is filled when the prompt is tokenised."""

    request: SampleRequest
    future: Future[list[Sample]]
    began: float
    prompt: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class WorkerCall:
    """A function that the worker thread calls. With ``alone`` it is not called while rows are decoded."""

    function: Callable[[], object]
    future: Future[Any]
    alone: bool


class Batching(ABC):
    """A thread that adds the rows of requests to the batches of decoders, and calls functions in between.

    The thread starts with the first request. A subclass defines the rows of a request and its result.

    Args:
        decoders: the decoder of each slot; others may be added later, by the thread itself.
    """

    def __init__(self, decoders: dict[Slot, Decoder]) -> None:
        self.generated_tokens = 0
        """Number of tokens sampled so far, including unfinished samples; read by progress displays."""
        self.decoders = decoders
        self._inbox: queue.SimpleQueue[Job | WorkerCall | None] = queue.SimpleQueue()
        self._waiting: deque[Row | WorkerCall] = deque()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()

    @abstractmethod
    def _rows(self, job: Job) -> list[Row]:
        """Return the rows of a request; [] if a result was delivered at once."""

    @abstractmethod
    def _deliver(self, job: Job) -> None:
        """Set the result of a request whose rows have all ended."""

    def close(self) -> None:
        """Stop the worker thread; requests that have not ended fail with ``EngineError``."""
        self._inbox.put(None)
        if self._thread is not None:
            self._thread.join()

    def _submit(self, item: Job | WorkerCall) -> None:
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="nlac-bench-hf", daemon=True)
                self._thread.start()
                _running.add(self)
            elif not self._thread.is_alive():
                raise EngineError(f"{self!r} is closed", "closed")
        self._inbox.put(item)

    def _work(self) -> None:
        while self._collect():
            self._begin_waiting()
            for decoder in self.decoders.values():
                try:
                    self._step(decoder)
                except Exception as error:
                    self._fail_all(decoder, error)
        closed = EngineError(f"{self!r} was closed", "closed")
        for item in [*self._waiting, *(row for d in self.decoders.values() for row in d.active)]:
            _fail(item.future if isinstance(item, WorkerCall) else item.owner.future, closed)

    def _collect(self) -> bool:
        """Tokenise and queue new requests; block if there is nothing else to do. False after ``close``."""
        idle = not self._waiting and not self._busy()
        while True:
            try:
                item = self._inbox.get(block=idle)
            except queue.Empty:
                return True
            if item is None:
                return False
            idle = False
            if isinstance(item, WorkerCall):
                self._waiting.append(item)
            else:
                try:
                    self._waiting += self._rows(item)
                except Exception as error:  # a chat template may raise any exception
                    _fail(item.future, error)

    def _begin_waiting(self) -> None:
        """Start waiting rows and calls in the order of their arrival while there is room."""
        while self._waiting:
            head = self._waiting[0]
            if isinstance(head, WorkerCall):
                if head.alone and self._busy():
                    return
                self._waiting.popleft()
                try:
                    head.future.set_result(head.function())
                except Exception as error:
                    _fail(head.future, error)
                continue
            decoder = self._decoder_of(head.owner.request.slot)
            room = decoder.max_rows - len(decoder.active)
            rows: list[Row] = []
            while self._waiting and len(rows) < room:
                row = self._waiting[0]
                if isinstance(row, WorkerCall) or row.owner.request.slot != head.owner.request.slot:
                    break
                self._waiting.popleft()
                if not row.owner.future.done():
                    rows.append(row)
            if not rows and room == 0:
                return
            try:
                decoder.admit(rows)
            except Exception as error:
                self._fail_all(decoder, error, rows)

    def _step(self, decoder: Decoder) -> None:
        """Sample one token for every row and deliver the samples that ended."""
        for row in [row for row in decoder.active if row.owner.future.done()]:
            decoder.release(row)  # its request was cancelled
        if not decoder.active:
            return
        self.generated_tokens += decoder.step()
        ended = [row for row in decoder.active if row.finish is not None]
        if any(row.broken for row in ended):
            raise EngineError(
                "the model returned NaN instead of probabilities: its weights are invalid", "server"
            )
        for row in ended:
            decoder.release(row)
            if all(other.finish is not None for other in row.owner.rows):
                self._deliver(row.owner)

    def _fail_all(self, decoder: Decoder, error: Exception, rows: Sequence[Row] = ()) -> None:
        """Fail all rows and reset the decoder, since a failed pass may have left a corrupt cache."""
        if not isinstance(error, NlacBenchError):
            error = EngineError(f"{self!r} failed: {type(error).__name__}: {error}"[:1000], "server")
        for row in [*rows, *decoder.active]:
            _fail(row.owner.future, error)
        decoder.reset()

    def _busy(self) -> bool:
        return any(decoder.active for decoder in self.decoders.values())

    def _decoder_of(self, slot: Slot) -> Decoder:
        try:
            return self.decoders[slot]
        except KeyError:
            raise NlacBenchError(f"the slot {slot!r} has no weights yet: sync it before sampling") from None


def _fail(future: Future[T], error: Exception) -> None:
    with contextlib.suppress(InvalidStateError):
        future.set_exception(error)
