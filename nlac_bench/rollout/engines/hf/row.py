"""Row: a sample in progress."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nlac_bench.rollout.engines.engine import Finish, Sampling
from nlac_bench.rollout.engines.filling import Filling


@dataclass(eq=False, slots=True)
class Row:
    """A sample in progress. ``limit`` is its largest number of tokens, ``draws`` its random generator.

    ``stopped`` returns whether the text has reached a stop string; ``filling`` is the answer's form.
    """

    prompt: list[int]
    sampling: Sampling
    limit: int
    draws: np.random.Generator
    owner: Any
    stopped: Callable[["Row"], bool] | None = None
    filling: Filling | None = None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Finish | None = None
    broken: bool = False
    """The model returned NaN instead of probabilities."""

    def __post_init__(self) -> None:
        if self.filling is not None:
            self.ids, self.logprobs = self.filling.ids, self.filling.logprobs

    @property
    def allowed(self) -> list[int] | None:
        """The tokens that may come next; None where all may."""
        return self.filling.allowed if self.filling else None

    def append(self, token: int, logprob: float, end_ids: frozenset[int]) -> None:
        """Add the drawn ``token``; set ``finish`` if the sample ends with it."""
        if math.isnan(logprob):
            self.broken, self.finish = True, "stop"
            return
        if self.filling is not None:
            self.filling.take(token, logprob)
            ended, cut = self.filling.finish == "stop", self.filling.finish == "length"
        else:
            self.ids.append(token)
            self.logprobs.append(logprob)
            ended, cut = token in end_ids, len(self.ids) >= self.limit
            ended = ended or (self.stopped is not None and self.stopped(self))
        if ended:
            self.finish = "stop"
        elif cut:
            self.finish = "length" if self.limit == self.sampling.max_tokens else "context_overflow"

    def tail(self, count: int) -> list[int]:
        """Return the last ``count`` tokens of prompt and answer, or fewer if there are no more."""
        missing = count - len(self.ids)
        return (self.prompt[-missing:] if missing > 0 else []) + self.ids[-count:]

    def proposals(self) -> int:
        """Return how many tokens may be proposed: all but the last that ``limit`` leaves."""
        return max(0, self.limit - len(self.ids) - 1)
