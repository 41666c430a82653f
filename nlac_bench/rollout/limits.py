"""Budgets of an episode and of a whole run, and counts of the resources spent."""

import time
from dataclasses import dataclass, field, fields

from nlac_bench.types import Episode, Usage


@dataclass(frozen=True, slots=True)
class PlayLimits:
    """Upper limits; None means no limit.

    ``tokens`` (generated tokens) and ``cost`` (US dollars) count all roles: the policy and the environment's
    user, oracle and judge. ``seconds`` is wall-clock time.

    Raises:
        ValueError: a limit is not positive.
    """

    turns: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value > 0:
                raise ValueError(f"the limit {each.name!r} must be positive or None, got {value!r}")

    def exceeded(self, turns: int, usage: Usage) -> str | None:
        """Return the limit that is reached (``turn_limit``, ``token_limit`` or ``cost_limit``), or None."""
        if self.turns is not None and turns >= self.turns:
            return "turn_limit"
        if self.tokens is not None and usage.completion_tokens >= self.tokens:
            return "token_limit"
        if self.cost is not None and usage.cost >= self.cost:
            return "cost_limit"
        return None


@dataclass(slots=True)
class Spent:
    """The resources that a run has used so far, including those of unfinished and failed episodes."""

    turns: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)
    total: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)

    def add(self, episode: Episode, role: str, usage: Usage) -> None:
        """Add ``usage`` of ``role`` to the totals of the run and of ``episode``."""
        self.usage[role] = self.usage.get(role, Usage()) + usage
        self.total = self.total + usage
        episode.usage[role] = episode.usage.get(role, Usage()) + usage

    def exceeded(self, limits: PlayLimits) -> str | None:
        """Return the limit of the run that is reached (also ``time_limit``), or None."""
        if limits.seconds is not None and time.monotonic() - self.started >= limits.seconds:
            return "time_limit"
        return limits.exceeded(self.turns, self.total)
