"""An agent: answers with the last word of what it was told."""

from dataclasses import dataclass
from typing import Any

from nlac_bench.agents.registry import AgentContext
from nlac_bench.envs import TextEnv
from nlac_bench.rollout.agent import Actor
from nlac_bench.types import Turn


@dataclass(frozen=True)
class Repeat:
    name: str = "example_repeat"

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """An actor for one episode; this agent has no memory, so it is its own actor."""
        return self

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        """The next action. An agent with a model calls ``context.engine.sample`` here."""
        return Turn(text=observation.rsplit(maxsplit=1)[-1])


def repeat(context: AgentContext) -> Repeat:
    """The entry point's value: makes the agent. ``context`` has the engine, where a model was named."""
    return Repeat()
