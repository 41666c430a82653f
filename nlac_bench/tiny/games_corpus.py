"""Generates the text that teaches the embedded model ``tiny-worlds`` to play twenty questions, level "full".

Games are played with training words only. What all objects are, also those of validation and test games, is
taught by rows of the policy role that name the object which random questions have left; no question of such
a history is learned. The critic's futures are drawn independently of the state and the action.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.twenty_questions import TwentyQuestionsEnv, player
from nlac_bench.envs.twenty_questions.env import OPENING, QUESTIONS
from nlac_bench.tiny.corpus import Row
from nlac_bench.tiny.critic_rows import (
    Advice,
    aggregator_row,
    backup_row,
    evaluator_row,
    picker_row,
    refiner_row,
    row,
)
from nlac_bench.tiny.games_player import Player, Situation, another, habitual, objects, recalled

NAME = "twenty_questions"
CRITICISED = 2
"""Maximum number of steps of an episode whose actions are criticised: one of them where the habit applies."""
MERGED = 0.3
"""Share of criticised steps with a row of the aggregator or the picker."""
BANK = 60
"""Number of games from which the evaluator's futures are drawn; also "You found it" is drawn with either
outcome, so that only the outcome decides."""
RECALLED = 4
"""Number of rows of an episode that name an object; it is drawn from all objects."""


@dataclass(slots=True)
class Step:
    """A step: the state, the situation, the action, and the observations after this action and after the
    next one."""

    state: State
    now: Situation
    action: str
    heard: list[str]


def episodes(count: int, seed: int, first: int = 0) -> Iterator[list[Row]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive); see ``corpus.episodes``.

    An episode depends only on its number and ``seed``.
    """
    futures = bank(seed)
    for number in range(first, count):
        yield episode_rows(futures, random.Random(f"{NAME}/{seed}/{number}"))


@lru_cache(maxsize=1)
def training_env() -> TwentyQuestionsEnv:
    """Return the environment in which the games are played."""
    return TwentyQuestionsEnv(split="train", level="full")


@lru_cache(maxsize=2)
def bank(seed: int) -> Sequence[str]:
    """Return the clauses of what followed the actions of some games, without outcomes."""
    rng, prompts, found = random.Random(f"{NAME}/{seed}/bank"), CompactPrompts(), []
    for _ in range(BANK):
        steps, success = play(Player.drawn(rng), training_env(), rng)
        found += [prompts.hindsight(step.heard, success).rpartition("; ")[0] for step in steps]
    return found


def play(who: Player, env: TwentyQuestionsEnv, rng: random.Random) -> tuple[list[Step], bool]:
    """Play a game about an object drawn at random; return the steps and the success."""
    first, info = env.reset(seed=rng.randrange(2**31), options={"task_id": rng.choice(env.task_ids)})
    state, now = first_state(NAME, first, {**info, "tools": (), "policy": ""}), Situation()
    steps: list[Step] = []
    ended = False
    while not ended:
        action = who.act(now, rng)
        observation, _, ended, _, info = env.step(action)
        if steps:
            steps[-1].heard.append(observation)
        steps.append(Step(state, now, action, [observation]))
        state = state.after(action, observation, str(info["action_kind"]))
        if not ended:
            now = now.after(action, observation.startswith("Yes"))
    return steps, bool(info["success"])


def episode_rows(futures: Sequence[str], rng: random.Random) -> list[Row]:
    """Play one game, and return the rows of all roles for it, and those that name some object.

    The first row is that of the last action, whose prompt contains the whole conversation. ``futures`` are
    those of ``bank``.
    """
    prompts, who = CompactPrompts(), Player.drawn(rng)
    steps, success = play(who, training_env(), rng)
    rows = [row("policy", prompts.policy(step.state), step.action) for step in reversed(steps)]
    for number in _criticised(who, steps, rng):
        step = steps[number]
        future = prompts.hindsight(step.heard, success)
        rows.append(row("successor", prompts.successor(step.state, step.action), future, truth=success))
        if number:
            before = steps[number - 1]
            rows.append(
                backup_row(before.state, before.action, before.heard[0], step.state, step.action, future)
            )
        tried = _tried(step, rng)
        for make in (evaluator_row, refiner_row):
            action = rng.choice(tried)
            other = another(step.now, action, rng)
            rows.append(make(step.state, action, Advice(other, other) if other else None, futures, rng))
        if rng.random() < MERGED:
            rows.append(rng.choice((aggregator_row, picker_row))(step.state, tried, futures, rng))
    return rows + [recall_row(rng.randrange(len(objects().names)), rng) for _ in range(RECALLED)]


def _criticised(who: Player, steps: Sequence[Step], rng: random.Random) -> list[int]:
    """Return the numbers of the criticised steps: one at which the habit applies, and another one."""
    numbers = rng.sample(range(len(steps)), len(steps))
    numbers.sort(key=lambda i: steps[i].now.left.sum() > who.near)  # stable: those with the habit first
    return [numbers[0], *rng.sample(numbers[1:], min(len(numbers) - 1, CRITICISED - 1))]


def _tried(step: Step, rng: random.Random) -> list[str]:
    """Return different actions in the state of ``step``: the one taken, a habit's, and reasonable ones."""
    found = [step.action, habitual(step.now, rng)]
    found += [action for _ in range(2) if (action := another(step.now, step.action, rng)) is not None]
    return list(dict.fromkeys(found))


def recall_row(hidden: int, rng: random.Random) -> Row:
    """Return the row that names an object which its questions and answers have left; no game is played."""
    state, now = first_state(NAME, OPENING, {"tools": (), "policy": ""}), Situation()
    for turn, (text, yes) in enumerate(recalled(hidden, rng), 1):
        state = state.after(text, answer(yes, QUESTIONS - turn), "message")
        now = now.after(text, yes)
    return row("policy", CompactPrompts().policy(state), player.guess(rng.choice(now.names)))


def answer(yes: bool, left: int) -> str:
    """Return the environment's answer to a question, with the number of questions ``left``, at least 2."""
    return f"{'Yes' if yes else 'No'}. {left} questions left."
