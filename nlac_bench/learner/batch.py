"""TokenBatch: the learner's input, sequences packed into rows with little padding."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias, get_args

import torch
from torch import Tensor

LossName: TypeAlias = Literal["policy", "critic"]
_LOSSES: tuple[LossName, ...] = get_args(LossName)


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """A prompt followed by the tokens to learn, or a whole conversation.

    All lists have the length of ``ids`` and are aligned with it: the entry at t belongs to the token
    ``ids[t]``, which the model predicts at t - 1. The first token is not predicted, so its mask must be 0.

    Args:
        ids: token ids.
        loss_mask: 1 on the tokens that contribute to the loss.
        weight: factor of the whole sequence, such as the importance weight of a prioritised replay.
        group_id: index of the prompt, lesson or turn that the sequence belongs to.
        loss: which loss the sequence contributes to, for algorithms that train two at once.
        restricted: the tokens that were possible, for each index whose token was chosen among a few
            (``Filled.restricted``); its log-probability is that of the distribution restricted to them.

    Raises:
        ValueError: ``ids`` is empty, a list has another length, the first token is in ``loss_mask``,
            ``loss`` is unknown, or a token is not among those that were possible.
    """

    ids: Sequence[int]
    loss_mask: Sequence[float]
    weight: float = 1.0
    advantages: Sequence[float] | None = None
    old_logprobs: Sequence[float] | None = None
    returns: Sequence[float] | None = None
    old_values: Sequence[float] | None = None
    group_id: int = 0
    loss: LossName = "policy"
    restricted: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.ids:
            raise ValueError("a sequence needs at least one token")
        for name in ("loss_mask", *_OPTIONAL):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.ids):
                raise ValueError(f"{name} has {len(values)} entries for {len(self.ids)} tokens")
        if self.loss_mask[0]:
            raise ValueError("the first token of a sequence cannot be trained on: set loss_mask[0] to 0")
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be one of {', '.join(_LOSSES)}, got {self.loss!r}")
        for at, possible in self.restricted.items():
            if not 0 < at < len(self.ids) or self.ids[at] not in possible:
                raise ValueError(f"restricted[{at}] = {possible!r} does not contain the token at index {at}")


_OPTIONAL = ("advantages", "old_logprobs", "returns", "old_values")


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Packed rows; every tensor is ``[B, T]`` or None, and ``allowed`` is ``[B, T, A]`` or None.

    ``segment_ids`` number the sequences of a row from 1 and are 0 on padding. Attention does not cross
    segments and ``position_ids`` restart at 0 in each, so that a sequence is computed as if it were alone.
    ``weights``, ``group_id`` and ``loss_id`` repeat the sequence's value on each of its tokens; ``mask_of``
    reads ``loss_id``. ``allowed`` are the tokens to which the distribution of a token is restricted, padded
    with -1, or only -1 without a restriction.
    """

    ids: Tensor
    position_ids: Tensor
    segment_ids: Tensor
    loss_mask: Tensor
    weights: Tensor
    group_id: Tensor
    loss_id: Tensor
    advantages: Tensor | None = None
    old_logprobs: Tensor | None = None
    returns: Tensor | None = None
    old_values: Tensor | None = None
    allowed: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """The number of tokens, without padding."""
        return int((self.segment_ids != 0).sum())

    def examples(self) -> dict[LossName, int]:
        """Return the number of sequences that contribute to each loss, without losses that have none."""
        own_BT = self.loss_mask != 0
        rows_BT = torch.arange(len(self.ids)).to(self.ids.device)[:, None].expand_as(own_BT)
        each_N3 = torch.stack([rows_BT, self.segment_ids, self.loss_id], dim=-1)[own_BT].unique(dim=0)
        return {name: int(n) for i, name in enumerate(_LOSSES) if (n := (each_N3[:, 2] == i).sum())}

    def mask_of(self, loss: LossName) -> Tensor:
        """Return ``loss_mask`` where the sequence contributes to ``loss``, 0 elsewhere, ``[B, T]``."""
        return self.loss_mask * (self.loss_id == _LOSSES.index(loss))

    def rows(self, start: int, stop: int) -> "TokenBatch":
        """Return rows ``start`` to ``stop``."""
        return self._map(lambda tensor: tensor[start:stop])

    def to(self, device: torch.device) -> "TokenBatch":
        """Return the same batch on ``device``."""
        return self._map(lambda tensor: tensor.to(device))

    def _map(self, function: Callable[[Tensor], Tensor]) -> "TokenBatch":
        tensors: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        mapped: dict[str, Any] = {n: None if t is None else function(t) for n, t in tensors.items()}
        return TokenBatch(**mapped)

    def _trimmed(self) -> "TokenBatch":
        """Return the batch without the columns that are padding in every row."""
        used = int(self.segment_ids.any(dim=0).nonzero().max()) + 1
        return self._map(lambda tensor: tensor[:, :used])

    def micro_batches(self, starts: Sequence[int], count: int) -> Iterator["TokenBatch"]:
        """Yield ``count`` micro-batches; those past the end of the batch have no loss.

        All ranks must run the same number of micro-batches, that of the rank with the most: each one takes
        part in collective operations, which wait for every rank.

        Args:
            starts: the first row of each micro-batch of this rank.
        """
        for start, stop in zip(starts, [*starts[1:], len(self)], strict=True):
            yield self.rows(start, stop)._trimmed()
        for _ in range(count - len(starts)):
            yield self.without_loss()

    def without_loss(self) -> "TokenBatch":
        """Return the first token of the batch, without its contribution to any loss."""
        first = self.rows(0, 1)._map(lambda tensor: tensor[:, :1])
        return replace(
            first, loss_mask=torch.zeros_like(first.loss_mask), weights=torch.zeros_like(first.weights)
        )


