"""Many prompts that begin alike, as one sequence: the conversation once, each role's words as a branch of it.

An episode of six actions has some thirty rows, nearly all of whose tokens are the same conversation. Written
as a tree, those tokens are computed once; a branch attends to the conversation up to where it leaves it and
to itself, so every row's loss and gradient are those that it would have alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IGNORED = -100


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A row in tokens. ``kind`` numbers its role, for the loss by role."""

    ids: Sequence[int]
    prompt_len: int
    kind: int


class Tree:
    """A trunk and branches; lists of one entry a token."""

    def __init__(self, trunk: Sequence[int], context_kind: int) -> None:
        size = len(trunk)
        self.trunk_size = size
        self.ids = list(trunk)
        self.targets = [*trunk[1:], IGNORED]
        self.kinds = [context_kind] * (size - 1) + [0]
        self._context_kind = context_kind
        self.positions = list(range(size))
        self.cut = list(range(1, size + 1))
        self.own = list(range(size))

    def __len__(self) -> int:
        return len(self.ids)

    def silence(self) -> None:
        """Learn nothing from what is here so far: another tree has the same trunk."""
        self.targets = [IGNORED] * len(self.ids)
        self.kinds = [0] * len(self.ids)

    def place(self, row: TokenRow) -> tuple[int, int]:
        """How many tokens ``row`` shares with the trunk, and how many it adds."""
        shared = 0
        limit = min(self.trunk_size, len(row.ids) - 1)
        while shared < limit and row.ids[shared] == self.ids[shared]:
            shared += 1
        for k in range(row.prompt_len - 1, shared):
            taken = self.kinds[k] not in (0, self._context_kind)
            if taken and self.targets[k] != row.ids[k + 1]:
                shared = k  # another row wants another word here: this one has its own copy from here on
                break
        return shared, len(row.ids) - 1 - shared

    def add(self, row: TokenRow) -> None:
        """Append ``row`` as a branch; answers that stand in the trunk are learned there."""
        shared, added = self.place(row)
        for k in range(row.prompt_len - 1, shared):
            self.targets[k], self.kinds[k] = row.ids[k + 1], row.kind
        start = len(self.ids)
        for k in range(shared, shared + added):
            learned = k >= row.prompt_len - 1
            self.ids.append(row.ids[k])
            self.targets.append(row.ids[k + 1] if learned else IGNORED)
            self.kinds.append(row.kind if learned else 0)
            self.positions.append(k)
            self.cut.append(shared)
            self.own.append(start)


def trees(rows: Sequence[TokenRow], length: int, context_kind: int) -> Iterator[Tree]:
    """``rows`` of one episode, the longest prompt first, as trees of at most ``length`` tokens.

    Rows that do not fit beside the trunk are left out.
    """
    trunk = rows[0].ids[:-1]
    if len(trunk) > length:
        return
    tree = Tree(trunk, context_kind)
    for row in rows:
        if len(tree) + tree.place(row)[1] > length:
            yield tree
            tree = Tree(trunk, context_kind)
            tree.silence()
            if len(tree) + tree.place(row)[1] > length:
                continue
        tree.add(row)
    yield tree


FIELDS = ("ids", "targets", "kinds", "positions", "low", "cut", "own")


def pack(found: Iterable[Tree], length: int, pad: int) -> dict[str, NDArray[np.int32]]:
    """Trees side by side in rows of ``length`` tokens, first fit: int32 ``[rows, length]`` by field.

    Token i may see token j where ``low[i] <= j < cut[i]`` (the trunk) or ``own[i] <= j <= i`` (its branch).
    """
    rows: list[list[Tree]] = []
    room: list[int] = []
    first_open = 0
    for tree in found:
        at = next((i for i in range(first_open, len(rows)) if room[i] >= len(tree)), len(rows))
        if at == len(rows):
            rows.append([])
            room.append(length)
            first_open = max(first_open, len(rows) - 64)
        rows[at].append(tree)
        room[at] -= len(tree)
    packed = {field: np.zeros((len(rows), length), dtype=np.int32) for field in FIELDS}
    packed["ids"][:] = pad
    packed["targets"][:] = IGNORED
    packed["own"][:] = np.arange(length)
    for i, trees_here in enumerate(rows):
        at = 0
        for tree in trees_here:
            here = slice(at, at + len(tree))
            packed["ids"][i, here] = tree.ids
            packed["targets"][i, here] = tree.targets
            packed["kinds"][i, here] = tree.kinds
            packed["positions"][i, here] = tree.positions
            packed["low"][i, here] = at
            packed["cut"][i, here] = np.asarray(tree.cut) + at
            packed["own"][i, here] = np.asarray(tree.own) + at
            at += len(tree)
    return packed
