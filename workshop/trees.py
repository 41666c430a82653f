"""Packs prompts with a common beginning into trees: the conversation once, each role's text as a branch.

An episode of six actions has about thirty rows, and nearly all of their tokens are the same conversation. In
a tree these tokens are computed once. A branch attends to itself and to the conversation up to the branching
point, so the loss and gradient of each row are those of a separate sequence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IGNORED = -100


@dataclass(frozen=True, slots=True)
class TokenRow:
    """The tokens of a row. ``kind`` is the number of its role, for the loss by role."""

    ids: Sequence[int]
    prompt_len: int
    kind: int


class Tree:
    """A trunk and its branches, as lists with one entry per token."""

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
        """Exclude all tokens so far from the loss, because another tree has the same trunk."""
        self.targets = [IGNORED] * len(self.ids)
        self.kinds = [0] * len(self.ids)

    def place(self, row: TokenRow) -> tuple[int, int]:
        """Return the number of tokens that ``row`` shares with the trunk, and the number that it adds."""
        shared = 0
        limit = min(self.trunk_size, len(row.ids) - 1)
        while shared < limit and row.ids[shared] == self.ids[shared]:
            shared += 1
        for k in range(row.prompt_len - 1, shared):
            taken = self.kinds[k] not in (0, self._context_kind)
            if taken and self.targets[k] != row.ids[k + 1]:
                shared = k  # another row has a different target here, so this row branches off
                break
        return shared, len(row.ids) - 1 - shared

    def add(self, row: TokenRow) -> None:
        """Append ``row`` as a branch; the part of its answer that is in the trunk is learned there."""
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


def trees(rows: Sequence[TokenRow], length: int, context_kind: int, context: bool = True) -> Iterator[Tree]:
    """Arrange the ``rows`` of an episode, longest prompt first, as trees of at most ``length`` tokens.

    Rows that do not fit in a tree with the trunk are left out. With ``context``, also the conversation is
    learned, not only the answers.
    """
    trunk = rows[0].ids[:-1]
    if len(trunk) > length:
        return
    tree = Tree(trunk, context_kind)
    if not context:
        tree.silence()
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


def pack(sequence: Iterable[Tree], length: int, pad: int) -> dict[str, NDArray[np.int32]]:
    """Pack trees into rows of ``length`` tokens by first fit; returns int32 ``[rows, length]`` by field.

    Token i may attend to token j if ``low[i] <= j < cut[i]`` (the trunk) or ``own[i] <= j <= i`` (its
    branch).
    """
    rows: list[list[Tree]] = []
    room: list[int] = []
    first_open = 0
    for tree in sequence:
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
