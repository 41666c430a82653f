"""Defines a call that changes the database, as the graded parts of the reward judge it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nlac_bench.envs.tau.database import Database, Row
from nlac_bench.envs.tau.domain import DomainName

WRITES: Mapping[DomainName, frozenset[str]] = {
    "retail": frozenset(
        {
            "cancel_pending_order",
            "exchange_delivered_order_items",
            "modify_pending_order_address",
            "modify_pending_order_items",
            "modify_pending_order_payment",
            "modify_user_address",
            "return_delivered_order_items",
        }
    ),
    "airline": frozenset(
        {
            "book_reservation",
            "cancel_reservation",
            "send_certificate",
            "update_reservation_baggages",
            "update_reservation_flights",
            "update_reservation_passengers",
        }
    ),
}
"""The tools of each domain that change the database."""


@dataclass(frozen=True, slots=True)
class Write:
    """A call of a tool that changes the database.

    ``before`` is the database before the call, ``earlier`` are the episode's calls before it. ``said`` is the
    number of messages that the agent had sent. ``failed``: the tool refused the call.
    """

    name: str
    arguments: Mapping[str, Any]
    before: Database
    said: int
    failed: bool
    earlier: "tuple[Write, ...]" = ()

    def record(self, table: str, argument: str) -> Row | None:
        """Return the row of ``table`` whose id is the value of ``argument``, or None if there is none."""
        value = self.arguments.get(argument)
        return self.before.get(table, value) if isinstance(value, str) else None

    def listed(self, argument: str) -> list[Any]:
        """Return the value of ``argument`` if it is a list, else an empty list."""
        value = self.arguments.get(argument)
        return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition under which the policy forbids a call of one of ``tools``.

    ``policy`` is the sentence of the policy in our words. ``forbids`` takes the call and the user's id.
    """

    name: str
    policy: str
    tools: tuple[str, ...]
    forbids: Callable[[Write, str], bool] = field(repr=False)

    def broken_by(self, write: Write, user_id: str) -> bool:
        """Return whether ``write`` breaks the rule.

        A model may write any JSON as arguments. Arguments of a wrong form, and records that do not exist,
        break no rule: the tool refuses them.
        """
        if write.name not in self.tools:
            return False
        try:
            return self.forbids(write, user_id)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            return False
