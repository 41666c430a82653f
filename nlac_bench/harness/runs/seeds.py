"""Plans the episodes of a run and derives their seeds from (base seed, task, trial) alone."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nlac_bench.errors import NlacBenchError

MAX_PLANNED = 10_000_000
"""Maximal number of episodes of a run; its manifest lists them all."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A planned episode: its task, the number of the repetition (trial), and its seed."""

    task_id: str
    trial: int
    seed: int

    @property
    def key(self) -> tuple[str, int]:
        """The key (task, trial), which is unique within a run."""
        return self.task_id, self.trial


def episode_seed(base_seed: int, task_id: str, trial: int) -> int:
    """Return the seed of one episode, in [0, 2**31). It does not depend on machine, version or thread order.

    It is the first four bytes, big-endian and with the top bit cleared, of the SHA-256 of the UTF-8 text
    ``json.dumps([base_seed, task_id, trial])`` (ASCII, separators ``", "``). It has 31 bits because some
    inference servers store a seed in a signed 32-bit integer or take 2**32 − 1 to mean "choose a random
    seed".
    """
    text = json.dumps([int(base_seed), task_id, int(trial)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") & 0x7FFF_FFFF


def plan_episodes(task_ids: Sequence[str], trials: int, base_seed: int) -> tuple[Planned, ...]:
    """Plan ``trials`` episodes of each task, one trial of all tasks after the other.

    Raises:
        NlacBenchError: ``task_ids`` is empty or names a task twice, ``trials`` is less than 1, or there are
            more than ``MAX_PLANNED`` episodes.
    """
    if len(task_ids) * trials > MAX_PLANNED:
        raise NlacBenchError(
            f"{len(task_ids):,} tasks with {trials!r:.80} trials each are more than the {MAX_PLANNED:,} "
            "episodes that a run can plan; lower --trials or --limit"
        )
    if not task_ids:
        raise NlacBenchError("the list of tasks is empty; select at least one task")
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
    """Return the first of ``names`` that occurs a second time, or None."""
    seen: set[object] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
