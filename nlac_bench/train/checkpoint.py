"""Checkpoints from which a training resumes with bitwise the same results, and export to Hugging Face."""

import json
import math
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

from nlac_bench.errors import DataError
from nlac_bench.train.learner import Learner

_LOOP_FILE = "loop_state.json"


def save(
    learner: Learner, path: str | os.PathLike[str], loop_state: Callable[[Path], dict[str, Any]]
) -> None:
    """Write a checkpoint: weights, optimizer, moving average, step, random generators, and the loop's state.

    It is written beside ``path`` and then renamed, so that a killed save leaves the earlier checkpoint
    intact. All ranks must call it together.

    Args:
        loop_state: called with the checkpoint's folder, into which it may write files (such as a replay
            buffer); returns the rest of the training loop's state (counters, the best validation result) in
            a form that JSON can represent.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    if dist.get_rank() == 0:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
    dist.barrier()
    dcp.save(_tensors(learner), checkpoint_id=str(partial))
    if dist.get_rank() == 0:
        state = {"step": learner.step, "world_size": dist.get_world_size(), "loop": loop_state(partial)}
        (partial / _LOOP_FILE).write_text(json.dumps(state, allow_nan=False), encoding="utf-8")
        replaced = _replaced(path)
        shutil.rmtree(replaced, ignore_errors=True)
        if path.exists():
            path.rename(replaced)
        partial.rename(path)
        shutil.rmtree(replaced, ignore_errors=True)
    dist.barrier()


def exists(path: Path) -> bool:
    """Return whether ``load`` would find a checkpoint at ``path``."""
    return path.exists() or _replaced(path).exists()


def _replaced(path: Path) -> Path:
    return path.with_name(f".{path.name}.replaced")


def load(learner: Learner, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Restore the state of ``learner`` that ``save`` wrote and return the loop's state.

    Raises:
        DataError: the folder is not a checkpoint, or it is one of another model or another number of
            processes (each process has its own random generators).
    """
    path = Path(path)
    replaced = _replaced(path)
    if not path.exists() and replaced.exists():  # the process died between the two renames of ``save``
        replaced.rename(path)
    try:
        state = json.loads((path / _LOOP_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a checkpoint of this package: {error}") from error
    if state["world_size"] != dist.get_world_size():
        raise DataError(
            f"the checkpoint {path} was written by {state['world_size']} processes and cannot be resumed by "
            f"{dist.get_world_size()}; start {state['world_size']} processes, or start a new run from its "
            "exported model"
        )
    tensors = _tensors(learner)
    try:
        dcp.load(tensors, checkpoint_id=str(path))
    except (dcp.api.CheckpointException, RuntimeError, KeyError) as error:
        raise DataError(
            f"the checkpoint {path} does not fit this model or these settings: {error}"
        ) from error
    set_optimizer_state_dict(learner.model, learner.optimizer, optim_state_dict=tensors["optimizer"])
    learner.step = state["step"]
    _set_generators(tensors[f"generators_{dist.get_rank()}"])
    return dict(state["loop"])


def export(learner: Learner, folder: str | os.PathLike[str], tokenizer: Any = None) -> None:
    """Write the policy as a Hugging Face folder (safetensors) that any engine can load.

    All ranks must call it together.
    """
    from safetensors.torch import save_file

    tensors = {name: tensor.cpu().contiguous() for name, tensor in learner.named_tensors()}
    if dist.get_rank() == 0:
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        base: Any = learner.model.causal_lm
        base = base.get_base_model() if learner.config.lora is not None else base
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        base.config.save_pretrained(folder)
        if base.can_generate():
            base.generation_config.save_pretrained(folder)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)
    dist.barrier()


def _tensors(learner: Learner) -> dict[str, Any]:
    # state_dict() of an FSDP module returns references to the shards, so loading fills them in place.
    tensors: dict[str, Any] = {
        "model": {name: p for name, p in learner.model.state_dict().items()},  # noqa: C416
        "optimizer": get_optimizer_state_dict(learner.model, learner.optimizer),
        f"generators_{dist.get_rank()}": _generators(),
    }
    if learner.ema is not None:
        tensors["ema"] = {f"{i}_{dist.get_rank()}": shard for i, shard in enumerate(learner.ema)}
    return tensors


def _generators() -> dict[str, torch.Tensor]:
    """Return the states of Python's, NumPy's and torch's random generators as tensors."""
    _, words, gauss = random.getstate()
    numpy_state: Any = np.random.get_state()
    generators = {
        "torch": torch.get_rng_state(),
        "python": torch.tensor(words, dtype=torch.int64),
        "python_gauss": torch.tensor([float("nan") if gauss is None else gauss], dtype=torch.float64),
        "numpy": torch.from_numpy(numpy_state[1].astype(np.int64)),
        "numpy_position": torch.tensor([numpy_state[2], numpy_state[3]], dtype=torch.int64),
        "numpy_gauss": torch.tensor([numpy_state[4]], dtype=torch.float64),
    }
    if torch.cuda.is_available():
        generators["cuda"] = torch.cuda.get_rng_state()
    return generators


def _set_generators(generators: dict[str, torch.Tensor]) -> None:
    torch.set_rng_state(generators["torch"])
    gauss = generators["python_gauss"].item()
    words = tuple(generators["python"].tolist())
    random.setstate((3, words, None if math.isnan(gauss) else gauss))
    position, has_gauss = generators["numpy_position"].tolist()
    key = generators["numpy"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", key, position, has_gauss, generators["numpy_gauss"].item()))
    if torch.cuda.is_available():
        torch.cuda.set_rng_state(generators["cuda"])
