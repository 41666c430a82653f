"""Chooses the number of CPU threads for a pass of a model."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_A_THREAD = 2_000_000_000
"""Number of multiplications per thread, about 40 ms of one core. With less work, threads wait for each other
longer than they save, especially on a busy machine: a thread that is not scheduled delays the others at every
operation."""


@contextmanager
def threads_for(multiplications: int, most: int) -> Iterator[None]:
    """Within this context, set PyTorch's number of threads according to the amount of work.

    PyTorch keeps the number per calling thread, so a learner in another thread is not affected.

    Args:
        multiplications: of the whole pass: tokens times parameters.
        most: largest number of threads.
    """
    before = torch.get_num_threads()
    wanted = max(1, min(most, multiplications // WORTH_A_THREAD))
    if wanted == before:
        yield
        return
    torch.set_num_threads(wanted)
    try:
        yield
    finally:
        torch.set_num_threads(before)
