"""Counts the answers of each role that can be read, and keeps a sample of the raw answers."""

import random
from collections import Counter
from dataclasses import dataclass

from nlac_bench.rollout.engines.engine import Finish
from nlac_bench.types import Role

KEPT = 32
"""Number of raw answers that are kept of an iteration."""


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """A line of ``answers.jsonl``: an answer as the model wrote it.

    ``iteration`` is that of ``metrics.jsonl``; ``finish`` is ``Sample.finish``.
    """

    iteration: int
    role: Role
    readable: bool
    finish: Finish
    text: str


class RoleAnswers(Counter[str]):
    """Counts answers as ``ROLE`` and those that cannot be parsed as ``ROLE/unparseable``, and keeps some.

    Every role gets the same share of what is kept, drawn by a random generator of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[Role, list[tuple[bool, Finish, str]]] = {}
        self._seen: Counter[Role] = Counter()
        self._rng = random.Random(0)

    def note(self, role: Role, readable: bool, finish: Finish, text: str) -> None:
        """Count an answer; of each role, ``KEPT`` are drawn with equal chances (reservoir sampling)."""
        self[role] += 1
        self[f"{role}/unparseable"] += not readable
        self._seen[role] += 1
        kept, answer = self._kept.setdefault(role, []), (readable, finish, text)
        if len(kept) < KEPT:
            kept.append(answer)
        elif (place := self._rng.randrange(self._seen[role])) < KEPT:
            kept[place] = answer

    def taken(self, iteration: int) -> list[AnswerRecord]:
        """Return the answers that are kept of this iteration, at most ``KEPT``, and forget them."""
        share = KEPT // max(1, len(self._kept))
        records = [
            AnswerRecord(iteration, role, *answer)
            for role, answers in self._kept.items()
            for answer in self._rng.sample(answers, min(share, len(answers)))
        ]
        self._kept.clear()
        self._seen.clear()
        return records

    def clear(self) -> None:
        """Forget the counts and the raw answers."""
        super().clear()
        self._kept.clear()
        self._seen.clear()
