"""Implements random draws that are the same on every Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Random draws that use only ``random.Random(seed).random()``.

    Python guarantees that sequence for an integer seed; ``choice``, ``sample`` and ``shuffle`` of the
    standard library may change between versions, which would change the pinned hash of generated data.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random
        self._used: set[int] = set()

    def below(self, n: int) -> int:
        """Draw an integer in ``[0, n)``."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """Draw an integer in ``[low, high]``."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Return True with ``probability``."""
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of ``options``."""
        return options[int(self._random() * len(options))]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """Draw ``k`` of ``options`` without replacement, in the order in which they are drawn."""
        pool = list(options)
        return [pool.pop(int(self._random() * len(pool))) for _ in range(k)]

    def number(self, digits: int) -> int:
        """Draw an integer of exactly ``digits`` digits that this object has not returned before."""
        low = 10 ** (digits - 1)
        while True:
            value = low + int(self._random() * 9 * low)
            if value not in self._used:
                self._used.add(value)
                return value
