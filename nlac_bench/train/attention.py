"""Attention of packed rows by segment, on CPUs: a mask would have every token look at the whole row.

A row of eight sequences costs an eighth of the masked row's attention, and the causal kernel skips half of
that. Kernels on GPUs are quick at what a CPU is slow at, so there the mask stays.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "nlac_bench_segments_sdpa"


def segment_lengths(segment_ids_BT: Tensor) -> list[list[int]]:
    """Lengths of each row's segments in their order; the padding at its end is one of them."""
    return [torch.unique_consecutive(row_T, return_counts=True)[1].tolist() for row_T in segment_ids_BT]


def _by_segment(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    segments: list[list[int]] | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """``[B, heads, T, width]`` each; ``segments`` says what ``attention_mask`` does and replaces it."""
    if segments is None:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, dropout=dropout, **kwargs
        )
    rows = []
    for row, lengths in enumerate(segments):
        parts = zip(*(tensor[row : row + 1].split(lengths, 2) for tensor in (query, key, value)), strict=True)
        attended = [
            nn.functional.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout, is_causal=True, scale=scaling, enable_gqa=True
            )
            for q, k, v in parts
        ]
        rows.append(torch.cat(attended, 2))
    return torch.cat(rows).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, _by_segment)
AttentionMaskInterface.register(NAME, sdpa_mask)


def use_where_faster(model: Any, device: torch.device) -> None:
    """Switch ``model`` to it on CPUs, where it computes by ``sdpa`` now."""
    if device.type == "cpu" and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)
