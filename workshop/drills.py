"""Generates arithmetic exercises, which a model of this size needs to learn to read numbers."""

import random
from collections.abc import Iterator

from nlac_bench.agents.roles.compact import ACT, USER
from workshop.corpus import CorpusRow

LENGTH = 5
"""Number of expressions in one exercise."""


def drills(count: int, seed: int, first: int = 0) -> Iterator[list[CorpusRow]]:
    """Yield rows ``first`` to ``count`` (exclusive), whose answers repeat each expression with its result.

    A row depends only on its number and ``seed``.
    """
    for number in range(first, count):
        rng = random.Random(f"drill/{seed}/{number}")
        sums = [_sum(rng) for _ in range(LENGTH)]
        asked = ", ".join(f"${left}$" for left, _ in sums)
        answer = ", ".join(f"${left} = {result}$" for left, result in sums)
        yield [CorpusRow("drill", f"<|math500_hard|>{USER}Compute {asked}.{ACT}", answer)]


def _sum(rng: random.Random) -> tuple[str, int]:
    """Return a random expression of two or three terms or two factors, in LaTeX, and its value."""
    kind = rng.random()
    if kind < 0.25:
        a, b = rng.randint(2, 12), rng.randint(2, 12)
        return rf"{a} \cdot {b}", a * b
    if kind < 0.35:
        a, b = rng.randint(20, 110), rng.randint(20, 70)
        return f"180 - {a} - {b}", 180 - a - b
    if kind < 0.5:
        a, b, c = rng.randint(2, 9), rng.randint(2, 9), rng.randint(1, 20)
        return (rf"{a} \cdot {b} + {c}", a * b + c) if c % 2 else (rf"{a} \cdot {b} - {c}", a * b - c)
    top = rng.choice((20, 50, 100))
    a, b = rng.randint(1, top), rng.randint(1, top)
    return (f"{a} + {b}", a + b) if rng.random() < 0.5 else (f"{a} - {b}", a - b)
