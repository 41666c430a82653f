"""A complete environment. Check it with: nlac-bench envs check examples.register_env:CountDown-v0"""

import gymnasium

from nlac_bench.envs import Outcome, TextEnv, vectorized

TASKS = {"test": ("2", "3", "4"), "train": ("5", "6", "7", "8", "9", "10")}


class CountDown(TextEnv):
    """Say the number below the one you hear, until you have said 1."""

    name, max_steps = "count_down", 12

    def __init__(self, split: str = "test", render_mode: str | None = None) -> None:
        super().__init__(task_ids=TASKS[split], split=split, render_mode=render_mode)

    async def _begin(self, task_id: str) -> str:
        self._state = [int(task_id)]  # everything that changes during an episode; an object with copy()
        return task_id

    async def _respond(self, action: str) -> Outcome:
        self._state[0] -= action.strip() == self.oracle_action()
        won = self._state[0] == 1
        return Outcome(str(self._state[0]), float(won), end_reason="success" if won else None, success=won)

    def policy(self) -> str:
        return (
            "We count down together. Answer each number with the number below it, in digits and without "
            "other words. A wrong answer repeats the number. You win when you say 1; you have 12 answers."
        )

    def oracle_action(self) -> str:
        return str(self._state[0] - 1)


CountDownVector = vectorized(CountDown)
gymnasium.register("CountDown-v0", CountDown, vector_entry_point=CountDownVector)
