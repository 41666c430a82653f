"""A small environment with random streams, tools and a remote variant, for tests of the contract itself."""

import asyncio
from typing import Any

from nlac_bench.envs import Outcome, TextEnv, vectorized
from nlac_bench.types import Usage


class State:
    """Everything that changes in an episode."""

    def __init__(self, number: int, draws: list[int]) -> None:
        self.number = number
        self.draws = draws

    def copy(self) -> "State":
        return State(self.number, list(self.draws))


class CountDown(TextEnv):
    """Say the number below the one you hear, until you have said 1; each reply has a random word."""

    name = "count_down"
    max_steps = 6

    waiting = most_waiting = 0
    """How many remote environments of this process wait for a reply now, and how many did at most."""

    def __init__(self, split: str = "test", render_mode: str | None = None, remote: bool = False) -> None:
        super().__init__(task_ids=("2", "3", "4"), split=split, render_mode=render_mode)
        self.remote = remote

    async def _wait_for_a_reply(self) -> None:
        CountDown.waiting += 1
        CountDown.most_waiting = max(CountDown.most_waiting, CountDown.waiting)
        await asyncio.sleep(0.001)
        CountDown.waiting -= 1

    async def _begin(self, task_id: str) -> str:
        if self.remote:
            await self._wait_for_a_reply()
        self._state = State(int(task_id), [])
        return task_id

    async def _respond(self, action: str) -> Outcome:
        if self.remote:
            await self._wait_for_a_reply()
        self._state.draws.append(int(self.np_random.integers(1000)))
        if action.strip() != self.oracle_action():
            return Outcome("Again.", action_kind="invalid", usage={"user": Usage(calls=1)})
        self._state.number -= 1
        done = self._state.number == 1
        return Outcome(
            f"{action} {self._state.draws[-1]}",
            reward=float(done),
            end_reason="success" if done else None,
            success=done,
            reward_parts={"said": 1.0} if done else {},
        )

    def oracle_action(self) -> str:
        return str(self._state.number - 1)

    def tools(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": {"name": "say"}}]


CountDownVector = vectorized(CountDown)
