"""Weights to push: a model whose weights have changed by a chosen amount, and half of a model's weights."""

import copy
from typing import Any

import torch

from nlac_bench.rollout.engines.weights import ModelSource

SIZES = [1e-2, 1e-3, 1e-4]


def perturbed(model: Any, size: float) -> Any:
    """A copy of ``model`` in which each parameter has noise of ``size`` times its own spread."""
    generator = torch.Generator().manual_seed(1)
    made = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in made.parameters():
            spread = parameter.std() if parameter.numel() > 1 else parameter.abs()
            spread = torch.where(spread > 0, spread, torch.ones(()))
            parameter.add_(size * spread * torch.randn(parameter.shape, generator=generator))
    return made


class Half(ModelSource):
    """The first half of the tensors."""

    def named_tensors(self) -> Any:
        tensors = list(super().named_tensors())
        return tensors[: len(tensors) // 2]
