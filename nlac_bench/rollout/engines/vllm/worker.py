"""An extension of vLLM's worker processes that loads new weights in place."""

from collections.abc import Iterator
from typing import Any

import torch
from safetensors import safe_open


class WeightLoader:
    """A worker extension of vLLM (``worker_extension_cls``); ``collective_rpc`` calls its methods."""

    model_runner: Any

    def nlac_load_weights(self, path: str) -> None:
        """Load every tensor of the safetensors file ``path`` into the running model.

        On a CPU, vLLM packs the weights of linear layers after loading and deletes the originals. There,
        ``load_weights`` and ``reload_weights`` alone report success, but vLLM still uses the old, packed
        weights. Linear layers therefore get new parameters first and are packed again afterwards.
        """
        model = self.model_runner.get_model()
        on_cpu = next(iter(model.parameters())).device.type == "cpu"
        with torch.no_grad():
            if on_cpu:
                _unpack_linear_layers(model)
            model.load_weights(_tensors(path))
            if on_cpu:
                _pack_again(model)


def _tensors(path: str) -> Iterator[tuple[str, torch.Tensor]]:
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 - not a mapping
            yield name, file.get_tensor(name)


def _unpack_linear_layers(model: torch.nn.Module) -> None:
    """Give each unquantised linear layer parameters that ``load_weights`` can write to."""
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


def _pack_again(model: torch.nn.Module) -> None:
    """Pack the weights as vLLM's own loader does last; this also packs the output layer."""
    from vllm.model_executor.layers.quantization.base_config import QuantizeMethodBase

    for layer in model.modules():
        method = getattr(layer, "quant_method", None)
        if isinstance(method, QuantizeMethodBase):
            method.process_weights_after_loading(layer)
