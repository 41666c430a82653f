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
FEW = 8
"""Number of new tokens per row up to which reading the keys takes longer than computing with them."""


def rows_sdpa(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    lengths: Sequence[int] | None = None,
    **_: object,
) -> tuple[Tensor, None]:
    """Compute scaled dot-product attention with transformers' interface.

    Inputs are ``[B, H, T, D]``, the output is ``[B, T, H, D]``.

    It computes in the dtype of the keys, which the cache keeps in float32 on CPUs, where the bf16 kernel is
    three times slower.

    Args:
        lengths: with at most ``FEW`` queries per row, the number of keys of each row; rows are then computed
            one by one.
    """
    query_dtype, query = query.dtype, query.to(key.dtype)
    heads_per_key = query.shape[1] // key.shape[1]
    attend = functools.partial(nn.functional.scaled_dot_product_attention, dropout_p=dropout, scale=scaling)
    count = query.shape[2]
    if count > FEW or (count > 1 and attention_mask is None):
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
        grouped = query.reshape(len(query), key.shape[1], heads_per_key * count, query.shape[3])
        mask = attention_mask
        if mask is not None and count > 1:
            mask = mask.repeat(1, 1, heads_per_key, 1)
        if lengths is None:
            output = attend(grouped, key, value, attn_mask=mask)
        else:
            rows = [slice(r, r + 1) for r in range(len(lengths))]
            # A single query attends to all keys of its row and needs no mask.
            masks = [
                None if mask is None or count == 1 else mask[r, ..., :n]
                for r, n in zip(rows, lengths, strict=True)
            ]
            output = torch.cat(
                [
                    attend(grouped[r], key[r, :, :n], value[r, :, :n], attn_mask=m)
                    for r, n, m in zip(rows, lengths, masks, strict=True)
                ]
            )
        output = output.reshape(query.shape)
    return output.transpose(1, 2).to(query_dtype).contiguous(), None


AttentionInterface.register(NAME, rows_sdpa)
AttentionMaskInterface.register(NAME, sdpa_mask)


def worth_alone(model: Any, count: int, lengths: Sequence[int]) -> bool:
    """Return whether to compute rows with ``count`` new tokens, of these ``lengths``, one by one.

    This is the case if ``model`` uses this attention, the new tokens are few, and reading the padding of a
    batch would take longer than one call per row.
    """
    padding = max(lengths) - sum(lengths) / len(lengths)
    return bool(model.config._attn_implementation == NAME) and count <= FEW and padding > WORTH_A_CALL


def use_where_faster(model: Any) -> None:
    """Switch ``model`` to this attention if it is on a CPU and uses ``sdpa``."""
    if model.device == torch.device("cpu") and model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)
