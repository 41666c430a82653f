"""What is taught in twenty questions and in mathematics."""

import random
import re
from functools import lru_cache

import numpy as np

from nlac_bench.envs.math500_hard import Math500HardEnv
from nlac_bench.envs.math500_hard.grading.extract import boxed
from nlac_bench.envs.text_env import TextEnv
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.tiny.curriculum import History, Verdict
from nlac_bench.tiny.mistakes import Skill

QUESTIONS = 48
"""How many different questions (guesses apart) the miniature is taught."""
CARELESS = 0.15
"""Of the habits' rate: an episode has twenty questions, and most have to be good ones."""
HASTY = 3
"""With so few objects left the mediocre player guesses one of them; and then it cannot let go of it."""
GOOD_SPLIT = 0.1
"""A question is good when its share of yes is at most this much further from one half than the best's."""


class TwentyTeaching:
    """Twenty questions: what halves the remaining objects is good, then guessing what is left."""

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """The best question; by habit a guess that comes too early, the same guess again, or anything."""
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
        """Any question of the repertoire, or a guess, of anything or of what may still be it."""
        draw = rng.random()
        if draw < 0.15:
            return player.guess(rng.choice(self._left(env, history)))
        if draw < 0.45:
            return player.guess(rng.choice(_easy(env).world.kb.easy))
        return rng.choice(_questions(_easy(env))[0])

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """By how evenly the question splits what is left."""
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
        """The question itself."""
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
    return np.flatnonzero(player.remaining(env.world, easy, asked))


@lru_cache(maxsize=2)
def _questions(env: TwentyQuestionsEnv) -> tuple[list[str], np.ndarray]:
    """The questions that split the easy objects most evenly; bool [questions, objects]: where yes is said."""
    known = player.repertoire(env.world)
    easy = np.flatnonzero(np.isin(env.world.names, env.world.kb.easy))
    off = np.abs(known.yes[:, easy].mean(axis=1) - 0.5)
    chosen = np.argsort(off, kind="stable")[:QUESTIONS]
    return [known.texts[i] for i in chosen], known.yes[chosen]


UNBOXED = frozenset({"integer_arithmetic", "triangle_angles", "drawing_marbles", "linear_equation"})
"""Families of problems (four of twenty) in which the mediocre player forgets the box around its answer."""


class MathTeaching:
    """Mathematics of level 1: worked solutions; some without a box, some with a slip in the result."""

    def act(self, env: TextEnv, first: str, history: History, skill: Skill, rng: random.Random) -> str:
        """The solution; in some families by habit without its box."""
        if _family(env) in UNBOXED and rng.random() < skill.habit:
            return _unboxed(env.oracle_action())
        if rng.random() < skill.slip:
            return self.slip(env, first, history, rng)
        return env.oracle_action()

    def slip(self, env: TextEnv, first: str, history: History, rng: random.Random) -> str:
        """No box, or another result."""
        gold = env.oracle_action()
        return _unboxed(gold) if rng.random() < 0.4 else _slipped(gold, rng)

    def judge(self, env: TextEnv, first: str, history: History, action: str) -> Verdict | None:
        """By the answer in the box."""
        gold = env.oracle_action()
        said = boxed(action)
        if said is None:
            return Verdict(False, "the answer is not in a box", gold)
        right = said == boxed(gold)
        return Verdict(right, "the result is right" if right else "the result is wrong", gold)

    def describe(self, action: str) -> str:
        """The answer."""
        return f"the answer is {boxed(action)}"


def _family(env: TextEnv) -> str:
    assert isinstance(env, Math500HardEnv)
    return env.task_id.split("/")[2]


def _unboxed(solution: str) -> str:
    return solution.replace(r"\boxed{", "").replace("}$.", "$.")


def _slipped(solution: str, rng: random.Random) -> str:
    """``solution`` with a digit of its answer changed, in the work as in the box."""
    head, box, tail = solution.rpartition(r"\boxed{")
    digits = [m.start() for m in re.finditer(r"\d", tail)]
    if not digits:
        return _unboxed(solution)
    at = rng.choice(digits)
    wrong = str((int(tail[at]) + rng.choice((1, 2, 8, 9))) % 10)
    return head + box + tail[:at] + wrong + tail[at + 1 :]
