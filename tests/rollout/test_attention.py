"""Attention without copies of shared key heads gives what transformers' own gives."""

import pytest
import torch

from nlac_bench.rollout.engines.hf import attention
from tests.rollout import tiny_model


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_grouped_attention_is_sdpa(dtype: torch.dtype) -> None:
    ids_BT = torch.randint(5, 300, (3, 40), generator=torch.Generator().manual_seed(0))
    mask_B1TT = torch.ones(40, 40, dtype=torch.bool).tril().expand(3, 1, 40, 40).clone()
    mask_B1TT[1, :, 20:, :10] = False
    plain, grouped = (tiny_model.model().to(dtype) for _ in range(2))
    attention.use_where_faster(grouped)
    assert grouped.config._attn_implementation == attention.NAME
    with torch.no_grad():
        for mask in (None, mask_B1TT):
            expected, found = (m(ids_BT, attention_mask=mask).logits for m in (plain, grouped))
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 if dtype == torch.float32 else 0.2)


def test_an_eager_model_is_left_alone() -> None:
    model = tiny_model.model()
    model.set_attn_implementation("eager")
    attention.use_where_faster(model)
    assert model.config._attn_implementation == "eager"
