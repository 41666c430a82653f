"""Implements the information-theoretic player: asks what splits the remaining candidates best, then guesses.

It knows the world, the rules and the conversation, but not the hidden object. It has no state: the next
question depends only on the questions and answers so far, whichever player asked them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nlac_bench.simulators.oracle20 import World, find_question

GUESS_AT_MOST = 2
"""Largest number of candidates for which a guess is as good as a question."""


@dataclass(frozen=True)
class Repertoire:
    """The questions of a player: their texts, and ``bool [questions, objects]``, True for the answer yes."""

    texts: tuple[str, ...]
    yes: np.ndarray


@lru_cache(maxsize=8)
def repertoire(world: World) -> Repertoire:
    """Return the questions that test one attribute of ``world`` and split its objects, one per split.

    The answers to a question are those of the knowledge oracle to its text.
    """
    texts = [attribute.ask for attribute in world.kb.attributes if attribute.ask]
    texts += [f"Is it a kind of {' '.join(key)}?" for key in world.class_nouns]
    kept, rows, seen = [], [], set()
    for text in texts:
        question = find_question(text)
        yes = world.truth_of(world.read(question.words)) > 0
        digest = yes.tobytes()
        if digest not in seen and yes.any() and not yes.all():
            seen.add(digest)
            kept.append(text)
            rows.append(yes)
    return Repertoire(tuple(kept), np.array(rows))


def next_question(world: World, candidates: np.ndarray, asked: Iterable[tuple[str, bool]]) -> str:
    """Return the next question.

    Args:
        world: the world of the game.
        candidates: ``bool [objects]``, the objects that this level may hide.
        asked: the questions so far with their answers (True for yes).
    """
    left = remaining(world, candidates, asked)
    names = sorted({world.names[i] for i in np.flatnonzero(left)})
    if len(names) <= GUESS_AT_MOST:
        return guess(names[0])
    known = repertoire(world)
    index = np.flatnonzero(left)
    share = known.yes[:, index].mean(axis=1)
    best = int(np.argmin(np.abs(share - 0.5)))
    if share[best] in (0.0, 1.0):  # no question splits the remaining candidates
        return guess(names[0])
    return known.texts[best]


def remaining(world: World, candidates: np.ndarray, asked: Iterable[tuple[str, bool]]) -> np.ndarray:
    """Return the candidates that contradict the fewest answers, ``bool [objects]``."""
    against = np.zeros(len(world), dtype=np.int32)
    excluded = ~candidates
    for text, answered_yes in asked:
        question = find_question(text)
        if not question.words:
            continue
        formula = world.read(question.words)
        against += (world.truth_of(formula) > 0) != answered_yes
        for i in world.guessed(formula):  # a guess that did not end the game was wrong
            excluded = excluded.copy()
            excluded[i] = True
    if excluded.all():
        excluded = ~candidates
    against[excluded] = np.iinfo(np.int32).max
    return against == against.min()


def guess(name: str) -> str:
    """Return the question that guesses ``name``."""
    return f"Is it {'an' if name[0].lower() in 'aeiou' else 'a'} {name}?"


def random_question(world: World, names: Sequence[str], rng: np.random.Generator) -> str:
    """Return a guess or a question of the repertoire, each with probability 1/2."""
    if rng.random() < 0.5:
        return guess(names[int(rng.integers(len(names)))])
    texts = repertoire(world).texts
    return texts[int(rng.integers(len(texts)))]
