"""How many threads a pass of a model on a CPU is worth."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

WORTH_A_THREAD = 2_000_000_000
"""Multiplications, some 40 ms of one core. With less to do, threads wait for each other longer than they
save; on a busy machine by far, as one that is not running holds up the others at every operation."""


@contextmanager
def threads_for(multiplications: int, most: int) -> Iterator[None]:
    """Within this context the calling thread computes with as many threads as the work is worth.

    PyTorch keeps the number for each thread that calls it, so a learner in another thread keeps its own.

    Args:
        multiplications: of the whole pass: tokens times parameters.
        most: threads at most.
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
