"""An environment whose infrastructure can fail."""

import asyncio
import contextlib
import os
from collections.abc import Iterator

import gymnasium

from nlac_bench.envs import Outcome, TextEnv
from nlac_bench.errors import EnvInfraError


class Fragile(TextEnv):
    """Say "win"; "fail" breaks the infrastructure, "bug" is a bug."""

    name = "fragile"

    def __init__(self, split: str = "test", render_mode: str | None = None) -> None:
        super().__init__(task_ids=["0", "1"], split=split, render_mode=render_mode)
        self.max_steps = 5

    async def _begin(self, task_id: str) -> str:
        self._state = [0]
        return f"task {task_id}"

    async def _respond(self, action: str) -> Outcome:
        await asyncio.sleep(0)
        if action == "fail":
            raise EnvInfraError(f"the simulator refuses the key {os.environ.get('NLAC_BENCH_API_KEY')}")
        if action == "bug":
            raise KeyError("missing")
        won = action == "win"
        return Outcome(f"you said {action}", float(won), "success" if won else None, won)

    def oracle_action(self) -> str:
        return "win"


@contextlib.contextmanager
def registered() -> Iterator[str]:
    """Register ``Fragile`` with Gymnasium; yields its id."""
    gymnasium.register("Fragile-v0", "tests.bridges.fragile:Fragile")
    yield "Fragile-v0"
    del gymnasium.registry["Fragile-v0"]
