"""Prefixes of a sequence that share its storage.

The states of an episode are prefixes of one conversation, and their prompts are mostly prefixes of one
sequence of tokens. With n turns, copies would take n times the memory.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Beginning(Sequence[T_co]):
    """The first ``length`` items of ``whole``, which is not copied and must not change.

    It is equal to every sequence of the same items. A slice of it is a tuple.

    Raises:
        ValueError: ``whole`` has fewer items.
    """

    __slots__ = ("length", "whole")
    __hash__ = None  # type: ignore[assignment]  # messages cannot be hashed

    def __init__(self, whole: Sequence[T_co], length: int) -> None:
        if not 0 <= length <= len(whole):
            raise ValueError(f"length must be at least 0 and at most {len(whole)}, got {length}")
        self.whole, self.length = whole, length

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[T_co]:
        return islice(iter(self.whole), self.length)

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T_co, ...]: ...

    def __getitem__(self, index: Any) -> Any:
        places = range(self.length)[index]
        return tuple(self.whole[i] for i in places) if isinstance(places, range) else self.whole[places]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return repr(tuple(self))


def tokens(ids: Sequence[int]) -> Beginning[int]:
    """Return ``ids`` with four bytes a token; a list of integers takes about 36."""
    return Beginning(array("i", ids), len(ids))


def shared_tokens(prompts: Sequence[Sequence[int] | None]) -> list[Beginning[int] | None]:
    """Return the prompts of an episode in order; a prefix of the next prompt shares its storage."""
    beginnings: list[Beginning[int] | None] = []
    longest: Beginning[int] = tokens(())
    for ids in reversed(prompts):
        if ids is not None and longest[: len(ids)] != tuple(ids):
            longest = tokens(ids)
        beginnings.append(None if ids is None else Beginning(longest.whole, len(ids)))
    return beginnings[::-1]
