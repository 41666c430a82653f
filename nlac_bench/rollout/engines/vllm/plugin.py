"""Registers ``FileTransfer`` with vLLM, whose processes call the entry point ``vllm.general_plugins``."""

BACKEND = "nlac_bench_file"
"""The backend's name in vLLM's ``WeightTransferConfig``."""


def register() -> None:
    """Add the backend; it is imported when a model is loaded whose configuration names it."""
    from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory as Factory

    if BACKEND not in Factory._registry:  # vLLM loads a plug-in more than once
        Factory.register_engine(BACKEND, "nlac_bench.rollout.engines.vllm.transfer", "FileTransfer")
