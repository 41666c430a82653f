"""Small environments that declare a validation split: one with tasks of its own, one that shares tasks."""

import gymnasium

from nlac_bench.envs import Outcome, TextEnv

TASKS = {"train": ("1", "2", "3", "4"), "validation": ("5", "6", "7"), "test": ("8", "9")}


class Echo(TextEnv):
    """Repeat the number that you are told."""

    name, max_steps = "echo", 2
    splits = tuple(TASKS)

    def __init__(self, split: str = "test", shared: bool = False) -> None:
        tasks = TASKS[split]
        super().__init__(task_ids=(*tasks, "1") if shared and split != "train" else tasks, split=split)

    async def _begin(self, task_id: str) -> str:
        self._state = [task_id]
        return task_id

    async def _respond(self, action: str) -> Outcome:
        won = action == self.oracle_action()
        return Outcome("", float(won), end_reason="success" if won else "failure", success=won)

    def oracle_action(self) -> str:
        return str(self._state[0])


gymnasium.register("nlac_bench_test/Split-v0", "tests.envs.split_env:Echo")
