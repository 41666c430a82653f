"""Generates the text that teaches the embedded model ``tiny-worlds`` to play twenty questions, level "full".

Games are played with training words only. The properties of all objects, also those of validation and test
games, are taught by rows that name an object that fits the answers to random questions, and by exercises that
name one after each question; no question of such a history is learned. The critic's futures are drawn
independently of the state and the action.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import first_state
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.envs.twenty_questions.env import OPENING, QUESTIONS
from workshop import critic_rows
from workshop.corpus import CorpusRow
from workshop.critic_rows import Advice, clauses_of, criticised, ending_row, row, step_rows
from workshop.games_player import GameSituation, GamesPlayer, another, habitual, objects, recalled

NAME = "twenty_questions"
BANK = 60
"""Number of games from which the evaluator's futures are drawn; also "You found it" is drawn with either
outcome, so that only the outcome decides."""
RECALLED = 4
"""Number of rows of an episode that name an object; it is drawn from all objects."""


@dataclass(slots=True)
class GameStep(critic_rows.TaughtStep):
    """A step, with the situation before it."""

    now: GameSituation


def episodes(count: int, seed: int, first: int = 0) -> Iterator[list[CorpusRow]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive); see ``corpus.episodes``.

    An episode depends only on its number and ``seed``.
    """
    futures = bank(seed)
    for number in range(first, count):
        yield episode_rows(futures, random.Random(f"{NAME}/{seed}/{number}"))


@lru_cache(maxsize=1)
def training_env() -> TwentyQuestionsEnv:
    """Return the environment in which the games are played."""
    return TwentyQuestionsEnv(split="train", level="full", unknowns="no")


@lru_cache(maxsize=2)
def bank(seed: int) -> Sequence[str]:
    """Return the clauses of what followed the actions of some games, without outcomes."""
    rng, futures = random.Random(f"{NAME}/{seed}/bank"), []
    for _ in range(BANK):
        steps, success = play(GamesPlayer.drawn(rng), training_env(), rng)
        futures += clauses_of(steps, success)
    return futures


def play(who: GamesPlayer, env: TwentyQuestionsEnv, rng: random.Random) -> tuple[list[GameStep], bool]:
    """Play a game about an object drawn at random; return the steps and the success."""
    first, info = env.reset(seed=rng.randrange(2**31), options={"task_id": rng.choice(env.task_ids)})
    state, now = first_state(NAME, first, {**info, "tools": (), "policy": ""}), GameSituation()
    steps: list[GameStep] = []
    ended = False
    while not ended:
        action = who.act(now, rng)
        observation, _, ended, _, info = env.step(action)
        if steps:
            steps[-1].heard.append(observation)
        steps.append(GameStep(state, action, [observation], now))
        state = state.after(action, observation, str(info["action_kind"]))
        if not ended:
            now = now.after(action, observation.startswith("Yes"))
    return steps, bool(info["success"])


def episode_rows(futures: Sequence[str], rng: random.Random) -> list[CorpusRow]:
    """Play one game, and return the rows of all roles for it, and those that name some object.

    The first row is that of the last action, whose prompt contains the whole conversation. ``futures`` are
    those of ``bank``.
    """
    prompts, who = CompactPrompts(), GamesPlayer.drawn(rng)
    steps, success = play(who, training_env(), rng)
    rows = [row("policy", prompts.policy(step.state), step.action) for step in reversed(steps)]
    for number in criticised(steps, lambda i: bool(steps[i].now.left.sum() <= who.near), rng):
        tried = _tried(steps[number], rng)
        advise = partial(_advised, steps[number].now, rng=rng)
        rows += step_rows(steps, number, success, tried, advise, futures, rng)
    rows.append(ending_row(steps[-1], success))
    return rows + [recall_row(rng.randrange(len(objects().names)), rng) for _ in range(RECALLED)]


def _tried(step: GameStep, rng: random.Random) -> list[str]:
    """Return different actions in the situation of ``step``: taken, by habit, and reasonable."""
    actions = [step.action, habitual(step.now, rng)]
    actions += [action for _ in range(2) if (action := another(step.now, step.action, rng)) is not None]
    return list(dict.fromkeys(actions))


def _advised(now: GameSituation, action: str, _: str, rng: random.Random) -> Advice | None:
    other = another(now, action, rng)
    return Advice(other, other) if other else None


def recall_row(hidden: int, rng: random.Random) -> CorpusRow:
    """Return the row whose answer is an object that fits random questions and answers; no game is played."""
    state, now = first_state(NAME, OPENING, {"tools": (), "policy": ""}), GameSituation()
    for turn, (text, yes) in enumerate(recalled(hidden, rng), 1):
        state = state.after(text, answer(yes, QUESTIONS - turn), "message")
        now = now.after(text, yes)
    return row("policy", CompactPrompts().policy(state), player.guess(rng.choice(now.names)))


def exercises(count: int, seed: int, first: int = 0) -> Iterator[list[CorpusRow]]:
    """Yield questions as in ``recalled``; after each of them, a row names an object that fits the answers.

    The first row of each list is that of the last question. Unlike games, the conversations have no first
    message and no number of remaining questions. A list depends only on its number and ``seed``.
    """
    for number in range(first, count):
        rng = random.Random(f"{NAME}/objects/{seed}/{number}")
        state, now = first_state(NAME, "", {}), GameSituation()
        rows: list[CorpusRow] = []
        for text, yes in recalled(rng.randrange(len(objects().names)), rng):
            state = state.after(text, "Yes." if yes else "No.", "message")
            now = now.after(text, yes)
            rows.insert(0, row("drill", CompactPrompts().policy(state), player.guess(rng.choice(now.names))))
        yield rows


def answer(yes: bool, left: int) -> str:
    """Return the environment's answer to a question, with the number of questions ``left``, at least 2."""
    return f"{'Yes' if yes else 'No'}. {left} questions left."
