"""The GPUs that a measurement uses."""

import os
from dataclasses import dataclass
from typing import Self

from nlac_bench.errors import ConfigError

PEAK_FLOPS = {
    "A100": 312e12, "H100 PCIe": 756e12, "H100 NVL": 835e12, "H100": 989e12, "H200": 989e12, "B200": 2250e12,
}  # fmt: skip
"""Peak speed of dense bf16 matrix products in operations per second, from NVIDIA's data sheets."""


@dataclass(frozen=True)
class Device:
    """Where models are computed.

    Args:
        kind: ``cuda``, or ``cpu`` in tests.
        name: of one of the GPUs.
        count: number of GPUs of this machine.
        memory: bytes of one of them.
        ranks: number of processes that torchrun started, each with one of the GPUs; 1 without torchrun.
        peak: floating-point operations per second of one of them in bf16; None if unknown.
    """

    kind: str
    name: str
    count: int
    memory: float
    ranks: int = 1
    peak: float | None = None

    @classmethod
    def here(cls) -> Self:
        """Return the GPUs of this machine.

        Raises:
            ConfigError: PyTorch finds none.
        """
        import torch

        if not torch.cuda.is_available():
            raise ConfigError(
                f"bench-gpu needs an NVIDIA GPU, and PyTorch {torch.__version__} finds none; run it on a "
                "machine with one, where `nvidia-smi` lists it, with a build of PyTorch for CUDA"
            )
        properties = torch.cuda.get_device_properties(0)
        peaks = [peak for name, peak in PEAK_FLOPS.items() if name in properties.name]
        return cls(
            "cuda",
            properties.name,
            torch.cuda.device_count(),
            float(properties.total_memory),
            int(os.environ.get("WORLD_SIZE", "1")),
            peaks[0] if peaks else None,
        )
