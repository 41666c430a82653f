"""Budgets of an episode and of a whole run, and how they are spent."""

import time
from dataclasses import dataclass, field, fields

from nlac_bench.types import Episode, Usage


@dataclass(frozen=True, slots=True)
class Limits:
    """An allowance; None is no limit.

    ``tokens`` counts generated (completion) tokens and ``cost`` US dollars, of all roles: the policy's
    and those of the environment's user, oracle and judge. ``seconds`` is wall-clock time.
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
        """Which limit is reached (``turn_limit``, ``token_limit``, ``cost_limit``), or None."""
        if self.turns is not None and turns >= self.turns:
            return "turn_limit"
        if self.tokens is not None and usage.completion_tokens >= self.tokens:
            return "token_limit"
        if self.cost is not None and usage.cost >= self.cost:
            return "cost_limit"
        return None


@dataclass(slots=True)
class Spent:
    """What a run has used so far, unfinished and failed episodes included."""

    turns: int = 0
    usage: dict[str, Usage] = field(default_factory=dict)
    total: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)

    def add(self, episode: Episode, role: str, usage: Usage) -> None:
        """Book ``usage`` of ``role`` on the run and on ``episode``."""
        self.usage[role] = self.usage.get(role, Usage()) + usage
        self.total = self.total + usage
        episode.usage[role] = episode.usage.get(role, Usage()) + usage

    def exceeded(self, limits: Limits) -> str | None:
        """Which of the run's limits is reached, or None."""
        if limits.seconds is not None and time.monotonic() - self.started >= limits.seconds:
            return "time_limit"
        return limits.exceeded(self.turns, self.total)
