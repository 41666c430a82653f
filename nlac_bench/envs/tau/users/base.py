"""The interface of a simulated user, to whom the agent talks."""

from typing import ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np

from nlac_bench.envs.tau.domain import Task
from nlac_bench.types import Usage

STOP = "###STOP###"
"""Anywhere in a user's reply it ends the episode, as in the original."""
GREETING = "Hi! How can I help you today?"
"""What a simulated user is told that the agent said first."""
MAX_REPLY_CHARS = 10_000
"""Longer replies are cut: a simulator that does not stop must not fill the agent's context."""

UserKind: TypeAlias = Literal[
    "llm", "react", "verify", "reflection", "scripted", "replay", "human", "none"
]  # fmt: skip


class User(Protocol):
    """A user in one episode. It holds that episode's conversation, so each episode has its own object.

    Whoever implements it keeps everything that changes in itself and gives a ``copy`` that shares nothing
    mutable, because environments fork in the middle of an episode.
    """

    kind: ClassVar[UserKind]
    usage: dict[str, Usage]
    """Cost since it was last emptied, by role (``user``, ``judge``); the environment reads and empties it."""

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Start on ``task`` and return the first message. All randomness comes from ``rng``, now.

        Raises:
            EnvInfraError: the model behind the user, or its record, did not answer.
        """

    async def reply(self, message: str) -> str:
        """Return the user's reply to ``message``; it contains ``STOP`` when the conversation is over.

        Raises:
            EnvInfraError: as in ``begin``.
        """

    def copy(self) -> Self:
        """An independent user in the same state."""
