"""A Gymnasium space for any Unicode string."""

from typing import Any

import numpy as np
from gymnasium.spaces import Space

# What `sample` draws from: short, printable, with white space, marks, several scripts and one
# character beyond the basic plane, so that a consumer that only survives ASCII is found early.
_SAMPLE_ALPHABET = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n\t.,:;!?'\"()[]{}<>#$\\/_-+*=~éßΩя中🙂"
)
_SAMPLE_LENGTH = 64


class UnicodeText(Space[str]):
    """All strings of at most ``max_length`` characters, the empty one included.

    ``gymnasium.spaces.Text`` lists its alphabet, which by default has neither space nor newline and
    with all of Unicode takes seconds and tens of megabytes to pickle. This space stores one number:
    ``contains`` is O(1) and a pickle has a few hundred bytes. Lone surrogates are in the space too:
    a model may emit them and an environment must survive that.

    Args:
        max_length: longest string in the space, in characters (code points).
        seed: seeds ``sample``.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        if not isinstance(max_length, int) or isinstance(max_length, bool) or max_length < 1:
            raise ValueError(f"max_length must be a positive int, got {max_length!r}")
        self.max_length = max_length
        super().__init__(shape=None, dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Strings have no fixed shape, so they cannot become one array."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draw a string of at most 64 characters from a small mixed alphabet.

        Raises:
            ValueError: with a mask or probabilities, which this space does not have.
        """
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText.sample takes neither mask nor probability")
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        letters = self.np_random.integers(0, len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[i] for i in letters)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a string of at most ``max_length`` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # mutable (it holds a generator), as all spaces are
