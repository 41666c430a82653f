"""Implements users that a model plays through a ``ChatFn``, with the original's four strategies.

``llm`` writes the next message; ``react`` writes a thought first; ``verify`` lets a judge check each message
and writes another if it fails; ``reflection`` lets the model explain and rewrite a rejected message once. The
rules are those of τ-bench, the prompts were written for this project. One difference is deliberate: the
original's ``react`` shows the thought to the agent.
"""

import copy
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from nlac_bench.envs.tau.domain import Task
from nlac_bench.envs.tau.users.base import GREETING, MAX_REPLY_CHARS, UserKind
from nlac_bench.errors import EnvInfraError
from nlac_bench.simulators.customer import STOP
from nlac_bench.thoughts import drop_reasoning
from nlac_bench.types import ChatFn, Message, Messages, Role, Usage

MAX_TRIES = 3
_PROMPTS = Path(__file__).parent / "prompts"
_RESPONSE = re.compile(r"User Response\**:\**")
"""Begins the message of ``react``, perhaps in bold."""


def prompt(name: str, **values: str) -> str:
    """Return the text file ``prompts/{name}.txt`` with its fields filled in."""
    return _template(name).format(**values)


@cache
def _template(name: str) -> str:
    return (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def prompt_hashes(kind: UserKind) -> dict[str, str]:
    """Return the sha256 of the prompt files, for a run's manifest; empty for users without a model."""
    if kind not in ("llm", "react", "verify", "reflection"):
        return {}
    return {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(_PROMPTS.glob("*.txt"))
    }


class LLMUser:
    """A model that receives the instruction and the rules and writes one message at a time.

    Args:
        chat: calls the model.
    """

    kind: ClassVar[UserKind] = "llm"
    prompt_name: ClassVar[str] = "user"

    def __init__(self, chat: ChatFn) -> None:
        self._chat = chat
        self._messages: list[Message] = []
        self.usage: dict[str, Usage] = {}

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Return the opening message. ``rng`` does not seed the model's sampling."""
        self._messages = [
            {"role": "system", "content": prompt(self.prompt_name, instruction=task.instruction)}
        ]
        return await self.reply(GREETING)

    async def reply(self, message: str) -> str:
        """Return the model's reply to ``message``, at most ``MAX_REPLY_CHARS`` long."""
        self._messages.append({"role": "user", "content": message})
        try:
            text = await self._compose(self._messages)
        except EnvInfraError as error:
            error.charge(self.usage)
            raise
        self._messages.append({"role": "assistant", "content": text})
        return text

    def copy(self) -> Self:
        """Return an independent user in the same state."""
        twin = copy.copy(self)
        twin._messages, twin.usage = list(self._messages), dict(self.usage)
        return twin

    async def _compose(self, messages: list[Message]) -> str:
        return await self._ask(messages, "user")

    async def _ask(self, messages: Messages, role: Role) -> str:
        try:
            # Pass a copy, so that a callee that stores the messages does not see later ones.
            answer = await self._chat(list(messages), role)
        except EnvInfraError:
            raise
        except (
            Exception
        ) as error:  # client libraries raise various exceptions, and the agent cannot cause any of them
            raise EnvInfraError(
                f"the {role} model of user {self.kind!r} failed: {type(error).__name__}: {error}"
            ) from error
        self.usage[role] = self.usage.get(role, Usage()) + answer.usage
        if answer.text.strip() and not drop_reasoning(answer.text):
            raise EnvInfraError(
                f"the {role} model of user {self.kind!r} reached its token limit while it "
                "reasoned; raise the limit"
            )
        return clean_reply(answer.text)


class ReactUser(LLMUser):
    """Writes a thought before each message; the agent sees only the message."""

    kind: ClassVar[UserKind] = "react"
    prompt_name: ClassVar[str] = "react"

    async def _compose(self, messages: list[Message]) -> str:
        text = ""
        for _ in range(MAX_TRIES):
            text = await self._ask(messages, "user")
            *thoughts, reply = _RESPONSE.split(text)
            if thoughts:
                return reply.strip()
            if not text.lstrip("*# ").startswith("Thought"):
                return text
        raise EnvInfraError(
            f"the model of user 'react' wrote a thought without 'User Response:' {MAX_TRIES} times "
            f"(last: {text[:200]!r}); use a stronger model or user='llm'"
        )


class VerifyUser(LLMUser):
    """Lets a judge check each message; sends the first of three that passes, or the third if none does."""

    kind: ClassVar[UserKind] = "verify"

    async def _compose(self, messages: list[Message]) -> str:
        text = ""
        for _ in range(MAX_TRIES):
            text = await self._ask(messages, "user")
            if await self._accepts(messages, text):
                break
        return text

    async def _accepts(self, messages: Messages, text: str) -> bool:
        question = prompt("judge", transcript=transcript(messages), reply=text)
        return "true" in (await self._ask([{"role": "user", "content": question}], "judge")).lower()


class ReflectionUser(VerifyUser):
    """Asks why a message was rejected and writes another; if that is rejected too, sends the first one."""

    kind: ClassVar[UserKind] = "reflection"

    async def _compose(self, messages: list[Message]) -> str:
        first = await self._ask(messages, "user")
        if await self._accepts(messages, first):
            return first
        question = prompt("reflect", transcript=transcript(messages), reply=first)
        reflection = await self._ask([{"role": "user", "content": question}], "judge")
        hint = prompt("retry", reply=first, reflection=reflection)
        second = await self._ask([*messages, {"role": "user", "content": hint}], "user")
        return second if await self._accepts(messages, second) else first


def transcript(messages: Messages) -> str:
    """Format a conversation for a judge. The user model's ``assistant`` messages are the customer's."""
    speakers = {"system": "What the customer was told", "user": "Agent", "assistant": "Customer"}
    return "\n".join(f"{speakers[m['role']]}: {m['content']}" for m in messages)


def clean_reply(text: str) -> str:
    """Clean a model's raw text: remove reasoning, make it valid Unicode, cut it but keep ``STOP``."""
    text = drop_reasoning(text.encode("utf-8", "replace").decode("utf-8"))
    kept = text[:MAX_REPLY_CHARS]
    return kept + STOP if STOP in text and STOP not in kept else kept
