"""bf16 is chosen where it is faster than float32."""

import pytest
import torch

from nlac_bench.rollout.engines.hf.precision import fast_bf16


@pytest.mark.parametrize(
    ("amx", "limit", "expected"),
    [
        (True, None, True),
        (True, "ALL", True),
        (True, "AVX512_CORE_AMX", True),
        (True, "AVX512_CORE_BF16", False),
        (True, "avx2", False),
        (False, None, False),
        (False, "AVX512_CORE_AMX", False),
    ],
)
def test_on_cpus_bf16_needs_amx(
    monkeypatch: pytest.MonkeyPatch, amx: bool, limit: str | None, expected: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    if limit is not None:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    assert fast_bf16() is expected
