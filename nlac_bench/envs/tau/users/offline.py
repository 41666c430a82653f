"""Implements users without a model: a fixed line, a person at the terminal, and a recorded user."""

import asyncio
import copy
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Self, TypedDict

import numpy as np

from nlac_bench.envs.datasets import read_bytes
from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.users.base import UserKind
from nlac_bench.errors import DataError, EnvInfraError
from nlac_bench.redaction import redact
from nlac_bench.simulators.customer import STOP
from nlac_bench.types import Usage
from nlac_bench.visible import escaped

OPENING = "Hello, I need some help, please."
"""The only message of user ``none`` before it ends the conversation."""


class NoUser:
    """Says a fixed line and ends the conversation at the first message.

    Floors and the oracle, which do not read the user's messages, can be measured with it without a model.
    The score of any other agent with it is meaningless.
    """

    kind: ClassVar[UserKind] = "none"

    def __init__(self) -> None:
        self.usage: dict[str, Usage] = {}

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Return the fixed line."""
        return OPENING

    async def reply(self, message: str) -> str:
        """Return the stop token."""
        return STOP

    def copy(self) -> Self:
        """Return an independent user."""
        return copy.deepcopy(self)


class HumanUser:
    """A person at the terminal, who sees the instruction and then the agent's messages.

    Args:
        ask: shows a text and returns the line that was typed; ``input`` by default.
    """

    kind: ClassVar[UserKind] = "human"

    def __init__(self, ask: Callable[[str], str] = input) -> None:
        self._ask = ask
        self.usage: dict[str, Usage] = {}

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Return the person's opening message."""
        return await self._line(
            f"You are the customer. {task.instruction}\nType one line at a time; {STOP} ends.\n\n> "
        )

    async def reply(self, message: str) -> str:
        """Return the person's answer to ``message``."""
        return await self._line(f"Agent: {message}\n> ")

    def copy(self) -> Self:
        """Return this object, which has no state."""
        return copy.copy(self)

    async def _line(self, shown: str) -> str:
        try:
            return await asyncio.to_thread(self._ask, escaped(redact(shown)))
        except EOFError as error:
            raise EnvInfraError("standard input ended in the middle of the conversation") from error


class RepeatingUser:
    """Says what it is given before each call, whatever the agent says; it reads nothing.

    Recorded episodes are played again with it, many times faster than with the user that they had. It has no
    independent copies.
    """

    kind: ClassVar[UserKind] = "replay"

    def __init__(self) -> None:
        self.next = ""
        self.usage: dict[str, Usage] = {}

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Return what was given."""
        return self.next

    async def reply(self, message: str) -> str:
        """Return what was given."""
        return self.next

    def hear(self, *news: object, **further: object) -> None:
        """Ignore what a ``WaitingCustomer`` would take notice of."""

    def copy(self) -> Self:
        """Return this object."""
        return self


class RecordedConversation(TypedDict):
    """A recorded conversation; each turn is a pair: the agent's message, the user's reply."""

    task_id: str
    first: str
    turns: Sequence[Sequence[str]]


class ReplayUser:
    """Repeats a recorded user's replies to the same messages; raises EnvInfraError for any other message.

    Args:
        conversations: return values of ``TauEnv.conversation()``. If a task has several, the agent's messages
            select one; of those that agree so far, the earliest is used.
    """

    kind: ClassVar[UserKind] = "replay"

    def __init__(self, conversations: Iterable[RecordedConversation]) -> None:
        self._by_task: dict[str, list[RecordedConversation]] = {}
        for conversation in conversations:
            self._by_task.setdefault(conversation["task_id"], []).append(conversation)
        self._candidates: list[RecordedConversation] = []
        self._turn = 0
        self._task_id = ""
        self.usage: dict[str, Usage] = {}

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Return the recorded opening message of ``task``."""
        self._task_id, self._turn = task.task_id, 0
        recorded = self._by_task.get(task.task_id, [])
        if not recorded:
            raise EnvInfraError(f"no conversation of task {task.task_id!r} was recorded")
        first = str(recorded[0]["first"])
        self._candidates = [c for c in recorded if c["first"] == first]
        return first

    async def reply(self, message: str) -> str:
        """Return the recorded reply to ``message`` at this point of the conversation."""
        alike = [c for c in self._candidates if self._said(c) == message]
        if not alike:
            raise EnvInfraError(
                f"task {self._task_id!r}: no recorded conversation contains the agent's words "
                f"{message[:200]!r} "
                f"as message {self._turn + 1}"
            )
        self._candidates = alike
        self._turn += 1
        return str(alike[0]["turns"][self._turn - 1][1])

    def copy(self) -> Self:
        """Return an independent user at the same point; the record is read-only and shared."""
        return copy.copy(self)

    def _said(self, conversation: RecordedConversation) -> str | None:
        turns = conversation["turns"]
        return turns[self._turn][0] if self._turn < len(turns) else None


def load_conversations(path: Path) -> list[RecordedConversation]:
    """Read recorded conversations from a file of JSON lines.

    Raises:
        DataError: the file is missing or a line is not a conversation; the message names the line.
    """
    try:
        lines = read_bytes(path).decode("utf-8").split("\n")
    except (DataError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: recorded conversations cannot be read ({error})") from error
    conversations = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            good = (
                isinstance(row["task_id"], str)
                and isinstance(row["first"], str)
                and isinstance(row["turns"], list)
                and all(isinstance(sent, str) and isinstance(reply, str) for sent, reply in row["turns"])
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            good = False
        if not good:
            raise DataError(
                f"{path}, line {number}: not a recorded conversation: an object with 'task_id', 'first' "
                "and 'turns', a list of pairs [agent's message, user's reply]"
            )
        conversations.append(row)
    return conversations
