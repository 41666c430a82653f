"""Attention over a tree of prefixes: each token attends to its own path instead of the whole row.

With a mask, scores are computed between every token and its whole row: for a row of eight sequences, eight
times the work, and the causal kernel would also skip half of the rest. A dense mask of a row of 16k tokens
has 256 MB. GPUs get a tree without shared nodes, so that every sequence is computed by a causal kernel.
"""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from nlac_bench.learner.prefixes import PrefixTree

NAME = "nlac_bench_prefix_tree_sdpa"


def _by_path(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    tree: PrefixTree | None = None,
    **kwargs: object,
) -> tuple[Tensor, None]:
    """Compute attention along the paths of ``tree``, or transformers' own attention if ``tree`` is None.

    ``query``, ``key`` and ``value`` are ``[B, heads, T, width]``; with ``tree``, B is 1, T is the number of
    its nodes, and the mask is not read.
    """
    if tree is None:
        output: Tensor
        output, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, dropout=dropout, **kwargs
        )
        return output, None
    paths = tree.paths
    keys, values = (
        (tensor if paths is None else tensor.index_select(2, paths)).split(tree.lengths, 2)
        for tensor in (key, value)
    )
    attended = [
        nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=_mask(q, k), dropout_p=dropout, is_causal=q.shape[2] == k.shape[2],
            scale=scaling, enable_gqa=True,
        )
        for q, k, v in zip(query.split(tree.new, 2), keys, values, strict=True)
    ]  # fmt: skip
    return torch.cat(attended, 2).transpose(1, 2).contiguous(), None


def _mask(query: Tensor, key: Tensor) -> Tensor | None:
    """Return the mask of the queries (the last tokens of the keys' path); None if all tokens are queries."""
    asked, given = query.shape[2], key.shape[2]
    if asked == given:
        return None
    return torch.ones(asked, given, dtype=torch.bool, device=query.device).tril(given - asked)


AttentionInterface.register(NAME, _by_path)
AttentionMaskInterface.register(NAME, sdpa_mask)


def replace_sdpa(model: Any) -> None:
    """Switch ``model`` to this attention if it uses ``sdpa``."""
    if model.config._attn_implementation == "sdpa":
        model.set_attn_implementation(NAME)
