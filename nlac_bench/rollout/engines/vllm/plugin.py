"""Registers ``FileTransfer`` with vLLM, whose processes call the entry point ``vllm.general_plugins``."""

import os
from importlib import metadata

from nlac_bench.errors import NlacBenchError

BACKEND = "nlac_bench_file"
"""The backend's name in vLLM's ``WeightTransferConfig``."""
GROUP, NAME = "vllm.general_plugins", "nlac_bench"
"""The entry point, as in ``pyproject.toml``."""


def register() -> None:
    """Add the backend; it is imported when a model is loaded whose configuration names it."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory as Factory

    if BACKEND not in Factory._registry:  # vLLM loads a plug-in more than once
        Factory.register_engine(BACKEND, "nlac_bench.rollout.engines.vllm.transfer", "FileTransfer")


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
