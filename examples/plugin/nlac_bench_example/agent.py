"""An agent that answers with the last word of the observation."""

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
        """Return an actor for one episode; this agent has no history, so one actor serves all episodes."""
        return self

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        """Return the next action. An agent with a model calls ``engine.sample`` here."""
        return Turn(text=observation.rsplit(maxsplit=1)[-1])


def repeat(context: AgentContext) -> Repeat:
    """Make the agent; the value of the entry point. ``context.engine`` is the model, if one was named."""
    return Repeat()
