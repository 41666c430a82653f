"""Attention for decoding on CPUs: shared key heads are read where they are.

transformers copies each key head to all query heads that share it whenever there is a mask. For one new
token a row that copy is most of a step's time: with 48 rows of 1,000 tokens and two query heads a key head,
85 ms a layer against 5 ms on one core.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = "nlac_bench_grouped_sdpa"


def _grouped_sdpa(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Scaled dot products as transformers calls them: ``[B, H, T, D]`` in, ``[B, T, H, D]`` out.

    Computed in the precision of the keys, which the cache keeps in float32 on CPUs: their bf16 kernel is
    three times slower.
    """
    causal = bool(getattr(module, "is_causal", True)) if is_causal is None else is_causal
    output = nn.functional.scaled_dot_product_attention(
        query.to(key.dtype),
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        scale=scaling,
        is_causal=causal and attention_mask is None and query.shape[2] > 1,
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return output.transpose(1, 2).to(query.dtype).contiguous(), None


AttentionInterface.register(NAME, _grouped_sdpa)
AttentionMaskInterface.register(NAME, sdpa_mask)


def use_where_faster(model: Any) -> None:
    """Switch ``model`` to it: on CPUs, where it computes by ``sdpa`` now (GPU kernels want the copies)."""
    if model.device == torch.device("cpu") and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)
