"""Splits the tasks of the training split into training and validation tasks."""

from collections.abc import Sequence

import numpy as np

from nlac_bench.rollout.engines.engine import derive_seed


def split_tasks(ids: Sequence[str], val_tasks: int, seed: int) -> tuple[list[str], list[str]]:
    """Return ``ids`` as (validation tasks, training tasks), drawn by ``seed``.

    At most half of the tasks are used for validation. A single task is used for both.
    """
    shuffled = list(ids)
    np.random.default_rng(derive_seed(seed, "validation")).shuffle(shuffled)
    held_out = min(val_tasks, len(shuffled) // 2)
    return shuffled[: held_out or 1], shuffled[held_out:]
