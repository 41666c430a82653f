"""Chooses the number of CPU threads for a pass of a model, and ends those that wait."""

import ctypes
import functools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

WORTH_A_THREAD = 2_000_000_000
"""Number of multiplications per thread above which several threads are faster even on a busy machine.

It takes about 40 ms of one core. A thread that is not scheduled delays the others at every operation.
"""
TRIAL = 2
"""Steps with all threads, and as many with one, that are timed in each trial."""
SHORTEST, LONGEST = 128, 2048
"""Steps from one trial to the next; the number doubles each time that one thread is faster."""


@contextmanager
def using(threads: int) -> Iterator[None]:
    """Set PyTorch's number of threads within this context.

    PyTorch keeps the number per calling thread, so a learner in another thread is not affected.
    """
    before = torch.get_num_threads()
    if threads == before:
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@functools.cache
def _libgomp() -> ctypes.CDLL | None:
    """Return GNU's OpenMP library if this process has loaded it, as PyTorch's builds for Linux do."""
    try:
        return ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD)
    except (AttributeError, OSError):
        return None


def end_idle_threads() -> None:
    """End the OpenMP threads that wait for work of the calling thread; they are started again when needed.

    Each thread that computes has threads of its own. While a process has more of them than cores, libgomp
    puts them to sleep after each operation: decoding beside the learner's idle threads takes 1.3 times as
    long.
    """
    if pause := getattr(_libgomp(), "omp_pause_resource_all", None):
        pause(1)  # omp_pause_soft


class Threads:
    """The number of threads of a decoder's passes: one, or ``most`` where that is faster now.

    Whether several threads are faster for the small passes of decoding depends on the load of the machine: on
    two idle cores two threads take 0.7 of the time of one, on a busy machine several times as long. So both
    are timed periodically, on decoding steps, which follow each other with almost equal work.

    Args:
        most: largest number of threads.
        adaptive: False decides by the amount of work alone, so that the same passes always use the same
            number; sums of floating-point numbers may depend on it.
        clock: returns seconds.
    """

    def __init__(
        self, most: int, adaptive: bool = True, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.most, self.adaptive = most, adaptive and most > 1
        self.chosen = 1
        self._clock = clock
        self._step, self._period = 0, SHORTEST
        self._fastest: dict[int, float] = {}

    @contextmanager
    def for_step(self, multiplications: int) -> Iterator[None]:
        """Compute one decoding step; a small one with the chosen number, or with the number that is on trial.

        Args:
            multiplications: of the whole step: tokens times parameters.
        """
        if multiplications >= self.most * WORTH_A_THREAD or not self.adaptive:
            with self.for_pass(multiplications):
                yield
            return
        threads, began = self._on_trial(), self._clock()
        with using(threads):
            yield
        self._note(threads, self._clock() - began)

    @contextmanager
    def for_pass(self, multiplications: int) -> Iterator[None]:
        """Compute a pass of any other size.

        Args:
            multiplications: of the whole pass: tokens times parameters.
        """
        by_work = min(self.most, multiplications // WORTH_A_THREAD)
        with using(max(1, by_work, self.chosen)):
            yield

    def _on_trial(self) -> int:
        if self._step < TRIAL:
            return self.most
        return 1 if self._step < 2 * TRIAL else self.chosen

    def _note(self, threads: int, seconds: float) -> None:
        self._step += 1
        if self._step <= 2 * TRIAL:
            self._fastest[threads] = min(seconds, self._fastest.get(threads, seconds))
        if self._step == 2 * TRIAL:
            self.chosen = min(self._fastest, key=lambda count: self._fastest[count])
            self._period = SHORTEST if self.chosen == self.most else min(LONGEST, 2 * self._period)
        elif self._step >= self._period:
            self._step, self._fastest = 0, {}
