"""Builds a model on all ranks although only rank 0 loads the weights: rank 0 sends the shards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers.initialization import no_init_weights


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A causal LM of transformers without its weights."""

    kind: type[nn.Module]
    config: object
    attention: str

    @classmethod
    def without_weights(cls, model: nn.Module) -> Self:
        """Return the skeleton of ``model``."""
        config: Any = model.config
        return cls(type(model), config, config._attn_implementation)

    def build(self) -> nn.Module:
        """Return the model with undefined weights.

        They take no memory until they are written to: a system gives memory to a process when it is used.
        """
        with no_init_weights():
            model: Any = self.kind(self.config)
        model.tie_weights()  # transformers does the same when it initializes weights
        model.set_attn_implementation(self.attention)
        built: nn.Module = model
        return built


@torch.no_grad()
def fill(model: nn.Module, whole: Mapping[str, Tensor]) -> None:
    """Send each rank its shards of the weights, tensor by tensor.

    Args:
        model: sharded over several ranks.
        whole: on rank 0, its weights before it was sharded.
    """
    for name, parameter in model.named_parameters():
        assert isinstance(parameter, DTensor)  # FSDP2's root module shards the parameters outside the blocks
        like: dict[str, Any] = {"dtype": parameter.dtype, "device": parameter.device}
        full = (
            whole[name].to(parameter.device) if dist.get_rank() == 0 else torch.empty(parameter.shape, **like)
        )
        sent = distribute_tensor(full, parameter.device_mesh, parameter.placements)
        parameter.to_local().copy_(sent.to_local())
