"""Implements the back office, which checks the procedure of each call some turns after it was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nlac_bench.envs.shop_worlds.procedures import KINDS
from nlac_bench.envs.tau.database import Database

DELAY = 2
"""Number of steps after a call at which the back office checks it."""
ON_HOLD = "on hold"
"""Status of an order whose request did not follow the procedure."""


@dataclass(frozen=True, slots=True)
class Filed:
    """A call that changed an order, with the step at which it is checked."""

    kind: str
    order_id: str
    followed: bool
    due: int


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


def check(filed: Sequence[Filed], step: float, db: Database) -> tuple[tuple[Filed, ...], tuple[str, ...]]:
    """Check the calls that are due at ``step`` and put the orders of those that failed on hold.

    At the end of an episode ``step`` is infinite, so that all calls are due.

    Returns:
        The calls that are still to be checked, and the complaints of the customers of failed ones.
    """
    news = []
    for each in filed:
        if each.due <= step and not each.followed:
            db.edit("orders", each.order_id)["status"] = ON_HOLD
            news.append(f"{KINDS[each.kind].complaint}: order {each.order_id} is {ON_HOLD}.")
    return tuple(each for each in filed if each.due > step), tuple(news)
