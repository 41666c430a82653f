"""Functions of the logits of many tokens, computed in chunks: the logits of all tokens never exist at once.

The logits of 16,000 tokens of a vocabulary of 152,000 take 10 GB in float32, and the KL to the reference
model with its gradient nine times as much. Here each chunk's logits are computed in the forward pass, and
once more in the backward pass (``torch.utils.checkpoint``).
"""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nlac_bench.learner.memory import CHUNK_LOGITS


class Logits:
    """The logits ``head(hidden_MH)`` of M tokens, ``[M, V]``."""

    def __init__(self, hidden_MH: Tensor, head: nn.Module) -> None:
        self.hidden_MH, self.head = hidden_MH, head

    @cached_property
    def _whole_MV(self) -> Tensor:
        logits_MV: Tensor = self.head(self.hidden_MH)
        return logits_MV

    def each(self, function: Callable[..., Tensor], *others: Tensor) -> Tensor:
        """Return ``function(logits, *others)`` of all tokens, ``[M]``; it is called once for each chunk.

        One chunk is not computed again in the backward pass, and several calls share its logits.

        Args:
            function: of logits ``[m, V]`` and the same m rows of ``others``; returns ``[m]``.
            others: tensors whose first axis are the M tokens.
        """
        vocabulary = self.head.get_parameter("weight").shape[0]
        tokens = max(1, CHUNK_LOGITS[self.hidden_MH.device.type] // vocabulary)
        if len(self.hidden_MH) <= tokens:
            return function(self._whole_MV, *others)

        def of_chunk(hidden_mH: Tensor, *rest: Tensor) -> Tensor:
            logits_mV: Tensor = self.head(hidden_mH)
            return function(logits_mV, *rest)

        chunks = zip(*(tensor.split(tokens) for tensor in (self.hidden_MH, *others)), strict=True)
        return torch.cat(
            [checkpoint(of_chunk, *c, use_reentrant=False, preserve_rng_state=False) for c in chunks]
        )

    def zero(self) -> Tensor:
        """Return a zero that depends on the hidden states and the head, without computing any logits."""
        logits_0V: Tensor = self.head(self.hidden_MH[:0])
        return self.hidden_MH.sum() * 0.0 + logits_0V.sum()
