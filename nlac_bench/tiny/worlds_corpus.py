"""Generates the text that teaches the embedded model ``tiny-worlds`` to play ``shop_worlds`` in open worlds.

The prompts do not name the world. A procedure therefore succeeds as often as worlds demand it, which is all
that the policy and the successor can learn. The evaluator's futures and the refiner's critiques are drawn
independently of the world and of the action.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from nlac_bench.agents.roles.compact import CompactPrompts, brief
from nlac_bench.agents.roles.role_prompts import Critique, Prompt
from nlac_bench.agents.roles.transition import State, Transition, first_state
from nlac_bench.envs.shop_worlds.worlds import OPEN
from nlac_bench.tiny.corpus import Row, Taught
from nlac_bench.tiny.curriculum import TauTeaching
from nlac_bench.tiny.worlds_player import SLIP, Player, PracticeEnv, practice

NAME = "shop_worlds"
IN_A_WORLD = 25
"""Number of consecutive episodes in a world."""
CRITICISED = 2
"""Maximum number of steps of an episode whose actions are criticised: one of them is a moment of a choice."""
MOST_FUTURES = 5
"""The evaluator is taught on one future in half of its rows, else on 2 to this many."""
REJECTED = 0.65
"""Share of the refiner's critiques that object."""
MERGED = 0.3
"""Share of criticised steps with a row of the aggregator or the picker."""
BANK = 60
"""Number of episodes from which the evaluator's futures are drawn."""
NOTHING = "nothing"
"""What a critique advises if it approves, or if all procedures do the same here."""


@dataclass(slots=True)
class Step:
    """A step: the state, the number of planned actions before it, the action, and the observations after this
    action and after the next one."""

    state: State
    done: int
    action: str
    heard: list[str]


