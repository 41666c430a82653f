"""Defines the interface of a simulated user, with whom the agent talks."""

from typing import ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np

from nlac_bench.envs.tau.domain import Task
from nlac_bench.types import Usage

GREETING = "Hi! How can I help you today?"
"""The agent's first message, as shown to a simulated user."""
MAX_REPLY_CHARS = 10_000
"""Longer replies are truncated, so that a simulator that does not stop cannot fill the agent's context."""

UserKind: TypeAlias = Literal[
    "llm", "react", "verify", "reflection", "scripted", "replay", "human", "none"
]  # fmt: skip


class User(Protocol):
    """A user in one episode. It stores that episode's conversation, so each episode has its own object.

    An implementation keeps all mutable state in the object, and its ``copy`` shares nothing mutable, because
    environments fork in the middle of an episode.
    """

    kind: ClassVar[UserKind]
    usage: dict[str, Usage]
    """Cost since the last reset, by role (``user``, ``judge``); the environment reads and resets it."""

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Start ``task`` and return the first message. Only this call draws random numbers from ``rng``.

        Raises:
            EnvInfraError: the model behind the user, or its record, did not answer.
        """

    async def reply(self, message: str) -> str:
        """Return the user's reply to ``message``; it contains ``STOP`` when the conversation is over.

        Raises:
            EnvInfraError: as in ``begin``.
        """

    def copy(self) -> Self:
        """Return an independent user in the same state."""
