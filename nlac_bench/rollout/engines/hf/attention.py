"""Attention for decoding on CPUs that reads shared key heads once and may compute rows one by one.

If there is a mask, transformers copies each key head to all query heads that share it. With one new token per
row, the copy takes most of a step's time: with 48 rows of 1,000 tokens and two query heads per key head, 85
ms a layer instead of 5 ms on one core. A batch also attends to the length of its longest row: with 48
conversations of 30 to 1,000 tokens, this takes three times as long as computing each row by itself.
"""

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = "nlac_bench_rows_sdpa"
WORTH_A_CALL = 300
"""Number of keys of one row that take as long to read as another call of the kernel."""


def _rows_sdpa(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    lengths: Sequence[int] | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Compute scaled dot-product attention with transformers' interface.

    Inputs are ``[B, H, T, D]``, the output is ``[B, T, H, D]``.

    It computes in the dtype of the keys, which the cache keeps in float32 on CPUs, where the bf16 kernel is
    three times slower.

    Args:
        lengths: with one query per row, the number of keys of each row; rows are then computed one by one.
    """
    query_dtype, query = query.dtype, query.to(key.dtype)
    heads_per_key = query.shape[1] // key.shape[1]
    attend = functools.partial(nn.functional.scaled_dot_product_attention, dropout_p=dropout, scale=scaling)
    if query.shape[2] > 1:
        causal = bool(getattr(module, "is_causal", True)) if is_causal is None else is_causal
        output = attend(
            query,
            key,
            value,
            attn_mask=attention_mask,
            is_causal=causal and attention_mask is None,
            enable_gqa=heads_per_key > 1,
        )
    else:  # the query heads that share a key head are its queries, so that it is read once
        grouped = query.reshape(len(query), key.shape[1], heads_per_key, query.shape[3])
        if lengths is None:
            output = attend(grouped, key, value, attn_mask=attention_mask)
        else:
            rows = zip(grouped.split(1), key.split(1), value.split(1), lengths, strict=True)
            output = torch.cat([attend(q, k[:, :, :n], v[:, :, :n]) for q, k, v, n in rows])
        output = output.reshape(query.shape)
    return output.transpose(1, 2).to(query_dtype).contiguous(), None


AttentionInterface.register(NAME, _rows_sdpa)
AttentionMaskInterface.register(NAME, sdpa_mask)


def worth_alone(model: Any, lengths: Sequence[int]) -> bool:
    """Return whether to compute rows of these ``lengths`` one by one.

    This is the case if ``model`` uses this attention and reading the padding of a batch would take longer
    than one call per row.
    """
    padding = max(lengths) - sum(lengths) / len(lengths)
    return bool(model.config._attn_implementation == NAME) and padding > WORTH_A_CALL


def use_where_faster(model: Any) -> None:
    """Switch ``model`` to this attention if it is on a CPU and uses ``sdpa``; GPU kernels need the copies."""
    if model.device == torch.device("cpu") and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)
