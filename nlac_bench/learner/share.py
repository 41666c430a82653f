"""Divides a batch over the ranks by its rows.

Rank 0 packs the whole batch and sends it to all ranks; each computes its own rows, and rank 0 collects the
values that were read. A rank without rows computes one token without a loss, since every forward and backward
pass is a collective operation.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from nlac_bench.learner.batch import TokenBatch, TokenSequence, pack


def packed(sequences: Sequence[TokenSequence], row_tokens: int) -> TokenBatch:
    """Pack ``sequences`` (see ``pack``); rows are shorter than ``row_tokens`` if there would be too few for
    all ranks."""
    tokens = sum(len(s.ids) for s in sequences)
    return pack(sequences, min(row_tokens, -(-tokens // dist.get_world_size())))


def own_rows(batch: TokenBatch) -> slice:
    """Return the rows of ``batch`` that this rank computes; possibly none.

    Each rank gets consecutive rows with about the same number of tokens.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    tokens_B = (batch.segment_ids != 0).sum(1)
    ends_B = tokens_B.cumsum(0)
    rank_B = (2 * ends_B - tokens_B) * world // (2 * ends_B[-1])  # the row's middle token determines the rank
    start, stop = (int((rank_B < r).sum()) for r in (rank, rank + 1))
    return slice(start, stop)


def part(batch: TokenBatch) -> TokenBatch:
    """Return this rank's part of ``batch``: its rows, or one token without a loss."""
    rows = own_rows(batch)
    return batch.rows(rows.start, rows.stop) if rows.stop > rows.start else batch.without_loss()


def collected(own_BT: Tensor, batch: TokenBatch) -> Tensor:
    """Return on rank 0 the values that all ranks computed for ``batch``, ``[B, T]`` or ``[B, T, H]``.

    Args:
        own_BT: the values of ``part(batch)``, on the CPU, as wide as ``batch``; ranks other than 0 return
            these values.
    """
    rank, world = dist.get_rank(), dist.get_world_size()
    if world == 1:
        return own_BT
    rows = own_rows(batch)
    everywhere: list[Tensor] = [own_BT] * world
    dist.gather_object(own_BT[: rows.stop - rows.start], everywhere if rank == 0 else None, dst=0)
    return torch.cat(everywhere) if rank == 0 else own_BT
