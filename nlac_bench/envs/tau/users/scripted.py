"""Implements the scripted user: the simulated customer as a user of τ-bench."""

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.envs.tau.users.base import UserKind
from nlac_bench.envs.tau.users.official_train import script_of, vocabulary_of
from nlac_bench.envs.tau.users.profile import profile_of
from nlac_bench.errors import DataError
from nlac_bench.simulators.customer import Customer, goals
from nlac_bench.types import Usage


class ScriptedUser(Customer):
    """A customer that plays tasks of the embedded domains and of the official retail ``train`` split.

    ``domain`` is the domain of the tasks: from its tables the user knows its profile, and for official data
    its instructions provide the names of goods.

    Raises:
        DataError: ``begin`` with a task that has no script, such as an official test task.
    """

    kind: ClassVar[UserKind] = "scripted"

    def __init__(self, domain: Domain | None = None) -> None:
        super().__init__()
        self.usage: dict[str, Usage] = {}
        self._vocabulary = vocabulary_of(domain) if domain and domain.source.kind != "embedded" else {}
        self._domain = domain

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Start ``task`` and return the first message."""
        seed = int(rng.integers(2**31))
        script = (task.intent or {}).get("script")
        if script is None:
            script = script_of(task.instruction, self._vocabulary)
        if not isinstance(script, goals.Script):
            raise DataError(
                f"task {task.task_id!r} has no scripted user; there is one for embedded tasks and for the "
                "official retail split 'train'. Use user='llm', 'replay' or 'human' for the others"
            )
        if self._domain is not None:
            script = replace(script, profile=profile_of(self._domain.tables, task.user_id))
        return self.start(script, seed)

    async def reply(self, message: str) -> str:
        """Return the reply to the agent's ``message``; it contains ``STOP`` when the conversation is over."""
        return self.answer(message)

    def copy(self) -> Self:
        """Return an independent user in the same state."""
        twin = super().copy()
        twin._vocabulary, twin._domain = self._vocabulary, self._domain
        twin.usage = dict(self.usage)
        return twin
