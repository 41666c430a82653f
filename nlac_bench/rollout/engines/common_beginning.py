"""Compares the beginnings of texts, of lists of tokens and of arrays of tokens."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def common_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common beginning of two texts or lists."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def common_length_of_arrays(one_T: NDArray[np.int64], other_T: NDArray[np.int64]) -> int:
    """Return the length of the common beginning of two arrays."""
    width = min(len(one_T), len(other_T))
    differs_T = one_T[:width] != other_T[:width]
    return int(differs_T.argmax()) if differs_T.any() else width
