"""A key/value cache with one slot per conversation; adding or removing a row does not move the others.

Every row is left-aligned: token ``t`` of a conversation is at position ``t`` of its slot, independently of
the other rows. A query at position ``p`` attends to positions up to ``p``, all of which contain tokens of
its own row, so stale values of a longer earlier conversation or of padding are never read.
"""

import math
import mmap
from collections.abc import Iterator, Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_FIRST_LENGTH = 256
_DOUBLED_UP_TO = 4096
"""Growing copies the cache, so shorter caches are doubled; longer ones grow by a quarter to save memory."""


class _Frame:
    """The part of the cache that a forward pass works on: rows ``[first, last)`` and ``positions_RQ``."""

    first: int = 0
    last: int = 0
    length: int = 0
    positions_RQ: torch.Tensor


class _SlotLayer(CacheLayerMixin):
    """The keys and values of one layer, ``[slot, head, position, dim]``."""

    def __init__(self, frame: _Frame, slots: int, length: int) -> None:
        super().__init__()
        self.frame = frame
        self.slots, self.length = slots, length

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        heads, dim = key_states.shape[1], key_states.shape[3]
        self.keys = _zeros(key_states, (self.slots, heads, self.length, dim))
        self.values = _zeros(value_states, (self.slots, heads, self.length, dim))
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        frame = self.frame
        rows_R1 = torch.arange(frame.first, frame.last, device=key_states.device)[:, None]
        self.keys[rows_R1, :, frame.positions_RQ] = key_states.transpose(1, 2).to(self.keys.dtype)
        self.values[rows_R1, :, frame.positions_RQ] = value_states.transpose(1, 2).to(self.values.dtype)
        window = (slice(frame.first, frame.last), slice(None), slice(frame.length))
        return self.keys[window], self.values[window]

    def resize(self, slots: int, length: int, used: Sequence[int]) -> None:
        if self.is_initialized:
            assert self.keys is not None and self.values is not None
            self.keys, self.values = (_enlarged(t, slots, length, used) for t in (self.keys, self.values))
        self.slots, self.length = slots, length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.frame.length, 0

    def get_seq_length(self) -> int:
        return self.frame.length

    def get_max_length(self) -> int:
        return -1


class SlotCache(Cache):
    """The cache of all layers. It grows when needed and never shrinks.

    Args:
        layers: number of layers of the model.
        slots: number of conversations that it has room for at first.
        length: number of tokens of each that it has room for at first.
    """

    def __init__(self, layers: int, slots: int = 0, length: int = 0) -> None:
        self.frame = _Frame()
        self.slots, self.length = slots, length
        self._slot_layers = [_SlotLayer(self.frame, slots, length) for _ in range(layers)]
        super().__init__(layers=list(self._slot_layers))

    def reserve(self, slots: int, length: int, most_slots: int, used: Sequence[int]) -> None:
        """Make room for ``slots`` conversations of ``length`` tokens; the cache grows in large steps.

        Args:
            used: the number of tokens that each slot holds, which are kept.
        """
        if slots > self.slots or length > self.length:
            if slots > self.slots:
                self.slots = min(most_slots, max(slots, 2 * self.slots))
            if length > self.length:
                self.length = max(_FIRST_LENGTH, length + length // 4, min(2 * self.length, _DOUBLED_UP_TO))
            for layer in self._slot_layers:
                layer.resize(self.slots, self.length, used)

    def focus(self, first: int, positions_RQ: torch.Tensor, length: int) -> None:
        """Set the part of the next pass: it writes slots from ``first`` on, at ``positions_RQ``."""
        self.frame.first, self.frame.last = first, first + positions_RQ.shape[0]
        self.frame.positions_RQ, self.frame.length = positions_RQ, length

    def copy(self, source: int, target: int, length: int) -> None:
        """Copy the first ``length`` positions of slot ``source`` to slot ``target``."""
        for keys, values in self._tensors():
            keys[target, :, :length] = keys[source, :, :length]
            values[target, :, :length] = values[source, :, :length]

    def swap(self, one: int, other: int, length: int) -> None:
        """Exchange the first ``length`` positions of two slots."""
        for pair in self._tensors():
            for tensor in pair:
                held = tensor[one, :, :length].clone()
                tensor[one, :, :length] = tensor[other, :, :length]
                tensor[other, :, :length] = held

    def _tensors(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for layer in self._slot_layers:
            if layer.keys is not None and layer.values is not None:
                yield layer.keys, layer.values


def _zeros(like: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Return zeros on the device of ``like``, in its dtype on GPUs and in float32 on CPUs.

    CPUs attend faster in float32 (see attention.py). Their zeros are mapped pages, which take memory when
    they are first written: most of a cache is never written, but torch writes all zeros, and NumPy asks for
    pages of 2 MB, which span several conversations.
    """
    if like.is_cuda:
        return like.new_zeros(shape)
    pages = mmap.mmap(-1, 4 * math.prod(shape), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(pages, dtype=torch.float32).view(shape)


def _enlarged(tensor: torch.Tensor, slots: int, length: int, used: Sequence[int]) -> torch.Tensor:
    """Return a larger cache with the ``used`` tokens of each slot; a copy of the rest would take memory."""
    larger = _zeros(tensor, (slots, tensor.shape[1], length, tensor.shape[3]))
    for slot, count in enumerate(used):
        larger[slot, :, :count] = tensor[slot, :, :count]
    return larger
