"""Patches of vLLM's workers on CPUs: replaceable weights, and seeds of prompts computed in chunks."""

import functools
from typing import Any

import numpy as np
import torch


def unpack_linear_layers(model: torch.nn.Module) -> None:
    """Give each unquantised linear layer parameters that ``load_weights`` can write to.

    On a CPU, vLLM packs the weights of linear layers after loading and deletes the originals. There,
    ``load_weights`` and ``reload_weights`` alone report success, but vLLM still uses the old, packed weights.
    """
    from vllm.model_executor.layers.linear import (
        WEIGHT_LOADER_V2_SUPPORTED,
        LinearBase,
        UnquantizedLinearMethod,
    )

    for layer in model.modules():
        method = getattr(layer, "quant_method", None)
        if not isinstance(layer, LinearBase) or not isinstance(method, UnquantizedLinearMethod):
            continue
        newer = type(method).__name__ in WEIGHT_LOADER_V2_SUPPORTED and hasattr(layer, "weight_loader_v2")
        method.create_weights(
            layer=layer,
            input_size_per_partition=getattr(layer, "input_size_per_partition", layer.input_size),
            output_partition_sizes=getattr(layer, "output_partition_sizes", [layer.output_size]),
            input_size=layer.input_size,
            output_size=layer.output_size,
            params_dtype=layer.params_dtype,
            weight_loader=layer.weight_loader_v2 if newer else layer.weight_loader,
        )


def pack_again(model: torch.nn.Module) -> None:
    """Pack the weights as vLLM's own loader does last; this also packs the output layer."""
    from vllm.model_executor.layers.quantization.base_config import QuantizeMethodBase

    for layer in model.modules():
        method = getattr(layer, "quant_method", None)
        if isinstance(method, QuantizeMethodBase):
            method.process_weights_after_loading(layer)


def allow_seeds_of_chunked_prompts() -> None:
    """Let vLLM's CPU model runner compute the prompt of a request with a seed in several chunks.

    After each chunk but the last, vLLM discards the sampled token and rewinds the request's generator with
    ``set_offset``, which CPU generators do not have, so the worker ends. Here, the generator's state is
    restored instead, and the generator is hidden while vLLM would rewind it.
    """
    from vllm.v1.worker.cpu_model_runner import CPUModelRunner

    if getattr(CPUModelRunner, "_nlac_bench_seeds", False):
        return
    sample, bookkeeping = CPUModelRunner._sample, CPUModelRunner._bookkeeping_sync

    @functools.wraps(sample)
    def restoring(self: Any, *args: Any, **kwargs: Any) -> Any:
        states = {number: self.input_batch.generators[number].get_state() for number in _in_chunks(self)}
        try:
            return sample(self, *args, **kwargs)
        finally:
            for number, state in states.items():
                self.input_batch.generators[number].set_state(state)

    @functools.wraps(bookkeeping)
    def hiding(self: Any, *args: Any, **kwargs: Any) -> Any:
        generators = self.input_batch.generators
        hidden = {number: generators.pop(number) for number in _in_chunks(self)}
        try:
            return bookkeeping(self, *args, **kwargs)
        finally:
            generators.update(hidden)

    CPUModelRunner._sample, CPUModelRunner._bookkeeping_sync = restoring, hiding
    CPUModelRunner._nlac_bench_seeds = True


def _in_chunks(runner: Any) -> list[int]:
    """Return the requests with a generator whose sampled token is discarded, since their prompt continues."""
    discarded = np.nonzero(runner.discard_request_mask.np[: runner.input_batch.num_reqs])[0]
    return [int(number) for number in discarded if int(number) in runner.input_batch.generators]
