"""Generates the text that teaches the embedded model ``tiny-worlds`` to play ``shop_worlds`` in open worlds.

The prompts do not name the world. A procedure therefore succeeds as often as worlds demand it, which is all
that the policy and the successor can learn. The evaluator's futures and the refiner's critiques are drawn
independently of the world and of the action.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.shop_worlds.worlds import OPEN
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
from nlac_bench.tiny.curriculum import TauTeaching
from nlac_bench.tiny.worlds_player import SLIP, Player, PracticeEnv, practice

NAME = "shop_worlds"
IN_A_WORLD = 25
"""Number of consecutive episodes in a world."""
CRITICISED = 2
"""Maximum number of steps of an episode whose actions are criticised: one of them is a moment of a choice."""
MERGED = 0.3
"""Share of criticised steps with a row of the aggregator or the picker."""
BANK = 60
"""Number of episodes from which the evaluator's futures are drawn."""


@dataclass(slots=True)
class Step:
    """A step: the state, the number of planned actions before it, the action, whether it is a slip, and the
    observations after this action and after the next one."""

    state: State
    done: int
    action: str
    slips: bool
    heard: list[str]


def episodes(count: int, seed: int, first: int = 0) -> Iterator[list[Row]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive); see ``corpus.episodes``.

    An episode depends only on its number and ``seed``.
    """
    futures = bank(seed)
    for number in range(first, count):
        rng = random.Random(f"{NAME}/{seed}/{number}")
        yield episode_rows(_shop(OPEN[number // IN_A_WORLD % len(OPEN)]), futures, rng)


@lru_cache(maxsize=2)
def _shop(world: int) -> PracticeEnv:
    return PracticeEnv(world)


@lru_cache(maxsize=2)
def bank(seed: int) -> Sequence[str]:
    """Return the clauses of what followed the actions of some episodes in open worlds, without outcomes."""
    rng, prompts, found = random.Random(f"{NAME}/{seed}/bank"), CompactPrompts(), []
    for _ in range(BANK):
        env = PracticeEnv(rng.choice(OPEN))
        _, steps, success = play(env, rng.choice(env.task_ids), rng)
        found += [prompts.hindsight(step.heard, success).rpartition("; ")[0] for step in steps]
    return found


def play(env: PracticeEnv, task_id: str, rng: random.Random) -> tuple[Player, list[Step], bool]:
    """Play a task by a procedure drawn at random; return the player, the steps and the success."""
    first, info = env.reset(seed=rng.randrange(2**31), options={"task_id": task_id})
    state = first_state(NAME, first, {**info, "tools": (), "policy": ""})
    player = Player.guessing(practice()[task_id], rng)
    steps: list[Step] = []
    done, ended = 0, False
    while not ended:
        slips = rng.random() < SLIP
        action = player.slip(done, _text(state), rng) if slips else player.due(done)
        observation, _, ended, _, info = env.step(action)
        if steps:
            steps[-1].heard.append(observation)
        steps.append(Step(state, done, action, slips, [observation]))
        state = state.after(action, observation, str(info["action_kind"]))
        done += action == player.due(done)
    return player, steps, bool(info["success"])


def _text(state: State) -> str:
    return "\n".join(str(message["content"]) for message in state.messages)


def episode_rows(env: PracticeEnv, futures: Sequence[str], rng: random.Random) -> list[Row]:
    """Play one episode of a task drawn at random, and return the rows of all roles for it.

    The policy role has rows for all actions but the slips: it is taught what to do after a slip. The first
    row is that of its last action, whose prompt contains the conversation. ``futures`` are those of ``bank``.
    """
    prompts = CompactPrompts()
    player, steps, success = play(env, rng.choice(env.task_ids), rng)
    rows = [
        row("policy", prompts.policy(step.state), step.action) for step in reversed(steps) if not step.slips
    ]
    for number in _criticised(player, steps, rng):
        step = steps[number]
        future = prompts.hindsight(step.heard, success)
        rows.append(row("successor", prompts.successor(step.state, step.action), future, truth=success))
        if number:
            before = steps[number - 1]
            rows.append(
                backup_row(before.state, before.action, before.heard[0], step.state, step.action, future)
            )
        tried = _tried(player, step, rng)
        for make in (evaluator_row, refiner_row):
            action = rng.choice(tried)
            rows.append(make(step.state, action, _advised(player, step, action, rng), futures, rng))
        if rng.random() < MERGED:
            rows.append(rng.choice((aggregator_row, picker_row))(step.state, tried, futures, rng))
    return rows


def _criticised(player: Player, steps: Sequence[Step], rng: random.Random) -> list[int]:
    """Return the numbers of the criticised steps: one at which the procedures differ, and another one."""
    numbers = rng.sample(range(len(steps)), len(steps))
    numbers.sort(key=lambda i: not player.others(steps[i].done, steps[i].action))  # stable: choices first
    return [numbers[0], *rng.sample(numbers[1:], min(len(numbers) - 1, CRITICISED - 1))]


def _tried(player: Player, step: Step, rng: random.Random) -> list[str]:
    """Return different actions in the state of ``step``: the one taken, those of other procedures, and a
    slip."""
    slip = player.slip(step.done, _text(step.state), rng)
    return list(dict.fromkeys([step.action, *player.others(step.done, step.action), slip]))


def _advised(player: Player, step: Step, action: str, rng: random.Random) -> Advice | None:
    """Return the action of another procedure, drawn at random; None if all procedures do the same here."""
    others = player.others(step.done, action)
    if not others:
        return None
    other = rng.choice(others)
    return Advice(other, TauTeaching().describe(other))
