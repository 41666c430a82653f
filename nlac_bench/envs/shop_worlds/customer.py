"""Defines the customer: the scripted user, who waits to see whether a request went through."""

from collections.abc import Sequence
from typing import Self

import numpy as np

from nlac_bench.envs.tau.domain import Domain, Task
from nlac_bench.envs.tau.users.scripted import ScriptedUser
from nlac_bench.simulators.customer import STOP, MessageReading, goals

UNDECIDED = {"cancel": "reason", "return": "payment", "exchange": "payment", "modify_items": "payment"}
"""Goal → the topic that the customer does not mention, because the shop's procedure decides it."""
AS_USUAL = (
    "I leave that to you; please do it the way your shop does it.",
    "That is up to your shop; I have no preference.",
)
WAITS = (
    "Thanks. One moment, I am looking whether it goes through.",
    "Thank you. Please stay until I see that it worked.",
)
SATISFIED = ("It went through. Thank you, goodbye!", "I see it now, everything is in order. Thanks!")
GIVES_UP = ("Then I will have to ask again another day.", "Then I will contact you again. Goodbye.")
ASKS_AGAIN = ("Could you please look at it again?", "I asked for something else. Can you help?")


class WaitingCustomer(ScriptedUser):
    """A scripted user who states all details except the reason and the payment, which the shop decides.

    The first message has the email and the zip code. When all requests are done, the customer stays until the
    back office has checked them (``hear``), complains about those that failed, and then leaves.
    """

    def __init__(self, domain: Domain | None = None) -> None:
        super().__init__(domain)
        self._pending = self._waiting = self._failed = False
        self._asks_again = False
        self._news: tuple[str, ...] = ()
        self._receipt = ""

    def hear(self, news: Sequence[str], undone: Sequence[str], pending: bool, receipt: str) -> None:
        """Take notice of the checks since the last call.

        Args:
            news: the complaints about the requests that failed.
            undone: the ids of the orders of those whose call was undone: the customer states these requests
                again with the complaint, and a yes that was given for them no longer counts.
            pending: whether other requests are still to be checked.
            receipt: the shop's message about all changes so far.
        """
        self._receipt = receipt
        self._news = (*self._news, *news)
        self._failed = self._failed or len(news) > len(undone)
        self._pending = pending
        for place, goal in enumerate(self._script.goals):
            if goal.record in undone:
                self._now.goal, self._now.over = place, False
                self._waiting, self._asks_again = False, True
                self._reset()

    async def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Start ``task`` and return the first message, which also has the zip code."""
        first = await super().begin(task, rng)
        person = self._script.person
        return first.replace(f"{person.email}.", f"{person.email}, zip code {person.zip}.", 1)

    async def reply(self, message: str) -> str:
        """Return the reply to the agent's ``message``; news that came since the last reply are put first."""
        news, self._news = self._news, ()
        if self._asks_again:
            self._asks_again = False
            self._now.replies += 1
            return " ".join([*news, self._restate(self._goal, ASKS_AGAIN)])
        reply = "" if self._waiting else await super().reply(message)
        if STOP in reply and self._now.goal >= len(
            self._script.goals
        ):  # all requests are done; otherwise the user gave up
            self._waiting = bool(news) or self._pending
        if self._waiting:
            reply = self._await_outcome(bool(news))
        return " ".join([*news, reply])

    def copy(self) -> Self:
        """Return an independent customer in the same state."""
        twin = super().copy()
        twin._pending, twin._waiting, twin._failed = self._pending, self._waiting, self._failed
        twin._news, twin._receipt, twin._asks_again = self._news, self._receipt, self._asks_again
        return twin

    def _await_outcome(self, complains: bool) -> str:
        self._now.replies += 1
        if complains:
            return self._pick(ASKS_AGAIN)
        if self._pending:
            return self._pick(WAITS)
        last = self._pick(GIVES_UP if self._failed else SATISFIED)
        return " ".join(part for part in (last, self._receipt, STOP) if part)

    def _told(self, heard: MessageReading, goal: goals.Goal) -> tuple[frozenset[str], str]:
        topics, told = super()._told(heard, goal)
        if UNDECIDED.get(goal.kind) in heard.asks:
            told = f"{told} {self._pick(AS_USUAL)}".strip()
        return topics, told

    def _identify(self, heard: MessageReading, goal: goals.Goal) -> str:
        if "zip" not in heard.asks:
            return super()._identify(heard, goal)
        person = self._script.person
        name = f"{person.first_name} {person.last_name}"
        told = f"I am {name}, zip code {person.zip}, and my email is {person.email}."
        self._introduce(frozenset({"zip"}))
        return self._tell(heard.asks, f"{told} {self._details(heard, {'request'}, goal)}".strip())
