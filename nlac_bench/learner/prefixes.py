"""The tree of a micro-batch's prefixes: without padding, and on CPUs without repeated beginnings.

A token's hidden state depends only on the tokens before it, so sequences with the same beginning have the
same states up to their first difference. NLAC trains on a critic's and a policy's sequence for each
transition, and on several transitions of an episode: 60 % of its tokens repeat the beginning of an earlier
sequence.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nlac_bench.rollout.engines.common_beginning import common_length_of_arrays


@dataclass(frozen=True, slots=True)
class PrefixTree:
    """A tree of N nodes, one for each different prefix of the sequences in a ``[B, T]`` micro-batch.

    The nodes that a sequence adds to the tree have consecutive numbers, in the order of its tokens.

    Args:
        first_N: the first position of each node's token in the flattened batch.
        node_BT: the node of each token; 0 on padding.
        new: the number of nodes that each sequence adds, without sequences that add no node. Sums to N.
        paths: all nodes of each of these sequences, from its first token to its last, concatenated; None if
            each sequence has nodes of its own, which are then its path.
        lengths: the lengths of the paths.
    """

    first_N: Tensor
    node_BT: Tensor
    new: list[int]
    paths: Tensor | None
    lengths: list[int]

    def to(self, device: torch.device) -> "PrefixTree":
        """Return the tree with its tensors on ``device``."""
        paths = None if self.paths is None else self.paths.to(device)
        return replace(self, first_N=self.first_N.to(device), node_BT=self.node_BT.to(device), paths=paths)


def prefix_tree(ids_BT: Tensor, segment_ids_BT: Tensor, shared: bool = True) -> PrefixTree:
    """Build the tree of all sequences of a micro-batch, which must be on the CPU (see ``TokenBatch``).

    Args:
        shared: False for a tree in which no sequence shares a node with another one. Each then attends to
            itself without a mask, which the fastest kernels of GPUs need.
    """
    node_BT = np.zeros(ids_BT.shape, dtype=np.int64)
    node_flat = node_BT.reshape(-1)
    first: list[NDArray[np.int64]] = []
    paths: list[NDArray[np.int64]] = []
    new: list[int] = []
    nodes = 0
    before = path = np.zeros(0, dtype=np.int64)
    for start, ids in sorted(_sequences(ids_BT, segment_ids_BT), key=lambda item: item[1].tolist()):
        # The order is sorted, so the previous sequence shares the longest beginning of all earlier ones.
        known = common_length_of_arrays(before, ids) if shared else 0
        added = len(ids) - known
        path = np.concatenate([path[:known], np.arange(nodes, nodes + added)])
        node_flat[start : start + len(ids)] = path
        if added:
            first.append(np.arange(start + known, start + len(ids)))
            paths.append(path)
            new.append(added)
        nodes, before = nodes + added, ids
    return PrefixTree(
        torch.from_numpy(np.concatenate(first)),
        torch.from_numpy(node_BT),
        new,
        torch.from_numpy(np.concatenate(paths)) if shared else None,
        [len(p) for p in paths],
    )


def micro_batch_starts(ids_BT: Tensor, segment_ids_BT: Tensor, rows: int) -> list[int]:
    """Return the first rows of micro-batches.

    Each micro-batch has at least ``rows`` rows (except the last), and further ones while its tree has at most
    as many nodes as ``rows`` full rows have tokens.
    """
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
        size += len(ids) - common_length_of_arrays(before, ids)
        before = ids
    return size


def _sequences(ids_BT: Tensor, segment_ids_BT: Tensor) -> list[tuple[int, NDArray[np.int64]]]:
    """Return the start of each sequence in the flattened batch, and its tokens."""
    ids, segments = ids_BT.numpy(), segment_ids_BT.numpy()
    width = ids.shape[1]
    shared = []
    for row in range(len(ids)):
        bounds = [0, *(np.flatnonzero(np.diff(segments[row])) + 1).tolist(), width]
        for start, stop in itertools.pairwise(bounds):
            if segments[row, start]:
                shared.append((row * width + start, ids[row, start:stop]))
    return shared
