"""Implements the mediocre player and the teacher for twenty questions and mathematics."""

import random
import re
from functools import lru_cache

import numpy as np

from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.simulators.math_grader import boxed
from workshop.curriculum import History, Verdict
from workshop.mistakes import Skill

QUESTIONS = 48
"""Number of different questions in the corpus, without guesses."""
CARELESS = 0.15
"""Factor of the habit probability for a careless question: most of an episode's twenty must be good."""
HASTY = 3
"""With at most this many objects left, the mediocre player by habit guesses one; it then repeats guesses."""
GOOD_SPLIT = 0.1
"""A question is good if its share of yes is at most this much further from 0.5 than that of the best."""


class TwentyTeaching:
    """Twenty questions: good questions halve the remaining objects, and the last objects are guessed."""

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """Return the best question; by habit an early guess, the same guess again, or a random question or
        guess."""
        guesses = {player.guess(name) for name in _easy(env).world.kb.easy}
        if history and history[-1][0] in guesses and rng.random() < 1 - (1 - skill.habit) ** 2:
            return history[-1][0]
        if rng.random() < skill.habit:
            if len(left := self._left(env, history)) <= HASTY:
                return player.guess(rng.choice(left))
            if rng.random() < CARELESS:
                return self.slip(env, first, history, rng)
        return self._best(env, history)

    def slip(self, env: TextEnv, first: str, history: History, rng: random.Random) -> str:
        """Return a random question, or a guess of any object or of a remaining one."""
        draw = rng.random()
        if draw < 0.15:
            return player.guess(rng.choice(self._left(env, history)))
        if draw < 0.45:
            return player.guess(rng.choice(_easy(env).world.kb.easy))
        return rng.choice(_questions(_easy(env))[0])

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """Return the verdict by how evenly the question splits the remaining objects."""
        best = self._best(env, history)
        names = self._left(env, history)
        guesses = {player.guess(name) for name in names}
        if len(names) <= player.GUESS_AT_MOST:
            if action in guesses:
                return Verdict(True, "little else is left", best)
            return Verdict(False, f"{len(names)} left to guess", best)
        if any(action == asked for asked, _ in history):
            return Verdict(False, "it was asked before", best)
        texts, yes = _questions(_easy(env))
        if action not in texts:
            early = action in guesses
            return Verdict(False, f"too early, {len(names)} are left" if early else "it cannot be that", best)
        index = _remaining(env, history)
        share = yes[:, index].mean(axis=1)
        off = np.abs(share - 0.5)
        optimal = bool(off[texts.index(action)] <= off.min() + GOOD_SPLIT)
        return Verdict(optimal, "it splits what is left well" if optimal else "it tells little now", best)

    def describe(self, action: str) -> str:
        """Return the question unchanged."""
        return action

    def _best(self, env: TextEnv, history: History) -> str:
        names = self._left(env, history)
        if len(names) <= player.GUESS_AT_MOST:
            return player.guess(names[0])
        texts, yes = _questions(_easy(env))
        share = yes[:, _remaining(env, history)].mean(axis=1)
        best = int(np.argmin(np.abs(share - 0.5)))
        return player.guess(names[0]) if share[best] in (0.0, 1.0) else texts[best]

    @staticmethod
    def _left(env: TextEnv, history: History) -> list[str]:
        assert isinstance(env, TwentyQuestionsEnv)
        return sorted({env.world.names[i] for i in _remaining(env, history)})


def _easy(env: TextEnv) -> TwentyQuestionsEnv:
    assert isinstance(env, TwentyQuestionsEnv)
    return env


def _remaining(env: TextEnv, history: History) -> np.ndarray:
    assert isinstance(env, TwentyQuestionsEnv)
    easy = np.isin(env.world.names, env.world.kb.easy)
    asked = [(action, observation.startswith("Yes")) for action, observation in history]
    return np.flatnonzero(player.remaining(env.world, easy, asked, "no"))


@lru_cache(maxsize=2)
def _questions(env: TwentyQuestionsEnv) -> tuple[list[str], np.ndarray]:
    """Return the questions that split the easy objects most evenly, and their answers: bool [questions,
    objects]."""
    known = player.repertoire(env.world, "no")
    easy = np.flatnonzero(np.isin(env.world.names, env.world.kb.easy))
    off = np.abs(known.yes[:, easy].mean(axis=1) - 0.5)
    chosen = np.argsort(off, kind="stable")[:QUESTIONS]
    return [known.texts[i] for i in chosen], known.yes[chosen]


UNBOXED = frozenset({"integer_arithmetic", "triangle_angles", "drawing_marbles", "linear_equation"})
"""Families of problems (4 of 20) in which the mediocre player by habit omits the box around the answer."""


class MathTeaching:
    """Mathematics, level 1: worked solutions, some without a box and some with a wrong result."""

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """Return the solution; in the families ``UNBOXED`` by habit without its box."""
        if _family(env) in UNBOXED and rng.random() < skill.habit:
            return _unboxed(env.oracle_action())
        if rng.random() < skill.slip:
            return self.slip(env, first, history, rng)
        return env.oracle_action()

    def slip(self, env: TextEnv, first: str, history: History, rng: random.Random) -> str:
        """Return the solution without its box, or with a wrong result."""
        gold = env.oracle_action()
        return _unboxed(gold) if rng.random() < 0.4 else _slipped(gold, rng)

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """Return the verdict by the answer in the box."""
        gold = env.oracle_action()
        answer = boxed(action)
        if answer is None:
            return Verdict(False, "the answer is not in a box", gold)
        right = answer == boxed(gold)
        return Verdict(right, "the result is right" if right else "the result is wrong", gold)

    def describe(self, action: str) -> str:
        """Return the answer in the box."""
        return f"the answer is {boxed(action)}"


def _family(env: TextEnv) -> str:
    assert isinstance(env, Math500HardEnv)
    return env.task_id.split("/")[2]


def _unboxed(solution: str) -> str:
    return solution.replace(r"\boxed{", "").replace("}$.", "$.")


def _slipped(solution: str, rng: random.Random) -> str:
    """Return ``solution`` with a random digit of its boxed answer changed."""
    head, box, tail = solution.rpartition(r"\boxed{")
    digits = [m.start() for m in re.finditer(r"\d", tail)]
    if not digits:
        return _unboxed(solution)
    at = rng.choice(digits)
    wrong = str((int(tail[at]) + rng.choice((1, 2, 8, 9))) % 10)
    return head + box + tail[:at] + wrong + tail[at + 1 :]
