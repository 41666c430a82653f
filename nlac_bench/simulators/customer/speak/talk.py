"""Defines the state of a conversation of a scripted user."""

from dataclasses import dataclass

from nlac_bench.simulators.customer.intent.goals import Script

MAX_REPLIES = 40
"""Number of replies after which the user always ends the conversation; an episode has 30 steps."""
PATIENCE = 4
"""Number of wrong proposals for one request after which the user gives up."""
VARIANTS = 6
"""Number of wordings tried for a reply that has been said twice."""
UNREAD = 8
"""Number of turns in a row without progress after which the user gives up."""


@dataclass(slots=True)
class Talk:
    """All state that changes in a conversation. All fields are immutable, so a shallow copy is a fork."""

    script: Script
    seed: int
    told: frozenset[str]
    """Topics of the current goal that the user has told, in its request or in an answer."""
    goal: int = 0
    replies: int = 0
    agreed: bool = False
    """Whether the user has said yes to the current goal."""
    unread: int = 0
    """Number of turns in a row without progress: nothing understood, repeated, or waited."""
    objected: int = 0
    refusals: int = 0
    answered: frozenset[str] = frozenset()
    """Topics of questions that the user has already answered; answering again does not count as progress."""
    given: frozenset[str] = frozenset()
    """Identity data that the user has given: email, zip, user_id."""
    introduced: bool = False
    """Whether the user's last message stated its identity."""
    vague: int = 0
    """Number of messages that reported something done, but not what, before the user agreed to anything."""
    said: tuple[str, ...] = ()
    """The user's replies."""
    variant: int = 0
    """Changes the wordings chosen, so that a reply is not repeated."""
    over: bool = False
