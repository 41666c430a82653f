"""Divides the sequences of a gradient step over the ranks.

Every rank calls these functions with what it has played, which may be nothing: one rank plays and the others
only learn, or each plays its part. The sequences are first gathered on all ranks, so that every decision
(whether to take a step, by which count to divide) is made from the same data and all ranks take part in the
same collective operations; then each rank computes its share of the tokens. A rank without a share computes
a sequence without a loss.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from nlac_bench.train.batch import TokenBatch, TokenSequence, pack

T = TypeVar("T")


def gathered(own: Sequence[T]) -> tuple[list[T], slice]:
    """Return the items of all ranks in the order of the ranks, and the place of this rank's items."""
    world = dist.get_world_size()
    if world == 1:
        return list(own), slice(0, len(own))
    parts: list[Any] = [None] * world
    dist.all_gather_object(parts, list(own))
    start = sum(map(len, parts[: dist.get_rank()]))
    return [item for part in parts for item in part], slice(start, start + len(own))


def numbered(sequences: Sequence[TokenSequence], first: int = 0) -> list[TokenSequence]:
    """Return ``sequences`` with consecutive ``group_id``, from ``first``."""
    return [replace(s, group_id=i) for i, s in enumerate(sequences, first)]


def share(sequences: Sequence[TokenSequence]) -> list[TokenSequence]:
    """Return this rank's part of ``sequences``, which are the same on all ranks.

    Each rank gets about the same number of tokens. Sequences with a common beginning stay together, since a
    CPU computes it once (``prefixes``). A rank that gets none receives one token without a loss.

    Raises:
        ValueError: ``sequences`` is empty.
    """
    if not sequences:
        raise ValueError("cannot divide an empty list of sequences over the ranks")
    rank, world = dist.get_rank(), dist.get_world_size()
    order = sorted(range(len(sequences)), key=lambda i: list(sequences[i].ids))
    lengths = [len(sequences[i].ids) for i in order]
    ends = list(accumulate(lengths))
    own = sorted(  # the rank is that of the sequence's middle token
        i
        for i, length, end in zip(order, lengths, ends, strict=True)
        if (2 * end - length) * world // (2 * ends[-1]) == rank
    )
    return [sequences[i] for i in own] or [_without_loss(sequences[0])]


def packed_share(sequences: Sequence[TokenSequence], row_tokens: int) -> TokenBatch:
    """Return this rank's part of ``sequences`` in rows of ``row_tokens`` (see ``share`` and ``pack``)."""
    return pack(share(sequences), row_tokens)


def read(
    what: Callable[[TokenBatch], Tensor], sequences: Sequence[TokenSequence], row_tokens: int
) -> list[Tensor]:
    """Return the output of ``what`` at the trained tokens of each sequence; each rank computes its part.

    Args:
        what: a method of the learner without gradients; returns ``[B, T]`` or ``[B, T, H]`` on the CPU.
        sequences: the same on all ranks, at least one.
    """
    batch = packed_share(numbered(sequences), row_tokens)
    own_BT = batch.loss_mask != 0
    values_N, numbers_N = what(batch)[own_BT], batch.group_id[own_BT]
    found = {number: values_N[numbers_N == number] for number in numbers_N.unique().tolist()}
    everywhere = dict(gathered(list(found.items()))[0])
    return [everywhere.get(i, torch.zeros(0)) for i in range(len(sequences))]


def _without_loss(sequence: TokenSequence) -> TokenSequence:
    """Return the first token of ``sequence`` as a sequence that adds nothing to a loss."""
    optional = ("advantages", "old_logprobs", "returns", "old_values")
    nothing: dict[str, Any] = {name: None if getattr(sequence, name) is None else [0.0] for name in optional}
    return replace(sequence, ids=sequence.ids[:1], loss_mask=[0.0], weight=0.0, group_id=0, **nothing)
