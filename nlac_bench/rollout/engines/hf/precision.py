"""Tells whether this machine computes faster in bf16 than in float32."""

import os
from pathlib import Path

AMD = "AuthenticAMD"


def fast_bf16() -> bool:
    """Return whether this machine multiplies matrices faster in bf16 than in float32.

    GPUs, CPUs with AMX, and CPUs of AMD with AVX-512's bf16 instructions do. On an Intel CPU, these
    instructions alone are slower than float32. Measured on one core with oneDNN, 2,048 x 256 by 256 x 768:
    58 against 100 GFLOP/s on Intel, 201 against 87 on Zen 4. ``ONEDNN_MAX_CPU_ISA``, oneDNN's own limit on
    instruction sets, is respected.
    """
    import torch

    if torch.cuda.is_available():
        return True
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    amx_allowed = limit in ("ALL", "DEFAULT") or "AMX" in limit or limit.startswith("AVX10_2")
    avx512_allowed = amx_allowed or limit.endswith(("BF16", "FP16"))
    return (amx_allowed and torch.cpu._is_amx_tile_supported()) or (
        avx512_allowed and torch.cpu._is_avx512_bf16_supported() and cpu_info("vendor_id") == AMD
    )


def cpu_info(field: str) -> str:
    """Return a field of the first CPU in Linux's ``/proc/cpuinfo``, such as ``vendor_id``; "" without it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(field)), "")
