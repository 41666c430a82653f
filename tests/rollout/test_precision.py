"""bf16 is chosen where it is faster than float32."""

import pytest
import torch

from nlac_bench.rollout.engines.hf import precision
from nlac_bench.rollout.engines.hf.precision import fast_bf16


@pytest.mark.parametrize(
    ("amx", "avx512", "vendor", "limit", "expected"),
    [
        (True, True, "GenuineIntel", None, True),
        (True, True, "GenuineIntel", "ALL", True),
        (True, True, "GenuineIntel", "AVX512_CORE_AMX", True),
        (True, True, "GenuineIntel", "AVX512_CORE_BF16", False),
        (True, True, "GenuineIntel", "avx2", False),
        (False, True, "GenuineIntel", None, False),
        (False, False, "GenuineIntel", "AVX512_CORE_AMX", False),
        (False, True, "AuthenticAMD", None, True),
        (False, True, "AuthenticAMD", "AVX512_CORE_BF16", True),
        (False, True, "AuthenticAMD", "AVX512_CORE_VNNI", False),
        (False, False, "AuthenticAMD", None, False),
        (False, True, "", None, False),
    ],
)
def test_on_cpus_bf16_needs_amx_or_instructions_of_amd(
    monkeypatch: pytest.MonkeyPatch, amx: bool, avx512: bool, vendor: str, limit: str | None, expected: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(precision, "cpu_info", lambda field: vendor)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    if limit is not None:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    assert fast_bf16() is expected