def episodes(name: str, count: int, seed: int, first: int = 0) -> Iterator[list[Row]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive); see ``corpus.episodes``.

    An episode depends only on its number and ``seed``. ``name`` must be ``shop_worlds``.
    """
    assert name == NAME, name
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
        steps.append(Step(state, done, action, [observation]))
        state = state.after(action, observation, str(info["action_kind"]))
        done += action == player.due(done)
    return player, steps, bool(info["success"])


def _text(state: State) -> str:
    return "\n".join(str(message["content"]) for message in state.messages)


def episode_rows(env: PracticeEnv, futures: Sequence[str], rng: random.Random) -> list[Row]:
    """Play one episode of a task drawn at random, and return the rows of all roles for it.

    The first row is that of the last action, whose prompt contains the whole conversation. ``futures`` are
    those of ``bank``.
    """
    prompts = CompactPrompts()
    player, steps, success = play(env, rng.choice(env.task_ids), rng)
    rows = [_row("policy", prompts.policy(step.state), step.action) for step in reversed(steps)]
    for number in _criticised(player, steps, rng):
        step = steps[number]
        future = prompts.hindsight(step.heard, success)
        rows.append(_row("successor", prompts.successor(step.state, step.action), future, truth=success))
        if number:
            rows.append(_backup_row(prompts, steps[number - 1], step, future))
        tried = _tried(player, step, rng)
        rows.append(_evaluator_row(player, step, rng.choice(tried), futures, rng))
        rows.append(_refiner_row(player, step, rng.choice(tried), futures, rng))
        if rng.random() < MERGED:
            rows.append(rng.choice((_aggregator_row, _picker_row))(step.state, tried, futures, rng))
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


def critique(clauses: Sequence[str], wins: Sequence[bool], instead: str) -> Critique:
    """Return the critique that follows from futures alone: approval if at least half of them succeed.

    The reason counts them and quotes the last clause of the first one with the outcome of the majority.
    """
    optimal = 2 * sum(wins) >= len(wins)
    quoted = clauses[wins.index(optimal)].rpartition("; ")[2]
    verdict, outcome = ("yes", "success") if optimal else ("no", "failure")
    why = f"{wins.count(optimal)} of {len(wins)} end in {outcome}, {quoted}"
    advice = NOTHING if optimal else instead
    return Critique(optimal, f"optimal: {verdict}; why: {why}; instead: {advice}")


def _advised(player: Player, step: Step, action: str, rng: random.Random) -> str | None:
    """Return the action of another procedure, drawn at random; None if all procedures do the same here."""
    others = player.others(step.done, action)
    return rng.choice(others) if others else None


def _drawn(
    futures: Sequence[str], count: int, rng: random.Random, success: float = 0.5
) -> tuple[list[str], list[bool]]:
    """Draw clauses and outcomes of ``count`` futures, independently of each other."""
    return [rng.choice(futures) for _ in range(count)], [rng.random() < success for _ in range(count)]


def _ended(clauses: str, success: bool) -> str:
    return f"{clauses}; end: {'success' if success else 'failure'}"


def _evaluator_row(
    player: Player, step: Step, action: str, futures: Sequence[str], rng: random.Random
) -> Row:
    count = 1 if rng.random() < 0.5 else rng.randint(2, MOST_FUTURES)
    clauses, wins = _drawn(futures, count, rng)
    advised = _advised(player, step, action, rng)
    said = critique(clauses, wins, TauTeaching().describe(advised) if advised else NOTHING)
    prompt = CompactPrompts().evaluator(step.state, action, list(map(_ended, clauses, wins)))
    return _row("evaluator", prompt, said.text, truth=said.optimal)


def _refiner_row(player: Player, step: Step, action: str, futures: Sequence[str], rng: random.Random) -> Row:
    """Return the row whose answer is the advised action, or the same action if none is advised."""
    clauses, wins = _drawn(futures, rng.randint(1, 2), rng, 1 - REJECTED)
    advised = _advised(player, step, action, rng)
    said = critique(clauses, wins, TauTeaching().describe(advised) if advised else NOTHING)
    better = advised if advised and not said.optimal else action
    return _row("refiner", CompactPrompts().refiner(step.state, action, said), better)


def _backup_row(prompts: CompactPrompts, before: Step, step: Step, ahead: str) -> Row:
    """Return the row that derives the future of an action from that of the next action."""
    transition = Transition(
        state=before.state, action=before.action, reward=0.0, next_state=step.state, terminated=False,
        success=None, task_id="", seed=0, step=0, weight_version=0,
    )  # fmt: skip
    following, end = ahead.partition("; ")[0].removeprefix("next: "), ahead.rpartition("; ")[2]
    target = f"next: {brief(before.heard[0])}; then: {following}; {end}"
    return _row("backup", prompts.backup(transition, step.action, ahead), target)


def _aggregator_row(state: State, tried: Sequence[str], futures: Sequence[str], rng: random.Random) -> Row:
    """Return the row that merges three futures into the first that has the outcome of the majority."""
    clauses, wins = _drawn(futures, 3, rng)
    shown = list(map(_ended, clauses, wins))
    merged = shown[wins.index(sum(wins) >= 2)]
    return _row("aggregator", CompactPrompts().aggregator(state, rng.choice(tried), shown), merged)


def _picker_row(state: State, tried: Sequence[str], futures: Sequence[str], rng: random.Random) -> Row:
    """Return the row whose answer is the number of the first action that succeeds, or 1 if none does."""
    actions = rng.sample(tried, min(len(tried), rng.randint(2, 4)))
    clauses, wins = _drawn(futures, len(actions), rng)
    shown = list(zip(actions, map(_ended, clauses, wins), strict=True))
    best = wins.index(True) if any(wins) else 0
    return _row("picker", CompactPrompts().picker(state, shown), str(best + 1))


def _row(role: Taught, prompt: Prompt, answer: str, truth: bool | None = None) -> Row:
    text = cast(str, prompt.messages[0]["content"])
    return Row(role, text, prompt.codec.encode(answer.strip()), truth)
