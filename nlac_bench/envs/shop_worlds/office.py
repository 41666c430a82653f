"""Implements the back office, which checks the procedure of each call some turns after it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nlac_bench.envs.shop_worlds.procedures import KINDS
from nlac_bench.envs.tau.database import Database, Row, canonical, copied

DELAY = 2
"""Number of steps after a call at which the back office checks it."""
ON_HOLD = "on hold"
"""Status of an order whose request did not follow the procedure."""
UNDONE = "as it was before"
"""Words of a customer about an order of which a call was undone."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a call changed: the rows of the order and of its customer before and after it."""

    before: Mapping[tuple[str, str], Row]
    after: Mapping[tuple[str, str], Row]

    def undo(self, db: Database) -> bool:
        """Set the rows back and return True; return False, and do nothing, if one has changed since."""
        if any(canonical(db.get(*key)) != canonical(row) for key, row in self.after.items()):
            return False
        for key, row in self.before.items():
            db.put(*key, row)
        return True


@dataclass(frozen=True, slots=True)
class Filed:
    """A call that changed an order, with the step at which it is checked."""

    kind: str
    order_id: str
    followed: bool
    due: int
    change: Change


class Handled(NamedTuple):
    """How a request was handled and how the world requires it, in the words of ``described``."""

    way: str
    demanded: str


def receipt(handled: Sequence[Handled]) -> str:
    """Return the shop's message to a customer about all changes; empty if there are none."""
    if not handled:
        return ""
    text = f"My receipt says: {' and '.join(each.way for each in handled)}."
    if all(each.way == each.demanded for each in handled):
        return text
    demanded = dict.fromkeys(each.demanded for each in handled)
    return f"{text} It should have been: {' and '.join(demanded)}."


class Checked(NamedTuple):
    """The calls that are still to be checked, the complaints of customers about those that failed, and the
    ids of the orders whose call was undone."""

    pending: tuple[Filed, ...]
    news: tuple[str, ...]
    undone: tuple[str, ...]


def rows_of(db: Database, order_id: str) -> Mapping[tuple[str, str], Row]:
    """Return copies of the rows that a call about an order can change; empty if there is no such order."""
    order = db.get("orders", order_id)
    if order is None:
        return {}
    return {key: copied(db.get(*key)) for key in (("orders", order_id), ("users", order["user_id"]))}


def check(filed: Sequence[Filed], step: float, db: Database, repairs: int) -> Checked:
    """Check the calls that are due at ``step``: undo the first ``repairs`` that failed, and put the orders of
    the others that failed on hold.

    At the end of an episode ``step`` is infinite, so that all calls are due.
    """
    news: list[str] = []
    undone: list[str] = []
    for each in filed:
        if each.due <= step and not each.followed:
            if len(undone) < repairs and each.change.undo(db):
                undone.append(each.order_id)
                state = UNDONE
            else:
                db.edit("orders", each.order_id)["status"] = state = ON_HOLD
            news.append(f"{KINDS[each.kind].complaint}: order {each.order_id} is {state}.")
    return Checked(tuple(each for each in filed if each.due > step), tuple(news), tuple(undone))
