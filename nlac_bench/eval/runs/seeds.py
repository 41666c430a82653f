"""What a run plays and with which seeds: a function of (base seed, task, trial), never of thread order."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nlac_bench.errors import NlacBenchError


@dataclass(frozen=True, slots=True)
class Planned:
    """One episode that a run owes: which task, which repetition of it, with which seed."""

    task_id: str
    trial: int
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """What is unique within a run."""
        return self.task_id, self.trial


def episode_seed(base_seed: int, task_id: str, trial: int) -> int:
    """The seed of one episode, in [0, 2**31): the same on every machine, version and thread.

    It is the first four bytes, big-endian and with the top bit cleared, of the SHA-256 of the UTF-8 text
    ``json.dumps([base_seed, task_id, trial])`` (ASCII, separators ``", "``). 31 bits, because some inference
    servers keep a seed in a signed 32-bit integer or read 2**32 − 1 as "draw one".
    """
    text = json.dumps([int(base_seed), task_id, int(trial)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFF_FFFF


def plan_episodes(task_ids: Sequence[str], trials: int, base_seed: int) -> tuple[Planned, ...]:
    """``trials`` episodes of each task, trial by trial, so that an interrupted run has seen every task.

    Raises:
        NlacBenchError: no task, a task named twice, or fewer than one trial.
    """
    if not task_ids:
        raise NlacBenchError("nothing to play: the list of tasks is empty")
    if trials < 1:
        raise NlacBenchError(f"trials must be at least 1, got {trials}")
    twice = first_duplicate(task_ids)
    if twice is not None:
        raise NlacBenchError(
            f"task {twice!r} is listed twice; repeat tasks with trials=, not by naming them again"
        )
    return tuple(
        Planned(task_id, trial, episode_seed(base_seed, task_id, trial))
        for trial in range(trials)
        for task_id in task_ids
    )


def first_duplicate(names: Iterable[object]) -> object | None:
    """The first of ``names`` that was there before, or None."""
    seen: set[object] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
