"""Attention by segment is the masked attention, gradients included."""

import torch
from torch import nn

from nlac_bench.train import attention
from nlac_bench.train.model import _attention_mask


def test_by_segment_equals_the_mask() -> None:
    torch.manual_seed(0)
    segment_ids_BT = torch.tensor([[1] * 5 + [2] * 1 + [3] * 9 + [0] * 3, [1] * 18])
    assert attention.segment_lengths(segment_ids_BT) == [[5, 1, 9, 3], [18]]
    mask = _attention_mask(segment_ids_BT)
    assert mask is not None
    layer = nn.Module()
    layer.num_key_value_groups = 2  # type: ignore[assignment]
    shapes = ((2, 4, 18, 8), (2, 2, 18, 8), (2, 2, 18, 8))
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    query, key, value = tensors
    weights = torch.randn(2, 18, 4, 8, dtype=torch.float64)
    found = []
    for segments in (None, attention.segment_lengths(segment_ids_BT)):
        output, _ = attention._by_segment(layer, query, key, value, mask, scaling=0.3, segments=segments)
        found.append([output, *torch.autograd.grad((output * weights).sum(), tensors)])
    for masked, by_segment in zip(*found, strict=True):
        torch.testing.assert_close(by_segment, masked, rtol=0, atol=1e-12)
