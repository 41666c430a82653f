"""Decides which side of a comparison is better, and chooses the words for it."""

from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["A better", "B better", "not distinguishable"]

ALPHA = 0.05
UNDECIDED: Verdict = "not distinguishable"
NOTHING_LEARNED = "nothing was learned"
"""Replaces ``UNDECIDED`` where all gradients of a training were 0."""
ONE_SEED = "one seed: no verdict"
"""Stands for a verdict where a single training seed is compared."""


def decided(p_value: float, low: float, high: float) -> Verdict:
    """Return ``A better`` or ``B better`` only if the test rejects *and* ``low`` to ``high`` excludes 0."""
    if p_value >= ALPHA or low <= 0 <= high:
        return UNDECIDED
    return "A better" if low > 0 else "B better"


def worded(verdict: str, a: str, b: str, otherwise: str | None = None) -> str:
    """Return ``a`` if side A is better and ``b`` if side B is; else ``otherwise``, or the verdict itself."""
    return {"A better": a, "B better": b}.get(verdict, verdict if otherwise is None else otherwise)
