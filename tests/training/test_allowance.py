"""Budgets of tokens and environment steps: how iterations are divided, and what is spent in the end."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from nlac_bench.learner.config import Budget
from nlac_bench.training.allowance import Allowance

TASKS, REPEATS, TRANSITIONS, MINI_BATCH = 32, 2, 64, 16


class Training:
    """Iterations of random costs, as a training loop runs them; ``roles`` is the cost of a transition."""

    def __init__(
        self, budget: str, roles: float, seed: int = 0, stages: int = 1, whole: bool = False
    ) -> None:
        self.rng, self.roles, self.stages = np.random.default_rng(seed), roles, stages
        self.whole = whole
        self.tokens, self.parts = 0, list[list[int]]()
        self.allowance = Allowance(Budget.parse(budget), lambda: self.tokens, generates=3.0)

    async def play(self, items: Sequence[int]) -> int:
        self.parts[-1].append(len(items))
        turns = int(self.rng.integers(2, 9, len(items)).sum())
        self.tokens += 40 * turns
        return turns

    async def ask(self, items: Sequence[int]) -> int:
        self.tokens += int(self.rng.gamma(4.0, self.roles / 4, len(items)).sum())
        return 0

    async def iterate(self) -> tuple[int, int]:
        self.parts.append([])
        played = await self.allowance.play(range(TASKS * REPEATS), REPEATS, self.play)
        asked = played if self.whole else TRANSITIONS
        for _ in range(self.stages):
            asked = await self.allowance.learn(range(asked), None if self.whole else MINI_BATCH, self.ask)
        progress = self.allowance.progress
        progress.iteration += 1
        progress.gradient_steps += -(-asked // MINI_BATCH)
        progress.env_steps += self.allowance.env_steps
        self.allowance.env_steps = 0
        return played, asked

    def run(self) -> "Training":
        while not self.allowance.finished():
            asyncio.run(self.iterate())
        return self


@pytest.mark.parametrize("roles", [0.0, 60.0, 400.0])
@pytest.mark.parametrize("amount", [2_000, 12_000, 40_000, 150_000])
def test_a_budget_is_kept_within_a_mini_batch(amount: int, roles: float) -> None:
    """Seeds differ in costs; the smallest iteration is one task and one mini-batch."""
    smallest = 40 * 8 * REPEATS + 3 * roles * MINI_BATCH
    for seed in range(20):
        training = Training(f"tokens={amount}", roles, seed).run()
        assert abs(training.tokens - amount) <= smallest, (seed, training.tokens)
        steps = Training(f"env_steps={amount // 40}", roles, seed).run().allowance
        assert abs(steps.progress.env_steps - amount // 40) <= 8 * REPEATS + 8, seed


@pytest.mark.parametrize("amount", [12_000, 40_000, 150_000])
def test_an_update_in_two_stages_leaves_what_the_second_one_costs(amount: int) -> None:
    roles = 60.0
    smallest = 40 * 8 * REPEATS + 2 * 3 * roles * MINI_BATCH
    for seed in range(20):
        training = Training(f"tokens={amount}", roles, seed, stages=2).run()
        assert abs(training.tokens - amount) <= smallest, (seed, training.tokens)
    whole = Training("tokens=150000", roles, stages=2)
    assert asyncio.run(whole.iterate())[1] and asyncio.run(whole.iterate()) == (TASKS * REPEATS, TRANSITIONS)


@pytest.mark.parametrize("amount", [12_000, 40_000, 150_000])
def test_an_update_that_needs_all_episodes_shortens_the_playing(amount: int) -> None:
    """The roles are asked about each of the 64 episodes at once, for 400 tokens each."""
    for seed in range(20):
        training = Training(f"tokens={amount}", 400.0, seed, whole=True).run()
        assert abs(training.tokens - amount) <= 0.1 * 64 * (400 + 200), (seed, training.tokens)


def test_the_last_iteration_is_shortened_and_the_others_are_whole() -> None:
    training = Training("tokens=150000", 60.0)
    sizes = []
    while not training.allowance.finished():
        sizes.append(asyncio.run(training.iterate()))
    assert sizes[1:-1] and all(size == (TASKS * REPEATS, TRANSITIONS) for size in sizes[1:-2])
    assert sizes[-1][0] < TASKS * REPEATS and all(size >= (REPEATS, MINI_BATCH) for size in sizes)
    assert all(played % REPEATS == 0 for played, _ in sizes), "tasks are played with all their repeats"
    assert [len(parts) for parts in training.parts[1:-2]] == [1] * len(training.parts[1:-2])


def test_an_update_that_costs_nothing_is_not_shortened() -> None:
    training = Training("env_steps=300", 60.0)
    sizes = [asyncio.run(training.iterate()) for _ in range(2)]
    assert all(asked == TRANSITIONS for _, asked in sizes) and training.allowance.left() < 0
    assert sizes[0][0] < TASKS * REPEATS


def test_the_same_counts_give_the_same_parts() -> None:
    first, second = (Training("tokens=12000", 60.0, seed=3).run() for _ in range(2))
    assert first.parts == second.parts and first.tokens == second.tokens


def test_gradient_steps_are_not_divided() -> None:
    training = Training("steps=7", 60.0)
    assert asyncio.run(training.iterate()) == (TASKS * REPEATS, TRANSITIONS)
    assert training.parts == [[TASKS * REPEATS]] and training.allowance.left() == 3


def test_an_update_without_episodes_is_still_asked() -> None:
    training = Training("tokens=5000", 60.0)
    training.parts.append([])
    assert asyncio.run(training.allowance.play([], REPEATS, training.play)) == 0
    assert asyncio.run(training.allowance.learn(range(8), MINI_BATCH, training.ask)) == 8


def test_nothing_is_played_ahead_of_a_budget_that_may_not_suffice() -> None:
    training = Training("tokens=60000", 60.0)
    may = [training.allowance.may_play_ahead()]
    while not training.allowance.finished():
        asyncio.run(training.iterate())
        may.append(training.allowance.may_play_ahead())
    assert may[0] is False and may[-1] is False and True in may
    assert Training("steps=7", 60.0).allowance.may_play_ahead()
