"""Defines who plays twenty questions in the training text of ``tiny-worlds``: a good player with bad habits.

The player knows all objects of level "full". Its questions halve the objects that remain. As soon as few
remain, it may follow its habits: it guesses one object after another (a linear search), and repeats guesses
that were refused.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nlac_bench.envs.twenty_questions import player
from nlac_bench.simulators.oracle20 import World, embedded_world, find_question
from workshop.curriculum_games import GOOD_SPLIT

QUESTIONS = 48
"""Number of different questions, without guesses."""
VARIED = 0.25
"""Probability that a good question is asked instead of the best one."""
NEAR = (24, 48)
"""Bounds of the number of remaining objects at which a player's habit begins; drawn for each game."""
REPEATED = 0.9
"""Share of the habit's actions after a refused guess that repeat the last guess, not another one."""
EVEN = 0.3
"""A question of ``recalled`` has a share of yes at most this far from 0.5, if there is such a question."""
GUESSED = 1 / 3
"""Share of guesses among the actions of ``another``, and of refused guesses at the end of ``recalled``."""

Answers = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Habit:
    """How strong a player's habits are: the probability of a habit's action where they apply."""

    name: str
    strength: float


HABITS = (Habit("strong", 0.92), Habit("middling", 0.75), Habit("weak", 0.1))
HABIT_SHARES = (0.65, 0.15, 0.2)


@dataclass(frozen=True, slots=True)
class Objects:
    """The knowledge of players: words, questions and answers.

    ``yes`` is bool ``[questions, objects]``. ``answers`` has, for each question and guess, the objects for
    which the answer is yes, bool ``[objects]``; ``named`` has the object of each guess.
    """

    names: tuple[str, ...]
    questions: tuple[str, ...]
    yes: Answers
    answers: Mapping[str, Answers]
    named: Mapping[str, int]


@lru_cache(maxsize=1)
def objects() -> Objects:
    """Return the embedded objects, with ``QUESTIONS`` questions that together distinguish all of them."""
    world = embedded_world()
    known = player.repertoire(world, "no")
    chosen = _telling(known.yes)
    questions = tuple(known.texts[i] for i in chosen)
    named = {player.guess(name): i for i, name in enumerate(world.names)}
    answers = dict(zip(questions, known.yes[chosen], strict=True))
    answers |= {guess: _answer(world, guess) for guess in named}
    return Objects(world.names, questions, known.yes[chosen], answers, named)


def _answer(world: World, question: str) -> Answers:
    return np.asarray(world.truth_of(world.read(find_question(question).words)) > 0)


def _telling(yes: Answers) -> list[int]:
    """Choose questions one by one: the one that distinguishes most pairs of objects, where the weight of a
    pair is halved for each chosen question that distinguishes it."""
    value = yes.astype(np.float64)
    weight = np.ones((yes.shape[1], yes.shape[1]))
    chosen: list[int] = []
    for _ in range(QUESTIONS):
        information = ((value @ weight) * (1 - value)).sum(axis=1)
        information[chosen] = -1
        chosen.append(int(np.argmax(information)))
        weight[yes[chosen[-1]][:, None] != yes[chosen[-1]]] /= 2
    return chosen


def _all() -> Answers:
    return np.ones(len(objects().names), dtype=bool)


@dataclass(frozen=True, slots=True)
class GameSituation:
    """The actions of a game so far, and the objects that fit the answers, without refused guesses: bool
    ``[objects]``."""

    asked: tuple[str, ...] = ()
    left: Answers = field(default_factory=_all)

    def after(self, action: str, yes: bool) -> "GameSituation":
        """Return the situation after an action that did not win, given its answer."""
        left = self.left & (objects().answers[action] == yes)
        if action in objects().named:
            left[objects().named[action]] = False
        return GameSituation((*self.asked, action), left)

    @property
    def names(self) -> list[str]:
        """The words of the remaining objects."""
        return [objects().names[i] for i in np.flatnonzero(self.left)]

    @property
    def refused(self) -> str | None:
        """The last guess; None if nothing was guessed."""
        return next((action for action in reversed(self.asked) if action in objects().named), None)


@dataclass(frozen=True, slots=True)
class GamesPlayer:
    """A player: its habit, and the largest number of remaining objects at which the habit applies."""

    habit: Habit
    near: int

    @staticmethod
    def drawn(rng: random.Random) -> "GamesPlayer":
        """Return a player drawn at random."""
        return GamesPlayer(rng.choices(HABITS, HABIT_SHARES)[0], rng.randint(*NEAR))

    def act(self, now: GameSituation, rng: random.Random) -> str:
        """Return the next question or guess."""
        if now.left.sum() <= self.near and rng.random() < self.habit.strength:
            return habitual(now, rng)
        return good(now, rng)


def habitual(now: GameSituation, rng: random.Random) -> str:
    """Return the action of the habits: the last guess again, or a guess of a remaining object."""
    if now.refused and rng.random() < REPEATED:
        return now.refused
    return player.guess(rng.choice(now.names))


def good(now: GameSituation, rng: random.Random) -> str:
    """Return a question that halves the remaining objects, or a guess of one of at most two."""
    left = now.names
    off = np.abs(objects().yes[:, now.left].mean(axis=1) - 0.5)
    if len(left) <= player.GUESS_AT_MOST or off.min() == 0.5:
        return player.guess(rng.choice(left))
    best = int(np.argmin(off))
    if rng.random() < VARIED:
        best = int(rng.choice(np.flatnonzero((off <= off.min() + GOOD_SPLIT) & (off < 0.5))))
    return objects().questions[best]


def another(now: GameSituation, action: str, rng: random.Random) -> str | None:
    """Return a reasonable action other than ``action``, drawn at random; None if there is none.

    It is a question whose answer the earlier ones leave open or, if few objects remain, a guess of one.
    """
    names = now.names if now.left.sum() <= NEAR[1] else []
    guesses = [guess for name in names if (guess := player.guess(name)) != action]
    share = objects().yes[:, now.left].mean(axis=1)
    questions = [
        text for text, part in zip(objects().questions, share, strict=True) if 0 < part < 1 and text != action
    ]
    if guesses and (not questions or rng.random() < GUESSED):
        return rng.choice(guesses)
    return rng.choice(questions) if questions else None


def recalled(hidden: int, rng: random.Random) -> Sequence[tuple[str, bool]]:
    """Return questions drawn at random with their true answers about an object, until at most two fit.

    Each question splits the objects that remain, if possible no more unevenly than one to four. If two
    remain, some of the histories end with a refused guess of the other one.
    """
    now, history = GameSituation(), []
    while len(names := now.names) > player.GUESS_AT_MOST:
        off = np.abs(objects().yes[:, now.left].mean(axis=1) - 0.5)
        text = objects().questions[int(rng.choice(np.flatnonzero(off <= max(EVEN, off.min()))))]
        history.append((text, bool(objects().answers[text][hidden])))
        now = now.after(*history[-1])
    others = [player.guess(name) for name in names if name != objects().names[hidden]]
    if others and rng.random() < GUESSED:
        history.append((others[0], bool(objects().answers[others[0]][hidden])))
    return history
