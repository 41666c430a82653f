"""Whether bf16 is fast here."""


def fast_bf16() -> bool:
    """Whether this machine multiplies bf16 in hardware; on other CPUs it can be slower than float32."""
    import torch

    if torch.cuda.is_available():
        return True
    return bool(torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported())
