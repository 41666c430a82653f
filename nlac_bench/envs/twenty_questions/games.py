"""Lists the games: a fixed division of a world's words into disjoint splits."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nlac_bench.simulators.oracle20 import World

GAMES_SEED = 20
"""Seeds the division and the choice among homographs; the meaning of a task id depends on it."""
GAMES: Mapping[str, Mapping[str, int]] = {
    "full": {"train": 102, "validation": 51, "test": 102},
    "easy": {"train": 33, "validation": 10, "test": 21},
}
"""Number of games of each split by level, in the order in which the shuffled words are divided."""
OFFICIAL_GAMES: Mapping[str, int] = {"train": 1000, "test": 500, "validation": 100}
"""The same for official data at level "full"; the remaining words are in no split."""


@dataclass(frozen=True, slots=True)
class Game:
    """A game with its hidden object."""

    task_id: str
    hidden: int


def games(world: World, split: str, level: str, official: bool) -> tuple[Game, ...]:
    """Return the games of a split in a fixed order, each with a different word.

    Words are shuffled with a fixed seed and divided by the numbers above. If a word has several senses, one
    is drawn. On embedded data the test words of level "easy" are test words of level "full", and its other
    words are train words there, so that training at one level never shows a test word of the other. A task
    id does not reveal the object.

    Raises:
        ValueError: ``split`` is not train, validation or test.
    """
    sizes = OFFICIAL_GAMES if official and level == "full" else GAMES[level]
    if split not in sizes:
        raise ValueError(f"split must be 'train', 'validation' or 'test', got {split!r}")
    hidden = _shuffled(world, level)
    if level == "full" and not official:
        easy = [world.names[i] for i in _shuffled(world, "easy")]
        cut = len(easy) - GAMES["easy"]["test"]
        place = {**dict.fromkeys(easy[:cut], -1), **dict.fromkeys(easy[cut:], 1)}
        hidden.sort(key=lambda i: place.get(world.names[i], 0))  # easy words: first or last
    order = list(sizes)
    start = sum(sizes[before] for before in order[: order.index(split)])
    return tuple(Game(f"{split}-{i:04d}", h) for i, h in enumerate(hidden[start : start + sizes[split]]))


def _shuffled(world: World, level: str) -> list[int]:
    """Return an object of each word of ``level``, in an order that depends only on ``GAMES_SEED``."""
    senses: dict[str, list[int]] = {}
    for i, name in enumerate(world.names):
        if level == "full" or name in world.kb.easy:
            senses.setdefault(name, []).append(i)
    rng = np.random.default_rng(GAMES_SEED)
    words = sorted(senses)
    order = rng.permutation(len(words))
    return [senses[words[k]][int(rng.integers(len(senses[words[k]])))] for k in order]
