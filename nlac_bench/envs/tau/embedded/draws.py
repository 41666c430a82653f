"""Random draws that come out the same on every Python version."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Draws built on ``random.Random(seed).random()`` alone.

    Python promises that sequence for an integer seed; ``choice``, ``sample`` and ``shuffle`` of the standard
    library may change between versions, and with them a pinned hash of generated data.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random
        self._used: set[int] = set()

    def below(self, n: int) -> int:
        """An integer in ``[0, n)``."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """An integer in ``[low, high]``."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with ``probability``."""
        return self._random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """One of ``options``."""
        return options[int(self._random() * len(options))]

    def some(self, options: Sequence[T], k: int) -> list[T]:
        """``k`` different places of ``options``, in drawn order."""
        pool = list(options)
        return [pool.pop(int(self._random() * len(pool))) for _ in range(k)]

    def number(self, digits: int) -> int:
        """An integer of exactly ``digits`` digits that this object has not returned before."""
        low = 10 ** (digits - 1)
        while True:
            value = low + int(self._random() * 9 * low)
            if value not in self._used:
                self._used.add(value)
                return value
