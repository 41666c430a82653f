"""Registers our backends with vLLM, whose processes call the entry point ``vllm.general_plugins``."""

import os
from collections.abc import Mapping
from importlib import metadata
from typing import Literal, TypeAlias

from nlac_bench.errors import NlacBenchError

WeightsBy: TypeAlias = Literal["file", "nccl"]
"""How a server gets weights: from a file, or by broadcast (NCCL between GPUs, Gloo between CPUs)."""
BACKENDS: Mapping[WeightsBy, str] = {"file": "nlac_bench_file", "nccl": "nlac_bench_nccl"}
"""The name of the backend in vLLM's ``WeightTransferConfig``; that of ``nccl`` reads files too."""
_CLASSES = {"file": ("transfer", "FileTransfer"), "nccl": ("group_transfer", "GroupTransfer")}
GROUP, NAME = "vllm.general_plugins", "nlac_bench"
"""The entry point, as in ``pyproject.toml``."""


def register() -> None:
    """Add the backends; one is imported when a model is loaded whose configuration names it."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory as Factory

    for weights_by, backend in BACKENDS.items():
        if backend not in Factory._registry:  # vLLM loads a plug-in more than once
            module, name = _CLASSES[weights_by]
            Factory.register_engine(backend, f"nlac_bench.rollout.engines.vllm.{module}", name)


def check_registered() -> None:
    """Check that vLLM's processes will find the plug-in.

    Raises:
        NlacBenchError: nlac-bench is not installed in this environment, or ``VLLM_PLUGINS`` leaves it out.
    """
    if not metadata.entry_points(group=GROUP, name=NAME):
        raise NlacBenchError(
            f"vLLM does not find the plug-in {NAME!r}, through which it receives weights: nlac-bench is not "
            "installed in this environment, or an older version is; run pip install again"
        )
    allowed = os.environ.get("VLLM_PLUGINS")
    if allowed is not None and NAME not in allowed.split(","):
        raise NlacBenchError(
            f"VLLM_PLUGINS={allowed!r} leaves out the plug-in {NAME!r}, through which vLLM receives "
            "weights; add it, or unset VLLM_PLUGINS"
        )
