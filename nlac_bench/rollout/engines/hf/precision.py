"""Tells whether this machine computes faster in bf16 than in float32."""

import os


def fast_bf16() -> bool:
    """Return whether this machine multiplies matrices faster in bf16 than in float32 (GPUs, CPUs with AMX).

    AVX-512's bf16 instructions alone are slower: measured on one core, oneDNN multiplies 2,048 x 256 by
    256 x 768 at 58 GFLOP/s in bf16 and at 100 GFLOP/s in float32. ``ONEDNN_MAX_CPU_ISA``, oneDNN's own limit
    on instruction sets, is respected.
    """
    import torch

    if torch.cuda.is_available():
        return True
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL").upper()
    allowed = limit in ("ALL", "DEFAULT") or "AMX" in limit or limit.startswith("AVX10_2")
    return allowed and torch.cpu._is_amx_tile_supported()
