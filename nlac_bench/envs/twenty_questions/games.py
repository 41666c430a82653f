"""Lists the games: a fixed division of a world's words into train and test; no word is in both."""

from dataclasses import dataclass

import numpy as np

from nlac_bench.envs.twenty_questions.world import World

GAMES_SEED = 20
"""Seeds the division and the choice among homographs; the meaning of a task id depends on it."""
OFFICIAL_GAMES = {"train": 1000, "test": 500}


@dataclass(frozen=True, slots=True)
class Game:
    """A game with its hidden object."""

    task_id: str
    hidden: int


def games(world: World, split: str, level: str, official: bool) -> tuple[Game, ...]:
    """Return the games of a split in a fixed order, each with a different word.

    Words are shuffled with a fixed seed. Of official data the first 1,000 are for train and the next 500 for
    test; of other data two thirds and the rest. If a word has several senses, one is drawn. A task id does
    not reveal the object.

    Raises:
        ValueError: ``split`` is neither train nor test.
    """
    if split not in ("train", "test"):
        raise ValueError(f"split must be 'train' or 'test', got {split!r}")
    senses: dict[str, list[int]] = {}
    for i, name in enumerate(world.names):
        if level == "full" or name in world.kb.easy:
            senses.setdefault(name, []).append(i)
    rng = np.random.default_rng(GAMES_SEED)
    words = sorted(senses)
    order = rng.permutation(len(words))
    hidden = [senses[words[k]][int(rng.integers(len(senses[words[k]])))] for k in order]
    cut = OFFICIAL_GAMES["train"] if official and level == "full" else (2 * len(hidden) + 1) // 3
    end = cut + OFFICIAL_GAMES["test"] if official and level == "full" else len(hidden)
    chosen = hidden[:cut] if split == "train" else hidden[cut:end]
    return tuple(Game(f"{split}-{i:04d}", h) for i, h in enumerate(chosen))
