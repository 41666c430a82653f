"""Saves and restores the checkpoint of an unfinished build as one safetensors file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlac_bench.errors import DataError
from nlac_bench.files import replace_file

if TYPE_CHECKING:
    import torch


def save(path: Path, model: Any, optimizer: "torch.optim.Optimizer", state: Mapping[str, float]) -> None:
    """Write weights, optimizer and ``state`` as one safetensors file."""
    from nlac_bench.learner import optimizer_state, tensor_file

    named = dict(model.named_parameters())
    moments = optimizer_state.tensors(optimizer, {parameter: name for name, parameter in named.items()})
    tensors = {f"model/{name}": tensor for name, tensor in named.items()}
    tensors |= {f"optimizer/{name}": tensor for name, tensor in moments.items()}
    kept = {"state": json.dumps(state), "optimizer": json.dumps(optimizer_state.settings(optimizer))}
    part = path.with_suffix(".part")
    tensor_file.write(part, tensors, kept)
    replace_file(part, path)


def restore(path: Path, model: Any, optimizer: "torch.optim.Optimizer") -> dict[str, Any]:
    """Restore what ``save`` wrote and return its ``state``."""
    import torch

    from nlac_bench.learner import optimizer_state, tensor_file

    named = dict(model.named_parameters())
    try:
        found, kept = tensor_file.read(path)
        weights = {name: found.pop(f"model/{name}") for name in named}
        moments = {name.removeprefix("optimizer/"): tensor for name, tensor in found.items()}
        optimizer_state.check(optimizer, named, json.loads(kept["optimizer"]), moments)
        with torch.no_grad():
            for name, parameter in named.items():
                parameter.copy_(weights[name])
        optimizer_state.restore(optimizer, {parameter: name for name, parameter in named.items()}, moments)
        state = json.loads(kept["state"])
        return {
            "step": int(state["step"]),
            "seconds": float(state["seconds"]),
            "tokens": int(state["tokens"]),
        }
    except (DataError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{path} is damaged ({error}); delete it to start the training again") from error
