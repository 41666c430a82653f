"""SharedSource: a source of weights that several engines, in threads of their own, take at the same time."""

import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from nlac_bench.rollout.engines.engine import WeightSource

if TYPE_CHECKING:
    import torch


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Task(Generic[T]):
    """A function that the thread of the source calls, and its result."""

    function: Callable[[], T]
    answer: Future[T]


class Receiving(Protocol):
    """An engine in another process, between the start and the end of an update of its weights."""

    async def update(self, info: Mapping[str, object]) -> None:
        """Let all workers load weights as ``info`` describes."""


class SharedSource(ABC):
    """The weights of ``source`` for any number of engines; a context manager.

    It is a ``WeightSource`` itself. ``source`` is used only in the thread that made this object, because the
    collectives of a learner must be called in one thread. Threads of several engines may use this object
    while that thread is in ``answer``. Log-probabilities are computed once for each text.
    """

    def __init__(self, source: WeightSource) -> None:
        self.source = source
        self.exact = bool(getattr(source, "exact", True))
        """Whether ``logprobs`` are computed in float32."""
        self._known: dict[tuple[tuple[int, ...], int], Sequence[float]] = {}
        self._thread = threading.get_ident()
        self._asked: queue.SimpleQueue[_Task[Any] | None] = queue.SimpleQueue()

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, *exc: object) -> None: ...

    @abstractmethod
    def named_tensors(self) -> "Iterable[tuple[str, torch.Tensor]]":
        """Return the names and tensors."""

    @abstractmethod
    async def deliver(self, receiver: Receiving) -> None:
        """Let ``receiver``, which has started an update of its weights, load all tensors."""

    def logprobs(self, ids: Sequence[int], prompt_len: int) -> Sequence[float]:
        """Return the log-probabilities of ``ids[prompt_len:]`` that the source computes."""
        key = tuple(ids), prompt_len
        if key in self._known:
            return self._known[key]
        if threading.get_ident() != self._thread:
            return self._ask(lambda: self.logprobs(ids, prompt_len)).result()
        self._known[key] = self.source.logprobs(ids, prompt_len)
        return self._known[key]

    def answer(self, users: "Sequence[Future[T]]") -> None:
        """Use the source for other threads, until all futures of ``users`` are done.

        Raises:
            BaseException: the source raised it; the other threads get it first.
        """
        for user in users:
            user.add_done_callback(lambda done: self._asked.put(None))
        left, failure = len(users), None
        while left:
            task = None
            try:
                task = self._asked.get()
                if task is None:
                    left -= 1
                elif failure is not None:
                    raise failure
                else:
                    task.answer.set_result(task.function())
                if failure is None:
                    self._everyone_waits(left)
            except BaseException as error:  # also after Ctrl-C, or the other threads would wait for ever
                failure = error
                if task is not None and not task.answer.done():
                    task.answer.set_exception(error)
                self._stop(error)
        if failure is not None:
            raise failure

    def _ask(self, function: Callable[[], T]) -> "Future[T]":
        """Let the thread in ``answer`` call ``function``."""
        task = _Task(function, Future())
        self._asked.put(task)
        return task.answer

    def _everyone_waits(self, users: int) -> None:  # noqa: B027 - not all sources do something then
        """Called in ``answer`` whenever an unfinished one of ``users`` has made a request or has ended."""

    def _stop(self, failure: BaseException) -> None:  # noqa: B027
        """Called in ``answer`` after an error."""
