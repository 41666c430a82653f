"""Who can be played by the driver: an agent, and its actor in one episode."""

from typing import Any, Protocol

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.types import Turn


class Actor(Protocol):
    """An agent in one episode; holds that episode's history."""

    async def act(self, observation: str, info: dict[str, Any]) -> Turn:
        """The next action, as a ``Turn`` whose ``text`` goes to the environment.

        ``observation`` and ``info`` are what ``reset`` or the last ``step`` returned.
        """


class Agent(Protocol):
    """A policy. Stateless between episodes, so that any number run at the same time."""

    @property
    def name(self) -> str:
        """As the CLI and the boards call it."""

    def begin(self, env: TextEnv, seed: int) -> Actor:
        """An actor for the episode that ``env`` (unwrapped) has begun; ``seed`` is its own randomness."""
