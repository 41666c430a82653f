"""Implements the information-theoretic player: asks what splits the remaining candidates best, then guesses.

It knows the world, the rules and the conversation, but not the hidden object. It has no state: the next
question depends only on the questions and answers so far, whichever player asked them. An answer that the
oracle did not know excludes no candidate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nlac_bench.envs.twenty_questions.oracles import Unknowns
from nlac_bench.simulators.oracle20 import Formula, World, find_question

GUESS_AT_MOST = 2
"""Largest number of candidates for which a guess is as good as a question."""


@dataclass(frozen=True)
class Repertoire:
    """The questions of a player: their texts, their words, and the answers ``int8 [questions, objects]``.

    An answer is 1 (yes), -1 (no) or 0 ("I can't say.").
    """

    texts: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    answers: np.ndarray

    @property
    def yes(self) -> np.ndarray:
        """``bool [questions, objects]``, True for the answer yes."""
        return np.asarray(self.answers > 0)


def _answers(world: World, formula: Formula, unknowns: Unknowns) -> np.ndarray:
    """Return the knowledge oracle's answer for each object, ``int8 [objects]``."""
    truth = world.truth_of(formula)
    return np.where(truth > 0, 1, -1).astype(np.int8) if unknowns == "no" else truth


@lru_cache(maxsize=8)
def repertoire(world: World, unknowns: Unknowns = "say") -> Repertoire:
    """Return the questions that test one attribute of ``world`` and split its objects, one per split.

    The answers to a question are those of the knowledge oracle to its text.
    """
    texts = [attribute.ask for attribute in world.kb.attributes if attribute.ask]
    texts += [f"Is it a kind of {' '.join(key)}?" for key in world.class_nouns]
    kept, spoken, rows, seen = [], [], [], set()
    for text in texts:
        words = find_question(text).words
        answers = _answers(world, world.read(words), unknowns)
        digest = answers.tobytes()
        if digest not in seen and answers.min() < answers.max():
            seen.add(digest)
            kept.append(text)
            spoken.append(words)
            rows.append(answers)
    return Repertoire(tuple(kept), tuple(spoken), np.array(rows))


def next_question(
    world: World,
    candidates: np.ndarray,
    asked: Sequence[tuple[str, bool | None]],
    unknowns: Unknowns = "say",
) -> str:
    """Return the next question: the one after which the fewest candidates remain on average.

    Args:
        world: the world of the game.
        candidates: ``bool [objects]``, the objects that this level may hide.
        asked: the questions so far with their answers (True for yes, None for "I can't say.").
        unknowns: what the oracle answers if it does not know.
    """
    left = remaining(world, candidates, asked, unknowns)
    names = sorted({world.names[i] for i in np.flatnonzero(left)})
    if len(names) <= GUESS_AT_MOST:
        return guess(names[0])
    known = repertoire(world, unknowns)
    answers = known.answers[:, left]
    yes, no = (answers > 0).sum(axis=1), (answers < 0).sum(axis=1)
    count = answers.shape[1]
    expected = yes**2 + no**2 + (count - yes - no) * count  # times ``count``
    before = {find_question(text).words for text, _ in asked}
    expected[[words in before for words in known.words]] = count**2
    best = int(np.argmin(expected))
    if expected[best] == count**2:  # no question splits the remaining candidates
        return guess(names[0])
    return known.texts[best]


def remaining(
    world: World,
    candidates: np.ndarray,
    asked: Iterable[tuple[str, bool | None]],
    unknowns: Unknowns = "say",
) -> np.ndarray:
    """Return the candidates that contradict the fewest answers, ``bool [objects]``."""
    against = np.zeros(len(world), dtype=np.int32)
    excluded = ~candidates
    for text, yes in asked:
        question = find_question(text)
        if not question.words:
            continue
        formula = world.read(question.words)
        answers = _answers(world, formula, unknowns)
        if yes is not None:
            against += answers != (1 if yes else -1)
        for i in world.guessed(formula):  # a guess that did not end the game was wrong
            if yes is not None or answers[i] > 0:
                excluded = excluded.copy()
                excluded[i] = True
    if excluded.all():
        excluded = ~candidates
    against[excluded] = np.iinfo(np.int32).max
    return against == against.min()


def guess(name: str) -> str:
    """Return the question that guesses ``name``."""
    return f"Is it {'an' if name[0].lower() in 'aeiou' else 'a'} {name}?"


def random_question(
    world: World, names: Sequence[str], rng: np.random.Generator, unknowns: Unknowns = "say"
) -> str:
    """Return a guess or a question of the repertoire, each with probability 1/2."""
    if rng.random() < 0.5:
        return guess(names[int(rng.integers(len(names)))])
    texts = repertoire(world, unknowns).texts
    return texts[int(rng.integers(len(texts)))]
