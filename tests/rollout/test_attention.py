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


@pytest.mark.parametrize("alone", [True, False])
def test_one_query_a_row_is_sdpa(alone: bool) -> None:
    draw = torch.Generator().manual_seed(0)
    lengths = [1, 37, 12, 400]
    query, key, value = (torch.randn(4, n, t, 8, generator=draw) for n, t in ((6, 1), (2, 400), (2, 400)))
    mask = (torch.arange(400) < torch.tensor(lengths)[:, None])[:, None, None]
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True
    ).transpose(1, 2)
    found, _ = attention.rows_sdpa(
        torch.nn.Module(), query, key, value, mask, scaling=0.3, lengths=lengths if alone else None
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_rows_are_computed_alone_where_padding_costs_more() -> None:
    model = tiny_model.model()
    ragged, even = [50, 50, 50, 2000], [900, 1000, 1000]
    assert not attention.worth_alone(model, 1, ragged), "the model computes by transformers' own attention"
    attention.use_where_faster(model)
    assert attention.worth_alone(model, 1, ragged) and not attention.worth_alone(model, 1, even)


def test_an_eager_model_is_left_alone() -> None:
    model = tiny_model.model()
    model.set_attn_implementation("eager")
    attention.use_where_faster(model)
    assert model.config._attn_implementation == "eager"
