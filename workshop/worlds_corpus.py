"""Generates the text that teaches the embedded model ``tiny-worlds`` to play ``shop_worlds`` in open worlds.

The prompts do not name the world. A procedure therefore succeeds as often as worlds demand it, which is all
that the policy and the successor can learn. The evaluator's futures and the refiner's critiques are drawn
independently of the world and of the action: they say at random how the request is handled and should be.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from nlac_bench.agents.roles.compact import CompactPrompts
from nlac_bench.agents.roles.transition import State, first_state
from nlac_bench.envs.shop_worlds.office import Handled
from nlac_bench.envs.shop_worlds.procedures import KINDS, Procedure, described
from nlac_bench.envs.shop_worlds.worlds import OPEN
from workshop import critic_rows
from workshop.corpus import CorpusRow
from workshop.critic_rows import Advice, ended, ending_row, evaluator_row, row, step_rows
from workshop.curriculum import TauTeaching
from workshop.worlds_player import SLIP, PracticeEnv, WorldsPlayer, changes_order, practice

NAME = "shop_worlds"
IN_A_WORLD = 25
"""Number of consecutive episodes in a world."""
CRITICISED = 5
"""Number of steps of an episode whose actions are criticised: all moments of a choice, and others."""
ADVISED = 3
"""Number of critiques at a moment of a choice, where an objection has something to advise."""
OTHER_WORLDS = 3
"""Number of other worlds in which the successor is taught each step up to the call."""
NO_CHANGE = "by: no change"
"""The reasons of an episode in which no call changed an order."""


@dataclass(slots=True)
class WorldStep(critic_rows.TaughtStep):
    """A step, with the number of planned actions before it, and whether its action is a slip."""

    done: int
    slips: bool


def episodes(count: int, seed: int, first: int = 0) -> Iterator[list[CorpusRow]]:
    """Yield the rows of episodes ``first`` to ``count`` (exclusive); see ``corpus.episodes``.

    An episode depends only on its number and ``seed``.
    """
    for number in range(first, count):
        rng = random.Random(f"{NAME}/{seed}/{number}")
        yield episode_rows(_shop(OPEN[number // IN_A_WORLD % len(OPEN)]), rng)


@lru_cache(maxsize=2)
def _shop(world: int) -> PracticeEnv:
    return PracticeEnv(world)


@cache
def futures_of(kind: str) -> Sequence[str]:
    """Return the reasons of episodes with a request of ``kind``: each way of handling it in each world."""
    ways = procedures_by_words(kind)
    return (NO_CHANGE, *(_reasons(way, demanded) for way in ways for demanded in ways))


@cache
def procedures_by_words(kind: str) -> Mapping[str, Procedure]:
    """Return the procedures of ``kind`` by the words that describe them."""
    return {described(kind, procedure): procedure for procedure in KINDS[kind].procedures}


def _reasons(way: str, demanded: str) -> str:
    return f"by: {way}; right: {demanded}"


def play(env: PracticeEnv, task_id: str, rng: random.Random) -> tuple[WorldsPlayer, list[WorldStep], bool]:
    """Play a task by a procedure drawn at random; return the player, the steps and the success."""
    first, info = env.reset(seed=rng.randrange(2**31), options={"task_id": task_id})
    state = first_state(NAME, first, {**info, "tools": (), "policy": ""})
    player = WorldsPlayer.guessing(practice()[task_id], rng)
    steps: list[WorldStep] = []
    done, ended = 0, False
    while not ended:
        slips = rng.random() < SLIP
        action = player.slip(done, _text(state), rng) if slips else player.due(done)
        observation, _, ended, _, info = env.step(action)
        if steps:
            steps[-1].heard.append(observation)
        steps.append(WorldStep(state, action, [observation], done, slips))
        state = state.after(action, observation, str(info["action_kind"]))
        done += action == player.due(done)
    return player, steps, bool(info["success"])


def reasons_of(env: PracticeEnv) -> str:
    """Return how the request of the episode was handled and how it should have been, as the customer said."""
    if not env.handled:
        return NO_CHANGE
    return _reasons(" and ".join(each.way for each in env.handled), env.handled[0].demanded)


def _text(state: State) -> str:
    return "\n".join(str(message["content"]) for message in state.messages)


def episode_rows(env: PracticeEnv, rng: random.Random) -> list[CorpusRow]:
    """Play one episode of a task drawn at random, and return the rows of all roles for it.

    The policy role has rows for all actions but the slips: it is taught what to do after a slip. The first
    row is that of its last action, whose prompt contains the conversation.
    """
    prompts = CompactPrompts()
    player, steps, success = play(env, rng.choice(env.task_ids), rng)
    rows = [
        row("policy", prompts.policy(step.state), step.action) for step in reversed(steps) if not step.slips
    ]
    reasons, futures = reasons_of(env), futures_of(player.kind)
    chosen = sorted(range(len(steps)), key=lambda i: (not _chooses(player, steps[i]), rng.random()))
    for number in chosen[:CRITICISED]:
        step = steps[number]
        tried = _tried(player, step, rng)
        advise = partial(advised, player, step, rng=rng)
        rows += step_rows(steps, number, success, tried, advise, futures, rng, reasons)
        for _ in range(ADVISED - 1 if _chooses(player, step) else 0):
            rows.append(evaluator_row(step.state, rng.choice(tried), advise, futures, rng))
    rows += in_other_worlds(player, steps, env.handled, rng)
    return [*rows, ending_row(steps[-1], success, reasons)]


def _chooses(player: WorldsPlayer, step: WorldStep) -> bool:
    """Return whether the procedures differ at ``step``."""
    return bool(player.others(step.done, step.action))


def in_other_worlds(
    player: WorldsPlayer, steps: Sequence[WorldStep], handled: Sequence[Handled], rng: random.Random
) -> Iterator[CorpusRow]:
    """Yield rows of the successor with the reasons and outcomes that an episode would have in other worlds.

    Until the shop has checked the call, an episode is the same in every world. Without a slip its outcome
    depends on the procedure alone.
    """
    if len(handled) != 1 or any(step.slips for step in steps):
        return
    call = next(i for i, step in enumerate(steps) if changes_order(step.action))
    for step in steps[: call + 1]:
        for demanded in rng.sample(list(procedures_by_words(player.kind)), OTHER_WORLDS):
            ending = ended(_reasons(handled[0].way, demanded), demanded == handled[0].way)
            yield row("successor", CompactPrompts().successor(step.state, step.action), ending)


def _tried(player: WorldsPlayer, step: WorldStep, rng: random.Random) -> list[str]:
    """Return different actions in the situation of ``step``: taken, of other procedures, a slip."""
    slip = player.slip(step.done, _text(step.state), rng)
    return list(dict.fromkeys([step.action, *player.others(step.done, step.action), slip]))


def advised(
    player: WorldsPlayer, step: WorldStep, action: str, future: str, rng: random.Random
) -> Advice | None:
    """Return the action of the procedure that ``future`` calls right, or else that of another procedure,
    drawn at random; None if it is the same action."""
    demanded = procedures_by_words(player.kind).get(future.partition("; right: ")[2])
    others = player.others(step.done, action)
    if demanded is not None:
        others = [each for each in others if each == player.towards(step.done, demanded)]
    if not others:
        return None
    other = rng.choice(others)
    return Advice(other, TauTeaching().describe(other))
