"""TokenBatch: what the learner trains on, packed so that no token is padding if it can be helped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """One prompt with what was sampled (or shall be learned) after it, or a whole conversation.

    All lists are as long as ``ids`` and aligned with it: the entry at t belongs to the token ``ids[t]``,
    whose distribution the model gives at t - 1. The first token has no distribution: its mask is 0.

    Args:
        ids: token ids.
        loss_mask: 1 on the tokens that the loss is taken of.
        weight: of the whole sequence (importance weights of a prioritised replay).
        group_id: which prompt it belongs to, for algorithms that compare samples of one prompt.
    """

    ids: Sequence[int]
    loss_mask: Sequence[float]
    weight: float = 1.0
    advantages: Sequence[float] | None = None
    old_logprobs: Sequence[float] | None = None
    returns: Sequence[float] | None = None
    old_values: Sequence[float] | None = None
    group_id: int = 0

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a sequence needs at least one token")
        for name in ("loss_mask", *_OPTIONAL):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.ids):
                raise ValueError(f"{name} has {len(values)} entries for {len(self.ids)} tokens")
        if self.loss_mask[0]:
            raise ValueError("the first token of a sequence cannot be trained on: nothing predicts it")


_OPTIONAL = ("advantages", "old_logprobs", "returns", "old_values")


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Packed rows; every tensor is ``[B, T]`` or None.

    ``segment_ids`` number the sequences of a row from 1 and are 0 on padding; attention never crosses
    them, and ``position_ids`` start anew in each, so a sequence is computed as if it stood alone.
    ``weights`` is the sequence's weight on each of its tokens.
    """

    ids: Tensor
    position_ids: Tensor
    segment_ids: Tensor
    loss_mask: Tensor
    weights: Tensor
    group_id: Tensor
    advantages: Tensor | None = None
    old_logprobs: Tensor | None = None
    returns: Tensor | None = None
    old_values: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, start: int, stop: int) -> "TokenBatch":
        """Rows ``start`` to ``stop``."""
        return self._map(lambda tensor: tensor[start:stop])

    def to(self, device: torch.device) -> "TokenBatch":
        """The same batch on ``device``."""
        return self._map(lambda tensor: tensor.to(device))

    def _map(self, function: Callable[[Tensor], Tensor]) -> "TokenBatch":
        tensors: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        mapped: dict[str, Any] = {n: None if t is None else function(t) for n, t in tensors.items()}
        return TokenBatch(**mapped)

    def _trimmed(self) -> "TokenBatch":
        """Without the columns that are padding in every row."""
        used = int(self.segment_ids.any(dim=0).nonzero().max()) + 1
        return self._map(lambda tensor: tensor[:, :used])

    def micro_batches(self, starts: Sequence[int], count: int) -> Iterator["TokenBatch"]:
        """``count`` micro-batches; those beyond the batch have no loss.

        Ranks take part in each other's collectives, so all must run as many micro-batches as the busiest
        one: uneven counts hang.

        Args:
            starts: the first row of each micro-batch of this rank.
        """
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            yield self.rows(start, stop)._trimmed()
        first = self.rows(0, 1)
        for _ in range(count - len(starts)):
            yield replace(first, loss_mask=torch.zeros_like(first.loss_mask))


def pack(sequences: Sequence[TokenSequence], row_tokens: int, pad_id: int = 0) -> TokenBatch:
    """Put ``sequences`` into rows of ``row_tokens`` tokens, in the order of their tokens, each where it
    first fits.

    In this order sequences that begin alike come together, which CPUs make use of (see ``prefixes.py``).
    A longer sequence has a row of its own. Attention costs by the square of a row's length, so rows of many
    times the usual sequence waste what packing saves. Rows keep the order in which they were opened,
    sequences in a row the order in which they came in, so that the same input always gives the same batch.

    Raises:
        ValueError: without sequences.
    """
    if not sequences:
        raise ValueError("nothing to pack: there is no sequence")
    order = sorted(range(len(sequences)), key=lambda i: list(sequences[i].ids))
    free: list[int] = []
    rows: list[list[int]] = []
    for i in order:
        need = len(sequences[i].ids)
        row = next((r for r, left in enumerate(free) if left >= need), None)
        if row is None:
            row = len(rows)
            rows.append([])
            free.append(row_tokens)
        rows[row].append(i)
        free[row] -= need
    return _lay_out([[sequences[i] for i in sorted(row)] for row in rows], pad_id)


def one_a_row(sequences: Sequence[TokenSequence], pad_id: int = 0) -> TokenBatch:
    """Each sequence in a row of its own, in order: what packing must be equal to."""
    return _lay_out([[sequence] for sequence in sequences], pad_id)


def _lay_out(rows: Sequence[Sequence[TokenSequence]], pad_id: int) -> TokenBatch:
    width = max(sum(len(s.ids) for s in row) for row in rows)
    shape = (len(rows), width)
    ids = torch.full(shape, pad_id, dtype=torch.long)
    position_ids, segment_ids, group_id = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    loss_mask, weights = torch.zeros(shape), torch.zeros(shape)
    present = [n for n in _OPTIONAL if all(getattr(s, n) is not None for row in rows for s in row)]
    optional = {name: torch.zeros(shape) for name in present}
    for r, row in enumerate(rows):
        start = 0
        for number, sequence in enumerate(row, start=1):
            span = slice(start, start + len(sequence.ids))
            ids[r, span] = torch.tensor(sequence.ids)
            position_ids[r, span] = torch.arange(len(sequence.ids))
            segment_ids[r, span] = number
            loss_mask[r, span] = torch.tensor(sequence.loss_mask, dtype=torch.float32)
            weights[r, span] = sequence.weight
            group_id[r, span] = sequence.group_id
            for name, tensor in optional.items():
                tensor[r, span] = torch.tensor(getattr(sequence, name), dtype=torch.float32)
            start = span.stop
    return TokenBatch(ids, position_ids, segment_ids, loss_mask, weights, group_id, **optional)
