"""Converts an optimizer's state to named tensors and JSON, and restores it bit by bit."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from nlac_bench.errors import DataError

ENTRIES = ("step", "exp_avg", "exp_avg_sq")
"""The state that AdamW keeps for each parameter."""


def settings(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Return the optimizer's class and its parameter groups, as JSON represents them.

    Parameters are left out, and so is the learning rate, which a schedule sets before each step.
    """
    groups = [
        {key: value for key, value in group.items() if key not in ("params", "lr")}
        for group in optimizer.param_groups
    ]
    as_json: dict[str, Any] = json.loads(json.dumps({"class": type(optimizer).__name__, "groups": groups}))
    return as_json


def tensors(optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Return the tensors of the state, named ``NAME/ENTRY``; ``names`` has the name of each parameter."""
    return {
        f"{names[parameter]}/{entry}": value
        for parameter, entries in optimizer.state.items()
        for entry, value in entries.items()
        if value is not None
    }


def check(
    optimizer: torch.optim.Optimizer,
    shards: Mapping[str, Tensor],
    saved: Mapping[str, Any],
    stored: Mapping[str, Tensor],
) -> None:
    """Check that a saved state fits ``optimizer``.

    Args:
        optimizer: the one that will continue.
        shards: the trained parameters by name, or this process's parts of them.
        saved: the result of ``settings``.
        stored: the result of ``tensors``, of this process's parts.

    Raises:
        DataError: class, settings, names, shapes or types differ; the message names the first difference.
        TypeError: ``saved`` is not what ``settings`` returns.
    """
    own = settings(optimizer)
    if saved.get("class") != own["class"]:
        raise DataError(f"the saved optimizer is {saved.get('class')!r}, but this run's is {own['class']!r}")
    groups = saved.get("groups")
    if not isinstance(groups, list) or len(groups) != len(own["groups"]):
        raise DataError(
            f"the saved optimizer must have {len(own['groups'])} parameter groups, got {groups!r:.200}"
        )
    for ours, theirs in zip(own["groups"], groups, strict=True):
        # Versions of torch have different keys; those that both have must agree.
        differing = [key for key in ours if key in theirs and ours[key] != theirs[key]]
        if differing:
            key = differing[0]
            raise DataError(
                f"the saved optimizer has {key} {theirs[key]!r:.200}, but this run's has {ours[key]!r}"
            )
    for name in stored:
        parameter, _, entry = name.rpartition("/")
        if parameter not in shards or entry not in ENTRIES:
            raise DataError(
                f"the saved optimizer has a tensor {name!r}, which this run's optimizer does not have"
            )
    for name, shard in shards.items():
        present = [entry for entry in ENTRIES if f"{name}/{entry}" in stored]
        if present and len(present) < len(ENTRIES):
            raise DataError(f"the saved optimizer has only {', '.join(present)} of the parameter {name!r}")
        for entry in present:
            tensor = stored[f"{name}/{entry}"]
            shape, dtype = (torch.Size(), torch.float32) if entry == "step" else (shard.shape, shard.dtype)
            if tensor.shape != shape or tensor.dtype != dtype:
                raise DataError(
                    f"the saved optimizer's tensor {name + '/' + entry!r} has shape "
                    f"{tuple(tensor.shape)} and type {tensor.dtype}, expected {tuple(shape)} and {dtype}"
                )


def restore(
    optimizer: torch.optim.Optimizer,
    names: Mapping[Tensor, str],
    stored: Mapping[str, Tensor],
    like: Callable[[Tensor, Tensor], Tensor] = lambda parameter, tensor: tensor,
) -> None:
    """Replace the state of ``optimizer`` by ``stored``, which ``check`` accepted.

    Args:
        optimizer: its state is replaced.
        names: the name of each parameter.
        stored: the result of ``tensors``, of this process's parts; it is copied.
        like: called with a parameter and this process's part of a tensor of its shape, on its device; returns
            the tensor, sharded like the parameter.
    """
    state: dict[int, dict[str, Tensor]] = {}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for i, parameter in enumerate(parameters):
        for entry in ENTRIES:
            tensor = stored.get(f"{names[parameter]}/{entry}")
            if tensor is not None:
                copied = tensor.clone()
                whole = copied if entry == "step" else like(parameter, copied.to(parameter.device))
                state.setdefault(i, {})[entry] = whole
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
