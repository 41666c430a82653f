"""Selects the tasks that a training run validates on and those that it trains on."""

from collections.abc import Sequence

import numpy as np

from nlac_bench.errors import ConfigError
from nlac_bench.rollout.engines.engine import derive_seed

VALIDATION_SPLIT = "validation_split"
"""Key of a training run's subject: the split that it validates on, if that is not the training split.

An old run that lacks the key is refused by ``resume``, because its validation tasks were other ones.
"""


def validates_apart(training: Sequence[str], validation: Sequence[str]) -> bool:
    """Return whether the validation tasks come from a split of their own and not from the training split.

    Raises:
        ConfigError: the two have a part of their tasks in common.
    """
    shared = set(training) & set(validation)
    if len(shared) == len(set(training)) == len(set(validation)):
        return False
    if shared:
        raise ConfigError(
            f"the task {min(shared)!r} is in split 'train' and in split 'validation' of the environment; "
            "validation tasks must not be trained on, so give the splits different tasks"
        )
    return True


def split_tasks(
    training: Sequence[str], validation: Sequence[str], val_tasks: int, seed: int
) -> tuple[list[str], list[str]]:
    """Return the validation tasks, drawn by ``seed``, and the training tasks.

    If the environment has a validation split, ``val_tasks`` of its tasks are drawn, or all if it has fewer,
    and all tasks of the training split are trained on. Otherwise the validation tasks are held out of the
    training split: at most half of its tasks. A single task is used for both.

    Args:
        training: all tasks of the training split.
        validation: all tasks of the environment of ``registry.make_validation_env``.
        val_tasks: number of validation tasks.
        seed: the run's seed.

    Raises:
        ConfigError: as ``validates_apart``.
    """
    apart = validates_apart(training, validation)
    shuffled = list(validation)
    np.random.default_rng(derive_seed(seed, "validation")).shuffle(shuffled)
    if apart:
        return shuffled[:val_tasks], list(training)
    count = held_out(len(shuffled), val_tasks)
    return shuffled[:count], shuffled[count:] or shuffled


def held_out(count: int, val_tasks: int) -> int:
    """Return how many of ``count`` training tasks are held out for validation."""
    return min(val_tasks, count // 2) or 1
