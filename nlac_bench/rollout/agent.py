"""The protocols that the driver plays: an agent, and its actor in one episode."""

from typing import Protocol

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.types import Info, Turn


class Actor(Protocol):
    """An agent in one episode. It holds that episode's history."""

    async def act(self, observation: str, info: Info) -> Turn:
        """Return the next action as a ``Turn`` whose ``text`` is passed to the environment.

        ``observation`` and ``info`` are those that ``reset`` or the last ``step`` returned.
        """


class Agent(Protocol):
    """A policy. It has no state between episodes, so that any number of episodes can run at the same time."""

    @property
    def name(self) -> str:
        """The agent's name in the CLI and on leaderboards."""

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """Return an actor for the episode that ``env`` (unwrapped) has begun.

        Args:
            seed: of the actor's random numbers.
        """
