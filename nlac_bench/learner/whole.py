"""Shards of parameters, and the whole tensors that are gathered from them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.distributed.tensor import DTensor


def whole_tensors(
    model: nn.Module, master: Mapping[str, Tensor], averages: Sequence[Tensor] | None
) -> Iterator[tuple[str, Tensor]]:
    """Yield the full parameters of ``model.causal_lm`` with their Hugging Face names; adapters are merged.

    Each is gathered from all ranks when it is asked for, so all ranks must ask for it.

    Args:
        master: the parameters' shards by name.
        averages: this rank's parts of other values of all parameters, in the order of ``master``; if given,
            these are gathered instead.
    """
    others = None if averages is None else dict(zip(master, averages, strict=True))
    for name, parameter in master.items():
        if not name.startswith("causal_lm.") or ".lora_" in name:
            continue
        full = full_tensor(parameter if others is None else sharded_like(parameter, others[name]))
        if name.endswith(".base_layer.weight"):
            full = full + _adapter(model, master, name.removesuffix(".base_layer.weight"))
        yield _plain_name(name), full


def _adapter(model: nn.Module, master: Mapping[str, Tensor], module_name: str) -> Tensor:
    """Return the product of the adapters of a LoRA module; peft's own merge does not support shards."""
    a, b = (full_tensor(master[f"{module_name}.lora_{x}.default.weight"]) for x in "AB")
    module: Any = model.get_submodule(module_name)
    scaling: float = module.scaling["default"]
    return scaling * (b @ a)


def _plain_name(name: str) -> str:
    name = name.removeprefix("causal_lm.").removeprefix("base_model.model.")
    return name.replace(".base_layer.", ".")


def full_tensor(parameter: Tensor) -> Tensor:
    """Return the whole tensor; all ranks must ask for it."""
    parameter = parameter.detach()
    return parameter.full_tensor() if isinstance(parameter, DTensor) else parameter


def sharded_like(parameter: Tensor, local: Tensor) -> Tensor:
    """Return ``local`` as a tensor that is sharded like ``parameter``."""
    if not isinstance(parameter, DTensor):
        return local
    return DTensor.from_local(
        local, parameter.device_mesh, parameter.placements, shape=parameter.shape, stride=parameter.stride()
    )


def local_part(parameter: Tensor) -> Tensor:
    """Return the shard that this process has; the tensor itself if it is not sharded."""
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter
