"""Which games there are: a fixed division of a world's words into train and test, no word in both."""

from dataclasses import dataclass

import numpy as np

from nlac_bench.envs.twenty_questions.world import World

GAMES_SEED = 20
"""Fixes the division and the senses of homographs; part of what a task id means."""
OFFICIAL_GAMES = {"train": 1000, "test": 500}


@dataclass(frozen=True, slots=True)
class Game:
    """One hidden object."""

    task_id: str
    hidden: int


def games(world: World, split: str, level: str, official: bool) -> tuple[Game, ...]:
    """The games of a split, in a fixed order, each with another word.

    Words are shuffled with a fixed seed; official data then take the first 1,000 for train and the next
    500 for test, other sets two thirds and the rest. Of a word's several senses one is drawn. A task id
    says nothing about the object.

    Raises:
        ValueError: for a split other than train and test.
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
