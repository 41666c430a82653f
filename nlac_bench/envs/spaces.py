"""Defines a Gymnasium space of Unicode strings, with the shared memory that ``AsyncVectorEnv`` needs."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np
from gymnasium.spaces import Space
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

# The alphabet of `sample`: white space, punctuation, several scripts and one character outside the basic
# multilingual plane, so that code that only works with ASCII fails early.
_SAMPLE_ALPHABET = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n\t.,:;!?'\"()[]{}<>#$\\/_-+*=~éßΩя中🙂"
)
_SAMPLE_LENGTH = 64


class UnicodeText(Space[str]):
    """All strings of at most ``max_length`` characters, the empty one included.

    ``gymnasium.spaces.Text`` stores its alphabet, which by default has neither space nor newline, and which
    takes seconds and tens of megabytes to pickle if it is all of Unicode. This space stores one number:
    ``contains`` takes constant time and a pickle has a few hundred bytes. Lone surrogates are in the space
    too, because a model may produce them.

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
        """False: strings have no fixed shape, so they cannot be flattened to an array."""
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Draw a string of at most 64 characters from a small mixed alphabet.

        Raises:
            ValueError: ``mask`` or ``probability`` is given.
        """
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText.sample takes neither mask nor probability")
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        letters = self.np_random.integers(0, len(_SAMPLE_ALPHABET), size=length)
        return "".join(_SAMPLE_ALPHABET[i] for i in letters)

    def contains(self, x: object) -> bool:
        """Return whether ``x`` is a string of at most ``max_length`` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # mutable (it holds a generator), as all spaces are


class SharedTexts(Sequence[str]):
    """Shared memory of ``UnicodeText``: one string per row, written by one process and read by another.

    Observations have no fixed length, and a buffer for the longest would take 40 MB per row, so each row is
    a file in a temporary folder. A row that was not written is the empty string. ``AsyncVectorEnv`` returns
    ``copy.deepcopy`` of its observations, which here is a tuple of the current strings.

    Args:
        rows: number of strings.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._folder = Path(tempfile.mkdtemp(prefix="nlac-bench-"))
        weakref.finalize(self, _remove, self._folder, os.getpid())

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...

    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        if isinstance(row, slice):
            return tuple(self)[row]
        path = self._folder / str(range(self._rows)[row])
        return path.read_bytes().decode("utf-8", "surrogatepass") if path.exists() else ""

    def __deepcopy__(self, memo: dict[int, object]) -> tuple[str, ...]:
        return tuple(self)

    def write(self, row: int, text: str) -> None:
        """Replace the string of ``row``."""
        (self._folder / str(row)).write_bytes(text.encode("utf-8", "surrogatepass"))


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked worker inherits the object, and must not remove the folder
        shutil.rmtree(folder, ignore_errors=True)


@create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: object = None) -> SharedTexts:
    return SharedTexts(n)


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: SharedTexts, n: int = 1) -> SharedTexts:
    return shared_memory


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: SharedTexts) -> None:
    shared_memory.write(index, value)