def first_tokens(batch: TokenBatch) -> Tensor:
    """Return the mask of actions' first tokens, ``[B, T]``: trained tokens that follow an untrained one."""
    own_BT = batch.loss_mask != 0
    return own_BT & ~torch.cat([torch.zeros_like(own_BT[:, :1]), own_BT[:, :-1]], dim=1)


def last_tokens(batch: TokenBatch) -> Tensor:
    """Return the mask of actions' last tokens, ``[B, T]``: trained tokens followed by an untrained one."""
    own_BT = batch.loss_mask != 0
    return own_BT & ~torch.cat([own_BT[:, 1:], torch.zeros_like(own_BT[:, :1])], dim=1)


def learned_tokens(sequences: Sequence[TokenSequence], weighted: bool = False) -> float:
    """Return the number of trained tokens in ``sequences``, at least 1; ``weighted`` by their sequences."""
    return max(1.0, float(sum(sum(s.loss_mask) * (s.weight if weighted else 1.0) for s in sequences)))


def pack(sequences: Sequence[TokenSequence], row_tokens: int, pad_id: int = 0) -> TokenBatch:
    """Pack ``sequences``, sorted by their tokens, into rows of ``row_tokens`` by first fit.

    Sorting puts sequences with a common beginning next to each other; a CPU computes that beginning once
    (``prefixes.py``). A sequence longer than ``row_tokens`` gets its own row. The cost of attention
    grows with the square of a row's length, so rows much longer than the usual sequence cost more than
    packing saves. Rows stay in the order in which they were opened and sequences within a row in the order
    of ``sequences``, so that the same input always gives the same batch.

    Raises:
        ValueError: ``sequences`` is empty.
    """
    if not sequences:
        raise ValueError("cannot pack an empty list of sequences")
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
    """Put each sequence into its own row, in order; the reference that ``pack`` must agree with."""
    return _lay_out([[sequence] for sequence in sequences], pad_id)


def _lay_out(rows: Sequence[Sequence[TokenSequence]], pad_id: int) -> TokenBatch:
    width = max(sum(len(s.ids) for s in row) for row in rows)
    shape = (len(rows), width)
    ids = torch.full(shape, pad_id, dtype=torch.long)
    position_ids, segment_ids, group_id, loss_id = (torch.zeros(shape, dtype=torch.long) for _ in range(4))
    loss_mask, weights = torch.zeros(shape), torch.zeros(shape)
    present = [n for n in _OPTIONAL if all(getattr(s, n) is not None for row in rows for s in row)]
    optional = {name: torch.zeros(shape) for name in present}
    most = max((len(each) for row in rows for s in row for each in s.restricted.values()), default=0)
    allowed = torch.full((*shape, most), -1, dtype=torch.long) if most else None
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
            loss_id[r, span] = _LOSSES.index(sequence.loss)
            for name, tensor in optional.items():
                tensor[r, span] = torch.tensor(getattr(sequence, name), dtype=torch.float32)
            if allowed is not None:
                for at, possible in sequence.restricted.items():
                    allowed[r, start + at, : len(possible)] = torch.tensor(possible)
            start = span.stop
    return TokenBatch(
        ids, position_ids, segment_ids, loss_mask, weights, group_id, loss_id, allowed=allowed, **optional
    )
