"""The tree of a micro-batch's prefixes: what several sequences begin with is computed once (CPUs).

A token's hidden state depends on the tokens before it alone, so sequences that begin alike have the same
states up to where they part. NLAC trains on a critic's and a policy's sequence for each transition, and on
several transitions of an episode: 60 % of its tokens repeat an earlier sequence's beginning.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """N nodes, one for each different prefix of the sequences in a ``[B, T]`` micro-batch.

    Nodes are numbered so that those which a sequence adds to the tree are neighbours, in its order.

    Args:
        first_N: where each node's token first stands in the flattened batch.
        node_BT: the node of each token; 0 on padding.
        new: how many nodes each sequence adds; sequences that add none are left out. Sums to N.
        paths: all nodes of each of these sequences, from its first token to its last, one after another.
        lengths: of the paths.
    """

    first_N: Tensor
    node_BT: Tensor
    new: list[int]
    paths: Tensor
    lengths: list[int]


def prefix_tree(ids_BT: Tensor, segment_ids_BT: Tensor) -> PrefixTree:
    """The tree of all sequences of a micro-batch, which is on the CPU (see ``TokenBatch``)."""
    node_BT = np.zeros(ids_BT.shape, dtype=np.int64)
    node_flat = node_BT.reshape(-1)
    first: list[NDArray[np.int64]] = []
    paths: list[NDArray[np.int64]] = []
    new: list[int] = []
    nodes = 0
    before = path = np.zeros(0, dtype=np.int64)
    for start, ids in sorted(_sequences(ids_BT, segment_ids_BT), key=lambda item: item[1].tolist()):
        # Sorted, so no earlier sequence shares a longer beginning than the one before.
        shared = _common(before, ids)
        added = len(ids) - shared
        path = np.concatenate([path[:shared], np.arange(nodes, nodes + added)])
        node_flat[start : start + len(ids)] = path
        if added:
            first.append(np.arange(start + shared, start + len(ids)))
            paths.append(path)
            new.append(added)
        nodes, before = nodes + added, ids
    return PrefixTree(
        torch.from_numpy(np.concatenate(first)),
        torch.from_numpy(node_BT),
        new,
        torch.from_numpy(np.concatenate(paths)),
        [len(p) for p in paths],
    )


def micro_batch_starts(ids_BT: Tensor, segment_ids_BT: Tensor, rows: int) -> list[int]:
    """First rows of micro-batches whose trees have at most as many nodes as ``rows`` full rows have tokens,
    and which have at least ``rows`` rows where the batch has them."""
    most = rows * ids_BT.shape[1]
    starts = [0]
    seen: list[NDArray[np.int64]] = []
    for row in range(len(ids_BT)):
        here = [ids for _, ids in _sequences(ids_BT[row : row + 1], segment_ids_BT[row : row + 1])]
        if row - starts[-1] >= rows and _tree_size([*seen, *here]) > most:
            starts.append(row)
            seen = []
        seen += here
    return starts


def _tree_size(sequences: Sequence[NDArray[np.int64]]) -> int:
    size, before = 0, np.zeros(0, dtype=np.int64)
    for ids in sorted(sequences, key=lambda ids: ids.tolist()):
        size += len(ids) - _common(before, ids)
        before = ids
    return size


def _sequences(ids_BT: Tensor, segment_ids_BT: Tensor) -> list[tuple[int, NDArray[np.int64]]]:
    """The tokens of each sequence and where it begins in the flattened batch."""
    ids, segments = ids_BT.numpy(), segment_ids_BT.numpy()
    width = ids.shape[1]
    found = []
    for row in range(len(ids)):
        bounds = [0, *(np.flatnonzero(np.diff(segments[row])) + 1).tolist(), width]
        for start, stop in itertools.pairwise(bounds):
            if segments[row, start]:
                found.append((row * width + start, ids[row, start:stop]))
    return found


def _common(one_T: NDArray[np.int64], other_T: NDArray[np.int64]) -> int:
    width = min(len(one_T), len(other_T))
    differs_T = one_T[:width] != other_T[:width]
    return int(differs_T.argmax()) if differs_T.any() else width
