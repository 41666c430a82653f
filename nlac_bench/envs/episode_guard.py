"""Detects that two threads use one environment, which would mix their episodes without an error."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from nlac_bench.errors import NlacBenchError


class EpisodeGuard:
    """Raises an error where a thread would act in another thread's episode.

    Threads may take turns: an episode that one of them began can be continued by another, as thread pools do.
    A copy (``fork``, pickle, ``deepcopy``) is another environment and has its own guard.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._owner: int | None = None
        self._interrupted: set[int] = set()

    def __reduce__(self) -> tuple[type["EpisodeGuard"], tuple[()]]:
        return EpisodeGuard, ()

    @contextlib.contextmanager
    def reset(self, name: str, running: Callable[[], bool]) -> Iterator[None]:
        """Guard a call of ``reset``.

        Args:
            name: the environment's name, for the message.
            running: returns whether an episode has begun and not ended; the thread that began it can no
                longer use it. It is asked when no other thread can begin one.

        Raises:
            NlacBenchError: another thread is inside ``reset`` or ``step``.
        """
        with self._alone(name):
            if running() and self._owner is not None:
                self._interrupted.add(self._owner)
            self._owner = threading.get_ident()
            self._interrupted.discard(self._owner)
            yield

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Guard a call of ``step``.

        Raises:
            NlacBenchError: another thread is inside ``reset`` or ``step``, or has reset the environment in
                the episode that this thread began.
        """
        with self._alone(name):
            if threading.get_ident() in self._interrupted:
                raise NlacBenchError(
                    f"{name}: another thread has reset this environment during this thread's episode; make "
                    "one environment for each thread"
                )
            yield

    @contextlib.contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise NlacBenchError(
                f"{name}: another thread is inside reset() or step() of this environment; make one "
                "environment for each thread"
            )
        try:
            yield
        finally:
            self._busy.release()
