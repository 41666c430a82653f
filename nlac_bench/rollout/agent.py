"""The protocols that the driver plays: an agent, and its actor in one episode."""

from typing import Protocol

from nlac_bench.envs.text_env import TextEnv
from nlac_bench.errors import NlacBenchError, UnknownIdError
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


def checked(agent: Agent, what: str) -> Agent:
    """Return ``agent``; ``what`` names it in the error.

    Raises:
        UnknownIdError: it has no method ``begin``.
    """
    if not callable(getattr(agent, "begin", None)):
        raise UnknownIdError(
            f"the factory of {what} returned {agent!r:.80}, which is no agent: it has no method "
            "begin(env, seed)"
        )
    return agent


def begun(agent: Agent, env: TextEnv, seed: int) -> Actor:
    """Return the actor of ``agent`` for the episode that ``env`` has begun.

    Raises:
        NlacBenchError: what ``begin`` returned has no method ``act``.
    """
    actor = agent.begin(env, seed)
    if not callable(getattr(actor, "act", None)):
        name = getattr(agent, "name", type(agent).__name__)
        raise NlacBenchError(
            f"begin() of agent {name!r:.80} returned {actor!r:.80}, which is no actor: it has no method "
            "act(observation, info)"
        )
    return actor
